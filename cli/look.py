"""The commands that show something: the rows of a layer, and where everything stands."""

import csv
import json
import sys
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.table import Table

from cli.console import answers, results_from, session_for, settings_from, step, told_errors
from cli.options import ConfigOption, Format, FormatOption, LakeOption
from cli.terminal import plain
from transformations.durations import iso


class LayerName(StrEnum):
    kappa = "kappa"
    batch = "batch"
    legacy = "legacy"
    lambda_ = "lambda"


class RowFormat(StrEnum):
    table = "table"
    csv = "csv"
    jsonl = "jsonl"


def show(
    result: Annotated[str, typer.Argument(help="The result by its name.", metavar="RESULT")],
    lake: LakeOption,
    layer: Annotated[LayerName, typer.Option(help="Whose answer.")] = LayerName.kappa,
    settled_only: Annotated[bool, typer.Option("--settled-only", help="Leave out what may still change.")] = False,
    format: Annotated[RowFormat, typer.Option(help="For people or for machines.")] = RowFormat.table,
    config: ConfigOption = None,
) -> None:
    """Show the rows of a result as one layer answers them."""
    from lakehouse.lake import open_lake

    with told_errors(lake / "logs" / "spark.log"):
        settings = settings_from(config)
        opened = open_lake(lake)
        [asked] = results_from(settings, [result], opened)
        spark = session_for(opened, settings)
        from lakehouse.versions import as_noted
        from serving.views import view

        with step(f"Read {layer.value} {result}"):
            own, given = as_noted(opened, asked, settings)
            rows = view(spark, opened, own, given, layer=layer.value, settled_only=settled_only)
            found = [{name: _plain(value) for name, value in row.asDict().items()} for row in rows.collect()]
            columns = rows.columns
        if format is RowFormat.jsonl:
            sys.stdout.writelines(f"{json.dumps(row, ensure_ascii=False)}\n" for row in found)
        elif format is RowFormat.csv:
            writer = csv.DictWriter(sys.stdout, fieldnames=columns, lineterminator="\n")
            writer.writeheader()
            writer.writerows(found)
        else:
            table = Table(title=f"{layer.value} {asked.id}: {len(found):,} rows", title_justify="left")
            for name in columns:
                table.add_column(name)
            for row in found:
                table.add_row(*("" if row[name] is None else plain(row[name]) for name in columns))
            answers.print(table)


def status(
    lake: LakeOption,
    format: FormatOption = Format.text,
    config: ConfigOption = None,
) -> None:
    """Show where the log and every layer stand. Needs no Spark."""
    from lakehouse.lake import open_lake
    from serving.status import lake_status

    with told_errors(lake / "logs" / "spark.log"):
        settings = settings_from(config)
        opened = open_lake(lake)
        found = lake_status(opened, results_from(settings, None, opened))
        if format is Format.json:
            answers.out(json.dumps(found, ensure_ascii=False), highlight=False)
            return
        log = found["log"]
        answers.print(
            f"Log version {log['version']}: {log['events']:,} events, {log['duplicates']:,} duplicates, "
            f"{log['quarantined']:,} quarantined; high-water mark {log['high_water'] or 'none'}",
            highlight=False,
        )
        table = Table(header_style="bold", box=None, padding=(0, 2, 0, 0))
        for name in ("layer", "result", "version", "behind the log", "engine rows", "repairs", "recomputed"):
            table.add_column(name, no_wrap=True)
        for each in found["layers"]:
            revisions = [f"{each[name]:,}" if name in each else "" for name in ("engine_rows", "repairs", "recomputed")]
            table.add_row(each["layer"], each["result"], *_standing(each), *revisions)
        answers.print(table)


def _standing(layer: dict[str, Any]) -> tuple[str, str]:
    """The version of the log that a layer has consumed, and what it has not consumed yet."""
    if layer["log_version"] is None:
        return "-", "not run"
    commits, events = layer["lag_versions"], layer["lag_events"]
    return str(layer["log_version"]), f"{commits:,} commits, {events:,} events" if commits else "caught up"


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return iso(value)
    return value
