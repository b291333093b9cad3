"""`parity chaos` tells of each round while it runs; what it strikes is tested in tests/chaos."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from doors import door_pipeline
from typed import parity

FAULTS = ("kill-stream-after-sink", "compaction")


def test_each_round_is_a_step_and_the_end_of_the_last_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = []
    witnessed: list[int | None] = [1_234, None]

    def rounds(_lake: object, _subject: object, order: Sequence[Any], **_: object) -> Iterator[SimpleNamespace]:
        counted = {"equal": 1, "log_version": 1, "landed": 1, "accepted": 1, "duplicate": 0, "quarantined": 0}
        for number, fault in enumerate(order, start=1):
            proof = SimpleNamespace(**counted, witnessed=witnessed[number - 1])
            yield SimpleNamespace(
                number=number, fault=fault.name, said="it was killed", struck_after=1.0, recovered_in=1.0, proof=proof
            )
        ended.append("what was at work is stopped, and the reader is asked")

    monkeypatch.setattr("chaos.run.chaos", rounds)
    done = parity("chaos", "--lake", tmp_path / "lake", *(part for name in FAULTS for part in ("--fault", name)))
    assert done.exit_code == 0, done.output
    first, second, last = done.stderr.splitlines()
    assert first.startswith("✓ kill-stream-after-sink 0.") and first.endswith("step 1 of 2")
    assert second.startswith("✓ compaction 0.") and second.endswith("step 2 of 2")
    assert last.startswith("✓ Stop all of it")
    assert "2 faults in " in done.stdout and ended
    assert "1,234 rows as the landing files say; landed 1" in done.stdout
    assert "equal at log version 1, no witness was asked; landed 1" in done.stdout


def test_a_pipeline_without_a_simulator_has_nothing_that_could_land(tmp_path: Path) -> None:
    doors = door_pipeline(tmp_path / "doors")
    done = parity("chaos", "--lake", tmp_path / "lake", "--pipeline", doors, "--fault", "copies")
    assert done.exit_code == 2 and "The pipeline doors has no simulator" in " ".join(done.stderr.split())
    assert not (tmp_path / "lake" / "parity.json").exists()
