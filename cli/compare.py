"""`parity reconcile`: the verdict, for people and for machines."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.candidates import CandidateOption, judged
from cli.console import answers, conclude, results_from, session_for, settings_from, step, told_errors
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

    from lakehouse.lake import Lake
    from lakehouse.settings import Settings
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
    config: ConfigOption = None,
) -> None:
    """Compare a layer with batch over all keys at one version of the log. Exit code 0 agree, 1 differ, 2 could not."""
    from lakehouse.arrivals import ARRIVALS
    from lakehouse.batches import Interval
    from lakehouse.lake import open_lake, write_json
    from lakehouse.reports import report_page
    from lakehouse.terms import shared_log

    with told_errors(lake / "logs" / "spark.log"):
        settings = settings_from(config)
        opened = open_lake(lake)
        side, names = judged(candidate, result, settings)
        results = results_from(settings, names, opened)
        opened = shared_log(opened, results)
        kept = None if run is None else report_page(opened, run)
        pages = [file for file in (report, kept) if file is not None]
        interval = Interval(first, to)
        columns = {name for each in results for name in each.value_names}
        tolerances = dict(_tolerance(text, columns) for text in tolerance or ())
        spark = session_for(opened, settings)
        from reconciliation.headings import heading
        from reconciliation.history import keep
        from reconciliation.pins import controlled, pin
        from reconciliation.reconcile import reconcile as judge
        from reconciliation.sentences import agreement

        if recompute:
            from batch_layer.recompute import recompute as compute

            for each in results:
                at = pin(opened, each, side, log_version)
                with step(f"Recompute {each.name} at log version {at.log_version}"):
                    compute(spark, opened, each, settings, interval=interval, log_version=at.log_version)
        with step(f"Reconcile {side} with batch"):
            verdict = judge(
                spark, opened, results, settings,
                candidate=side, interval=interval, log_version=log_version, tolerance=tolerances,
            )  # fmt: skip
            keep(spark, opened, verdict, settings)
        page = None
        if pages:
            from reconciliation.report import write_report

            with step(f"Report {', '.join(map(str, pages))}"):
                control = None
                if side == "kappa" and opened.log == 1 and opened.has(ARRIVALS):
                    control = judge(
                        spark, opened, controlled(results), settings,
                        candidate="legacy", interval=interval, tolerance=tolerances,
                    )  # fmt: skip
                page = write_report(spark, opened, results, settings, verdict, control=control, files=pages)
        if kept is not None:
            said = {**verdict.as_dict(), "run": run, "heading": heading(verdict), "sentence": agreement(verdict)}
            said["results"] = [{**each, "differences": []} for each in said["results"]]
            write_json(kept.with_suffix(".json"), said)
        if format is Format.json:
            answers.out(json.dumps(verdict.as_dict(), ensure_ascii=False), highlight=False)
        else:
            from cli.verdicts import show_verdict

            show_verdict(answers, verdict)
            told = page.sentences if page else _besides(spark, opened, results, settings, verdict)
            # What it comes to stands last: Airflow shows that line as the error of a task.
            for sentence in [*(each for each in told if each != agreement(verdict)), agreement(verdict)]:
                answers.print(sentence, highlight=False, soft_wrap=True)
        conclude(
            verdict.status, [f"{each.result}@{each.version}" for each in verdict.results if each.status == "differ"]
        )
    raise typer.Exit(verdict.exit_code)


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
            f"--tolerance {text}: there is no value column {name!r}. There are: {', '.join(sorted(columns))}."
        )
    try:
        allowed = float(value)
    except ValueError:
        allowed = -1.0
    if not 0 <= allowed < float("inf"):
        raise BadSettings(f"--tolerance {text}: {value!r} is not a number of zero or more. Write e.g. {name}=0.5.")
    return name, allowed
