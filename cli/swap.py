"""`parity swap`: make a version of a result the live one, at once and as a whole; or undo that."""

from typing import Annotated

import typer

from cli.clock import command_clock
from cli.console import notes, results_from, session_for, settings_from, step, told_errors
from cli.options import ConfigOption, LakeOption
from cli.reprocess import OneResultOption

ROUNDS = 5
"""How often a version follows a live one that goes on meanwhile. Each round is shorter than the one before."""


def swap(
    lake: LakeOption,
    result: OneResultOption,
    to: Annotated[int | None, typer.Option(min=1, help="The version that becomes live.", metavar="N")] = None,
    back: Annotated[bool, typer.Option("--back", help="Undo the last swap.")] = False,
    catch_up: Annotated[bool, typer.Option("--catch-up", help="Bring it up to the log first.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Also if it is behind the live one.")] = False,
    config: ConfigOption = None,
) -> None:
    """Make a version of a result the live one, at once and as a whole; or undo that. Only --catch-up needs Spark."""
    from lakehouse.errors import VersionRefused
    from lakehouse.lake import open_lake
    from lakehouse.versions import as_noted, at_number, is_behind_live, make_live, make_previous_live

    with told_errors(lake / "logs" / "spark.log" if catch_up else None):
        opened = open_lake(lake)
        settings = settings_from(config, opened)
        if back == (to is not None):
            raise VersionRefused("Say either which version becomes live, with --to N, or --back.")
        [asked] = results_from(settings, [result], opened)
        if to is None:
            live, before = make_previous_live(opened, asked.name)
        else:
            new, own = as_noted(opened, at_number(opened, asked, to), settings)
            if catch_up and to != asked.version:  # which is the live one
                spark = session_for(opened, settings)
                from speed_layer.stream import stream

                for _ in range(ROUNDS):
                    with step(f"Bring {new.id} up to the log"):
                        stream(spark, opened, [new], own, clock=command_clock())
                    if not is_behind_live(opened, new):
                        break
            live, before = to, make_live(opened, new, force=force)
        if live == before:
            notes.print(f"[green]✓[/] {asked.name}@{live} is live already.", highlight=False)
            return
        notes.print(
            f"[green]✓[/] {asked.name}@{live} is live, {asked.name}@{before} was. "
            f"`parity swap --lake {lake} --result {asked.name} --back` undoes it.",
            highlight=False,
            soft_wrap=True,
        )
