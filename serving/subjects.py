"""What an answer is of: a version of a result as the lake computes it, with every table that it needs pinned.

To find that out takes reading notes and commits. It is done once for each state of the lake that is asked about: a request
that finds the same notes and the same newest versions gets the same subject, for the price of some looks at file times.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from math import inf
from pathlib import Path

from lakehouse.arrivals import ARRIVALS
from lakehouse.batches import batch_name
from lakehouse.changelogs import changelog_name
from lakehouse.commits import commits, newest, newest_at
from lakehouse.control import legacy_name
from lakehouse.errors import NothingToCompare, UnknownResult
from lakehouse.lake import Lake
from lakehouse.settings import Settings
from lakehouse.terms import at_log
from lakehouse.versions import FIRST, as_noted, at_number, live_number
from serving.earlier import Pins, tables_at
from serving.pins import Layer, Pinned, pinned
from transformations.durations import iso
from transformations.result import Result

Stamps = tuple[tuple[int, int] | None, ...]
REMEMBERED = 256


@dataclass(frozen=True)
class Computed:
    """A version of a result, with the settings and the log that the lake computes it with."""

    result: Result
    settings: Settings
    lake: Lake

    @property
    def tables(self) -> tuple[str, ...]:
        """What an answer can need. The log comes last: pinned in this order, it is never behind the others."""
        result = self.result
        return (changelog_name(result), batch_name(result), legacy_name(result), self.lake.of_log(ARRIVALS))


@dataclass(frozen=True)
class Subject:
    """What an answer is of."""

    result: Result
    lake: Lake
    at: Pinned

    @property
    def relations(self) -> dict[Layer, str]:
        """The tables of the layers that the answer is made of."""
        kappa, batch, legacy = (name(self.result) for name in (changelog_name, batch_name, legacy_name))
        one: dict[Layer, str] = {"kappa": kappa, "batch": batch, "legacy": legacy}
        return {"batch": batch, "kappa": kappa} if self.at.layer == "lambda" else {self.at.layer: one[self.at.layer]}

    @property
    def versions(self) -> dict[str, int]:
        """Every table that the answer is of, with its version; of the log the one that the answer stands at."""
        pins = dict(self.lake.pins)
        return {
            **{name: pins[name] for name in self.relations.values()},
            self.lake.of_log(ARRIVALS): self.at.log_version,
        }


class Subjects:
    """The subjects of a lake."""

    def __init__(self, lake: Lake, settings: Settings) -> None:
        self._lake = lake
        self._settings = settings
        self._declared = lake.pipeline.catalogue(settings.windows_by_result)
        self._newest: dict[str, int] = {}
        self._computed: Callable[[str, int, Stamps], Computed] = lru_cache(REMEMBERED)(self._find_computed)
        self._subject: Callable[[str, int, Layer, Pins, Stamps, int | None], Subject] = lru_cache(REMEMBERED)(
            self._find_subject
        )
        self._folds: Callable[[Lake, str, int], dict[int, tuple[float, float]]] = lru_cache(REMEMBERED)(_folded)

    def names(self) -> list[str]:
        return list(self._declared)

    def computed(self, name: str, *, moment: datetime | None = None) -> Computed:
        """The live version of a result, the one that was live at that moment, or the one that is named: NAME@2."""
        return self._computed(*self._noted(name, moment))

    def subject(
        self,
        name: str,
        layer: Layer,
        *,
        moment: datetime | None = None,
        pins: Pins | None = None,
        log_version: int | None = None,
    ) -> Subject:
        """What a layer answers: now, as served at that moment, at the versions of an earlier answer, or at one of the log."""
        result, version, stamps = self._noted(name, moment)
        if log_version is not None:
            computed = self._computed(result, version, stamps)
            pins = tables_at(computed.lake, computed.result, layer, log_version)
        elif pins is None:
            pins = self._pinned(self._computed(result, version, stamps), moment)
        if moment is not None and all(number < 0 for _, number in pins):
            raise NothingToCompare(f"At {iso(moment)} there was nothing to serve yet. Ask for a later time.")
        subject = self._subject(result, version, layer, pins, stamps, log_version)
        self.refuse_folded(subject)
        return subject

    def refuse_folded(self, subject: Subject) -> None:
        """Refuse what was served so long ago that its revisions are folded, also if it could be answered before that."""
        at = subject.at.boundary
        if at is None:
            return
        # What is pinned does not tell what became of it.
        name, lake = changelog_name(subject.result), replace(subject.lake, pins=())
        self._newest[name] = newest(lake, name, known=max(self._newest.get(name, 0), 0))
        until = self._folds(lake, name, self._newest[name]).get(at.epoch)
        if until is not None and (at.log_version, at.batch) < until:
            raise NothingToCompare(
                f"What the stream of {subject.result.id} said at log version {at.log_version} is no longer known: its "
                "superseded revisions have been folded since. Ask for a later time."
            )

    def _noted(self, name: str, moment: datetime | None) -> tuple[str, int, Stamps]:
        """A result and its version, and how their notes are stamped: other stamps are other notes."""
        asked, _, number = name.partition("@")
        if asked not in self._declared or (number and not (number.isascii() and number.isdigit())):
            raise UnknownResult(f"There is no result {name!r}. There are: {', '.join(self._declared)}.")
        version = int(number) if number else live_number(self._lake, asked, moment=moment)
        return asked, version, tuple(_stamp(self._lake.result_file(each)) for each in (asked, f"{asked}@{version}"))

    def _pinned(self, computed: Computed, moment: datetime | None) -> Pins:
        if moment is not None:
            return tuple((name, newest_at(computed.lake, name, moment)) for name in computed.tables)
        for name in computed.tables:
            self._newest[name] = newest(computed.lake, name, known=max(self._newest.get(name, 0), 0))
        return tuple((name, self._newest[name]) for name in computed.tables)

    def _find_computed(self, name: str, version: int, stamps: Stamps) -> Computed:
        declared = replace(self._declared[name], version=version)
        if version != FIRST or stamps[1] is not None:
            declared = at_number(self._lake, declared, version)
        result, settings = as_noted(self._lake, declared, self._settings)
        return Computed(result, settings, at_log(self._lake, result))

    def _find_subject(
        self, name: str, version: int, layer: Layer, pins: Pins, stamps: Stamps, log_version: int | None
    ) -> Subject:
        computed = self._computed(name, version, stamps)
        lake = replace(computed.lake, pins=pins)
        at = pinned(lake, computed.result, computed.settings, layer=layer, log_version=log_version)
        return Subject(computed.result, lake, at)


def _folded(lake: Lake, name: str, version: int) -> dict[int, tuple[float, float]]:  # noqa: ARG001 - what is remembered is of it
    """For each epoch of a changelog the log version, and the micro-batch there, before which views are not whole any more.

    A fold of an epoch also removes those that a rebuild has replaced by it.
    """
    told = list(commits(lake, name))
    found: dict[int, tuple[float, float]] = {}
    for fold in (said for said in told if "folded" in said):
        own = (said for said in told if "batch" in said and said["epoch"] == fold["epoch"])
        batch = next((said["batch"] for said in own if said["log_version"] <= fold["folded"]), -1)
        found.setdefault(fold["epoch"], (fold["folded"], batch))
    return dict.fromkeys(range(max(found, default=0)), (inf, inf)) | found


def _stamp(file: Path) -> tuple[int, int] | None:
    """What changes with a note: it is replaced by another file."""
    try:
        status = file.stat()
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_mtime_ns
