"""`parity quality`: whether the tables are as they must be, for people and for machines."""

import json
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from cli.clock import command_clock
from cli.console import answers, conclude, results_from, session_for, settings_from, step, told_errors
from cli.options import ConfigOption, Format, FormatOption, LakeOption, LogVersionOption, ResultsOption
from cli.terminal import plain, spelt

if TYPE_CHECKING:
    from quality.outcome import CheckedTable, QualityRun

SAMPLE = 2


def quality(
    lake: LakeOption,
    table: Annotated[
        list[str] | None,
        typer.Option("--table", help="A table by its name; may be repeated. All by default.", metavar="NAME"),
    ] = None,
    result: ResultsOption = None,
    log_version: LogVersionOption = None,
    run: Annotated[
        str | None, typer.Option(help="The name of the run; the time in UTC by default.", metavar="NAME")
    ] = None,
    format: FormatOption = Format.text,
    config: ConfigOption = None,
) -> None:
    """Check every table at a pinned version, and write Data Docs. Exit code 0 all met, 1 something not, 2 could not."""
    from lakehouse.lake import open_lake
    from lakehouse.log import known_version
    from lakehouse.reports import run_name
    from lakehouse.terms import shared_log

    with told_errors(lake / "logs" / "spark.log"):
        moment = command_clock()()
        name = run_name(f"{moment:%Y-%m-%dT%H:%M:%S.%fZ}" if run is None else run)
        opened = open_lake(lake)
        settings = settings_from(config, opened)
        results = results_from(settings, result, opened)
        known_version(shared_log(opened, results), log_version, option="--log-version")
        from quality.validate import refuse_unknown, validate

        refuse_unknown(opened, results, table or ())
        spark = session_for(opened, settings)
        with step("Validate") as told:
            found = validate(
                spark, opened, results, settings,
                run=name, moment=moment, log_version=log_version, tables=table or (), progress=told,
            )  # fmt: skip
        if format is Format.json:
            answers.out(json.dumps(found.as_dict(), ensure_ascii=False), highlight=False)
        else:
            _show(found)
            answers.print(
                f"Data Docs: {lake / 'quality' / 'docs' / 'index.html'}", markup=False, highlight=False, soft_wrap=True
            )
            # The last line of the answer, which Airflow takes for the error of the task.
            answers.print(found.sentence, markup=False, highlight=False, soft_wrap=True)
        conclude(found.status, [each.table for each in found.tables if each.failed])
    raise typer.Exit(found.exit_code)


def _show(found: "QualityRun") -> None:
    rows = Table(
        title=f"Quality at log version {found.log_version}", title_justify="left", box=None, padding=(0, 2, 0, 0)
    )
    for name, side in (
        ("table", "left"),
        ("quality", "left"),
        ("met", "right"),
        ("failed", "right"),
        ("pinned", "left"),
    ):
        rows.add_column(name, justify="right" if side == "right" else "left", no_wrap=True)
    for each in found.tables:
        verdict = "[red]✗ not met[/]" if each.failed else "[green]✓ met[/]"
        rows.add_row(
            plain(each.table), verdict, str(len(each.expectations) - each.failed), str(each.failed), _pin(each)
        )
    for missing in found.absent:
        rows.add_row(plain(missing["table"]), "[dim]not there[/]", "", "", "")
    answers.print(rows)
    for each in found.tables:
        for line in _failures(each):
            answers.print(spelt(line), markup=False, highlight=False, soft_wrap=True)


def _pin(table: "CheckedTable") -> str:
    """The version of the table, and the version of the log that it had come to; the JSON says more."""
    return f"version {table.version}, log {table.pinned['log_version']}"


def _failures(table: "CheckedTable") -> list[str]:
    """Each expectation that is not met in a sentence, with a sample of what was found."""
    lines = []
    for each in table.expectations:
        if not each.met:
            lines.append(f"{table.table}: {each.name}. {each.description} Found: {each.observed}.")
            lines += [
                "  e.g. " + ", ".join(f"{name} {value}" for name, value in row.items()) for row in each.sample[:SAMPLE]
            ]
    return lines
