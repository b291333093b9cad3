"""`parity what-if`: other settings tried on the log, and what they would change."""

import json
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer
from rich.filesize import decimal
from rich.table import Table

from cli.console import answers, numbered, results_from, session_for, settings_from, told_errors
from cli.options import ConfigOption, Format, FormatOption, FromVersionOption, LakeOption, ResultsOption

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lakehouse.lake import Lake
    from lakehouse.settings import Settings
    from reconciliation.what_if import Trial, Waiting
    from transformations.result import Result

TRIED = ("lateness", "windows")


def what_if(
    lake: LakeOption,
    given: Annotated[
        list[str], typer.Option("--set", help="A setting to try; may be repeated.", metavar="SECTION.NAME=VALUE")
    ],
    result: ResultsOption = None,
    from_version: FromVersionOption = None,
    keep: Annotated[bool, typer.Option("--keep", help="Leave the new versions in the lake.")] = False,
    format: FormatOption = Format.text,
    config: ConfigOption = None,
) -> None:
    """Try other settings on a throw-away version, and say what they would change. Nothing stays unless asked."""
    from lakehouse.errors import BadSettings
    from lakehouse.lake import open_lake
    from lakehouse.log import known_version
    from lakehouse.scratch import scratch

    with told_errors(lake / "logs" / "spark.log"):
        opened = open_lake(lake)
        settings = settings_from(config, opened, tried=dict(_setting(text) for text in given))
        known_version(opened, from_version, option="--from-version")
        results = results_from(settings, result)
        from reconciliation.what_if import changed_results

        changed = changed_results(opened, results, settings)
        if not changed:
            raise BadSettings(
                f"--set {', '.join(given)}: nothing would change. No result that has a stream in {lake} is computed with "
                "other settings than these."
            )
        steps = numbered(1 + len(changed))
        spark = session_for(opened, settings, step=steps)
        trying = steps.alike(len(changed))
        found = []
        for each in changed:
            with trying(f"Try {each.name}"), nullcontext(opened) if keep else scratch(opened) as used:
                found.append(_tried(spark, used, each, settings, since=from_version))
        if format is Format.json:
            answers.out(json.dumps([trial.as_dict() for trial in found], ensure_ascii=False), highlight=False)
            return
        for trial in found:
            _show(trial)
        if not keep:
            answers.print("Nothing of this was kept. --keep leaves the new versions in the lake.", style="dim")


def _tried(
    spark: "SparkSession", lake: "Lake", result: "Result", settings: "Settings", *, since: int | None
) -> "Trial":
    """The result replayed in this lake with `settings`, from log version `since` on, against its live version."""
    from lakehouse.runs import runs
    from lakehouse.terms import at_log
    from lakehouse.versions import at_live, new_version
    from reconciliation.what_if import trial
    from speed_layer.replay import replay

    # A new one, also if a replay was begun: a scratch lake has that one's table by a link, and would write into it.
    live, new = at_live(lake, result), new_version(lake, result)
    read = at_log(lake, live)
    before = len(runs(lake))
    replay(spark, read if since is None else replace(read, since=since), new, settings)
    return trial(spark, lake, live, new, settings, cost=runs(lake)[before:])


def _setting(text: str) -> tuple[str, str]:
    from lakehouse.errors import BadSettings

    name, equals, value = text.partition("=")
    section = name.partition(".")[0]
    if not equals or "." not in name:
        raise BadSettings(f'--set {text}: write a setting and its value, e.g. lateness.allowed="30 seconds".')
    if section not in TRIED:
        raise BadSettings(
            f"--set {text}: only settings that a version is computed with can be tried, those of [lateness] and [windows]. "
            "What decides which lines are events is tried with `parity reingest`."
        )
    return name, value


def _show(trial: "Trial") -> None:
    from cli.changes import show_comparison

    show_comparison(answers, trial.comparison, samples=3)
    table = Table(header_style="bold", box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for name in ("", "live", "tried"):
        table.add_column(name, justify="right" if name else "left")
    if trial.live is not None and trial.tried is not None:
        for line in zip(_WAITING, _cells(trial.live), _cells(trial.tried), strict=True):
            table.add_row(*line)
    table.add_row("size of the table", decimal(trial.live_bytes), decimal(trial.tried_bytes))
    answers.print(table)
    answers.print(
        f"The replay of {trial.events:,} events took {trial.cpu_seconds:,.1f} CPU s, {trial.wall_seconds:,.1f} s.\n",
        highlight=False,
    )


_WAITING = ("rows", "late events", "repairs", "median wait until settled", "p99 wait until settled")


def _cells(waiting: "Waiting") -> tuple[str, ...]:
    from reconciliation.choice import wait
    from reconciliation.words import share

    return (
        f"{waiting.rows:,}",
        f"{waiting.late_events:,}",
        f"{waiting.repaired:,} ({share(waiting.repaired, waiting.rows)})",
        wait(waiting.median_wait),
        wait(waiting.p99_wait),
    )
