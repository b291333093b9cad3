"""The account of what landed: it balances where ingestion is right, and is a violation for each way to lose or to double."""

import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from accounts import SUBJECT, account_of, game, taken_in
from judged_lines import LINES, REJECTED, TOO_DEEP
from pytest import MonkeyPatch

import ingestion.ingest
import transformations.lines.sequence
from chaos.lines import event_of
from chaos.violation import Violation
from ingestion.index import Pending
from lakehouse.landings import Landing, as_noted
from lakehouse.settings import ClockTolerances, load_settings
from simulator.delivered import Delivered
from transformations.lines.sequence import EVENT, QUARANTINED

Break = Callable[[MonkeyPatch], None]


@pytest.fixture(scope="module")
def landing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("accounts") / "landing"


@pytest.fixture(scope="module")
def delivered(landing: Path) -> Delivered:
    return game(landing)


def test_it_says_what_the_simulator_has_delivered(tmp_path: Path, landing: Path, delivered: Delivered) -> None:
    account = account_of(taken_in(tmp_path / "lake", landing), landing)
    assert account.landed == delivered.lines
    assert (len(account.events), account.duplicates) == (delivered.events, delivered.duplicates)
    assert account.quarantined == delivered.quarantined


def _deduplication_off(patched: MonkeyPatch) -> None:
    """Nobody knows any id: a copy in a later file is an event once more."""

    def find(_: Pending, high: Any, __: Any) -> tuple[Any, Any]:
        return np.zeros(len(high), bool), np.zeros(len(high), np.int64)

    patched.setattr(Pending, "find", find)


def _one_file(files: list[Landing]) -> bool:
    return files[0].name == "00001.jsonl"


def _file_skipped(patched: MonkeyPatch) -> None:
    patched.setattr(ingestion.ingest, "as_noted", lambda files: [] if _one_file(files) else as_noted(files))


def _file_read_twice(patched: MonkeyPatch) -> None:
    patched.setattr(
        ingestion.ingest, "as_noted", lambda files: as_noted([*files, *files] if _one_file(files) else files)
    )


def _everything_quarantined(patched: MonkeyPatch) -> None:
    """All but the first line of each file: the sum of the fates is right."""

    def fates(judged: Any, _: Any) -> Any:
        return np.where(np.arange(judged.num_rows) == 0, EVENT, QUARANTINED).astype(np.int8)

    patched.setattr(transformations.lines.sequence, "_fates", fates)


def _contradictions_are_copies(patched: MonkeyPatch) -> None:
    honest = transformations.lines.sequence._fates

    def fates(judged: Any, known: Any) -> Any:
        sound = np.asarray(judged["reason"].is_null())
        found = honest(judged, known)
        return np.where(sound & (found == QUARANTINED), transformations.lines.sequence.DUPLICATE, found).astype(np.int8)

    patched.setattr(transformations.lines.sequence, "_fates", fates)


BREAKS: dict[str, tuple[Break, str]] = {
    "de-duplication is off": (_deduplication_off, "event ids are in the log more than once"),
    "a file is skipped": (_file_skipped, "landed lines have no fate, e.g. 00001.jsonl:1"),
    "a file is read twice": (_file_read_twice, "landed lines have more than one fate, e.g. 00001.jsonl:1"),
    "1 accepted, the rest quarantined": (_everything_quarantined, "lines have another fate than they deserve"),
    "a contradiction is taken for a copy": (_contradictions_are_copies, "1 lines have another fate than they deserve"),
}


@pytest.mark.parametrize("name", BREAKS)
def test_what_ingestion_does_wrong_is_a_violation(
    tmp_path: Path, landing: Path, delivered: Delivered, name: str, monkeypatch: MonkeyPatch
) -> None:
    broken, said = BREAKS[name]
    assert delivered.files == 4
    with monkeypatch.context() as patched:
        broken(patched)
        lake = taken_in(tmp_path / "lake", landing)
    with pytest.raises(Violation, match=said):
        account_of(lake, landing)


def test_an_event_time_that_is_not_corrected_is_a_violation(
    tmp_path: Path, landing: Path, delivered: Delivered
) -> None:
    clock = ClockTolerances(device=timedelta(days=400), future=timedelta(days=400))
    settings = load_settings().model_copy(update={"clock": clock})
    lake = taken_in(tmp_path / "lake", landing, settings)
    assert delivered.skewed
    with pytest.raises(Violation, match="another event time than their line says|another fate than they deserve"):
        account_of(lake, landing)


def test_a_line_that_is_no_longer_what_was_read_is_a_violation(
    tmp_path: Path, landing: Path, delivered: Delivered
) -> None:
    mine = Path(shutil.copytree(landing, tmp_path / "landing"))
    lake = taken_in(tmp_path / "lake", mine)
    file = mine / "00002.jsonl"
    file.write_bytes(file.read_bytes().replace(b'"bubbles": 7', b'"bubbles": 8', 1))
    with pytest.raises(Violation, match="1 rows have other bytes than their line, e.g. 00002.jsonl:"):
        account_of(lake, mine)
    file.unlink()
    with pytest.raises(Violation, match=rf"{delivered.lines // 4} rows are of lines that never landed"):
        account_of(lake, mine)


def test_the_judge_of_lines_is_as_strict_as_the_landing_format() -> None:
    """But for the depth of nesting, which is no matter of phones."""
    now = 1_772_362_800_000
    judged = {
        name: event_of(line if isinstance(line, bytes) else line.encode(), SUBJECT.kinds, now=now)
        for name, line in LINES.items()
    }
    deep = {name for name, (_, reason) in REJECTED.items() if reason == TOO_DEEP}
    assert {name for name, event in judged.items() if event is None} - deep == set(REJECTED) - deep
