"""Where everything stands, as the API tells it: the results with how far each layer is behind, and the lines that came.

It is found out at most twice a second, however often it is asked for.
"""

import threading
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from lakehouse.errors import NothingToCompare
from serving.lateness import LateEvents
from serving.reader import Reader
from serving.status import lake_status
from transformations.durations import written
from transformations.result import Result

EVERY = 0.5
Clock = Callable[[], datetime]


class Standing:
    """The standing of a lake."""

    def __init__(self, reader: Reader, clock: Clock = lambda: datetime.now(UTC)) -> None:
        self._reader = reader
        self._clock = clock
        self._late = LateEvents(reader.lake)
        self._lock = threading.Lock()
        self._found: dict[str, Any] = {}
        self._until = 0.0

    def now(self) -> dict[str, Any]:
        """The log, and each result with its layers: see `serving.status`; `age_seconds` is since a layer's newest event."""
        with self._lock:
            if time.monotonic() >= self._until:
                self._found = self._look()
                self._until = time.monotonic() + EVERY
            found = self._found
        now = self._clock()
        return {
            "log": found["log"],
            "results": [
                {**each, "layers": {name: _aged(layer, now) for name, layer in each["layers"].items()}}
                for each in found["results"]
            ],
        }

    def _look(self) -> dict[str, Any]:
        reader = self._reader
        personal, controlled = reader.lake.pipeline.personal(), reader.lake.pipeline.story.controlled
        computed = [reader.subjects.computed(name) for name in reader.subjects.names()]
        try:
            status = lake_status(reader.lake, [each.result for each in computed])
        except NothingToCompare:  # nothing has landed yet
            empty = {"version": None, "events": 0, "duplicates": 0, "quarantined": 0, "high_water": None, "late": 0}
            return {"log": empty, "results": [_described(each.result, personal) | {"layers": {}} for each in computed]}
        begun = (each for each in computed if reader.lake.result_file(each.result.id).exists())
        allowed = next(begun, computed[0]).settings.lateness.allowed
        log = {**status["log"], "late": self._late.until(status["log"]["version"], allowed)}
        return {
            "log": log,
            "results": [
                _described(each.result, personal) | {"layers": _layers(each.result, status["layers"], controlled)}
                for each in computed
            ],
        }


def _layers(result: Result, standings: list[dict[str, Any]], controlled: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The layers that have an answer for a result, each with its standing. The control answers for a few."""
    concerned = (result.id, "all") if result.name in controlled else (result.id,)
    return {
        each["layer"]: {name: value for name, value in each.items() if name not in ("layer", "result")}
        for each in standings
        if each["result"] in concerned and each["log_version"] is not None
    }


def _aged(layer: dict[str, Any], now: datetime) -> dict[str, Any]:
    age = (now - datetime.fromisoformat(layer["logged_at"])).total_seconds()
    return {**layer, "age_seconds": round(max(age, 0.0), 3)}


def _described(result: Result, personal: Sequence[str]) -> dict[str, Any]:
    """What a result is, from its declaration."""
    derived = result.derived.values if result.derived else ()
    hidden = result.derived.hides if result.derived else ()
    values = [value for value in (*result.values, *derived) if value.name not in hidden]
    return {
        "name": result.name,
        "live_version": result.version,
        "meaning": result.meaning,
        "key": list(result.key),
        "pseudonyms": [name for name in result.key if name in personal],
        "values": [
            {
                "name": each.name,
                "type": each.type.simpleString(),
                "meaning": each.meaning,
                "compared": each.name in result.errors,
                "error": each.error,
            }
            for each in values
        ],
        "window": {
            "shape": result.window.name,
            "bounds": result.window.bounds,
            **{name: written(length) for name, length in result.window.durations.items()},
        },
    }
