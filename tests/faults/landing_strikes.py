"""Faults that strike a landing file at a known moment of the micro-batch that reads it."""

from collections.abc import Callable
from typing import Any

import pytest
from deliveries import heartbeat, pop

import speed_layer.ingest
import speed_layer.intake
from lakehouse.commits import newest
from lakehouse.lake import Lake

SOUND = [pop("a", 0), pop("b", 60), heartbeat("beat", 1000)]
MOMENTS = {
    "before the first Spark job": (speed_layer.ingest, "take_in"),
    "between two Spark jobs of one micro-batch": (speed_layer.intake, "destinations"),
}


def strike(monkeypatch: pytest.MonkeyPatch, moment: str, fault: Callable[[], object]) -> None:
    """Let the fault happen once, at that moment of the first micro-batch."""
    module, name = MOMENTS[moment]
    honest, waiting = getattr(module, name), [fault]

    def struck(*arguments: Any, **options: Any) -> Any:
        while waiting:
            waiting.pop()()
        return honest(*arguments, **options)

    monkeypatch.setattr(module, name, struck)


def nothing_written(lake: Lake) -> bool:
    return [newest(lake, table) for table in ("events", "duplicates", "quarantine")] == [0, 0, 0]
