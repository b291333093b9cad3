"""The commands for a log that is wrong itself: requeue, reingest."""

from typing import Annotated

import typer

from cli.console import notes, settings_from, step, told_errors
from cli.options import ConfigOption, LakeOption


def requeue(lake: LakeOption, config: ConfigOption = None) -> None:
    """Judge the quarantined lines again, after a fix; what is an event now enters the log as a late arrival, once."""
    from lakehouse.lake import open_lake
    from lakehouse.log import newest_version

    with told_errors(lake / "logs" / "spark.log"):
        opened = open_lake(lake)
        settings = settings_from(config, opened)
        newest_version(opened)
        from ingestion.requeue import requeue as judge_again

        with step("Requeue"):
            done = judge_again(opened, settings)
        notes.print(
            f"{done.accepted:,} lines are in the log now, {done.copies:,} are copies of events that it has, "
            f"{done.waiting:,} stay in quarantine",
            highlight=False,
        )
        if done.withheld:
            notes.print(
                f"{done.withheld:,} of them could not be judged: [ingestion] pseudonym_key is set, so the landing files alone "
                "have these lines. Let those that are events now land again, in a new file.",
                highlight=False,
                markup=False,
                soft_wrap=True,
            )


def reingest(
    lake: LakeOption,
    as_log: Annotated[int, typer.Option(help="Number of the new log; 1 is that of `parity ingest`.", metavar="N")],
    config: ConfigOption = None,
) -> None:
    """Build a log anew from the raw lines of the first, beside it, by the rules of now; or bring it up to the first."""
    from lakehouse.lake import open_lake
    from lakehouse.log import newest_version, position

    with told_errors(lake / "logs" / "spark.log"):
        opened = open_lake(lake)
        settings = settings_from(config, opened)
        newest_version(opened)
        from ingestion.reingest import reingest as build_anew

        with step(f"Micro-batches into log {as_log}") as told:
            new = build_anew(opened, settings, as_log=as_log, told=told)
        for name, at in (("Log 1", position(opened)), (f"Log {as_log}", new)):
            notes.print(
                f"{name}: {at.seq:,} events, {at.duplicates:,} duplicates, {at.quarantined:,} quarantined",
                highlight=False,
            )
        notes.print(
            f"[green]✓[/] `parity replay --lake {lake} --result NAME --log {as_log}` computes a version of a result from it.",
            highlight=False,
            soft_wrap=True,
        )
