"""What a comparison holds under: versions, marks, settings, code and machine, as the report lists them."""

import os
from collections.abc import Sequence

from pyspark.sql import SparkSession

from lakehouse.batches import coverage
from lakehouse.lake import Lake
from lakehouse.settings import Settings
from lakehouse.versions import forced_swap
from reconciliation.verdict import ResultVerdict, Verdict
from reconciliation.words import listed, moment
from transformations.durations import written
from transformations.result import Result


def conditions(
    spark: SparkSession, lake: Lake, results: Sequence[Result], settings: Settings, verdict: Verdict
) -> dict[str, str]:
    """The conditions by name, in the order in which a reader asks for them."""
    tolerance = settings.reconciliation.tolerance
    said = {
        "Compared at": moment(verdict.at),
        "Lake": lake.path.name,
        "High-water mark": ", ".join(sorted({moment(each.high_water) for each in verdict.results})),
        "Settled up to": ", ".join(sorted({moment(each.settled_before) for each in verdict.results})),
        "Allowed lateness": written(settings.lateness.allowed),
        "Policy for late events": verdict.policy,
        "Retention horizon": written(settings.retention.horizon),
        "Tolerance": ", ".join(f"{name} ± {value:g}" for name, value in tolerance.items())
        or "none: every cell exactly",
    }
    for result, found in zip(results, verdict.results, strict=True):
        lengths = "".join(f", {name} {value}" for name, value in result.window.parameters.items())
        computed = sorted({each.log_version for each in coverage(lake, result)})
        batch = listed([str(version) for version in computed]) or "no version"
        said[result.id] = (
            f"{result.window.name.capitalize()}{lengths}. Compared at log version {found.log_version}; "
            f"batch was computed at {batch}. {_code(found)}."
        )
        if forced := forced_swap(lake, result):
            said[result.id] += f" {forced}."
    said["Machine"] = f"{os.cpu_count()} cores; Spark {spark.version} on {spark.sparkContext.master}"
    said["Verdict"] = verdict.id
    return said


def _code(found: ResultVerdict) -> str:
    batch, candidate = (", ".join(codes) or "none noted" for codes in (found.batch_code, found.candidate_code))
    return f"Code {batch} on both sides" if batch == candidate else f"Code {candidate} against batch {batch}"
