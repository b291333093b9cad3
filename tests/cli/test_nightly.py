"""What a nightly run covers and publishes, night after night, with the mark of the log as the input instead of a clock.

The commits of a lake are written by hand: they say all that the decision is made of, and no Spark is needed for it.
"""

import json
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from game import catalogue

from cli.nightly import DAY, Nightly, nightly
from lakehouse.arrivals import ARRIVALS
from lakehouse.batches import Interval, coverage, run_at, with_run
from lakehouse.lake import Lake, create_lake
from lakehouse.log import Position, position
from lakehouse.settings import load_settings
from serving.pins import cut_off

MONDAY = datetime(2026, 3, 2, tzinfo=UTC)
HOUR = timedelta(hours=1)
SETTINGS = load_settings()
SCORES, CLICKS = (catalogue()[name] for name in ("team_scores", "click_through"))
ALLOWED = SETTINGS.lateness.allowed


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    made = create_lake(tmp_path / "lake")
    commit(made, ARRIVALS, None)
    return made


def commit(lake: Lake, table: str, said: dict[str, object] | None) -> int:
    """One more commit of a table, with what its writer says of it; returns its version."""
    log = Path(lake.table(table)) / "_delta_log"
    log.mkdir(parents=True, exist_ok=True)
    version = len(list(log.glob("*.json")))
    info = {"timestamp": 0, "operation": "WRITE", **({"userMetadata": json.dumps(said)} if said else {})}
    (log / f"{version:020d}.json").write_text(json.dumps({"commitInfo": info}) + "\n")
    return version


def ingested(lake: Lake, mark: datetime) -> int:
    return commit(lake, ARRIVALS, Position(0, seq=1, high_water=mark).said)


def night(lake: Lake, day: datetime, version: int) -> Nightly:
    """The run for a day, carried out: its interval is computed for both results."""
    run = nightly(lake, [SCORES, CLICKS], SETTINGS, day, version)
    first = None if run.first is None else datetime.fromisoformat(run.first)
    for result in (SCORES, CLICKS):
        done = run_at(Interval(first, datetime.fromisoformat(run.to)), position(lake, version), version)
        covered = [each.as_dict() for each in with_run(done, coverage(lake, result))]
        commit(lake, f"batch_{result.id}", {**done.as_dict(), "covered": covered})
    return run


def reached(lake: Lake) -> datetime:
    return min(cut_off(each, coverage(lake, each), SETTINGS) for each in (SCORES, CLICKS))


def test_the_first_night_computes_everything_so_that_there_is_something_to_serve(lake: Lake) -> None:
    run = night(lake, MONDAY, ingested(lake, MONDAY + DAY + 3 * HOUR))
    assert run == Nightly(None, "2026-03-03T00:00:00.000Z", ["2026-03-01", "2026-03-02"])
    assert reached(lake) == MONDAY + DAY


def test_a_day_that_the_mark_has_not_passed_is_computed_and_not_published(lake: Lake) -> None:
    """The clock may have passed it: what is not settled is told as a day only when it is."""
    run = night(lake, MONDAY, ingested(lake, MONDAY + DAY + ALLOWED))  # click_through needs two hours more
    assert run.publish == ["2026-03-01"]


@pytest.mark.parametrize(("beyond", "published"), [(-timedelta(milliseconds=1), False), (timedelta(0), True)])
def test_a_day_is_published_from_the_moment_on_in_which_its_last_window_is_settled(
    lake: Lake, beyond: timedelta, published: bool
) -> None:
    last = MONDAY + DAY + 2 * HOUR + ALLOWED  # an hour of offers, an hour to click, and the allowed lateness
    run = nightly(lake, [SCORES, CLICKS], SETTINGS, MONDAY, ingested(lake, last + beyond))
    assert ("2026-03-02" in run.publish) is published


def test_the_day_before_is_covered_again(lake: Lake) -> None:
    for day in (MONDAY, MONDAY + DAY):
        run = night(lake, day, ingested(lake, day + DAY + 3 * HOUR))
    assert run.first == "2026-03-02T00:00:00.000Z" and run.publish == ["2026-03-02", "2026-03-03"]


def test_days_that_were_not_settled_are_made_good_however_long_the_log_stood_still(lake: Lake) -> None:
    night(lake, MONDAY, ingested(lake, MONDAY + DAY + 3 * HOUR))
    silent = ingested(lake, MONDAY + DAY + 4 * HOUR)
    for number in range(1, 5):
        assert "2026-03-03" not in night(lake, MONDAY + number * DAY, silent).publish
    run = night(lake, MONDAY + 5 * DAY, ingested(lake, MONDAY + 6 * DAY + 3 * HOUR))
    assert run.publish == [f"2026-03-{day:02d}" for day in range(3, 8)]
    assert reached(lake) == MONDAY + 6 * DAY


def test_a_backfill_of_one_day_covers_it_and_the_day_before(lake: Lake) -> None:
    version = ingested(lake, MONDAY + 9 * DAY)
    night(lake, MONDAY + 7 * DAY, version)
    run = night(lake, MONDAY, version)
    assert Interval(datetime.fromisoformat(run.first or ""), datetime.fromisoformat(run.to)) == Interval(
        MONDAY - DAY, MONDAY + DAY
    )


def test_however_the_mark_moves_every_day_is_published_once_it_is_settled_and_never_before(tmp_path: Path) -> None:
    for seed in range(first := random.randrange(10**9), first + 30):
        chance, lake = random.Random(seed), create_lake(tmp_path / str(seed))
        commit(lake, ARRIVALS, None)
        mark, published = MONDAY, set[str]()
        for number in range(12):
            day = MONDAY + number * DAY
            news = mark + chance.choice([0, 1, 20, 24, 26, 80]) * HOUR
            mark = max(mark, min(news, day + DAY + chance.random() * 5 * HOUR))
            run = night(lake, day, ingested(lake, mark))
            settled = mark - ALLOWED - 2 * HOUR
            assert all(datetime.fromisoformat(f"{each}T00:00:00Z") + DAY <= settled for each in run.publish), seed
            published |= set(run.publish)
        end = MONDAY + 12 * DAY
        published |= set(night(lake, end, ingested(lake, end + DAY + 3 * HOUR)).publish)
        assert published >= {f"{MONDAY + number * DAY:%Y-%m-%d}" for number in range(13)}, seed
        assert reached(lake) == end + DAY, seed
