"""A pipeline: the kinds of events and the results that belong together, and the story that says which of them stand out.

    PIPELINE = Story(name="doors", story="Doors that open.", controlled=("openings",), charted=Charted("openings", "times"))

stands in `pipeline.py` of its folder, beside `kinds` and `results`. Nothing here needs Spark: what only reads lines does not
wait for it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from . import kinds as of_kinds
from .kind import Field, Kind

if TYPE_CHECKING:
    from .result import Result

Declare = Callable[..., "Result"]


@dataclass(frozen=True)
class Charted:
    """What charts and the live page show: a column of a result with windows side by side.

    The first column of its key tells the lines apart.
    """

    result: str
    column: str


@dataclass(frozen=True, kw_only=True)
class Story:
    """What a pipeline is about, and which of its results stand for the others.

    The control is judged on those that are `controlled`. `parity demo` kills the streams of those that are `killed` (none:
    that of the first), `parity live` computes those that are `live` (none: the charted one). The `simulator` is a module that
    makes landing files, with a point before its name if it lies in the folder itself (none: there is nothing to simulate).
    The `witness` is a module, named alike, that says in SQL of its own what results have to be (none: `parity chaos` asks
    nobody).
    """

    name: str
    story: str
    controlled: tuple[str, ...]
    charted: Charted
    killed: tuple[str, ...] = ()
    live: tuple[str, ...] = ()
    simulator: str | None = None
    witness: str | None = None

    @property
    def shown_live(self) -> tuple[str, ...]:
        """What `parity live` computes."""
        return self.live or (self.charted.result,)


@dataclass(frozen=True, eq=False)
class Pipeline:
    """What a folder declares: the kinds, with the heartbeat, and for each result the function that declares it."""

    path: str
    """How it is named: a folder of the project by its name, any other by its path."""
    folder: Path
    story: Story
    kinds: tuple[Kind, ...]
    declared: Mapping[str, Declare]

    @property
    def name(self) -> str:
        return self.story.name

    def catalogue(self, windows: Mapping[str, Mapping[str, timedelta]] | None = None) -> dict[str, "Result"]:
        """The results, with the durations that the settings give; what they leave out has its own default."""
        given = windows or {}
        return {name: declare(**given.get(name, {})) for name, declare in self.declared.items()}

    def fields(self) -> dict[str, Field]:
        return of_kinds.fields(self.kinds)

    def personal(self) -> tuple[str, ...]:
        return of_kinds.personal(self.kinds)

    def content(self) -> list[str]:
        return of_kinds.content(self.kinds)

    def declaring(self, name: str) -> tuple[str, ...]:
        return of_kinds.declaring(self.kinds, name)
