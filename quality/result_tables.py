"""The tables of a result: the stream's changelog and the view of it, and the batch layer's table."""

from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from lakehouse.batches import (
    BATCH_STAMPS,
    Coverage,
    batch_name,
    batch_schema,
    computed_at,
    coverage,
    reached,
    read_batch,
)
from lakehouse.changelogs import Boundary, boundary, changelog_name, read_changelog
from lakehouse.errors import NothingToCompare
from lakehouse.lake import Lake
from lakehouse.log import position
from lakehouse.terms import at_log
from lakehouse.versions import as_noted
from quality.pins import Pin
from quality.result_rules import Span, Totals, conserved, conserved_by_interval, row_rules
from quality.rules import COPIES, Columns, NoRow, Rule, behind, copies, given, known, not_after, unique
from quality.stretches import SumsAt, totals_named
from quality.subjects import Absent, Subject, Unchecked
from transformations.changelog import changelog_schema, kappa_view
from transformations.result import Result

CAUSES = ("on_time", "late", "recompute")
STAMPS = ("cause", "deleted", "settled", "epoch", "batch", "log_version", "written_at", "fingerprint")
TotalsAt = Callable[[Lake, int], Totals]


def result_subjects(
    spark: SparkSession, at: Pin, result: Result, totals: TotalsAt, sums: SumsAt
) -> Iterator[Subject | Absent]:
    """The view, the changelog and the batch table of a version, as it is computed in the lake."""
    own, settings = as_noted(at.lake, result, at.settings)
    lake = at_log(at.lake, own)
    try:
        pinned = boundary(lake, own, at.version if at.asked else None)
    except NothingToCompare as missing:
        yield from (Absent(name, str(missing)) for name in (changelog_name(own), f"{changelog_name(own)}-changelog"))
    else:
        where = {"log_version": pinned.log_version, "epoch": pinned.epoch}
        unsaid = _why_no_sums(own, settings.lateness.policy)
        read = partial(read_changelog, spark, lake, own, pinned)
        yield Subject(
            changelog_name(own),
            pinned.table_version,
            changelog_schema(own),
            read=read,
            prepare=partial(_view, own, pinned),
            rules=partial(_view_rules, at, own, lake, pinned, totals, sums_known=unsaid is None),
            unchecked=lambda: [] if unsaid is None else [Unchecked("sums", unsaid)],
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
    covered = coverage(lake, own, until=at.version)
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
        rules=partial(_batch_rules, at, own, lake, covered, sums),
        unchecked=partial(_batch_unchecked, own, lake, covered, sums),
        pinned={"log_version": covered[0].log_version},
    )


def _why_no_sums(result: Result, policy: str) -> str | None:
    """Why the stream's sums are not checked; none if they are, or if there are none."""
    if not totals_named(result):
        return None
    if policy != "correct":
        return f"the policy {policy} leaves late events out"
    if result.window.mode == "append" and result.way == "engine":
        return "the engine tells them when they are over, and events of open ones are in no row yet"
    if result.window.times_counted is None:
        return "an event is not in as many windows as another"
    return None


def _view(result: Result, pinned: Boundary, changelog: DataFrame) -> DataFrame:
    view = kappa_view(changelog, result, epoch=pinned.epoch, log_version=pinned.log_version)
    return _with_overlap(view, result)


def _view_rules(
    at: Pin, result: Result, lake: Lake, pinned: Boundary, totals: TotalsAt, *, sums_known: bool
) -> list[Rule]:
    version = pinned.log_version
    rules = [*row_rules(result, _span(at, lake, version)), *_no_overlap(result)]
    if sums_known:
        rules += conserved(result, totals(lake, version), version)
    return [*rules, behind(at.lag(position(lake, version).high_water), at.settings.quality.result_lag)]


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


def _batch_rules(at: Pin, result: Result, lake: Lake, covered: list[Coverage], sums: SumsAt) -> list[Rule]:
    shows = (*result.identity, "log_version")
    rules: list[Rule] = [
        Columns(batch_schema(result)),
        unique(result.identity),
        *row_rules(result, _span_of(at, max((each.high_water for each in covered if each.high_water), default=None))),
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
    rules += conserved_by_interval(result, sums(lake, result, covered))
    return [*rules, behind(at.lag(reached(covered)), at.settings.quality.batch_lag)]


def _batch_unchecked(result: Result, lake: Lake, covered: list[Coverage], sums: SumsAt) -> list[Unchecked]:
    """What lies outside of all that was computed, and what no other code can add up."""
    found = sums(lake, result, covered)
    left = [
        Unchecked(f"{each.interval.said}", "the batch layer has not computed it, and the log has events there")
        for each in found
        if each.run is None and not each.gap and each.events
    ]
    if any(each.run is not None and each.events for each in found):
        left.append(
            Unchecked("what came after its interval was computed", "no row can have it before the next recompute")
        )
    if totals_named(result) and any(each.expected is None for each in found):
        left.append(Unchecked("sums", f"where a {result.window.name} puts an event is not known here"))
    if reached(covered) is None:
        left.append(Unchecked("freshness", "the log was empty when it was computed"))
    return left


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
    return _span_of(at, position(lake, version).high_water)


def _span_of(at: Pin, high_water: datetime | None) -> Span | None:
    return None if high_water is None else Span(at.settings.clock.floor, high_water)
