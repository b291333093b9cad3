"""A reader of a lake without a JVM: what the API, the live page and the notebooks ask.

    from serving.reader import Reader
    with Reader.of("demo") as reader:
        reader.answer("door_counts", layer="kappa").frame()

Every answer is of one pinned version of each table that it needs, and says which.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from lakehouse.arrivals import ARRIVALS, FATES, columns_of
from lakehouse.errors import ParityError
from lakehouse.lake import Lake, open_lake
from lakehouse.pseudonyms import lake_key
from lakehouse.settings import Settings, load_settings
from serving.copies import Copies
from serving.persons import Persons
from serving.pins import Layer
from serving.queries import Asked, Query, history_query, view_query
from serving.subjects import Subject, Subjects
from transformations.result import Result

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Answer:
    """Rows of a result, with what they are of."""

    subject: Subject
    rows: pa.Table
    more: bool = False
    """Whether there are more rows than were asked for."""

    def frame(self) -> "pd.DataFrame":
        """The rows for pandas."""
        frame: pd.DataFrame = self.rows.to_pandas()
        return frame


class Reader:
    """Answers from a lake, whatever its writers are doing meanwhile. Many threads may ask it."""

    def __init__(self, lake: Lake, settings: Settings) -> None:
        self.lake = lake
        self.settings = settings
        self.persons = Persons(None if settings.serving.clear_ids else lake_key(lake), lake.pipeline.personal())
        self.subjects = Subjects(lake, settings)
        self._copies = Copies(lake, rewrite=self.persons.renamed)

    @classmethod
    def of(cls, path: str | Path, settings: Settings | None = None) -> Self:
        """A reader of the lake at a path, with the default settings if none are given."""
        lake = open_lake(Path(path))
        return cls(lake, settings or load_settings(lake=lake))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._copies.close()

    def answer(
        self,
        name: str,
        layer: Layer = "kappa",
        *,
        first: datetime | None = None,
        end: datetime | None = None,
        key: Sequence[Any] = (),
        settled: bool | None = None,
        as_of: datetime | None = None,
    ) -> Answer:
        """The rows of a result as one layer answers them: windows that start in `[first, end)`."""
        subject = self.subjects.subject(name, layer, moment=as_of)
        return self.rows(subject, Asked(first=first, end=end, key=tuple(key), settled=settled))

    def rows(self, subject: Subject, asked: Asked) -> Answer:
        """The rows of a subject that were asked for; one more is looked for, to say whether there are more."""
        _refuse_other_key(subject.result, asked.key)
        look = asked if asked.limit is None else replace(asked, limit=asked.limit + 1)
        with self._relations(subject) as relations:
            found = self._fetched(view_query(subject.result, subject.at, relations, look))
        more = asked.limit is not None and len(found) > asked.limit
        return Answer(subject, found.slice(0, asked.limit) if more else found, more)

    def rows_of(self, subject: Subject, given: pa.Table, asked: Asked) -> Answer:
        """The same of rows that are in no table: what Spark has computed for the layer of the subject."""
        cursor = self._copies.cursor()
        try:
            cursor.register("given", given)
            query = view_query(subject.result, subject.at, {subject.at.layer: "given"}, asked)
            return Answer(subject, cursor.sql(query.text, params=query.values).to_arrow_table())
        finally:
            cursor.close()

    def history(self, name: str, *, key: Sequence[Any], window_start: datetime) -> Answer:
        """The revisions of one result of the stream, oldest first, each with its `part` in the story."""
        subject = self.subjects.subject(name, "kappa")
        _refuse_other_key(subject.result, key, whole=True)
        with self._relations(subject) as relations:
            query = history_query(subject.result, relations["kappa"], key=key, window_start=window_start, at=subject.at)
            revisions = self._fetched(query)
        parts = pa.array(_parts(revisions.select(["cause", "settled"]).to_pylist()), pa.string())
        return Answer(subject, revisions.add_column(0, "part", parts))

    def table(self, name: str, text: str, **values: Any) -> list[dict[str, Any]]:
        """What a query finds in one table of the lake, which it calls `{rows}`; nothing if there is no such table.

        The arrivals have a name for the rows of each fate too: `events`, `duplicates` and `quarantine`.
        """
        table = ARRIVALS if name in FATES else name
        if not self.lake.has(table):
            return []
        with self._copies.newest(table) as relation:
            rows = self._read(name, relation) if name in FATES else relation
            found: list[dict[str, Any]] = self._fetched(Query(text.format(rows=rows), values)).to_pylist()
            return found

    @contextmanager
    def _relations(self, subject: Subject) -> Iterator[dict[Layer, str]]:
        with ExitStack() as held:
            relations = {}
            for layer, table in subject.relations.items():
                copy = (
                    self._copies.newest(table) if layer == "kappa" else self._copies.at(table, subject.versions[table])
                )
                relations[layer] = held.enter_context(copy)
            self.subjects.refuse_folded(subject)  # a fold may have come since the subject was found
            yield relations

    def _read(self, name: str, arrivals: str) -> str:
        """The rows of one fate, with the columns that may be shown."""
        columns = columns_of(name, self.lake.pipeline.kinds)
        shown = ", ".join(f"'{column}'" for column in columns if column not in self.persons.hidden)
        # A log that is older than a kind has no column of it yet.
        return f"(select columns(lambda name: name in ({shown})) from {arrivals} where fate = '{FATES[name]}')"

    def _fetched(self, query: Query) -> pa.Table:
        cursor = self._copies.cursor()
        try:
            return cursor.sql(query.text, params=query.values).to_arrow_table()
        finally:
            cursor.close()


def _refuse_other_key(result: Result, key: Sequence[Any], *, whole: bool = False) -> None:
    named = ", ".join(result.key) or "no columns: it has one row a window"
    if len(key) > len(result.key) or (whole and len(key) < len(result.key)):
        raise ParityError(
            f"The key of {result.name} has {named}; {len(key)} value{'' if len(key) == 1 else 's'} given. Give a value "
            "for each column, in this order."
        )


def _parts(revisions: Sequence[dict[str, Any]]) -> Iterator[str]:
    """What part each revision has in the story of a result: early, updated, settled, corrected.

    Late events correct what was settled, whether the engine counted them or a repair did. What a repair was the first to tell
    had been settled without a row.
    """
    settled = False
    for place, revision in enumerate(revisions):
        if settled or (revision["settled"] and revision["cause"] == "late"):
            yield "corrected"
        elif revision["settled"]:
            yield "settled"
        else:
            yield "updated" if place else "early"
        settled = settled or revision["settled"]
