"""`parity live`: the whole architecture at work on events that keep coming, until Ctrl-C.

Unlike the demo, which runs one job after the other on a day that is over, here everything runs at once: the phones
deliver, ingestion and streams follow within seconds, the control and the batch layer come round on their schedules, and
each round of batch ends with a verdict. One JVM does the work; the server is a process of its own. It comes first, so that the
page tells what is starting; the simulator and ingestion need no JVM and do not wait for it.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.spinner import Spinner

from cli.console import notes, results_from, settings_from, step, told_errors
from cli.fresh import at_work, fresh
from cli.options import ConfigOption, PipelineOption, duration
from cli.parts import Parts, interrupted_by_signals
from cli.server import Server, serving
from cli.simulators import Simulator, simulator_of
from cli.starting import SERVER, SIMULATOR, VERDICTS, Starting, parts_of
from cli.steps import ticking

if TYPE_CHECKING:
    from cli.layers import Layers

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
LOOK_EVERY = 0.5


def live(
    lake: Annotated[
        Path, typer.Option(help="Directory of the lake; one that `parity live` made is cleared.", metavar="DIR")
    ] = Path("live"),
    rate: Annotated[float, typer.Option(min=0.1, help="Events a second.")] = 8.0,
    back: Annotated[int, typer.Option(min=0, help="Minutes that have passed when it starts.")] = 60,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port of the server, on 127.0.0.1.")] = 8000,
    result: Annotated[
        list[str] | None,
        typer.Option(
            "--result",
            help="A result by its name; may be repeated. Those that its pipeline shows by default.",
            metavar="NAME",
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
    seed: Annotated[int, typer.Option(help="Seed of the simulator.")] = 7,
    pipeline: PipelineOption = None,
    config: ConfigOption = None,
) -> None:
    """Watch it move: events that keep coming, both layers, the control, verdicts and the server, until Ctrl-C."""
    with told_errors(lake / "logs" / "spark.log"), interrupted_by_signals():
        for name, value in () if config else DEFAULTS.items():
            os.environ.setdefault(name, value)
        settings = settings_from(config, pipeline=pipeline)
        results = results_from(settings, result or list(settings.pipeline.story.shown_live))
        simulator = simulator_of(settings.pipeline)
        made = fresh(lake, settings.pipeline, command="live")
        with at_work(made.path, command="live"):
            held = ExitStack()
            try:
                starting = Starting(made, notes, parts_of([each.name for each in results], stream_only=stream_only))
                held.callback(starting.forget)
                starting.begins(SERVER, "comes up")
                options = ["--config", str(config)] if config else []
                server = held.enter_context(serving(made, port=port, options=options))
                with _shown(starting) as show:
                    parts = Parts()
                    held.callback(parts.stop.set)
                    landing = made.path / "landing"
                    _play(parts, starting, landing, simulator, rate=rate, back=back, seed=seed)
                    from cli.layers import Layers
                    from lakehouse.session import end_spark

                    layers = Layers(made, landing, results, settings, parts.stop, starting)
                    held.callback(end_spark)
                    held.callback(_end, parts, layers)
                    parts.start("stream", layers.streams)
                    parts.start("ingestion", layers.ingestion)
                    if not stream_only:
                        pause = batch_every or timedelta(minutes=1)
                        parts.repeat("batch layer", layers.batch, every=pause.total_seconds())
                        parts.repeat("control", layers.control, every=CONTROL_EVERY)
                    _watch(layers, parts, server, starting, show)
            except KeyboardInterrupt:
                pass
            finally:
                with step("Stop all of it"):
                    held.close()
        notes.print(f"Stopped. `parity status --lake {lake}` tells what is there.", highlight=False, soft_wrap=True)


def _play(
    parts: Parts, starting: Starting, landing: Path, simulator: Simulator, *, rate: float, back: int, seed: int
) -> None:
    """Let it begin, and go on."""

    def wait(seconds: float) -> bool:
        starting.ready(SIMULATOR, f"{back} minutes have landed, {rate:g} events a second land now")
        return parts.stop.wait(seconds)

    starting.begins(SIMULATOR, f"lets {back} minutes land")
    clock, played = partial(datetime.now, UTC), timedelta(minutes=back)
    parts.start(
        "simulator", partial(simulator.feed, landing, rate=rate, back=played, seed=seed, clock=clock, wait=wait)
    )


@contextmanager
def _shown(starting: Starting) -> Iterator[Callable[[str], None]]:
    """Let what is starting tick on the terminal, until what is yielded is given a line to show in its place."""
    spinner = Spinner("dots")
    with ticking(notes, starting) as live:

        def show(line: str) -> None:
            spinner.update(text=line)
            live(spinner)

        yield show


def _watch(layers: "Layers", parts: Parts, server: Server, starting: Starting, show: Callable[[str], None]) -> None:
    """Say where everything stands, until a part fails or somebody interrupts."""
    told: dict[str, str] = {}
    while not parts.stop.wait(LOOK_EVERY):
        server.refuse_ended()
        if not starting.is_ready(SERVER) and server.answers():
            starting.ready(SERVER, "answers")
            notes.print(f"Open {server.address} · Ctrl-C stops all of it", highlight=False)
        layers.look()
        for candidate, said in layers.said.items():
            if told.get(candidate) not in (None, said):  # the first one is told as what has come up
                line = f"[dim]{datetime.now(UTC):%H:%M:%S}[/] {VERDICTS[candidate]}: {said}"
                notes.print(line, highlight=False, soft_wrap=True)
            told[candidate] = said
        if starting.over:
            show(layers.status())
    parts.refuse_failure()


def _end(parts: Parts, layers: "Layers") -> None:
    """Stop all parts and wait for them: the streams finish in order, the rounds of batch and control are cut short."""
    parts.stop.set()
    deadline = time.monotonic() + LONGEST_END
    while parts.running(0.5) and time.monotonic() < deadline:
        layers.end_rounds()
