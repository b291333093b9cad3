"""`parity` as a user types it, within this process and its Spark session."""

from pathlib import Path

from typer.testing import CliRunner, Result

from cli.main import app


def parity(*command: str | Path) -> Result:
    return CliRunner().invoke(app, [str(part) for part in command])
