"""The settings: the file, the environment, the defaults, and what is refused with which words."""

import os
import tomllib
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from doors import door_pipeline

from cli.console import for_child
from lakehouse.errors import BadSettings, NoPipeline, PipelineChanged
from lakehouse.lake import create_lake
from lakehouse.pipelines import pipeline_at
from lakehouse.settings import PREFIX, load_settings

SHIPPED = Path(__file__).parents[2] / "parity.toml"


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in [name for name in os.environ if name.startswith(PREFIX)]:
        monkeypatch.delenv(variable)


@pytest.fixture
def refusal(tmp_path: Path):
    """What is said of a settings file with this content."""

    def of(content: str) -> str:
        file = tmp_path / "my.toml"
        file.write_text(content)
        with pytest.raises(BadSettings) as refused:
            load_settings(file)
        assert str(file) in str(refused.value)
        return str(refused.value)

    return of


def test_the_shipped_file_says_the_defaults() -> None:
    assert load_settings(SHIPPED).model_dump(mode="json") == load_settings().model_dump(mode="json")


def test_the_shipped_file_names_every_setting() -> None:
    shipped, known = tomllib.loads(SHIPPED.read_text()), load_settings().model_dump()
    in_words = {"pipeline", "windows"}  # a lake has its own pipeline, and that its own windows
    assert shipped.keys() == known.keys() - in_words
    assert all(f"\n# [{section}]\n" in SHIPPED.read_text() for section in in_words)
    for section in shipped:
        assert shipped[section].keys() == known[section].keys(), section


def test_what_a_file_leaves_out_keeps_its_default(tmp_path: Path) -> None:
    file = tmp_path / "my.toml"
    file.write_text('[lateness]\nallowed = "90 seconds"\n[windows]\nlevel_ups = { size = "2 minutes" }\n')
    settings = load_settings(file)
    assert settings.lateness.allowed == timedelta(seconds=90)
    assert settings.lateness.policy == "correct"
    windows = settings.windows_by_result
    assert windows["team_scores"] == {"size": timedelta(minutes=1)}
    assert windows["level_ups"] == {"size": timedelta(minutes=2)}
    assert windows["player_pace"] == {"size": timedelta(minutes=5), "slide": timedelta(minutes=1)}
    assert windows["lifetime_totals"] == {}


def test_an_unknown_key_is_refused_with_the_known_ones_named(refusal) -> None:
    said = refusal('[lateness]\nalowed = "5 minutes"\n')
    assert "lateness.alowed: there is no such setting" in said
    assert "Known here: allowed, policy, hold, holds." in said


def test_an_unknown_section_is_refused_with_the_known_ones_named(refusal) -> None:
    said = refusal("[latenes]\n")
    assert "latenes: there is no such setting" in said
    known = "pipeline, lateness, windows, clock, reconciliation, retention, ingestion, stream, batch, quality, serving, spark"
    assert f"Known here: {known}." in said


def test_an_unknown_result_is_refused_with_the_known_ones_named(refusal) -> None:
    said = refusal('[windows]\nteam_score = { size = "1 minute" }\n')
    assert "windows.team_score: there is no such setting. Known here: active_players, click_through, " in said


def test_an_unknown_key_of_a_window_is_refused_with_the_known_ones_named(refusal) -> None:
    said = refusal("[windows]\nteam_scores = { length = 1 }\n")
    assert "windows.team_scores.length: there is no such setting. Known here: size." in said


@pytest.mark.parametrize(
    ("content", "place", "why"),
    [
        ('[lateness]\nallowed = "-5 minutes"', "lateness.allowed = '-5 minutes'", "is not a duration"),
        ('[lateness]\nallowed = "5 parsecs"', "lateness.allowed = '5 parsecs'", "hours, days, e.g. '5 minutes'"),
        ("[lateness]\nallowed = 5", "lateness.allowed = 5", "write it as text, e.g. '5 minutes'"),
        ('[lateness]\npolicy = "maybe"', "lateness.policy = 'maybe'", "'correct' or 'drop'"),
        (
            '[windows]\nteam_scores = { size = "0 seconds" }',
            "windows.team_scores.size = '0 seconds'",
            "a size above zero",
        ),
        ('[retention]\nhorizon = "0 days"', "retention.horizon = '0 days'", "above zero"),
        ("[ingestion]\nfiles_per_batch = 0", "ingestion.files_per_batch = 0", "greater than or equal to 1"),
        ("[ingestion]\nfiles_per_batch = -3", "ingestion.files_per_batch = -3", "greater than or equal to 1"),
        ("[ingestion]\nfiles_per_batch = 1.5", "ingestion.files_per_batch = 1.5", "integer"),
        ("[stream]\ncommits_per_batch = 0", "stream.commits_per_batch = 0", "greater than or equal to 1"),
        ("[reconciliation]\nleast_settled = 1.5", "reconciliation.least_settled = 1.5", "less than or equal to 1"),
        ("[reconciliation]\nleast_settled = nan", "reconciliation.least_settled = nan", ""),
        ("[reconciliation]\ntolerance = { bubbles = -1 }", "reconciliation.tolerance.bubbles = -1", "0"),
        ('[clock]\nfloor = "2000-01-01T00:00:00"', "clock.floor", "a time needs a zone"),
        ("[clock]\nfloor = 2000-01-01T00:00:00", "clock.floor", "a time needs a zone"),
        ('[clock]\nfloor = "yesterday"', "clock.floor = 'yesterday'", "datetime"),
        ('[spark]\ncompiler = "slow"', "spark.compiler = 'slow'", "'quick' or 'full'"),
        ("lateness = 5", "lateness = 5", ""),
    ],
)
def test_an_impossible_value_is_refused_with_its_place(refusal, content: str, place: str, why: str) -> None:
    said = refusal(content)
    assert place in said
    assert why in said


def test_durations_that_do_not_go_together_are_refused_with_the_result_named(refusal) -> None:
    said = refusal('[windows]\nplayer_pace = { size = "1 minute", slide = "5 minutes" }\n')
    assert "windows.player_pace" in said
    assert "would leave events out" in said


def test_every_mistake_is_told_at_once(refusal) -> None:
    said = refusal('[lateness]\npolicy = "maybe"\n[stream]\ncommits_per_batch = 0\n[nonsense]\n')
    assert all(part in said for part in ("lateness.policy", "stream.commits_per_batch", "nonsense"))


def test_a_file_that_is_not_toml_is_refused(refusal) -> None:
    assert "cannot be read" in refusal("[lateness\n")


def test_a_file_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "latin.toml"
    file.write_bytes(b"# \xe4\n")
    with pytest.raises(BadSettings, match="cannot be read"):
        load_settings(file)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadSettings, match="There is no settings file .*none.toml"):
        load_settings(tmp_path / "none.toml")


def test_a_time_with_a_zone_is_kept_in_utc(tmp_path: Path) -> None:
    file = tmp_path / "my.toml"
    file.write_text('[clock]\nfloor = "2010-01-01T02:00:00+02:00"\n')
    floor = load_settings(file).clock.floor
    assert floor == datetime(2010, 1, 1, tzinfo=UTC)
    assert floor.utcoffset() == timedelta(0)


def test_the_environment_overrides_one_value_and_keeps_the_files_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "my.toml"
    file.write_text('[lateness]\nallowed = "90 seconds"\npolicy = "drop"\n[stream]\ncommits_per_batch = 3\n')
    monkeypatch.setenv("PARITY_LATENESS__ALLOWED", "30 seconds")
    settings = load_settings(file)
    assert settings.lateness.allowed == timedelta(seconds=30)
    assert settings.lateness.policy == "drop"
    assert settings.stream.commits_per_batch == 3


def test_the_environment_reaches_a_value_two_levels_down(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARITY_WINDOWS__TEAM_SCORES__SIZE", "2 minutes")
    settings = load_settings(SHIPPED)
    assert settings.windows["team_scores"]["size"] == timedelta(minutes=2)
    assert settings.windows["level_ups"]["size"] == timedelta(minutes=1)


def test_a_variable_may_hold_a_section_as_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARITY_WINDOWS__TEAM_SCORES", '{"size": "2 minutes"}')
    assert load_settings().windows["team_scores"] == {"size": timedelta(minutes=2)}


@pytest.mark.parametrize(
    "variable", ["PARITY_LATENES__ALLOWED", "PARITY_LATENESS__ALOWED", "PARITY_ALLOWED", "PARITY_"]
)
def test_an_unknown_variable_is_refused(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    monkeypatch.setenv(variable, "30 seconds")
    with pytest.raises(BadSettings) as refused:
        load_settings()
    assert "LATENESS" in str(refused.value) or "allowed, policy" in str(refused.value)


def test_an_impossible_value_of_a_variable_is_refused_with_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARITY_LATENESS__ALLOWED", "5 parsecs")
    with pytest.raises(BadSettings, match=r"\(environment\):\n  lateness.allowed = '5 parsecs'"):
        load_settings()


def test_a_variable_of_another_program_is_let_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARITYCHECK", "1")
    assert load_settings().lateness.policy == "correct"


def test_settings_cannot_be_changed_afterwards() -> None:
    with pytest.raises(ValueError, match="frozen"):
        load_settings().lateness.policy = "drop"  # type: ignore[misc]


@pytest.fixture
def doors(tmp_path: Path) -> Path:
    """A pipeline of somebody's own, in a folder outside the project."""
    return door_pipeline(tmp_path / "doors")


def test_a_pipeline_is_the_game_where_nothing_is_said() -> None:
    assert load_settings().pipeline.name == "game"


def test_a_folder_in_a_file_is_relative_to_the_file_and_its_results_have_their_windows(
    tmp_path: Path, doors: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "mine" / "my.toml"
    file.parent.mkdir()
    file.write_text('[pipeline]\npath = "../doors"\n[windows]\nopenings = { size = "2 minutes" }\n')
    monkeypatch.chdir(Path(__file__).parent)
    settings = load_settings(file)
    assert settings.pipeline.folder == doors
    assert settings.windows_by_result == {"openings": {"size": timedelta(minutes=2)}}
    assert [kind.name for kind in settings.pipeline.kinds] == ["door_opened", "heartbeat"]


def test_an_option_goes_before_the_environment_and_that_before_the_file(
    tmp_path: Path, doors: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, others = tmp_path / "my.toml", door_pipeline(tmp_path / "others")
    file.write_text('[pipeline]\npath = "doors"\n')
    assert load_settings(file).pipeline.folder == doors
    monkeypatch.setenv("PARITY_PIPELINE__PATH", str(others))
    assert load_settings(file).pipeline.folder == others
    assert load_settings(file, tried={"pipeline.path": "game"}).pipeline.name == "game"


def test_a_lake_has_its_own_pipeline_and_another_is_refused(
    tmp_path: Path, doors: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = create_lake(tmp_path / "lake", pipeline_at(str(doors)))
    assert load_settings(lake=lake).pipeline.folder == doors
    assert load_settings(lake=lake, tried={"pipeline.path": str(doors)}).windows_by_result.keys() == {"openings"}
    monkeypatch.setenv("PARITY_PIPELINE__PATH", "game")
    with pytest.raises(
        PipelineChanged, match=r"is a lake of the pipeline .*doors, and game is named. Nothing was written"
    ):
        load_settings(lake=lake)


def test_a_pipeline_that_is_not_there_is_refused_with_those_that_are(tmp_path: Path) -> None:
    file = tmp_path / "my.toml"
    file.write_text('[pipeline]\npath = "nowhere"\n')
    with pytest.raises(NoPipeline, match=r"There is no pipeline in .*/nowhere: .* or one of the project: game"):
        load_settings(file)


def test_a_window_of_another_pipeline_is_no_setting(tmp_path: Path, doors: Path) -> None:
    file = tmp_path / "my.toml"
    file.write_text(f'[pipeline]\npath = "{doors}"\n[windows]\nteam_scores = {{ size = "2 minutes" }}\n')
    with pytest.raises(BadSettings, match=r"windows.team_scores: there is no such setting. Known here: openings\."):
        load_settings(file)


def test_only_windows_that_are_held_can_have_a_hold(refusal) -> None:
    said = refusal('[lateness]\nholds = { player_sessions = "1 day" }\n')
    assert "lateness.holds.player_sessions: only windows aligned in time are held, those of " in said


def test_a_command_that_another_one_starts_is_not_refused_for_what_its_file_names(
    tmp_path: Path, doors: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`parity demo --pipeline doors --config my.toml` makes a lake of doors, whatever the file says."""
    file, lake = tmp_path / "my.toml", create_lake(tmp_path / "lake", pipeline_at(str(doors)))
    file.write_text('[pipeline]\npath = "game"\n')
    with pytest.raises(PipelineChanged):
        load_settings(file, lake=lake)
    monkeypatch.setenv("PARITY_PIPELINE__PATH", for_child(lake)["PARITY_PIPELINE__PATH"])
    assert load_settings(file, lake=lake).pipeline.folder == doors
