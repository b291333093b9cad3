"""The table of mutants in docs/laws.md: which test noticed each, as it ran last. `make mutants` writes it."""

from collections.abc import Iterable, Mapping
from pathlib import Path

BEGIN, END = "<!-- mutants: `make mutants` writes this table -->", "<!-- end of the mutants -->"
HEAD = ["| Mutant | Noticed by | Seconds |", "|---|---|---|"]
NOT_RUN = "not run"


def row(mutant: str, noticed_by: str | None, seconds: float) -> str:
    """A row of the table. A test is told as its file and its sentence."""
    if noticed_by is None:
        return f"| {mutant} | **nothing: it survives** | {seconds:.0f} |"
    file, _, test = noticed_by.partition("::")
    sentence = test.partition("[")[0].removeprefix("test_").replace("_", " ")
    return f"| {mutant} | `{file}`: {sentence} | {seconds:.0f} |"


def rows_of(document: str) -> dict[str, str]:
    """The rows that stand in the document, by the name of their mutant."""
    inside = document.partition(BEGIN)[2].partition(END)[0]
    lines = [line for line in inside.splitlines() if line.startswith("| ") and line not in HEAD]
    return {line.split(" | ")[0].removeprefix("| "): line for line in lines}


def with_rows(document: str, names: Iterable[str], found: Mapping[str, str]) -> str:
    """The document with a row for each mutant: as found now, else as it stood there, else not run."""
    before, marker, rest = document.partition(BEGIN)
    after = rest.partition(END)[2]
    assert marker and after, "the document has no place for the table"
    known = rows_of(document) | dict(found)
    rows = [known.get(name, f"| {name} | {NOT_RUN} | |") for name in names]
    return "\n".join([before + BEGIN, *HEAD, *rows, END + after])


def write_rows(file: Path, names: Iterable[str], found: Mapping[str, str]) -> None:
    file.write_text(with_rows(file.read_text(), names, found))
