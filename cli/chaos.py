"""`parity chaos`: faults on purpose, from a seed that repeats them, and the proof after each."""

import time
from pathlib import Path
from typing import Annotated

import typer

from cli.console import answers, notes, told_errors
from cli.fresh import at_work, fresh
from cli.parts import interrupted_by_signals

BROKEN = 1


def chaos(
    lake: Annotated[
        Path, typer.Option(help="Directory of the run; one that `parity chaos` made is cleared.", metavar="DIR")
    ] = Path("chaos-lake"),
    seed: Annotated[int, typer.Option(help="Same seed: same game, same faults, same moments.")] = 7,
    rounds: Annotated[int, typer.Option(min=1, help="Faults, each with its recovery and its proof.")] = 5,
    fault: Annotated[
        str | None, typer.Option(help="This fault in every round; `list` names them all.", metavar="NAME")
    ] = None,
    minutes: Annotated[float, typer.Option(min=1.0, help="How long the fault `load` goes on.")] = 5.0,
) -> None:
    """Break it: kill, stop, damage and starve real processes, and prove after each fault that nothing is lost or doubled."""
    from chaos.faults import faults
    from chaos.run import LOAD, chosen_faults
    from chaos.run import chaos as rounds_of
    from chaos.violation import Violation

    if fault == "list":
        answers.print("\n".join([*faults(), LOAD]), highlight=False)
        return
    with told_errors(lake / "logs" / "chaos.log"), interrupted_by_signals():
        import random

        chosen_faults(fault, random.Random(), 1, minutes)  # a misspelt one is told before anything is cleared
        made = fresh(lake, command="chaos")
        repeat = f"parity chaos --lake {lake} --seed {seed} --rounds {rounds}" + (f" --fault {fault}" if fault else "")
        answers.print(f"Seed {seed}. To repeat it: {repeat}", highlight=False, soft_wrap=True)
        begun, done = time.monotonic(), 0
        try:
            with at_work(made.path, command="chaos"):
                for each in rounds_of(made, seed=seed, rounds=rounds, fault=fault, minutes=minutes, say=_note):
                    done += 1
                    found = each.proof
                    answers.print(
                        f"{each.number:>3}  {each.fault}: at {each.struck_after:.1f} s {each.said}. "
                        f"Recovered in {each.recovered_in:.1f} s. {found.equal:,} settled keys equal at log version "
                        f"{found.log_version}; landed {found.landed:,} = accepted {found.accepted:,} + duplicate "
                        f"{found.duplicate:,} + quarantined {found.quarantined:,}; no revision twice.",
                        highlight=False,
                        soft_wrap=True,
                    )
        except Violation as broken:
            notes.print(f"[red]✗[/] Violation in round {done + 1}, seed {seed}: ", end="")
            notes.print(str(broken), markup=False, highlight=False, soft_wrap=True)
            notes.print(f"The lake is kept as it was found: {made.path}", highlight=False, soft_wrap=True)
            raise typer.Exit(BROKEN) from None
        answers.print(
            f"{done} faults in {time.monotonic() - begun:.0f} s, seed {seed}: nothing was lost and nothing was doubled.",
            highlight=False,
            soft_wrap=True,
        )


def _note(text: str) -> None:
    notes.print(f"[dim]{text}[/]", highlight=False, soft_wrap=True)
