"""The options that several commands share, each described once."""

from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Format(StrEnum):
    """For people or for machines."""

    text = "text"
    json = "json"


FormatOption = Annotated[Format, typer.Option("--format", help="For people or for machines.")]
LakeOption = Annotated[Path, typer.Option("--lake", help="Directory of the lake.", metavar="DIR")]
LandingOption = Annotated[Path, typer.Option("--landing", help="Directory where *.jsonl files land.", metavar="DIR")]
ConfigOption = Annotated[
    Path | None, typer.Option("--config", help="Settings file; parity.toml here, if there is one.", metavar="FILE")
]
PipelineOption = Annotated[
    str | None,
    typer.Option(
        "--pipeline",
        help="What the lake is of: a name under pipelines/, or the folder of your own.",
        metavar="NAME|DIR",
    ),
]
ResultsOption = Annotated[
    list[str] | None,
    typer.Option("--result", help="A result by its name; may be repeated. All by default.", metavar="NAME"),
]
FromVersionOption = Annotated[
    int | None,
    typer.Option("--from-version", min=0, help="First version of the log that counts; all by default.", metavar="V"),
]
ContinuousOption = Annotated[bool, typer.Option("--continuous", help="Go on until stopped with Ctrl-C.")]
LogVersionOption = Annotated[
    int | None, typer.Option("--log-version", help="Version of the log to compute or compare at.", metavar="V")
]


def moment(text: str) -> datetime:
    """A time with its zone, or a date, which is its midnight in UTC."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a time; write e.g. 2026-03-01T10:00Z or 2026-03-01.") from None
    if found.tzinfo is None and len(text) == len("2026-03-01"):
        return found.replace(tzinfo=UTC)
    if found.tzinfo is None:
        raise typer.BadParameter(f"{text!r} has no zone; write e.g. {text}Z.")
    return found.astimezone(UTC)


def duration(text: str) -> timedelta:
    """A duration as the settings write it: 90 seconds."""
    from transformations.durations import parse_duration

    try:
        return parse_duration(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


FromOption = Annotated[
    datetime | None, typer.Option("--from", parser=moment, help="First window start, included.", metavar="T")
]
ToOption = Annotated[
    datetime | None, typer.Option("--to", parser=moment, help="Last window start, excluded.", metavar="T")
]
