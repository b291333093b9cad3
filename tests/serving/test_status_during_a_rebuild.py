"""While a rebuild catches up, the status tells of the epoch whose rows are served. Commit files made by hand, no Spark."""

import json
from pathlib import Path
from typing import Any

from deliveries import START
from game import catalogue

from lakehouse.arrivals import ARRIVALS
from lakehouse.changelogs import boundary, changelog_name
from lakehouse.identity import begun_epoch
from lakehouse.lake import Lake
from lakehouse.log import Position
from serving.status import lake_status

SCORES = catalogue()["team_scores"]


def commit(lake: Lake, name: str, said: dict[str, Any] | None = None) -> None:
    log = Path(lake.table(name)) / "_delta_log"
    log.mkdir(parents=True, exist_ok=True)
    version = len(list(log.glob("*.json")))
    info = {"timestamp": version, **({"userMetadata": json.dumps(said)} if said else {})}
    (log / f"{version:020d}.json").write_text(json.dumps({"commitInfo": info}) + "\n")


def streamed(lake: Lake, epoch: int, batch: int, log_version: int) -> None:
    said = {"epoch": epoch, "batch": batch, "log_version": log_version, "on_time": 10 * epoch, "late": epoch}
    commit(lake, changelog_name(SCORES), said)


def test_the_stream_is_never_lost_while_another_epoch_catches_up(lake: Lake) -> None:
    commit(lake, ARRIVALS)
    for batch in range(3):
        so_far = 10 * (batch + 1)
        at = Position(batch + 1, seq=so_far, arrivals=so_far, high_water=START, batch=batch)
        commit(lake, ARRIVALS, at.said)
    begun_epoch(lake, SCORES, since=0)
    commit(lake, changelog_name(SCORES))
    assert told(lake) == (None, None, None), "nothing is served yet"
    for batch in range(3):
        streamed(lake, 1, batch, batch + 1)
    assert told(lake) == (1, 3, 0)
    begun_epoch(lake, SCORES, since=0)
    for batch in range(3):
        assert told(lake) == (1, 3, 0), "the epoch before answers"
        assert boundary(lake, SCORES).epoch == 1
        streamed(lake, 2, batch, batch + 1)
    assert told(lake) == (2, 3, 0)


def told(lake: Lake) -> tuple[int | None, int | None, int | None]:
    [kappa, _] = lake_status(lake, [SCORES])["layers"]
    return kappa.get("epoch"), kappa["log_version"], kappa["lag_versions"]
