"""The command for savepoints: take one, list them, remove one. `parity stream --from-savepoint` starts from one."""

import json
from dataclasses import asdict
from typing import Annotated

import typer
from rich.table import Table

from cli.console import answers, notes, results_from, session_for, settings_from, step, told_errors
from cli.options import ConfigOption, Format, FormatOption, LakeOption, ResultsOption


def savepoint(
    lake: LakeOption,
    name: Annotated[str | None, typer.Option(help="Take one of this name. Without it: list them.")] = None,
    result: ResultsOption = None,
    remove: Annotated[str | None, typer.Option(help="Remove the one of this name.", metavar="NAME")] = None,
    format: FormatOption = Format.text,
    config: ConfigOption = None,
) -> None:
    """Record where every stream stands, with its state, to start there again; or list what was recorded."""
    from lakehouse.errors import SavepointRefused
    from lakehouse.lake import open_lake
    from lakehouse.savepoints import refuse_savepoint, savepoints, streams_of, take
    from lakehouse.savepoints import remove as remove_savepoint

    with told_errors(lake / "logs" / "spark.log"):
        opened = open_lake(lake)
        settings = settings_from(config, opened)
        if remove is not None:
            if name is not None or result:
                raise SavepointRefused("A savepoint is removed as a whole: give --remove NAME alone.")
            remove_savepoint(opened, remove)
            notes.print(f"[green]✓[/] The savepoint {remove} is removed.", highlight=False)
        elif name is not None:
            results = results_from(settings, result, opened) if result else streams_of(opened)
            refuse_savepoint(opened, name, results)
            spark = session_for(opened, settings)
            with step(f"Savepoint {name}"):
                taken = take(spark, opened, name, results)
            notes.print(
                f"Log version {taken.log_version}: {', '.join(taken.streams)}. "
                f"`parity stream --lake {lake} --from-savepoint {name}` starts there again.",
                highlight=False,
                soft_wrap=True,
            )
        elif format is Format.json:
            answers.out(json.dumps([asdict(each) for each in savepoints(opened)]), highlight=False)
        else:
            table = Table("name", "taken at", "log version", "streams", header_style="bold", box=None)
            for each in savepoints(opened):
                table.add_row(each.name, each.taken_at, f"{each.log_version:,}", ", ".join(each.streams))
            answers.print(table)
