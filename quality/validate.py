"""The validation of a lake: every table at its pinned version, its suite, and the pages.

    parity quality --lake LAKE [--table NAME] [--log-version V] [--run NAME]

It reads versions of tables that are complete, beside the streams and never inside one.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from pyspark.sql import SparkSession

from lakehouse.batches import batch_name
from lakehouse.changelogs import changelog_name
from lakehouse.control import CONTROL
from lakehouse.errors import NotValidated
from lakehouse.lake import Lake, write_json
from lakehouse.locks import exclusive
from lakehouse.pseudonyms import lake_key
from lakehouse.reports import run_name
from lakehouse.settings import Settings
from lakehouse.terms import shared_log
from lakehouse.verdicts import DIFFERENCES, RECONCILIATIONS
from quality.control_table import control_subjects
from quality.expectations import suite, types_of
from quality.history_tables import history_subjects
from quality.log_tables import NAMES, log_subjects
from quality.outcome import Checked, CheckedTable, QualityRun
from quality.pins import Pin, pinned
from quality.pseudonyms import pseudonymised
from quality.rendering import observed
from quality.result_tables import result_subjects
from quality.rules import Columns, Rule
from quality.site import Site, failures, quality_directory
from quality.stretches import sums_at
from quality.subjects import Absent, Subject
from quality.totals import totals_of
from transformations.durations import iso
from transformations.result import Result

Progress = Callable[[int, int], None]
NOT_AS_DECLARED = {"what": "everything but the columns", "why": "they are not as declared"}


def validate(
    spark: SparkSession,
    lake: Lake,
    results: Sequence[Result],
    settings: Settings,
    *,
    run: str,
    moment: datetime,
    log_version: int | None = None,
    tables: Sequence[str] = (),
    progress: Progress = lambda _, __: None,
) -> QualityRun:
    """Check the tables (all, if none is named) at `log_version` or the newest one, write the pages, keep what was found."""
    run_name(run)
    at = pinned(shared_log(lake, results), settings, log_version=log_version, moment=moment)
    with exclusive(spark, lake.lock_file("quality"), wait=True):
        directory = quality_directory(lake)
        key, personal = lake_key(lake), lake.pipeline.personal()
        present, absent = _chosen(list(_subjects(spark, at, results, key)), tables)
        site = Site(directory, run, moment)
        checked = []
        for done, subject in enumerate(present):
            progress(done, len(present))
            checked.append(_checked(site, subject, key, personal))
        progress(len(present), len(present))
        missing = [{"table": each.name, "why": each.why} for each in absent]
        found = QualityRun(run, iso(moment), at.lake.log, at.version, checked, missing)
        write_json(directory / "runs" / f"{run}.json", found.as_dict())
        site.write()
    return found


def refuse_unknown(lake: Lake, results: Sequence[Result], tables: Sequence[str]) -> None:
    """Refuse a name that no table of these results can have, without Spark; why one is missing takes longer to say."""
    layers = [each for result in results for each in (changelog_name(result), batch_name(result))]
    changelogs = [f"{changelog_name(result)}-changelog" for result in results]
    log = [shared_log(lake, results).of_log(name) for name in NAMES]
    known = [*log, *layers, *changelogs, CONTROL, RECONCILIATIONS, DIFFERENCES]
    for name in tables:
        if name not in known:
            there = ", ".join(each for each in known if each in log or lake.has(each.removesuffix("-changelog")))
            raise NotValidated(f"There is no table {name!r} to validate. There are: {there}.")


def _subjects(spark: SparkSession, at: Pin, results: Sequence[Result], key: bytes) -> Iterator[Subject | Absent]:
    totals, sums = totals_of(spark, results), sums_at(spark, at)
    yield from log_subjects(spark, at, key)
    for result in results:
        yield from result_subjects(spark, at, result, totals, sums)
    yield from control_subjects(spark, at)
    yield from history_subjects(spark, at)


def _chosen(found: list[Subject | Absent], tables: Sequence[str]) -> tuple[list[Subject], list[Absent]]:
    """What there is to check, and what is not there; a name that is asked for has to be there."""
    present = [each for each in found if isinstance(each, Subject)]
    absent = [each for each in found if isinstance(each, Absent)]
    if not tables:
        return present, absent
    why = {each.name: f" {each.why}" for each in absent}
    for name in tables:
        if name not in {each.name for each in present}:
            raise NotValidated(
                f"There is no table {name!r} to validate.{why.get(name, '')} "
                f"There are: {', '.join(each.name for each in present)}."
            )
    return [each for each in present if each.name in tables], []


def _checked(site: Site, subject: Subject, key: bytes, personal: Sequence[str]) -> CheckedTable:
    rows = subject.read()
    declared, found = {each.name: each.dataType.simpleString() for each in subject.schema}, types_of(rows)
    rows = pseudonymised(rows, key, personal, objects=subject.objects)
    # What is not as declared cannot be computed with: that alone is told then.
    whole = all(found.get(name) == type_ for name, type_ in declared.items())
    rules: list[Rule] = list(subject.rules()) if whole else [Columns(subject.schema)]
    result = site.validated(suite(subject.name, rules), subject.prepare(rows) if whole else rows)
    errors = failures(result)
    if errors:
        raise NotValidated(f"{subject.name} could not be validated: {errors[0].strip().splitlines()[0]}")
    expectations = [_told(each) for each in result.results]
    unchecked = [asdict(each) for each in subject.unchecked()] if whole else [NOT_AS_DECLARED]
    return CheckedTable(subject.name, subject.version, subject.pinned, expectations, site.page(subject.name), unchecked)


def _told(each: Any) -> Checked:
    kwargs, result = each.expectation_config.kwargs, each.result
    return Checked(
        name=kwargs["rule"],
        description=kwargs["says"],
        met=bool(each.success),
        observed=observed(kwargs, result),
        unexpected=result.get("unexpected"),
        sample=list(result.get("sample") or []),
    )
