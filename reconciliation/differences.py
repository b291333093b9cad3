"""The differing keys as plain data, each with the causes that it earned."""

from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from reconciliation.hypotheses import DUPLICATE
from reconciliation.verdict import UNEXPLAINED, Difference
from transformations.durations import iso
from transformations.plain import plain
from transformations.result import Result

EVENTS_NAMED = 20


def written_twice(keys: DataFrame) -> DataFrame:
    """Keys whose cells agree, but of which a revision stands in the changelog twice: that is its own proof."""
    return keys.withColumns(
        {
            "causes": F.array(F.lit(DUPLICATE)),
            "event_ids": F.array().cast("array<string>"),
            "evidence": F.concat(F.lit("a revision was written "), F.col("times").cast("string"), F.lit(" times")),
            "fitting": F.lit(1).cast("long"),
        }
    )


def collected(judged: DataFrame, result: Result) -> list[Difference]:
    """The differences in order of time, unexplained ones first."""
    ordered = judged.orderBy(F.size("causes") > 0, "window_start", *result.key)
    return [_difference(row, result) for row in ordered.collect()]


def counts_by_cause(differences: list[Difference]) -> dict[str, int]:
    """How many keys each cause has a part in, most frequent first."""
    counts: dict[str, int] = {}
    for cause in (cause for difference in differences for cause in difference.causes):
        counts[cause] = counts.get(cause, 0) + 1
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _difference(row: Row, result: Result) -> Difference:
    evidence = row.evidence
    if evidence and row.fitting > 1:
        evidence += f" (one of {row.fitting} that fit equally)"
    return Difference(
        key={name: plain(row[name]) for name in result.key},
        window_start=iso(row.window_start),
        window_end=None if row.window_end is None else iso(row.window_end),
        batch=cells(row.batch),
        candidate=cells(row.candidate),
        differing=list(row.differing),
        causes=list(row.causes) or [UNEXPLAINED],
        event_ids=sorted(row.event_ids or [])[:EVENTS_NAMED],
        events_named=len(row.event_ids or []),
        evidence=evidence,
        batch_code=row.batch_code,
        candidate_code=row.candidate_code,
    )


def cells(values: Row | None) -> dict[str, Any] | None:
    """The cells of one side."""
    return None if values is None else {name: plain(value) for name, value in values.asDict().items()}
