"""The command that keeps a lake small: `parity maintain`."""

import json
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from cli.console import answers, notes, session_for, settings_from, step, told_errors
from cli.options import ConfigOption, Format, FormatOption, LakeOption

if TYPE_CHECKING:
    from lakehouse.lake import Lake
    from lakehouse.settings import Settings


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
    """Fold superseded revisions, compact small files, remove what is beyond the horizon and old reports.

    The streams may run meanwhile.
    """
    from lakehouse.lake import open_lake
    from lakehouse.log import newest_version

    with told_errors(lake / "logs" / "spark.log"):
        opened = open_lake(lake)
        settings = settings_from(config, opened)
        if recover_position:
            from lakehouse.recovery import recover_position as recovered
            from lakehouse.recovery import refuse_known_position

            refuse_known_position(replace(opened, log=log))
            spark = session_for(opened, settings)
            with step("Recover the position"):
                found_position = recovered(spark, replace(opened, log=log))
            answers.print(
                f"The log stands at event {found_position.seq:,} of micro-batch {found_position.batch}, its mark at "
                f"{found_position.high_water}: derived from its rows, and written into a commit without any.",
                highlight=False,
            )
            return
        from lakehouse.maintenance import maintain as run_maintenance

        newest_version(opened)
        spark = session_for(opened, settings)
        with step("Maintain"):
            found = list(run_maintenance(spark, opened, settings))
        _remove_reports(opened, settings, datetime.now(UTC))
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


def _remove_reports(lake: "Lake", settings: "Settings", now: datetime) -> None:
    """Old reports go, and it is told how many: their pages are not found again."""
    from lakehouse.retention import remove_old_reports
    from transformations.durations import written

    kept_for = settings.retention.reports
    removed = remove_old_reports(lake, before=now - kept_for)
    notes.print(
        f"Removed the reports of {removed.reconciliations:,} reconciliations and {removed.validations:,} validations that "
        f"are older than {written(kept_for)}. The newest of each result and table stays, and every decision.",
        highlight=False,
        soft_wrap=True,
    )
