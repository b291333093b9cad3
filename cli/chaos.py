"""`parity chaos`: faults on purpose, from a seed that repeats them, and the proof after each."""

import random
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.console import answers, notes, numbered, settings_from, step, told_errors
from cli.fresh import at_work, fresh
from cli.options import PipelineOption
from cli.parts import interrupted_by_signals

if TYPE_CHECKING:
    from chaos.run import Round

BROKEN = 1


def chaos(
    lake: Annotated[
        Path, typer.Option(help="Directory of the run; one that `parity chaos` made is cleared.", metavar="DIR")
    ] = Path("chaos-lake"),
    seed: Annotated[int, typer.Option(help="Same seed: same events, same faults, same moments.")] = 7,
    rounds: Annotated[
        int | None,
        typer.Option(
            min=1, help="Faults, each with its recovery and its proof.", show_default="5, or each --fault once"
        ),
    ] = None,
    fault: Annotated[
        list[str] | None,
        typer.Option(help="Only this fault; may be repeated, `list` names them all. Drawn by default.", metavar="NAME"),
    ] = None,
    minutes: Annotated[float, typer.Option(min=1.0, help="How long the fault `load` goes on.")] = 5.0,
    pipeline: PipelineOption = None,
) -> None:
    """Break it: kill, stop, damage and starve real processes, and prove after each fault that nothing is lost or doubled."""
    from chaos.faults import faults
    from chaos.run import LOAD, chosen_faults
    from chaos.run import chaos as rounds_of
    from chaos.subject import subject_of
    from chaos.violation import Violation
    from cli.simulators import simulator_of

    if fault == ["list"]:
        answers.print("\n".join([*faults(), LOAD]), highlight=False)
        return
    begun, done, broken = time.monotonic(), 0, None
    with told_errors(lake / "logs" / "chaos.log"), interrupted_by_signals():
        settings = settings_from(None, pipeline=pipeline)
        simulator_of(settings.pipeline)
        subject = subject_of(settings)
        order = chosen_faults(fault or [], random.Random(f"{seed} faults"), rounds, minutes, subject)
        made = fresh(lake, settings.pipeline, command="chaos")
        repeat = ["parity chaos", f"--lake {lake}", f"--seed {seed}", *(f"--fault {name}" for name in fault or ())]
        repeat += [f"--rounds {len(order)}"] if rounds else []
        repeat += [f"--pipeline {pipeline}"] if pipeline else []
        repeat += [f"--minutes {minutes:g}"] if LOAD in (fault or ()) else []
        answers.print(f"Seed {seed}. To repeat it: {' '.join(repeat)}", highlight=False, soft_wrap=True)
        try:
            with at_work(made.path, command="chaos"):
                going = rounds_of(made, subject, order, seed=seed, minutes=minutes, say=_note)
                round_of = numbered(len(order)).alike(len(order))
                for each in order:
                    with round_of(each.name):
                        ended = next(going)
                    done += 1
                    answers.print(_told(ended), highlight=False, soft_wrap=True)
                with step("Stop all of it"):
                    list(going)
        except Violation as violation:
            broken = violation
    if broken is not None:
        notes.print(f"[red]✗[/] Violation in round {done + 1}, seed {seed}: ", end="")
        notes.print(str(broken), markup=False, highlight=False, soft_wrap=True)
        notes.print(f"The lake is kept as it was found: {lake}", highlight=False, soft_wrap=True)
        raise typer.Exit(BROKEN)
    answers.print(
        f"{done} {'fault' if done == 1 else 'faults'} in {time.monotonic() - begun:.0f} s, seed {seed}: nothing was lost and "
        "nothing was doubled.",
        highlight=False,
        soft_wrap=True,
    )


def _told(each: "Round") -> str:
    found = each.proof
    return (
        f"{each.number:>3}  {each.fault}\n"
        f"     at {each.struck_after:.1f} s: {each.said}\n"
        f"     recovered in {each.recovered_in:.1f} s; {found.equal:,} settled keys equal at log version {found.log_version}, "
        f"{'no witness was asked' if found.witnessed is None else f'{found.witnessed:,} rows as the landing files say'}; "
        f"landed {found.landed:,} = accepted {found.accepted:,} + duplicate {found.duplicate:,} + quarantined "
        f"{found.quarantined:,}; no revision twice"
    )


def _note(text: str) -> None:
    notes.print(f"[dim]{text}[/]", highlight=False, soft_wrap=True)
