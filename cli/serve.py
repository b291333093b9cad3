"""`parity serve`: the API and the live page of a lake. It needs no Spark."""

from typing import Annotated

import typer

from cli.console import answers, settings_from, told_errors
from cli.options import ConfigOption, LakeOption


def serve(
    lake: LakeOption,
    host: Annotated[str, typer.Option(help="Where to listen; anything but loopback needs a token.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes one that is free.")] = 8000,
    config: ConfigOption = None,
) -> None:
    """Serve a lake: results as each layer answers them, their history, verdicts, metrics, and a live page."""
    from lakehouse.lake import open_lake

    with told_errors(lake / "logs" / "serve.log"):
        opened = open_lake(lake)
        settings = settings_from(config, opened)
        from serving.server import run

        def listening(address: str) -> None:
            told = f"Parity serves {lake} on {address} (documentation: {address}/docs). Ctrl-C stops it."
            answers.print(told, highlight=False, soft_wrap=True)

        run(opened, settings, host=host, port=port, listening=listening)
