"""`parity live`: the whole architecture at work on events that keep coming, until Ctrl-C.

Unlike the demo, which runs one job after the other on a day that is over, here everything runs at once: the phones
deliver, ingestion and streams follow within seconds, the control and the batch layer come round on their schedules, and
each round of batch ends with a verdict. One JVM does the work; the server is a process of its own.
"""

import os
import time
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.console import notes, results_from, session_for, settings_from, told_errors
from cli.fresh import at_work, fresh
from cli.options import ConfigOption, duration
from cli.parts import Parts, interrupted_by_signals
from cli.server import Server, serving

if TYPE_CHECKING:
    from cli.layers import Layers

SHOWN = ("team_scores", "level_ups")
DEFAULTS = {
    "PARITY_LATENESS__ALLOWED": "30 seconds",  # windows settle while one watches
    "PARITY_STREAM__INTERVAL": "200 milliseconds",
    "PARITY_INGESTION__ENGINE": "embedded",  # an event is in the log a tenth of a second after it landed, not a second
    # Each micro-batch has other literals, so its generated code is compiled anew: a third of the CPU at 5,000 events a second.
    "PARITY_SPARK__COMPILER": "quick",
}
"""The settings without a file; a variable that is set goes before."""
CONTROL_EVERY = 15.0
LONGEST_END = 60.0


def live(
    lake: Annotated[
        Path, typer.Option(help="Directory of the lake; one that `parity live` made is cleared.", metavar="DIR")
    ] = Path("live"),
    rate: Annotated[float, typer.Option(min=0.1, help="Events a second.")] = 8.0,
    back: Annotated[int, typer.Option(min=0, help="Minutes that have been played when it starts.")] = 60,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port of the server, on 127.0.0.1.")] = 8000,
    result: Annotated[
        list[str] | None,
        typer.Option(
            "--result", help="A result by its name; may be repeated.", metavar="NAME", show_default=str(SHOWN)
        ),
    ] = None,
    batch_every: Annotated[
        timedelta | None,
        typer.Option(
            parser=duration, help="Pause between rounds of the batch layer; 1 minute by default.", metavar="T"
        ),
    ] = None,
    stream_only: Annotated[
        bool, typer.Option("--stream-only", help="Leave out the control, the batch layer and their verdicts.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of the game.")] = 7,
    config: ConfigOption = None,
) -> None:
    """Watch it move: a game that goes on, both layers, the control, verdicts and the server, until Ctrl-C."""
    with told_errors(lake / "logs" / "spark.log"), interrupted_by_signals() as interrupts:
        with ExitStack() as held:
            try:
                for name, value in () if config else DEFAULTS.items():
                    os.environ.setdefault(name, value)
                settings = settings_from(config)
                results = results_from(settings, result or list(SHOWN))
                made = fresh(lake, command="live")
                held.enter_context(at_work(made.path, command="live"))
                from lakehouse.session import end_spark
                from simulator import feed

                landing, parts = made.path / "landing", Parts()
                held.callback(end_spark)
                held.callback(parts.stop.set)
                playing = partial(feed, landing, rate=rate, back=timedelta(minutes=back), seed=seed)
                parts.start("simulator", partial(playing, clock=partial(datetime.now, UTC), wait=parts.stop.wait))
                notes.print(f"The game lands {rate:g} events a second, and {back} minutes that were played before")
                with interrupts.held_back():  # a JVM whose start is broken off would stay behind
                    spark = session_for(made, settings)
                from cli.layers import Layers

                layers = Layers(spark, made, landing, results, settings, parts.stop)
                held.callback(_end, parts, layers)
                parts.start("ingestion", layers.ingestion)
                parts.start("stream", layers.streams)
                if not stream_only:
                    pause = batch_every or timedelta(minutes=1)
                    parts.repeat("control", layers.control, every=CONTROL_EVERY)
                    parts.repeat("batch layer", layers.batch, every=pause.total_seconds())
                options = ["--config", str(config)] if config else []
                _watch(layers, parts, held.enter_context(serving(made, port=port, options=options)))
            except KeyboardInterrupt:
                notes.print("Stopping …")
        notes.print(f"Stopped. `parity status --lake {lake}` tells what is there.", highlight=False, soft_wrap=True)


def _watch(layers: "Layers", parts: Parts, server: Server) -> None:
    """Say where everything stands, until a part fails or somebody interrupts."""
    announced, told = False, ""
    with notes.status("The server starts …") as line:
        while not parts.stop.wait(1.0):
            if not announced and server.answers():
                announced = True
                notes.print(f"[green]✓[/] Open {server.address} · Ctrl-C stops all of it", highlight=False)
            server.refuse_ended()
            line.update(layers.status())
            if layers.said != told:
                told = layers.said
                notes.print(f"[dim]{datetime.now(UTC):%H:%M:%S}[/] {told}", highlight=False, soft_wrap=True)
    parts.refuse_failure()


def _end(parts: Parts, layers: "Layers") -> None:
    """Stop all parts and wait for them: the streams finish in order, the rounds of batch and control are cut short."""
    parts.stop.set()
    deadline = time.monotonic() + LONGEST_END
    while parts.running(0.5) and time.monotonic() < deadline:
        layers.end_rounds()
