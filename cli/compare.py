"""`parity reconcile`: the verdict, for people and for machines."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.candidates import CandidateOption, judged
from cli.clock import command_clock
from cli.console import answers, conclude, numbered, results_from, session_for, settings_from, told_errors
from cli.options import (
    ConfigOption,
    Format,
    FormatOption,
    FromOption,
    LakeOption,
    LogVersionOption,
    ResultsOption,
    ToOption,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lakehouse.batches import Interval
    from lakehouse.lake import Lake
    from lakehouse.settings import Settings
    from reconciliation.pins import Candidate
    from reconciliation.verdict import Verdict
    from transformations.result import Result


def reconcile(
    lake: LakeOption,
    candidate: CandidateOption = "kappa",
    result: ResultsOption = None,
    first: FromOption = None,
    to: ToOption = None,
    log_version: LogVersionOption = None,
    recompute: Annotated[bool, typer.Option("--recompute", help="Compute batch at the pinned version first.")] = False,
    tolerance: Annotated[
        list[str] | None,
        typer.Option(help="Allowed difference of a value column; may be repeated.", metavar="COLUMN=VALUE"),
    ] = None,
    format: FormatOption = Format.text,
    report: Annotated[Path | None, typer.Option(help="Write the report as a page.", metavar="FILE.html")] = None,
    run: Annotated[
        str | None, typer.Option(help="Keep the report and the verdict in the lake under this name.", metavar="NAME")
    ] = None,
    as_kept: Annotated[
        bool,
        typer.Option(
            "--as-kept",
            help="Tell what the run has kept about these results already, without Spark; asked again, compare them.",
        ),
    ] = False,
    config: ConfigOption = None,
) -> None:
    """Compare a layer with batch over all keys at one version of the log. Exit code 0 agree, 1 differ, 2 could not."""
    from lakehouse.batches import Interval
    from lakehouse.lake import open_lake
    from lakehouse.reports import run_name
    from lakehouse.terms import shared_log
    from reconciliation.kept import told_verdict
    from reconciliation.sentences import agreement

    with told_errors(lake / "logs" / "spark.log"):
        opened = open_lake(lake)
        settings = settings_from(config, opened)
        side, names = judged(candidate, result, settings)
        results = results_from(settings, names, opened)
        opened = shared_log(opened, results)
        if run is not None:
            run_name(run)  # refused now, if it cannot be one
        interval = Interval(first, to)
        columns = {value.name for each in results for value in each.values if value.is_measured}
        tolerances = dict(_tolerance(text, columns) for text in tolerance or ())
        told = told_verdict(opened, run, [each.name for each in results]) if as_kept and run is not None else None
        besides: list[str] = []
        verdict = told or _compared(
            opened, results, settings, besides,
            side=side, interval=interval, log_version=log_version, tolerances=tolerances, recompute=recompute,
            report=report, run=run, sentences=format is Format.text,
        )  # fmt: skip
        # What it comes to stands last: Airflow shows that line as the error of a task.
        _tell(verdict, [*(each for each in besides if each != agreement(verdict)), agreement(verdict)], format)
    raise typer.Exit(verdict.exit_code)


def _compared(
    lake: "Lake",
    results: "list[Result]",
    settings: "Settings",
    besides: list[str],
    *,
    side: "Candidate",
    interval: "Interval",
    log_version: int | None,
    tolerances: dict[str, float],
    recompute: bool,
    report: Path | None,
    run: str | None,
    sentences: bool,
) -> "Verdict":
    """The verdict, kept with its report where somebody asked for that; `besides` gets what is told beside it."""
    from lakehouse.control import CONTROL
    from reconciliation.kept import keep_verdict, page_of

    kept = None if run is None else page_of(lake, run, [each.name for each in results])
    from reconciliation.history import keep
    from reconciliation.pins import controlled, pin
    from reconciliation.reconcile import reconcile as judge
    from reconciliation.reconcile import refuse_incomparable

    refuse_incomparable(lake, results, settings, candidate=side, log_version=log_version, recomputed=recompute)
    reported = report is not None or kept is not None
    steps = numbered(2 + (len(results) if recompute else 0) + reported)
    spark, clock = session_for(lake, settings, step=steps), command_clock()
    if recompute:
        from batch_layer.recompute import recompute as compute

        recomputing = steps.alike(len(results))
        for each in results:
            at = pin(lake, each, side, log_version)
            with recomputing(f"Recompute {each.name} at log version {at.log_version}"):
                compute(
                    spark, lake, each, settings, interval=interval, log_version=at.log_version, clock=clock
                )  # fmt: skip
    with steps(f"Reconcile {side} with batch"):
        verdict = judge(
            spark, lake, results, settings,
            candidate=side, interval=interval, log_version=log_version, tolerance=tolerances, clock=clock,
        )  # fmt: skip
        keep(spark, lake, verdict, settings)
    page = None
    if reported:
        from reconciliation.report import write_report

        with steps(f"Report {', '.join(str(file) for file in (report, kept) if file is not None)}"):
            control = None
            if side == "kappa" and lake.log == 1 and lake.has(CONTROL):
                control = judge(
                    spark, lake, controlled(lake, results), settings,
                    candidate="legacy", interval=interval, tolerance=tolerances, clock=clock,
                )  # fmt: skip
            page = write_report(spark, lake, results, settings, verdict, control=control, file=report, kept=kept)
    if run is not None and kept is not None:
        keep_verdict(lake, run, verdict, kept)
    if sentences:
        besides += page.sentences if page else _besides(spark, lake, results, settings, verdict)
    return verdict


def _tell(verdict: "Verdict", sentences: list[str], format: Format) -> None:
    """The answer for people or machines, and what it comes to as the last line of the progress."""
    if format is Format.json:
        answers.out(json.dumps(verdict.as_dict(), ensure_ascii=False), highlight=False)
    else:
        from cli.verdicts import show_verdict

        show_verdict(answers, verdict)
        for sentence in sentences:
            answers.print(sentence, highlight=False, soft_wrap=True)
    conclude(verdict.status, [f"{each.result}@{each.version}" for each in verdict.results if each.status == "differ"])


def _besides(
    spark: "SparkSession", lake: "Lake", results: "list[Result]", settings: "Settings", verdict: "Verdict"
) -> list[str]:
    """What is told beside the agreement without a report, for which more has to be computed."""
    from reconciliation.architectures import bill
    from reconciliation.prices import expense
    from reconciliation.rewritten import rewritten
    from reconciliation.sentences import of_the_control

    if verdict.candidate == "legacy":
        return [of_the_control(verdict, rewritten(spark, lake, results, verdict))]
    at = max(each.log_version for each in verdict.results)
    return [expense(bill(spark, lake, results, settings, log_version=at))]


def _tolerance(text: str, columns: set[str]) -> tuple[str, float]:
    from lakehouse.errors import BadSettings

    name, _, value = text.partition("=")
    if name not in columns:
        raise BadSettings(
            f"--tolerance {text}: there is no value column {name!r} that is a number or a time. There are: "
            f"{', '.join(sorted(columns))}."
        )
    try:
        allowed = float(value)
    except ValueError:
        allowed = -1.0
    if not 0 <= allowed < float("inf"):
        raise BadSettings(f"--tolerance {text}: {value!r} is not a number of zero or more. Write e.g. {name}=0.5.")
    return name, allowed
