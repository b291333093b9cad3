"""The simulator of a pipeline: the module that its story names, which makes landing files and knows nothing of Parity."""

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Protocol, cast

from lakehouse.errors import ParityError
from lakehouse.pipelines import module_of
from simulator.delivered import Delivered
from simulator.landing import LandingNotEmpty
from transformations.pipeline import Pipeline


class Simulator(Protocol):
    """What a simulator's module offers."""

    def simulate(
        self, landing: Path, *, events: int, seed: int = 7, senders: int = 200, hours: float = 24.0, files: int = 48
    ) -> Delivered:
        """Write landing files with so many events of so many hours into an empty directory."""

    def feed(
        self,
        landing: Path,
        *,
        rate: float,
        back: timedelta,
        seed: int,
        clock: Callable[[], datetime],
        wait: Callable[[float], bool],
    ) -> Delivered:
        """Let so many events a second land until `wait` says stop; what happened `back` before comes first."""


def simulator_of(pipeline: Pipeline) -> Simulator:
    named = pipeline.story.simulator
    if named is None:
        raise ParityError(
            f"The pipeline {pipeline.name} has no simulator: its {pipeline.folder / 'pipeline.py'} names none. Let files land "
            "yourself (docs/landing-format.md), and take them in with `parity ingest`."
        )
    return cast(Simulator, module_of(pipeline, named, what="simulator"))


def simulated(pipeline: Pipeline, landing: Path, *, events: int, **sizes: int | float) -> Delivered:
    """What a simulation has written into the landing directory, which has to be empty."""
    try:
        return simulator_of(pipeline).simulate(landing, events=events, **sizes)  # type: ignore[arg-type]
    except LandingNotEmpty as error:
        raise ParityError(str(error)) from None
