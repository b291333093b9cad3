"""`parity reconcile`: the verdict, for people and for machines."""

import json
from pathlib import Path
from typing import Annotated

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
        if pages:
            from reconciliation.report import write_report

            with step(f"Report {', '.join(map(str, pages))}"):
                control = None
                if side == "kappa" and opened.log == 1 and opened.has(ARRIVALS):
                    control = judge(
                        spark, opened, controlled(results), settings,
                        candidate="legacy", interval=interval, tolerance=tolerances,
                    )  # fmt: skip
                write_report(spark, opened, results, settings, verdict, control=control, files=pages)
        if kept is not None:
            told = {**verdict.as_dict(), "run": run, "sentence": agreement(verdict)}
            told["results"] = [{**each, "differences": []} for each in told["results"]]
            write_json(kept.with_suffix(".json"), told)
        if format is Format.json:
            answers.out(json.dumps(verdict.as_dict(), ensure_ascii=False), highlight=False)
        else:
            from cli.verdicts import show_verdict

            show_verdict(answers, verdict)
            answers.print(agreement(verdict), highlight=False, soft_wrap=True)
        conclude(
            verdict.status, [f"{each.result}@{each.version}" for each in verdict.results if each.status == "differ"]
        )
    raise typer.Exit(verdict.exit_code)


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
