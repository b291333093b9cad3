"""The command that keeps a lake small: `parity maintain`."""

import json
from dataclasses import asdict, replace
from typing import Annotated

import typer
from rich.table import Table

from cli.console import answers, notes, session_for, settings_from, step, told_errors
from cli.options import ConfigOption, Format, FormatOption, LakeOption


def maintain(
    lake: LakeOption,
    recover_position: Annotated[
        bool,
        typer.Option(
            "--recover-position",
            help="Derive where the log stands from its rows, if no commit says it any more; nothing else is done.",
        ),
    ] = False,
    log: Annotated[int, typer.Option(min=1, help="The log whose position is recovered.")] = 1,
    format: FormatOption = Format.text,
    config: ConfigOption = None,
) -> None:
    """Fold superseded revisions, compact small files, remove what is beyond the horizon. The streams may run meanwhile."""
    from lakehouse.lake import open_lake

    with told_errors(lake / "logs" / "spark.log"):
        settings = settings_from(config)
        opened = open_lake(lake)
        spark = session_for(opened, settings)
        if recover_position:
            from lakehouse.recovery import recover_position as recovered

            with step("Recover the position"):
                found_position = recovered(spark, replace(opened, log=log))
            answers.print(
                f"The log stands at event {found_position.seq:,} of micro-batch {found_position.batch}, its mark at "
                f"{found_position.high_water}: derived from its rows, and written into a commit without any.",
                highlight=False,
            )
            return
        from lakehouse.maintenance import maintain as run_maintenance

        with step("Maintain"):
            found = list(run_maintenance(spark, opened, settings))
        if format is Format.json:
            answers.out(json.dumps([asdict(each) for each in found], ensure_ascii=False), highlight=False)
            return
        table = Table(header_style="bold", box=None, padding=(0, 2, 0, 0))
        table.add_column("table", overflow="fold")
        for name in ("files before", "files after", "rows folded", "files vacuumed"):
            table.add_column(name, justify="right")
        for each in found:
            counts = (each.files_before, each.files_after, each.rows_folded, each.files_vacuumed)
            table.add_row(each.table, *(f"{count:,}" for count in counts))
        answers.print(table)
        for each in found:
            if each.needed_by:
                notes.print(
                    f"Files of {each.table} beyond the horizon stay: they are still to be read by {', '.join(each.needed_by)}.",
                    highlight=False,
                )
