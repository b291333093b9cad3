"""`parity status`: where the log and every layer stand."""

import json
from typing import Any

from rich.table import Table

from cli.console import answers, results_from, settings_from, told_errors
from cli.options import ConfigOption, Format, FormatOption, LakeOption


def status(
    lake: LakeOption,
    format: FormatOption = Format.text,
    config: ConfigOption = None,
) -> None:
    """Show where the log and every layer stand. Needs no Spark."""
    from lakehouse.lake import open_lake
    from serving.status import lake_status

    with told_errors(lake / "logs" / "spark.log"):
        opened = open_lake(lake)
        settings = settings_from(config, opened)
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
