"""What chaos streams and whom it asks follows from the declaration of a pipeline, whatever that is of."""

import random
from pathlib import Path

import pytest
from accounts import RESULTS
from doors import door_pipeline

from chaos.faults import faults
from chaos.run import UnknownFault, chosen_faults
from chaos.subject import Subject, subject_of
from lakehouse.errors import BadPipeline, BadSettings
from lakehouse.settings import load_settings

WITNESS = """
QUERIES = {"openings": "SELECT door_id, event_time // 60000 * 60000 AS window_start, count(*) AS times FROM known GROUP BY ALL"}
SETTLED = {"openings": "window_start + 60000 <= {before}"}
"""


def subject(path: Path | str, **tried: str) -> Subject:
    named = {name.replace("__", "."): value for name, value in tried.items()}
    return subject_of(load_settings(tried={"pipeline.path": str(path), **named}))


def with_witness(folder: Path, said: str | None) -> Path:
    doors = door_pipeline(folder / "doors")
    story = doors / "pipeline.py"
    story.write_text(story.read_text().replace('name="doors",', 'name="doors", witness=".witness",'))
    if said is not None:
        (doors / "witness.py").write_text(said)
    return doors


def test_of_the_game_those_are_streamed_that_its_witness_knows() -> None:
    game = subject("game")
    assert game.witness is not None and RESULTS == tuple(game.witness.QUERIES) == tuple(game.witness.SETTLED)
    assert (game.kind, game.hours, game.allowed) == ("bubbles_popped", 12, 300_000)


def test_of_one_without_a_witness_those_whose_streams_the_story_has_killed() -> None:
    sensors = subject("sensors")
    assert sensors.witness is None and sensors.kind == "temperature_read"
    assert [each.name for each in sensors.results] == ["room_hours", "sensor_means", "sensor_sessions"]
    assert sensors.kinds.keys() == {"temperature_read", "sensor_moved", "heartbeat"}


def test_where_the_story_says_nothing_all_are_streamed(tmp_path: Path) -> None:
    doors = subject(door_pipeline(tmp_path / "doors"))
    assert [each.name for each in doors.results] == ["openings"] and doors.witness is None


def test_a_witness_of_the_own_folder_is_asked(tmp_path: Path) -> None:
    asked = subject(with_witness(tmp_path, WITNESS)).witness
    assert asked is not None and list(asked.QUERIES) == ["openings"]


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (None, "The witness '.witness' of the pipeline doors cannot be imported: .*as in '.witness'"),
        ("QUERIES = {}\n", "has no SETTLED"),
        ("QUERIES = {}\nSETTLED = {}\n", "the same results in QUERIES and in SETTLED, and one at least"),
        (WITNESS.replace("openings", "closings"), "speaks of closings. There are: openings"),
        (WITNESS.replace('SETTLED = {"openings"', 'SETTLED = {"other"'), "the same results"),
    ],
    ids=["missing", "half of it", "empty", "of another result", "of two"],
)
def test_a_witness_that_cannot_be_asked_is_refused(tmp_path: Path, said: str | None, why: str) -> None:
    with pytest.raises(BadPipeline, match=why):
        subject(with_witness(tmp_path, said))


def test_a_fault_that_would_find_nothing_to_strike_is_not_drawn_and_refused_by_name(tmp_path: Path) -> None:
    """The engine counts late events of tumbling windows: none of a door is repaired."""
    doors = subject(door_pipeline(tmp_path / "doors"))
    drawn = {fault.name for fault in chosen_faults([], random.Random(7), len(faults()), 5.0, doors)}
    assert set(faults()) - drawn == {name for name in faults() if name.startswith("kill-repair-")}
    with pytest.raises(
        UnknownFault,
        match="'kill-repair-after-sink' strikes a result with repairs, and the pipeline doors streams none",
    ):
        chosen_faults(["kill-repair-after-sink"], random.Random(7), None, 5.0, doors)


def test_a_long_window_has_a_long_simulation_so_that_some_are_settled(tmp_path: Path) -> None:
    doors = door_pipeline(tmp_path / "doors")
    assert subject(doors, windows__openings__size="90 minutes").hours == 24


def test_late_is_what_the_settings_say(tmp_path: Path) -> None:
    assert subject(door_pipeline(tmp_path / "doors"), lateness__allowed="20 seconds").allowed == 20_000


def test_durations_that_the_witness_does_not_know_are_refused(tmp_path: Path) -> None:
    doors = with_witness(tmp_path, WITNESS)
    assert subject(doors, windows__openings__size="1 minute").witness is not None
    with pytest.raises(
        BadSettings, match="knows openings by the durations of the declaration, and the settings give others"
    ):
        subject(doors, windows__openings__size="2 minutes")
