"""Each expectation fails on what it watches for, and no other one does."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from corrupted import corrupt, twice, where, without

from lakehouse.lake import Lake
from quality.outcome import QualityRun

from lakes import TEAM, add_column, drop_column, small_settings  # isort: skip

FAR, OLD = datetime(2099, 1, 1, tzinfo=UTC), datetime(1999, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
SCORES, UPS, SESSIONS = "team_scores@1", "level_ups@1", "player_sessions@1"


def changed(table: str, change: Any) -> Callable[[Lake], None]:
    return lambda lake: corrupt(lake, table, change)


def moved(**by: timedelta) -> dict[str, Any]:
    """Columns of times, each moved by so much."""
    return {name: (lambda row, name=name, much=much: row[name] + much) for name, much in by.items()}


def first_of(rows: list[dict[str, Any]], **changes: Any) -> list[dict[str, Any]]:
    return [{**rows[0], **changes}, *rows[1:]] if rows else rows


def overlapping(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The later of two sessions begins within the earlier one."""
    return [
        {**row, "window_start": row["window_start"] - timedelta(seconds=1900)}
        if row["window_start"].minute == 33
        else row
        for row in rows
    ]


CASES: dict[str, tuple[Callable[[Lake], None], str, set[str]]] = {
    "an event is in the log twice": (  # its hash is then of another id too
        changed("events", where("event_id", "c", event_id="a")), "events", {"keys are unique", "hashes are those of the ids"},
    ),
    "an event is of a kind that nobody declared": (
        changed("events", where("event_id", "c", kind="bubbles_poped")), "events", {"kind is known"},
    ),
    "a pop has no team": (
        changed("events", where("event_id", "c", team_id=None)), "events", {"bubbles_popped is complete"},
    ),
    "a pop has the field of another kind": (
        changed("events", where("event_id", "c", league="gold")), "events", {"events have the fields of their kind"},
    ),
    "a heartbeat has a number": (
        changed("events", where("event_id", "tick", bubbles=0)), "events", {"events have the fields of their kind"},
    ),
    "an event was never ingested": (
        changed("events", where("event_id", "c", ingested_at=None)), "events", {"nothing is missing"},
    ),
    "a place is left out": (changed("events", where("event_id", "tock", seq=99)), "events", {"places have no gap"}),
    "the mark falls": (
        changed("events", where("event_id", "late", **moved(high_water=-HOUR / 60))), "events",
        {"the mark never falls", "the mark is the greatest time so far"},
    ),
    "an event is beyond its mark": (
        changed("events", where("event_id", "a", **moved(high_water=-HOUR))), "events",
        {"no event is beyond its mark", "the mark is the greatest time so far"},
    ),
    "an event is older than the floor": (
        changed("events", where("event_id", "late", event_time=OLD)), "events", {"times are possible"},
    ),
    "a hash is of another id": (
        changed("events", where("event_id", "c", id_low=1)), "events", {"hashes are those of the ids"},
    ),
    "an event was ingested in the future": (
        changed("events", where("event_id", "c", ingested_at=FAR)), "events", {"ingested_at is not in the future"},
    ),
    "an event is lost": (changed("events", without("event_id", "tock")), "events", {"balance"}),
    # A column too many is none of a reader's: a log grows (tests/types/test_a_lake_that_grows.py).
    "the log has a column too few": (
        lambda lake: drop_column(lake, "arrivals", "team_id"), "events", {"bubbles_popped is complete"},
    ),
    "a copy has no original": (
        changed("duplicates", where("event_id", "b", event_id="nobody")), "duplicates", {"copies have an original"},
    ),
    "a copy says something else": (
        changed("duplicates", where("event_id", "b", bubbles=4)), "duplicates", {"copies say what the original says"},
    ),
    "a copy was written twice": (
        changed("duplicates", twice("event_id", "b")), "duplicates", {"keys are unique", "balance"},
    ),
    "a fate that nobody knows": (
        changed("events", where("event_id", "tock", fate="lost")), "arrivals", {"fate is known"},
    ),
    "an arrival is left out": (
        changed("arrivals", without("event_id", "tick")), "arrivals", {"arrivals have no gap", "balance"},
    ),
    "a landed line is there twice": (
        changed("arrivals", twice("event_id", "tock")), "arrivals",
        {"arrivals have no gap", "a landed line has one row", "balance"},
    ),
    "a quarantined line has fields": (
        changed("quarantine", where("reason", "not a JSON object", player_id="alice")), "arrivals",
        {"quarantined lines have no fields"},
    ),
    "a copy is lost": (changed("duplicates", without("event_id", "b")), "duplicates", {"balance"}),
    "a line was rejected without a reason": (
        changed("quarantine", where("reason", "not a JSON object", reason=" ")), "quarantine", {"reasons are said"},
    ),
    "a rejected line lost its bytes": (
        changed("quarantine", where("reason", "not a JSON object", raw=None)), "quarantine", {"nothing is missing"},
    ),
    "a rejected line is lost": (changed("quarantine", without("reason", "not a JSON object")), "quarantine", {"balance"}),
    "a window begins between two boundaries": (
        changed(f"kappa_{SCORES}", where("team_id", TEAM, **moved(window_start=HOUR / 3600, window_end=HOUR / 3600))),
        f"kappa_{SCORES}", {"windows are in place"},
    ),
    "a window lies in the future": (
        changed(f"kappa_{SCORES}", where("team_id", TEAM, window_start=FAR, window_end=FAR + HOUR / 60)),
        f"kappa_{SCORES}", {"windows are in range"},
    ),
    "a count is negative": (
        changed(f"kappa_{SCORES}", where("team_id", TEAM, events=-1)),
        f"kappa_{SCORES}", {"events is not negative", "events are conserved"},
    ),
    "bubbles appear on the way to the stream's result": (
        changed(f"kappa_{SCORES}", where("team_id", TEAM, bubbles=4)), f"kappa_{SCORES}", {"bubbles are conserved"},
    ),
    "a key is null": (
        changed(f"kappa_{SCORES}", where("team_id", TEAM, team_id=None)), f"kappa_{SCORES}", {"nothing is missing"},
    ),
    "a goal is reached in the future": (
        changed(f"kappa_{UPS}", where("deleted", False, reached_at=FAR)), f"kappa_{UPS}", {"reached_at is in range"},
    ),
    "a row is shown that is not present": (
        changed(f"kappa_{UPS}", where("deleted", False, reached_at=None)), f"kappa_{UPS}", {"rows are present"},
    ),
    "two sessions of a player meet": (
        changed(f"kappa_{SESSIONS}", overlapping), f"kappa_{SESSIONS}", {"windows do not meet"},
    ),
    "a revision was written twice": (
        changed(f"kappa_{SCORES}", twice("team_id", TEAM)), f"kappa_{SCORES}-changelog", {"a key has one winner"},
    ),
    "a revision has no known cause": (
        changed(f"kappa_{SCORES}", where("team_id", TEAM, cause="luck")), f"kappa_{SCORES}-changelog", {"cause is known"},
    ),
    "a revision is deleted though it is there": (
        changed(f"kappa_{SCORES}", where("team_id", TEAM, deleted=True)),
        f"kappa_{SCORES}-changelog", {"deleted says whether it is there"},
    ),
    "a revision is ahead of its stream": (
        changed(f"kappa_{SCORES}", where("team_id", TEAM, log_version=99)),
        f"kappa_{SCORES}-changelog", {"no revision is ahead of its stream"},
    ),
    "a revision does not say by which code": (
        changed(f"kappa_{SCORES}", where("team_id", TEAM, fingerprint=None)),
        f"kappa_{SCORES}-changelog", {"nothing is missing"},
    ),
    "the changelog has a column too many": (
        lambda lake: add_column(lake, f"kappa_{SCORES}"), f"kappa_{SCORES}-changelog", {"columns and types"},
    ),
    "batch has a key twice": (
        changed(f"batch_{SCORES}", twice("team_id", TEAM)),
        f"batch_{SCORES}", {"keys are unique", "bubbles are conserved", "events are conserved"},
    ),
    "batch has lost a row": (
        changed(f"batch_{SCORES}", without("team_id", TEAM)),
        f"batch_{SCORES}", {"bubbles are conserved", "events are conserved"},
    ),
    "batch has a row of another run": (
        changed(f"batch_{SCORES}", where("team_id", TEAM, log_version=0)),
        f"batch_{SCORES}", {"rows are of the run that computed their interval"},
    ),
    "an arrival is lost": (changed("legacy_arrivals", without("event_id", "c")), "legacy_arrivals", {"nothing is lost"}),
    "an arrival is of no event": (
        changed("legacy_arrivals", where("event_id", "c", event_id="nobody")),
        "legacy_arrivals", {"arrivals are of the log"},
    ),
    "a verdict's counts do not add up": (
        changed("reconciliations", where("candidate", "legacy", **{"equal": lambda row: row["equal"] + 1})),
        "reconciliations", {"compared = equal + differing"},
    ),
    "a verdict agrees though keys differ": (
        changed("reconciliations", where("candidate", "legacy", status="agree")),
        "reconciliations", {"the status follows from the counts"},
    ),
    "a verdict has more unexplained keys than differing ones": (
        changed("reconciliations", where("candidate", "legacy", unexplained=99)),
        "reconciliations", {"unexplained are among the differing"},
    ),
    "a verdict was kept twice": (
        changed("reconciliations", twice("candidate", "legacy")), "reconciliations", {"keys are unique"},
    ),
    "a difference is lost": (
        changed("differences", lambda rows: rows[1:]), "reconciliations", {"every difference is kept"},
    ),
    "a difference has no cause": (
        changed("differences", lambda rows: first_of(rows, causes=[])), "differences", {"a cause is named"},
    ),
    "a difference belongs to no verdict": (
        changed("differences", lambda rows: first_of(rows, id="none")), "differences", {"a verdict counts it"},
    ),
    "a difference has two equal sides": (
        changed("differences", lambda rows: first_of(rows, batch='{"events": 1}', candidate='{"events": 1}')),
        "differences", {"the sides differ"},
    ),
}  # fmt: skip


def failed(found: QualityRun) -> set[str]:
    [table] = found.tables
    return {each.name for each in table.expectations if not each.met}


@pytest.mark.parametrize("what", CASES)
def test_a_corruption_fails_the_expectation_that_watches_for_it(what: str, copy: Lake, validated: Any) -> None:
    damage, table, expected = CASES[what]
    damage(copy)
    found = validated(copy, [table])
    assert failed(found) == expected
    assert found.exit_code == 1 and found.status == "not met"
    for each in found.tables[0].expectations:
        assert each.met or each.sample or each.unexpected is None, f"{each.name} shows no sample"


@pytest.mark.parametrize(
    ("setting", "table", "expected"),
    [
        ({"quality__late": "0"}, "events", "share of late events"),
        ({"quality__duplicates": "0.01"}, "duplicates", "share of duplicate lines"),
        ({"quality__quarantined": "0.01"}, "quarantine", "share of quarantined lines"),
        ({"quality__result_lag": "9 minutes"}, f"kappa_{SCORES}", "freshness"),
        ({"quality__batch_lag": "9 minutes"}, f"batch_{SCORES}", "freshness"),
    ],
)
def test_a_bound_of_the_settings_is_kept_to(
    setting: dict[str, str], table: str, expected: str, clean: Lake, validated: Any
) -> None:
    assert failed(validated(clean, [table], settings=small_settings(**setting))) == {expected}


def test_a_log_into_which_nothing_came_for_long_is_not_fresh(clean: Lake, validated: Any) -> None:
    assert failed(validated(clean, ["events"], later=timedelta(days=8))) == {"freshness"}


def test_a_bubble_may_be_negative(clean: Lake, validated: Any) -> None:
    found = validated(clean, [f"batch_{SCORES}"])
    assert found.status == "met"
    assert not [each.name for each in found.tables[0].expectations if each.name.startswith("bubbles is")]


def test_names_of_persons_in_json_and_in_columns_are_pseudonyms(copy: Lake, validated: Any) -> None:
    key = json.dumps({"player_id": "zoe-4711"})
    corrupt(copy, "differences", lambda rows: first_of(rows, key=key, causes=[], batch=key))
    [table] = validated(copy, ["differences"]).tables
    [sample] = [each.sample[0] for each in table.expectations if each.name == "a cause is named"]
    assert json.loads(sample["key"])["player_id"].startswith("person-")
