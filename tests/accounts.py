"""A simulated game in landing files, taken in without a JVM, and the account of it that chaos makes."""

from collections.abc import Sequence
from pathlib import Path

from engines import run_by

from chaos.accounting import Account, Arrived, accounted
from chaos.subject import subject_of
from chaos.witness import Witness
from ingestion.ingest import ingest
from lakehouse.arrivals import ARRIVALS
from lakehouse.lake import Lake, create_lake
from lakehouse.settings import Settings, load_settings
from simulator.delivered import Delivered
from simulator.game import simulate

SUBJECT = subject_of(load_settings())
RESULTS = tuple(each.name for each in SUBJECT.results)
"""Those of the game that the runner of faults streams."""
NOW = 1_790_000_000_000
"""In 2026, long after the simulated day and before 2099, from which some of its lines are."""


def game(landing: Path, *, files: int = 4) -> Delivered:
    delivered = simulate(landing, events=1200, seed=7, hours=8, files=files)
    assert delivered.duplicates and delivered.conflicting_copies and delivered.malformed and delivered.skewed
    return delivered


def taken_in(lake: Path, landing: Path, settings: Settings | None = None) -> Lake:
    """One landing file a micro-batch, by the embedded engine."""
    made = create_lake(lake)
    ingest(None, made, landing, run_by("embedded", settings or load_settings()), files_per_batch=1)
    return made


def account_of(lake: Lake, landing: Path) -> Account:
    return accounted(landing, Path(lake.table(ARRIVALS)), SUBJECT.kinds, now=NOW)


def witness_of(events: Sequence[Arrived]) -> Witness:
    """What the game's own witness says of these events."""
    assert SUBJECT.witness is not None
    return Witness(SUBJECT.witness, [*SUBJECT.pipeline.fields().values()], events, allowed=SUBJECT.allowed)
