"""Which side a reconciliation judges: the stream's live results, another version of them, or the control."""

import re
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from lakehouse.settings import Settings
    from reconciliation.pins import Candidate

_VERSION = re.compile(r"@([1-9]\d*)")


def _known(text: str) -> str:
    if text not in ("kappa", "legacy") and not _VERSION.fullmatch(text):
        raise typer.BadParameter(f"{text!r} is no side; write kappa, legacy, or a version of the results, e.g. @2.")
    return text


CandidateOption = Annotated[
    str | None,
    typer.Option(
        "--candidate",
        parser=_known,
        help="Which side is judged against batch: kappa, legacy, or a version of the stream's results.",
        metavar="kappa|legacy|@N",
    ),
]


def judged(text: str | None, names: list[str] | None, settings: "Settings") -> "tuple[Candidate, list[str] | None]":
    """The side that is judged, and the names of the results with the version that the candidate says."""
    if text is None or text == "kappa":
        return "kappa", names
    if text == "legacy":
        return "legacy", names
    from lakehouse.errors import UnknownResult

    for name in names or ():
        if "@" in name:
            raise UnknownResult(f"{name!r} names a version, and --candidate {text} too. Name the result alone.")
    return "kappa", [f"{name}{text}" for name in names or settings.windows_by_result]
