"""What has to be so at the end of the week. Each check returns what is wrong; nothing means that all is well."""

import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from arrivals import MONDAY
from game import catalogue
from operation import RESULTS, Ended

from lakehouse.batches import coverage
from lakehouse.lake import open_lake
from lakehouse.settings import load_settings
from lakehouse.versions import at_live
from serving.pins import cut_off

DAY = timedelta(days=1)
DAYS = [f"{MONDAY + number * DAY:%Y-%m-%d}" for number in range(7)]
END = MONDAY + 7 * DAY
Parity = Callable[..., Ended]


def unpublished(published: Mapping[str, Sequence[str]]) -> list[str]:
    """The days of the week that were not published, of any result."""
    return [f"{name} of {day}" for name in RESULTS for day in DAYS if day not in published.get(f"batch_{name}", ())]


def unsettled(lake: Path, until: datetime = END) -> list[str]:
    """The live results that the batch layer has not settled up to the end of the week, without a gap."""
    opened, settings = open_lake(lake), load_settings()
    live = [at_live(opened, catalogue()[name]) for name in RESULTS]
    return [
        f"{each.id} only until {reached}"
        for each in live
        if (reached := cut_off(each, coverage(opened, each), settings)) < until
    ]


def differing(parity: Parity, lake: Path, landed: int) -> list[str]:
    """What the reconciliation of all seven days finds, and whether every line that landed is accounted for."""
    done = parity("reconcile", "--lake", lake, "--from", DAYS[0], "--to", f"{END:%Y-%m-%d}", "--format", "json")
    if done.code == 2:
        return [done.stderr]
    found = json.loads(done.stdout)
    wrong = [
        f"{each['result']}: {each['compared']} of {each['keys']} keys compared, {each['equal']} equal"
        for each in found["results"]
        if not 0 < each["keys"] == each["compared"] == each["equal"]
    ]
    counted = {
        name: sum(each[name] for each in found["audit"]["buckets"]) for name in ("landed", "accepted", "duplicate")
    }
    if counted["landed"] != landed or counted["accepted"] + counted["duplicate"] != landed:
        wrong.append(f"{landed} lines have landed, the audit says {counted}")
    return wrong


def disagreeing(parity: Parity, lake: Path, landing: Path) -> list[str]:
    """Where the Lambda view is not the Kappa view, or neither what the landing files say by a count of their own."""
    wrong = []
    for name in RESULTS:
        one, other = (_settled_rows(parity, lake, name, layer) for layer in ("kappa", "lambda"))
        wrong += [f"{name}: {key}: kappa {one.get(key)}, lambda {other.get(key)}" for key in _unlike(one, other)]
    said = {key: values["bubbles"] for key, values in _settled_rows(parity, lake, "team_scores", "lambda").items()}
    counted = _scores(landing)
    return wrong + [f"team_scores: {key}: {said.get(key)}, landed {counted.get(key)}" for key in _unlike(said, counted)]


def not_met(quality: Mapping[str, Any]) -> dict[str, list[str]]:
    """The expectations that a validation found not met, by table."""
    return {
        table["table"]: failed
        for table in quality["tables"]
        if (failed := [each["name"] for each in table["expectations"] if not each["met"]])
    }


def _settled_rows(parity: Parity, lake: Path, name: str, layer: str) -> dict[tuple[str, ...], dict[str, Any]]:
    """The rows of the week's windows, by team or player and start."""
    done = parity("show", name, "--lake", lake, "--layer", layer, "--settled-only", "--format", "jsonl")
    assert done.code == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    key = "team_id" if name == "team_scores" else "player_id"
    values = [column for column in ("bubbles", "events", "window_end") if rows and column in rows[0]]
    return {
        (row[key], _moment(row["window_start"])): {column: row[column] for column in values}
        for row in rows
        if datetime.fromisoformat(row["window_start"]) < END
    }


def _scores(landing: Path) -> dict[tuple[str, ...], int]:
    """The bubbles of each team and minute, each event once, straight from the landing files."""
    scores: dict[tuple[str, ...], int] = defaultdict(int)
    lines = {line for file in landing.glob("*.jsonl") for line in file.read_text().splitlines()}
    for event in map(json.loads, lines):
        moment = datetime.fromisoformat(event["occurred_at"])
        if event["kind"] == "bubbles_popped" and moment < END:
            scores[event["team_id"], _moment(moment.replace(second=0, microsecond=0).isoformat())] += event["bubbles"]
    return dict(scores)


def _moment(text: str) -> str:
    return datetime.fromisoformat(text).astimezone(UTC).isoformat()


def _unlike(one: Mapping[Any, Any], other: Mapping[Any, Any]) -> list[Any]:
    return sorted(key for key in {*one, *other} if one.get(key) != other.get(key))
