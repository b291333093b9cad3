"""What lands in a run of faults: all of it once, in portions, late files only when they are late, and never too few."""

import json
import random
from pathlib import Path

import pytest
from accounts import SUBJECT
from deliveries import START

from chaos.deliveries import PORTION, Deliveries, files_with, first_files
from chaos.load import files_for
from chaos.violation import Violation

MINUTE = 60_000
POPPED = "bubbles_popped"
BEGAN = round(START.timestamp() * 1000)


def deliveries(home: Path, files: int, *, seed: int = 7, kind: str = POPPED) -> Deliveries:
    """Each file has two events, in its minute of the game."""
    pool, landing = home / "pool", home / "landing"
    pool.mkdir()
    landing.mkdir()
    said = {"kind": kind, "player_id": "alice", "team_id": "blue", "bubbles": 1}
    for number in range(files):
        at = [f"2026-03-01T{10 + number // 60}:{number % 60:02}:{second}Z" for second in ("00", "30")]
        lines = [json.dumps({"event_id": f"{number}-{each}", "occurred_at": each, **said}) for each in at]
        (pool / f"{number:05}.jsonl").write_text("\n".join(lines) + "\n")
    return Deliveries(pool, landing, random.Random(seed), SUBJECT)


def landed(home: Path) -> list[str]:
    return sorted(file.name for file in (home / "landing").glob("*.jsonl"))


def test_all_of_it_lands_once(tmp_path: Path) -> None:
    coming = deliveries(tmp_path, 60)
    count = coming.first() + coming.portion() + coming.shuffled() + coming.portion(portions=2)
    assert count == first_files(60) + 5 * PORTION == coming.landed == len(landed(tmp_path))
    coming.one()
    assert coming.rest() == 60 - count - 1
    assert landed(tmp_path) == [f"{number:05}.jsonl" for number in range(60)] and not any((tmp_path / "pool").iterdir())


def test_only_files_land_late_in_which_all_is_from_before_the_mark(tmp_path: Path) -> None:
    coming = deliveries(tmp_path, 100)
    coming.first()
    while coming.landed < 60:
        coming.portion()
    held = sorted({f"{n:05}.jsonl" for n in range(60)} - set(landed(tmp_path)))
    assert len(held) > 4
    before = set(landed(tmp_path))
    # Minute 20 has events at 20:00 and 20:30: at a mark of 20:29 not all of it is late.
    count = coming.late(BEGAN + int(held[2][:5]) * MINUTE + 29_000, kind=POPPED)
    assert count == 1 and set(landed(tmp_path)) - before == {held[0]}, "half of the two that are old enough"
    assert coming.late(BEGAN + int(held[2][:5]) * MINUTE + 30_000, kind=POPPED) == 1
    assert set(landed(tmp_path)) - before == {held[0], held[1]}


def test_nothing_lands_where_nothing_is_late(tmp_path: Path) -> None:
    coming = deliveries(tmp_path, 60)
    coming.first()
    before = landed(tmp_path)
    assert coming.late(BEGAN - 1, kind=POPPED) == 0 and landed(tmp_path) == before


def test_what_has_no_event_of_the_kind_does_not_land_late(tmp_path: Path) -> None:
    coming = deliveries(tmp_path, 60)
    while coming.landed < 40:
        coming.portion()
    assert coming.late(BEGAN + 600 * MINUTE, kind="offer_shown") == 0
    assert coming.late(BEGAN + 600 * MINUTE, kind=POPPED) > 1


def test_copies_are_of_what_has_landed_and_have_other_names(tmp_path: Path) -> None:
    coming = deliveries(tmp_path, 60)
    first = coming.first()
    assert coming.copies() == (first + 1) // 2
    copies = [name for name in landed(tmp_path) if name.startswith("copy-")]
    assert len(copies) == (first + 1) // 2 and coming.landed == first + len(copies)
    originals = {(tmp_path / "landing" / name).read_text() for name in landed(tmp_path) if name not in copies}
    assert {(tmp_path / "landing" / name).read_text() for name in copies} <= originals


def test_where_all_has_landed_a_portion_is_copies_and_a_single_file_is_a_violation(tmp_path: Path) -> None:
    coming = deliveries(tmp_path, 12)
    coming.rest()
    assert coming.portion() == PORTION
    with pytest.raises(Violation, match="all 15 files have landed before their time"):
        coming.one()


@pytest.mark.parametrize("seed", range(3))
def test_an_hour_of_load_does_not_run_dry(tmp_path: Path, seed: int) -> None:
    """It takes 600 files at its pace and 600 at once, after the first ones, of which some are held back."""
    wanted = files_for(60)
    assert wanted >= 1200
    coming = deliveries(tmp_path, files_with(2 * PORTION, single=wanted), seed=seed)
    coming.first()
    for _ in range(wanted):
        coming.one()
    coming.portion(portions=2)


@pytest.mark.parametrize("rounds", [1, 5, 40])
def test_rounds_of_faults_do_not_run_dry(tmp_path: Path, rounds: int) -> None:
    coming = deliveries(tmp_path, files_with(rounds * 3 * PORTION), seed=rounds)
    coming.first()
    landing = [coming.portion(portions=2) for _ in range(rounds)]
    assert landing == [2 * PORTION] * rounds
    assert not [name for name in landed(tmp_path) if name.startswith("copy-")]
