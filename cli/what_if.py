"""`parity what-if`: other settings tried on the log, and what they would change."""

import json
from typing import TYPE_CHECKING, Annotated

import typer
from rich.filesize import decimal
from rich.table import Table

from cli.console import answers, results_from, session_for, settings_from, step, told_errors
from cli.options import ConfigOption, Format, FormatOption, FromVersionOption, LakeOption, ResultsOption

if TYPE_CHECKING:
    from reconciliation.what_if import Trial, Waiting

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

    with told_errors(lake / "logs" / "spark.log"):
        settings = settings_from(config, tried=dict(_setting(text) for text in given))
        opened = open_lake(lake)
        known_version(opened, from_version, option="--from-version")
        results = results_from(settings, result)
        spark = session_for(opened, settings)
        from reconciliation.what_if import changed_results, tried

        changed = changed_results(opened, results, settings)
        if not changed:
            raise BadSettings(
                f"--set {', '.join(given)}: nothing would change. No result that has a stream in {lake} is computed with "
                "other settings than these."
            )
        found = []
        for each in changed:
            with step(f"Try {each.name}"):
                found.append(tried(spark, opened, each, settings, since=from_version, keep=keep))
        if format is Format.json:
            answers.out(json.dumps([trial.as_dict() for trial in found], ensure_ascii=False), highlight=False)
            return
        for trial in found:
            _show(trial)
        if not keep:
            answers.print("Nothing of this was kept. --keep leaves the new versions in the lake.", style="dim")


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
