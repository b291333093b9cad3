"""The state file: what the index covers and which files it consists of. Replacing it is the only way an index changes."""

import json
import os
import zlib
from dataclasses import asdict, dataclass
from pathlib import Path

from ingestion.index.covered import Covered
from ingestion.index.merge import Merge
from ingestion.index.moment import Moment
from ingestion.index.unusable import Unusable

STATE, DRAFT = "state", "state.draft"
_FORMAT = 1


@dataclass(frozen=True)
class State:
    lake: str
    log: int
    covered: Covered | None
    runs: tuple[str, ...]
    merges: tuple[Merge, ...]
    next: int
    boot: str
    """The start of the machine during which it was written, see boot.py."""


def write_state(folder: Path, state: State, moment: Moment) -> None:
    said = json.dumps({"format": _FORMAT, **asdict(state)}).encode()
    draft = folder / DRAFT
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as opened:
        opened.write(f"{zlib.crc32(said):08x}\n".encode() + said)
    moment("state.drafted")
    draft.replace(folder / STATE)
    moment("state.replaced")


def read_state(folder: Path) -> State:
    try:
        check, _, said = (folder / STATE).read_bytes().partition(b"\n")
    except FileNotFoundError as error:
        raise Unusable("there was none") from error
    if check != f"{zlib.crc32(said):08x}".encode():
        raise Unusable(f"its state file is torn: {len(said)} bytes that do not fit their check")
    values = json.loads(said)
    if values.pop("format") != _FORMAT:
        raise Unusable("it was written by another release")
    covered, merges = values.pop("covered"), values.pop("merges")
    return State(
        **{**values, "runs": tuple(values["runs"])},
        covered=Covered(**covered) if covered else None,
        merges=tuple(Merge(each["to"], tuple(each["sources"]), tuple(each["taken"]), each["check"]) for each in merges),
    )
