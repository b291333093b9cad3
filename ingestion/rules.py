"""The rules by which lines become rows: the shared functions with the tolerances, keys and code of this run.

They go to every process that judges, so they hold values only.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from lakehouse.fingerprint import parser_fingerprint
from lakehouse.lake import Lake, marker
from lakehouse.settings import Settings
from transformations.clock import Clock
from transformations.durations import iso, written
from transformations.kind import Kind
from transformations.lines.hashes import with_hashes
from transformations.lines.judge import judge
from transformations.lines.nameless import without_names


@dataclass(frozen=True)
class Rules:
    clock: Clock
    hash_key: bytes
    pseudonym_key: str
    kinds: tuple[Kind, ...]
    fingerprint: str

    def judged(self, lines: Sequence[bytes], *, ingested_at: int) -> pa.Table:
        """Landed lines as rows with hashes, and without names if there is a key for them."""
        table = judge(lines, self.clock, ingested_at=ingested_at, kinds=self.kinds)
        if self.pseudonym_key:
            table = without_names(table, self.pseudonym_key, self.kinds)
        return with_hashes(table, self.hash_key, self.kinds)

    def judged_again(self, lines: Sequence[bytes], *, ingested_at: int) -> pa.Table:
        """Lines of the lake as rows with hashes. They were landed lines once: their names were taken out then."""
        return with_hashes(
            judge(lines, self.clock, ingested_at=ingested_at, kinds=self.kinds), self.hash_key, self.kinds
        )

    @property
    def said(self) -> dict[str, Any]:
        """What decides whether a line is an event: the code, and the tolerances of the clock as `[clock]` names them."""
        clock = self.clock
        device, future = map(written, (clock.device_tolerance, clock.future_tolerance))
        return {"code": self.fingerprint, "device": device, "future": future, "floor": iso(clock.floor)}


def rules_of(lake: Lake, settings: Settings) -> Rules:
    clock = Clock(
        device_tolerance=settings.clock.device, future_tolerance=settings.clock.future, floor=settings.clock.floor
    )
    pipeline = lake.pipeline
    return Rules(
        clock, marker(lake).hash_key, settings.ingestion.pseudonym_key, pipeline.kinds, parser_fingerprint(pipeline)
    )
