"""`parity decide`: keep what a person decided after a reconciliation. The Airflow interface asks; the lake remembers."""

from typing import Annotated

import typer

from cli.clock import command_clock
from cli.console import notes, told_errors
from cli.options import LakeOption


def decide(
    lake: LakeOption,
    run: Annotated[str, typer.Option(help="The run in which it was decided.", metavar="NAME")],
    reconciliation: Annotated[str, typer.Option(help="The reconciliation that it is about.", metavar="NAME")],
    decision: Annotated[str, typer.Option(help="What was decided, in a few words.", metavar="TEXT")],
    by: Annotated[str, typer.Option(help="Who decided.", metavar="WHO")] = "somebody",
) -> None:
    """Keep what a person decided after a reconciliation. Needs no Spark."""
    from lakehouse.lake import open_lake
    from reconciliation.decisions import keep_decision

    with told_errors():
        kept = keep_decision(open_lake(lake), run, reconciliation, decision=decision, by=by, at=command_clock()())
        notes.print(
            f"Kept: {kept.by} decided {kept.decision!r} about {kept.reconciliation}", highlight=False, markup=False
        )
