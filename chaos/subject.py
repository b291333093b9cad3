"""What the faults are tried on: a pipeline, the results of it that are streamed, and its witness if it has one.

Nothing here is of a pipeline in particular. One without a witness is proven by everything else: each line that landed has
the fate that it deserves, stream and batch agree on settled keys of each result, and no revision is there twice.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from math import ceil
from typing import Protocol, cast

from lakehouse.errors import BadPipeline, BadSettings
from lakehouse.pipelines import module_of
from lakehouse.settings import Lateness, Settings
from transformations.kind import Kind
from transformations.pipeline import Pipeline
from transformations.result import Result

HOURS = 12
"""The simulation goes on for so many of the longest duration of a result, or hours, however many files it is cut into."""


class Answers(Protocol):
    """What the module says that a story names as its witness."""

    QUERIES: Mapping[str, str]
    """Results with their rows, as SQL for DuckDB over the events that are `known`; times in milliseconds."""
    SETTLED: Mapping[str, str]
    """When a row of each is settled, if everything before `{before}` is."""


@dataclass(frozen=True, eq=False)
class Subject:
    pipeline: Pipeline
    results: tuple[Result, ...]
    """Those that are streamed."""
    witness: Answers | None
    lateness: Lateness

    @property
    def kinds(self) -> dict[str, Kind]:
        return {kind.name: kind for kind in self.pipeline.kinds}

    @property
    def kind(self) -> str:
        """The kind whose late events are waited for where no result is meant: the first that the charted result reads."""
        return self.pipeline.catalogue()[self.pipeline.story.charted.result].kinds[0]

    @property
    def allowed(self) -> int:
        """The allowed lateness, in milliseconds."""
        return self.lateness.allowed // timedelta(milliseconds=1)

    @property
    def hours(self) -> int:
        """How long the simulation goes on, so that keys of each result are settled before the first fault."""
        longest = max(sum(each.window.durations.values(), timedelta()) for each in self.results)
        return HOURS * max(1, ceil(longest / timedelta(hours=1)))

    @property
    def stateful(self) -> list[Result]:
        """Those with a state of the engine."""
        return [each for each in self.results if each.way == "engine"]

    @property
    def repaired(self) -> list[Result]:
        """Those of which every late event is repaired: the engine gets none."""
        return [each for each in self.stateful if self.lateness.hold_of(each) is None]


def subject_of(settings: Settings) -> Subject:
    """The results that the witness knows, else those whose streams the story has killed, else all."""
    pipeline = settings.pipeline
    known, witness = pipeline.catalogue(settings.windows_by_result), witness_of(pipeline)
    names = [*witness.QUERIES] if witness is not None else pipeline.story.killed or tuple(known)
    if witness is not None:
        declared = pipeline.catalogue()
        if others := [name for name in names if known[name].window != declared[name].window]:
            raise BadSettings(
                f"The witness of the pipeline {pipeline.name} knows {', '.join(others)} by the durations of the declaration, and "
                "the settings give others. Leave them out ([windows] and PARITY_WINDOWS__…) for `parity chaos`."
            )
    return Subject(pipeline, tuple(known[name] for name in names), witness, settings.lateness)


def witness_of(pipeline: Pipeline) -> Answers | None:
    """The module that the story names; it has to speak of results that there are."""
    named = pipeline.story.witness
    if named is None:
        return None
    witness, what = module_of(pipeline, named, what="witness"), f"The witness {named!r} of the pipeline {pipeline.name}"
    for part in ("QUERIES", "SETTLED"):
        if not isinstance(getattr(witness, part, None), Mapping):
            raise BadPipeline(
                f"{what} has no {part}: an answer in SQL for each result that it knows (docs/pipelines.md)."
            )
    if not witness.QUERIES or set(witness.QUERIES) != set(witness.SETTLED):
        raise BadPipeline(f"{what} has to have the same results in QUERIES and in SETTLED, and one at least.")
    if unknown := [name for name in witness.QUERIES if name not in pipeline.declared]:
        raise BadPipeline(f"{what} speaks of {', '.join(unknown)}. There are: {', '.join(pipeline.declared)}.")
    return cast(Answers, witness)
