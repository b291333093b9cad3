"""The keys of one result: both answers at the pin, the state of each, and how it came about."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType, TimestampType

from lakehouse.batches import NEVER, Coverage, Interval, batch_files, computed_at, stretches
from lakehouse.changelogs import Boundary, changelog_files
from lakehouse.control import read_legacy
from lakehouse.lake import Lake
from lakehouse.log import log_at, position
from lakehouse.settings import Settings
from reconciliation.comparison import moved_between
from reconciliation.keys import compared, identity_schema, keys_schema, known_revisions, revised, view, with_state
from reconciliation.pins import Pin
from reconciliation.workspace import Workspace, unmarked, workspace
from transformations.result import Result

STATES = ("equal", "differs", "open", "behind", "beyond")


@dataclass(frozen=True)
class Counted:
    """The keys of one state: how many there are, of how many the cells are the same, a revision was written twice, and the
    stream has repaired one; and the code that made the rows of each side."""

    keys: int = 0
    same: int = 0
    twice: int = 0
    repaired: int = 0
    batch_codes: frozenset[str] = field(default_factory=frozenset)
    candidate_codes: frozenset[str] = field(default_factory=frozenset)


@dataclass(frozen=True)
class JudgedKeys:
    """All keys, in a workspace."""

    space: Workspace
    revisions: str | None
    """The revisions of the stream; none of the control, which keeps none."""

    def counted(self) -> dict[str, Counted]:
        """The keys by their states."""
        said = self.space.database.sql(
            "select state, count(*), count_if(len(differing) = 0), count(times), count_if(repaired), "
            "list(distinct batch_code), list(distinct candidate_code) from keys group by state"
        ).fetchall()
        found = {
            state: Counted(*numbers, *(frozenset(filter(None, codes)) for codes in (batch, candidate)))
            for state, *numbers, batch, candidate in said
        }
        return {state: found.get(state, Counted()) for state in STATES}

    def differing(self, spark: SparkSession) -> DataFrame:
        """Those that differ, for Spark."""
        query = "select * from keys where state = 'differs'"
        return self.space.handed(spark, "differing", query, keys_schema(self.space.result))


@contextmanager
def judged_keys(
    spark: SparkSession,
    lake: Lake,
    result: Result,
    settings: Settings,
    at: Pin,
    *,
    covered: list[Coverage],
    interval: Interval,
    tolerance: Mapping[str, float],
) -> Iterator[JudgedKeys]:
    """Every key of either side, judged.

    `covered` is what the batch layer had computed when the comparison began; what it computes meanwhile does not show.
    """
    with workspace(lake, result) as space:
        space.table("batch_rows", batch_files(lake, result, covered))
        revisions = times = None
        if isinstance(at.boundary, Boundary):
            space.table("changelog", changelog_files(lake, result, at.boundary))
            epoch = at.boundary.epoch
            revisions = known_revisions("changelog", epoch=epoch, batch=at.boundary.batch)
            rows = view(result, revisions, epoch=epoch, log_version=at.log_version)
            times = revised(result, revisions, epoch=epoch)
        else:
            space.computed("control", unmarked(read_legacy(spark, lake, result, at.boundary)))
            rows = "select * from control"
        within = f"where {interval.predicate}"
        both = compared(
            result, f"select * from batch_rows {within}", f"select * from ({rows}) {within}", tolerance=tolerance
        )
        both = _with_moved(spark, lake, at, space, both, covered, interval)
        identity = ", ".join(f'"{name}"' for name in result.identity)
        stamped = (
            f"select * from ({both}) left join ({times}) using ({identity})"
            if times
            else f"select *, false as repaired, null::bigint as times from ({both})"
        )
        before = at.settled_before(settings.lateness.allowed)
        horizon = at.high_water - settings.retention.horizon
        space.made("keys", with_state(result, stamped, settled_before=before, horizon_at=horizon))
        yield JudgedKeys(space, revisions)


def _with_moved(
    spark: SparkSession,
    lake: Lake,
    at: Pin,
    space: Workspace,
    both: str,
    covered: list[Coverage],
    interval: Interval,
) -> str:
    """The keys with `moved_by`: the events that touched them between the batch version of the key and the pin."""
    result, pinned = space.result, position(lake, at.log_version).seq
    spans = {each.log_version: (min(each.seq, pinned), max(each.seq, pinned)) for each in covered}
    if any(run is None and stretch.meets(interval) for stretch, run in stretches(covered)):
        spans[NEVER] = (0, pinned)
    if all(low == high for low, high in spans.values()):
        return f"select *, null::varchar[] as moved_by from ({both})"
    space.made("both_sides", both)
    schema = StructType([*identity_schema(result), StructField("window_end", TimestampType())])
    keys = space.handed(spark, "asked", "select * from both_sides", schema)
    log = log_at(spark, lake, max(at.log_version, *(each.log_version for each in covered)), whole=True)
    moved = moved_between(log, result, keys, spans, computed_at(covered, F.col("window_start")))
    assert moved is not None, "there is a span with rows"
    space.computed("moved", moved)
    identity = ", ".join(f'"{name}"' for name in result.identity)
    return f"select * from both_sides left join moved using ({identity})"
