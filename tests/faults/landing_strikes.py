"""Faults that strike a landing file at a known moment of the micro-batch that reads it."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from deliveries import heartbeat, pop

import ingestion.ingest
import ingestion.judging
from lakehouse.arrivals import ARRIVALS
from lakehouse.commits import newest
from lakehouse.lake import Lake

SOUND = [pop("a", 0), pop("b", 60), heartbeat("beat", 1000)]
MOMENTS = ("before it is opened", "between two blocks of it")


def strike(monkeypatch: pytest.MonkeyPatch, moment: str, fault: Callable[[], object]) -> None:
    """Let the fault happen once, at that moment of the first micro-batch."""
    waiting = [fault]

    def after(calls: int, honest: Callable[..., Any]) -> Callable[..., Any]:
        made = 0

        def struck(*arguments: Any, **options: Any) -> Any:
            nonlocal made
            if made == calls and waiting:
                waiting.pop()()
            made += 1
            return honest(*arguments, **options)

        return struck

    if moment == MOMENTS[0]:
        monkeypatch.setattr(ingestion.ingest, "cut", after(0, ingestion.ingest.cut))
    else:
        monkeypatch.setattr(ingestion.ingest, "cut", partial(ingestion.ingest.cut, size=1))  # a line a block
        monkeypatch.setattr(ingestion.judging, "read", after(1, ingestion.judging.read))


def nothing_written(lake: Lake) -> bool:
    return newest(lake, ARRIVALS) == 0
