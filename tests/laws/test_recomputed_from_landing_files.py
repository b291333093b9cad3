"""Results that the stream recomputes share their one function with batch: here is what plain Python makes of the landing files.

The worlds of a log land as lines, with copies, broken lines and foreign fields between them, cut into files anywhere. A reader
of a few lines of Python says which of them count and what the results are; ingestion, stream and batch have to say the same.
"""

import json
import random
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

import pytest
from deliveries import START, land
from judging import RESULTS, agree, configured, drawn_hold, fresh_lake
from logs import ANSWERS, Arrival, rows_of
from pyspark.sql import SparkSession
from seeds import chance, rounds
from worlds import ALLOWED, generated

from batch_layer.recompute import recompute
from ingestion.ingest import ingest
from lakehouse.batches import coverage, read_batch
from lakehouse.changelogs import boundary, read_kappa
from speed_layer.stream import stream
from transformations.durations import iso, to_millis

RECOMPUTED = [result for result in RESULTS if result.way == "recompute"]
INGESTED_AT = datetime(2026, 3, 5, tzinfo=UTC)
BROKEN = ["", "{", "null", '{"event_id": "no kind"}', '{"event_id": "x", "kind": "bubbles_popped"}', "[1]"]
FOREIGN = {"league": "foreign", "offer_id": "foreign", "team_id": "foreign", "bubbles": 10**6, "reaction_ms": "none"}
OWN = {
    "bubbles_popped": ("player_id", "team_id", "bubbles", "reaction_ms"),
    "offer_shown": ("player_id", "offer_id"),
    "offer_clicked": ("player_id", "offer_id"),
    "league_changed": ("player_id", "league"),
}


def line_of(rng: random.Random, arrival: Arrival) -> str:
    """The landing line of an event, at times with fields that its kind does not have."""
    foreign = {name: value for name, value in FOREIGN.items() if name not in OWN.get(arrival.kind, ())}
    more = foreign if rng.random() < 0.2 else {}
    said = {"event_id": arrival.event_id, "kind": arrival.kind, "occurred_at": iso(arrival.event_time)}
    return json.dumps({**more, **said, **{name: value for name, value in arrival.said.items() if value is not None}})


def landed(rng: random.Random, arrivals: Sequence[Arrival], landing: Path) -> None:
    """Lines in the order of the arrivals, with copies of earlier ones and lines that are no events, in files cut anywhere."""
    lines: list[str] = []
    for arrival in arrivals:
        lines.append(line_of(rng, arrival))
        if rng.random() < 0.1:
            lines.append(rng.choice([rng.choice(lines), rng.choice(BROKEN)]))
    cuts = sorted(rng.sample(range(1, len(lines)), 5))
    for number, (first, last) in enumerate(zip([0, *cuts], [*cuts, len(lines)], strict=True)):
        land(landing, f"{number}.jsonl", lines[first:last])


def read_plainly(landing: Path) -> list[list[Arrival]]:
    """The events of the landing files, one list a file: of an id the first, of a kind its own fields."""
    known: set[str] = set()

    def events(file: Path) -> Iterator[Arrival]:
        for line in file.read_text().splitlines():
            try:
                said = json.loads(line)
            except ValueError:
                continue
            if not isinstance(said, dict) or "occurred_at" not in said or said["event_id"] in known:
                continue
            known.add(said["event_id"])
            own = {name: said.get(name) for name in OWN.get(said["kind"], ())}
            renamed = {"player_id": "player", "team_id": "team", "offer_id": "offer"}
            fields = {renamed.get(name, name): value for name, value in own.items()}
            millis = to_millis(datetime.fromisoformat(said["occurred_at"])) - to_millis(START)
            yield Arrival(said["event_id"], millis, kind=said["kind"], **fields)

    return [list(events(file)) for file in sorted(landing.glob("*.jsonl"))]


@pytest.mark.parametrize("round", rounds())
def test_both_layers_say_what_plain_python_makes_of_the_landing_files(
    spark: SparkSession, landing: Path, round: int, judged: Callable[[int], None]
) -> None:
    rng = chance("landing files", round)
    allowed = rng.choice(ALLOWED)
    end = Arrival("end", 3_600_000, kind="heartbeat")
    landed(rng, [*chain(*generated(rng, allowed)), end], landing)
    lake, chosen = fresh_lake(), configured(allowed, rng.choice([1, 2, 1000]), hold=drawn_hold(rng, allowed))
    ingest(None, lake, landing, chosen, files_per_batch=rng.choice([1, 2, 6]), clock=lambda: INGESTED_AT)
    stream(spark, lake, RECOMPUTED, chosen)
    log = read_plainly(landing)
    for result in RECOMPUTED:
        right = ANSWERS[result.name](log)
        assert right, f"the log has no row of {result.name}"
        kappa = rows_of(read_kappa(spark, lake, result, boundary(lake, result)), result)
        judged(agree(kappa, right, f"{result.name}, stream", log))
        recompute(spark, lake, result, chosen)
        batch = rows_of(read_batch(spark, lake, result, coverage(lake, result)), result)
        judged(agree(batch, right, f"{result.name}, batch", log))
