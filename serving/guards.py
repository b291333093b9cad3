"""Who may ask: on loopback everybody on this machine, elsewhere only who presents the token.

A page in a browser can be made to ask this machine in another's name (DNS rebinding); the name that it asks for gives it
away, so without a token only the names of loopback are answered.
"""

import hmac
import ipaddress

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from lakehouse.errors import ParityError

OPEN_PATHS = ("/", "/health")
OPEN_FOLDERS = ("/page/", "/docs", "/openapi.json", "/redoc", "/static-offline-docs/")
"""What tells nothing about the lake: the empty page, its scripts, and what can be asked."""


def refuse_open_doors(host: str, token: str) -> None:
    """Refuse to listen where other machines can ask, without a token."""
    if not token and not is_loopback(host):
        raise ParityError(
            f"{host} can be reached from other machines, so a token is needed: set PARITY_SERVING__TOKEN to 16 characters or "
            "more and give it to those who may ask. Or listen on 127.0.0.1. Nothing was started."
        )


def is_loopback(host: str) -> bool:
    name = host.strip("[]").lower()
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


class Guard:
    """In front of the application: turns away who may not ask."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refused = self._refusal(scope) if scope["type"] == "http" else None
        await (self._app if refused is None else refused)(scope, receive, send)

    def _refusal(self, scope: Scope) -> JSONResponse | None:
        headers, path = Headers(scope=scope), scope["path"]
        if not self._token:
            name = (
                headers.get("host", "").rsplit(":", 1)[0]
                if "]" not in headers.get("host", "")
                else headers["host"].split("]")[0]
            )
            if is_loopback(name):
                return None
            return JSONResponse({"detail": f"This server answers on loopback only, not as {name!r}."}, 421)
        if path in OPEN_PATHS or path.startswith(OPEN_FOLDERS):
            return None
        kind, _, given = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), self._token):
            return None
        return JSONResponse(
            {"detail": "A token is needed: send it as `Authorization: Bearer …`."}, 401, {"WWW-Authenticate": "Bearer"}
        )


def _without_port(host: str) -> str:
    return host.partition("]")[0] if host.startswith("[") else host.partition(":")[0]
