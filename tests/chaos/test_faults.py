"""The faults that a run draws from: which there are, and what a damaged checkpoint may end in."""

import random
from pathlib import Path

import pytest
from accounts import SUBJECT

from chaos.damages import DAMAGES, Damage
from chaos.faults import DISK_FULL, faults, refuse_wrong_end
from chaos.run import UnknownFault, chosen_faults
from chaos.violation import Violation

BY_NAME = {damage.name: damage for damage in DAMAGES}


def test_make_chaos_draws_every_fault_once() -> None:
    """It said so, and drew 40 of 45."""
    makefile = (Path(__file__).parents[2] / "Makefile").read_text()
    assert f"\nROUNDS ?= {len(faults())}\n" in makefile
    assert sum(name.startswith(DISK_FULL) for name in faults()) == 3


def test_the_seed_draws_each_fault_once_before_any_a_second_time() -> None:
    order = [
        [fault.name for fault in chosen_faults([], random.Random(seed), len(faults()), 5.0, SUBJECT)]
        for seed in (7, 7, 8)
    ]
    assert all(sorted(each) == sorted(faults()) for each in order)
    assert order[0] == order[1] != order[2]


def test_an_unknown_fault_is_refused() -> None:
    with pytest.raises(UnknownFault, match="no fault 'kill-all'"):
        chosen_faults(["kill-all"], random.Random(7), None, 5.0, SUBJECT)


def test_a_kill_of_a_repair_strikes_what_is_repaired() -> None:
    """The engine counts late events of the windows that it holds: of these nothing is repaired."""
    found = [each.name for each in SUBJECT.repaired]
    assert found == ["player_sessions", "offer_outcomes"]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.name)
def test_only_where_enough_is_left_a_writer_may_go_on_by_itself(damage: Damage) -> None:
    enough = {"commit-log-lost": {"ingest", "stream"}, "checkpoint-lost": {"ingest"}}.get(damage.name, set())
    for writer in ("ingest", "stream"):
        may_go_on = writer in enough
        refuse_wrong_end(damage, writer, "said", went_on=may_go_on)
        with pytest.raises(Violation, match="suffices to go on" if may_go_on else "it had to refuse"):
            refuse_wrong_end(damage, writer, "said", went_on=not may_go_on)


def test_a_stream_that_goes_on_without_its_checkpoint_is_a_violation() -> None:
    with pytest.raises(Violation, match="it went on by itself, and it had to refuse"):
        refuse_wrong_end(BY_NAME["checkpoint-lost"], "stream", "the stream", went_on=True)


def test_every_damage_leaves_another_checkpoint(tmp_path: Path) -> None:
    for damage in DAMAGES:
        home = tmp_path / damage.name
        for part in ("offsets", "commits"):
            (home / part).mkdir(parents=True)
            for batch in range(3):
                (home / part / str(batch)).write_text("v1\n{}\n")
        (home / "metadata").write_text("{}")
        (home / "state/0/0").mkdir(parents=True)
        (home / "state/0/0/3.delta").write_text("state")
        before = {file.relative_to(home): file.read_bytes() for file in home.rglob("*") if file.is_file()}
        damage.do(home)
        after = {file.relative_to(home): file.read_bytes() for file in home.rglob("*") if file.is_file()}
        assert before != after, damage.name
