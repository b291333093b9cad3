"""The tables of a result: the stream's changelog and the view of it, and the batch layer's table."""

from collections.abc import Callable, Iterator
from functools import partial

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from lakehouse.batches import BATCH_STAMPS, Coverage, batch_name, batch_schema, computed_at, coverage, read_batch
from lakehouse.changelogs import Boundary, boundary, changelog_name, read_changelog
from lakehouse.errors import NothingToCompare
from lakehouse.lake import Lake
from lakehouse.log import position
from lakehouse.terms import at_log
from lakehouse.versions import as_noted
from quality.pins import Pin
from quality.result_rules import Span, Totals, conserved, row_rules
from quality.rules import COPIES, Columns, NoRow, Rule, behind, copies, given, known, not_after, unique
from quality.subjects import Absent, Subject
from transformations.changelog import changelog_schema, kappa_view
from transformations.result import Result

CAUSES = ("on_time", "late", "recompute")
STAMPS = ("cause", "deleted", "settled", "epoch", "batch", "log_version", "written_at", "fingerprint")
TotalsAt = Callable[[Lake, int], Totals]


def result_subjects(spark: SparkSession, at: Pin, result: Result, totals: TotalsAt) -> Iterator[Subject | Absent]:
    """The view, the changelog and the batch table of a version, as it is computed in the lake."""
    own, settings = as_noted(at.lake, result, at.settings)
    lake = at_log(at.lake, own)
    try:
        pinned = boundary(lake, own, at.version if at.asked else None)
    except NothingToCompare as missing:
        yield from (Absent(name, str(missing)) for name in (changelog_name(own), f"{changelog_name(own)}-changelog"))
    else:
        where = {"log_version": pinned.log_version, "epoch": pinned.epoch}
        read = partial(read_changelog, spark, lake, own, pinned)
        yield Subject(
            changelog_name(own),
            pinned.table_version,
            changelog_schema(own),
            read=read,
            prepare=partial(_view, own, pinned),
            rules=partial(_view_rules, at, own, lake, pinned, totals, correct=settings.lateness.policy == "correct"),
            pinned=where,
        )
        yield Subject(
            f"{changelog_name(own)}-changelog",
            pinned.table_version,
            changelog_schema(own),
            read=read,
            prepare=partial(_revisions, own, pinned),
            rules=partial(_changelog_rules, at, own, pinned),
            pinned=where,
        )
    covered = _computed_until(at.version, coverage(lake, own))
    if not covered:
        yield Absent(
            batch_name(own), f"The batch layer has not computed {own.id} at or before log version {at.version}."
        )
        return
    yield Subject(
        batch_name(own),
        covered[0].table_version,
        batch_schema(own),
        read=partial(read_batch, spark, lake, own, covered),
        prepare=partial(_batch, own, covered),
        rules=partial(_batch_rules, at, own, lake, covered, totals),
        pinned={"log_version": covered[0].log_version},
    )


def _computed_until(version: int, runs: list[Coverage]) -> list[Coverage]:
    """The runs of the batch layer up to the newest after which nothing in the table was of a later version of the log."""
    ahead = max((place + 1 for place, run in enumerate(runs) if run.log_version > version), default=0)
    return runs[ahead:]


def _view(result: Result, pinned: Boundary, changelog: DataFrame) -> DataFrame:
    view = kappa_view(changelog, result, epoch=pinned.epoch, log_version=pinned.log_version)
    return _with_overlap(view, result)


def _view_rules(
    at: Pin, result: Result, lake: Lake, pinned: Boundary, totals: TotalsAt, *, correct: bool
) -> list[Rule]:
    version = pinned.log_version
    rules = [*row_rules(result, _span(at, lake, version)), *_no_overlap(result)]
    # An engine that tells a result once, when it is over, has not told the open ones: their events are in no row yet.
    if correct and (result.window.mode == "update" or result.way == "recompute"):
        rules += conserved(result, totals(lake, version), version)
    return [*rules, behind(at.lag(version), at.settings.quality.result_lag)]


def _revisions(result: Result, pinned: Boundary, changelog: DataFrame) -> DataFrame:
    own = changelog.where(F.col("epoch") == pinned.epoch)
    return own.withColumns(copies([*result.identity, "cause", "log_version"]))


def _changelog_rules(at: Pin, result: Result, pinned: Boundary) -> list[Rule]:
    shows = (*result.identity, "cause", "log_version")
    return [
        Columns(changelog_schema(result)),
        given(STAMPS, shows),
        known("cause", CAUSES, shows),
        NoRow(
            "a key has one winner",
            f"No two revisions have the same {', '.join(result.identity)}, cause and log_version: none outranks the other.",
            f"{COPIES} > 1",
            (*shows, COPIES),
        ),
        NoRow(
            "deleted says whether it is there",
            f"A revision is deleted if, and only if, it is not so that {result.present}.",
            f"deleted is distinct from (not ({result.present}))",
            (*shows, "deleted", *result.value_names),
        ),
        NoRow(
            "no revision is ahead of its stream",
            f"No revision is of a log version beyond {pinned.log_version}, to which the stream had come.",
            f"log_version > {pinned.log_version} or log_version < 0",
            shows,
        ),
        not_after("written_at", at.moment, shows),
    ]


def _batch(result: Result, covered: list[Coverage], rows: DataFrame) -> DataFrame:
    helpers = {**copies(result.identity), "_computed_at": computed_at(covered, F.col("window_start"))}
    return _with_overlap(rows, result).withColumns(helpers)


def _batch_rules(at: Pin, result: Result, lake: Lake, covered: list[Coverage], totals: TotalsAt) -> list[Rule]:
    version = covered[0].log_version
    shows = (*result.identity, "log_version")
    rules: list[Rule] = [
        Columns(batch_schema(result)),
        unique(result.identity),
        *row_rules(result, _span(at, lake, max(each.log_version for each in covered))),
        *_no_overlap(result),
        given(BATCH_STAMPS, shows, name="stamps are given"),
        NoRow(
            "rows are of the run that computed their interval",
            "log_version is that of the last run over the interval which the window starts in.",
            "log_version is distinct from _computed_at",
            (*shows, "_computed_at"),
        ),
        not_after("computed_at", at.moment, shows),
    ]
    whole = covered[0].interval.first is None and covered[0].interval.end is None
    if whole:
        rules += conserved(result, totals(lake, version), version)
    return [*rules, behind(at.lag(version), at.settings.quality.result_lag)]


def _with_overlap(rows: DataFrame, result: Result) -> DataFrame:
    """Where the end of a window does not follow from its start, with the latest end of the windows before it."""
    if result.window.ends_by_itself:
        return rows
    before = Window.partitionBy(*result.key).orderBy("window_start").rowsBetween(Window.unboundedPreceding, -1)
    return rows.withColumn("_end_before", F.max("window_end").over(before))


def _no_overlap(result: Result) -> list[Rule]:
    if result.window.ends_by_itself:
        return []
    says = f"A {result.window.name} starts after the one before it of its key has ended; else they would be one."
    return [NoRow("windows do not meet", says, "window_start <= _end_before", (*result.identity, "_end_before"))]


def _span(at: Pin, lake: Lake, version: int) -> Span | None:
    high_water = position(lake, version).high_water
    return None if high_water is None else Span(at.settings.clock.floor, high_water)
