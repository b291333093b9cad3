"""The history of verdicts: `reconciliations` and `differences`. A verdict has to be consistent with what it counted."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from lakehouse.commits import newest
from lakehouse.locks import exclusive
from lakehouse.tables import read_table
from lakehouse.verdicts import DIFFERENCES, HISTORY_LOCK, RECONCILIATIONS, SCHEMAS
from quality.pins import Pin
from quality.rules import Columns, NoRow, Rule, copies, given, known, not_after, unique
from quality.subjects import Absent, Subject

History = Callable[[str], DataFrame]
"""A table of the history by its name, at its pinned version."""

VERDICT = ("id", "result", "version")
DIFFERENCE = (*VERDICT, "key", "window_start")
COUNTS = ("keys", "compared", "equal", "differing", "in_flight", "unexplained")
STATUSES = ("agree", "differ", "could not compare")

# As the verdict of a result decides it: a difference, also one of the engine alone, goes before too few settled keys.
STATUS = """case when differing > 0 or coalesce(cast(get_json_object(verdict, '$.engine_wrong') as long), 0) > 0 then 'differ'
    when get_json_object(verdict, '$.too_few') = 'true' then 'could not compare' else 'agree' end"""


def history_subjects(spark: SparkSession, at: Pin) -> Iterator[Subject | Absent]:
    """The verdicts up to the pin, and their differences, of versions that belong together."""
    there = all(at.lake.has(table) for table in SCHEMAS)
    with exclusive(spark, at.lake.lock_file(HISTORY_LOCK), wait=True):
        versions = {table: newest(at.lake, table) for table in SCHEMAS} if there else {}
    history = partial(_read, spark, at, versions)
    for name, prepare, rules, objects in (
        (RECONCILIATIONS, _with_kept, _reconciliation_rules, ()),
        (DIFFERENCES, _with_verdict, _difference_rules, ("key", "batch", "candidate")),
    ):
        if not there:
            yield Absent(name, "No reconciliation has been kept.")
            continue
        yield Subject(
            name,
            versions[name],
            _schema(name),
            read=partial(history, name),
            prepare=partial(prepare, history),
            rules=partial(rules, at),
            objects=objects,
            pinned={"log_version": at.version},
        )


def _schema(name: str) -> StructType:
    found = StructType.fromDDL(SCHEMAS[name])
    assert isinstance(found, StructType)
    return found


def _read(spark: SparkSession, at: Pin, versions: Mapping[str, int], name: str) -> DataFrame:
    rows = read_table(spark, at.lake, name, version=versions[name])
    if not at.asked:
        return rows
    if name == RECONCILIATIONS:
        return rows.where(F.col("log_version") <= at.version)
    # By the whole of a verdict: a run judges each result at a version of its own, so one can be of it and another not.
    return rows.join(_read(spark, at, versions, RECONCILIATIONS), list(VERDICT), "left_semi")


def _with_kept(history: History, verdicts: DataFrame) -> DataFrame:
    """Each verdict with `_kept`, how many differences of it there are."""
    kept = history(DIFFERENCES).groupBy(*VERDICT).agg(F.count(F.lit(1)).alias("_kept"))
    return verdicts.withColumns(copies(VERDICT)).join(kept, list(VERDICT), "left").fillna({"_kept": 0})


def _with_verdict(history: History, differences: DataFrame) -> DataFrame:
    """Each difference with `_differing`, how many of them its verdict counts; null if it has none."""
    verdicts = history(RECONCILIATIONS).groupBy(*VERDICT).agg(F.max("differing").alias("_differing"))
    return differences.withColumns(copies([*DIFFERENCE, "window_end"])).join(verdicts, list(VERDICT), "left")


def _reconciliation_rules(at: Pin) -> list[Rule]:
    return [
        Columns(_schema(RECONCILIATIONS)),
        given((*VERDICT, "at", "candidate", "policy", "log_version", "status", *COUNTS), VERDICT),
        unique(VERDICT),
        known("result", at.lake.pipeline.declared, VERDICT),
        known("candidate", ("kappa", "legacy"), VERDICT),
        known("policy", ("correct", "drop"), VERDICT),
        known("status", STATUSES, VERDICT),
        NoRow(
            "counts are not negative",
            "Keys are counted from zero on.",
            f"least({', '.join(COUNTS)}, log_version) < 0",
            (*VERDICT, *COUNTS, "log_version"),
        ),
        NoRow(
            "compared = equal + differing",
            "Each key that was compared is equal or differs.",
            "compared <> equal + differing",
            (*VERDICT, "compared", "equal", "differing"),
        ),
        NoRow(
            "keys are compared, in flight or beyond",
            "Keys are compared or in flight; the others are beyond the horizon.",
            "keys <> compared + in_flight + cast(get_json_object(verdict, '$.beyond_horizon') as long)",
            (*VERDICT, "keys", "compared", "in_flight"),
        ),
        NoRow(
            "unexplained are among the differing",
            "No more keys are unexplained than differ.",
            "unexplained > differing",
            (*VERDICT, "unexplained", "differing"),
        ),
        NoRow(
            "the status follows from the counts",
            "The status is differ if a key differs or the engine alone was wrong, else could not compare if too few keys "
            "were settled, else agree.",
            f"status <> {STATUS}",
            (*VERDICT, "status", "compared", "differing"),
        ),
        NoRow(
            "every difference is kept",
            "There are as many differences of a verdict as it counts.",
            "_kept <> differing",
            (*VERDICT, "differing", "_kept"),
        ),
        not_after("at", at.moment, VERDICT),
    ]


def _difference_rules(_: Pin) -> list[Rule]:
    return [
        Columns(_schema(DIFFERENCES)),
        given((*DIFFERENCE, "differing", "causes"), DIFFERENCE),
        unique([*DIFFERENCE, "window_end"]),
        NoRow("a verdict counts it", "Each difference belongs to a verdict.", "_differing is null", DIFFERENCE),
        NoRow(
            "a cause is named",
            "Each difference has a cause, if only that it is unexplained.",
            "coalesce(size(causes), 0) <= 0",
            (*DIFFERENCE, "causes"),
        ),
        NoRow(
            "the sides differ",
            "Where cells differ, the two sides do not say the same.",
            "size(differing) > 0 and batch <=> candidate",
            (*DIFFERENCE, "differing", "batch", "candidate"),
        ),
    ]
