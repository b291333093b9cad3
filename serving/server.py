"""The server of the API: one process, one event loop, queries in threads of their own."""

import logging
import os
import socket
import time
from collections.abc import Callable
from contextlib import suppress

import uvicorn

from lakehouse.errors import ParityError
from lakehouse.lake import Lake
from lakehouse.settings import Settings
from serving.guards import refuse_open_doors


def run(lake: Lake, settings: Settings, *, host: str, port: int, listening: Callable[[str], None]) -> None:
    """Serve until stopped. `listening` is told the address as soon as somebody can connect to it."""
    refuse_open_doors(host, settings.serving.token)
    os.environ["TZ"] = "UTC"
    time.tzset()
    log_file = lake.path / "logs" / "serve.log"
    log_file.parent.mkdir(mode=0o700, exist_ok=True)
    logging.basicConfig(filename=log_file, format="%(asctime)s %(name)s %(levelname)s %(message)s")
    # A Ctrl-C is how one stops a server; uvicorn has ended well by then.
    with _bound(host, port) as opened, suppress(KeyboardInterrupt):
        from serving.api import application  # takes a second, in which a browser waits instead of being refused

        config = uvicorn.Config(
            application(lake, settings),
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=5,
        )
        shown = f"[{host}]" if ":" in host else host
        listening(f"http://{shown}:{opened.getsockname()[1]}")
        uvicorn.Server(config).run(sockets=[opened])


def _bound(host: str, port: int) -> socket.socket:
    """A socket that listens, so that a client who knows the address finds somebody."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    opened = socket.socket(family)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        opened.bind((host, port))
    except OSError as error:
        opened.close()
        raise ParityError(f"Port {port} of {host} cannot be had: {error.strerror}. Name another with --port.") from None
    opened.listen(2048)
    return opened
