"""What a pipeline declares, checked when it is loaded: each mistake with its file, its line and what is wrong."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from inspect import Parameter, signature
from pathlib import Path

from pyspark.sql.types import DecimalType, IntegerType, LongType, StringType

from lakehouse.words import OF_EVENTS, OF_RESULTS, TABLES, unusable
from transformations.columns import column_type
from transformations.kind import Decimal, Field, Kind, in_words
from transformations.kinds import HEARTBEAT
from transformations.pipeline import Declare, Story
from transformations.result import Result, Total, Value
from transformations.sums import sum_type
from transformations.windows import Tumbling

OWN = {"event_id", "kind"}
"""Columns of every event that a result may have in its key."""


@dataclass(frozen=True)
class Declarations:
    """What the modules of a folder say, by their names."""

    folder: Path
    story: Story
    kinds: Mapping[str, Kind]
    results: Mapping[str, Declare]

    def complaints(self) -> Iterator[str]:
        """Every mistake: `FILE:LINE: what is wrong`."""
        for module, kind in self.kinds.items():
            yield from self._at(f"kinds/{module}.py", self._of_kind(module, kind))
        yield from self._shared()
        declared: dict[str, Result] = {}
        for name, declare in self.results.items():
            yield from self._at(f"results/{name}.py", self._of_result(name, declare, declared))
        yield from self._at("pipeline.py", self._of_story(declared))

    def _at(self, file: str, found: Iterator[tuple[str, str]]) -> Iterator[str]:
        """Complaints with the line on which the word that they are about stands first."""
        path = self.folder / file
        lines = path.read_text().splitlines() if path.is_file() else []
        for word, complaint in found:
            said = (f'Field("{word}"', f'Value("{word}"', f'"{word}"', f"'{word}'", f"def {word}(", f"{word}=", word)
            places = (number for each in said for number, line in enumerate(lines, start=1) if each in line)
            yield f"{path}:{next(places, 1)}: {complaint}"

    def _of_kind(self, module: str, kind: Kind) -> Iterator[tuple[str, str]]:
        if kind.name != module:
            yield kind.name, f"the kind is called {kind.name!r}, its module {module!r}: name both alike"
        elif kind.name == HEARTBEAT.name:
            yield kind.name, f"{kind.name!r} belongs to every pipeline: leave it out"
        elif why := unusable(kind.name):
            yield kind.name, f"the kind {why}"
        names = [field.name for field in kind.fields]
        for name in dict.fromkeys(names):
            if names.count(name) > 1:
                yield name, f"the field {name!r} is declared twice"
            if why := unusable(name, taken=OF_EVENTS):
                yield name, f"the field {why}"

    def _shared(self) -> Iterator[str]:
        """A name has one type, because the log has one column for it."""
        known: dict[str, tuple[Field, str]] = {}
        for module, kind in self.kinds.items():
            for field in kind.fields:
                first, where = known.setdefault(field.name, (field, module))
                if (first.type, first.personal) == (field.type, field.personal):
                    continue
                what = (
                    f"a {first.type}" if first.type != field.type else "personal" if first.personal else "not personal"
                )
                clash = f"the field {field.name!r} is {what} in kinds/{where}.py: one column of the log is for both"
                yield from self._at(f"kinds/{module}.py", iter([(field.name, clash)]))

    def _of_result(self, name: str, declare: Declare, declared: dict[str, Result]) -> Iterator[tuple[str, str]]:
        if why := unusable(name, taken=TABLES):
            yield name, f"the result {why}"
        for each in signature(declare).parameters.values():
            if each.kind is not Parameter.KEYWORD_ONLY or not isinstance(each.default, timedelta):
                yield (
                    each.name,
                    f"{each.name!r} is no duration: {name} takes keywords alone, each with a timedelta as default",
                )
                return
        try:
            result: object = declare()
        except Exception as error:
            yield f"def {name}(", f"{name}() cannot be declared: {error}"
            return
        if not isinstance(result, Result):
            yield name, f"{name}() gives a {type(result).__name__}, and not a Result"
            return
        declared[name] = result
        if result.name != name:
            yield result.name, f"the result is called {result.name!r}, its module and function {name!r}: name all alike"
        yield from self._columns_of(result)

    def _columns_of(self, result: Result) -> Iterator[tuple[str, str]]:
        kinds = {kind.name: kind for kind in (*self.kinds.values(), HEARTBEAT)}
        for name in result.kinds:
            if name not in kinds:
                yield (
                    name,
                    f"{result.name} reads the kind {name!r}, which is not declared. There are: {', '.join(kinds)}",
                )
                return
        fields = {field.name: field for name in result.kinds for field in kinds[name].fields}
        for name in dict.fromkeys((*result.key, *result.grouping)):
            if name not in fields and name not in OWN and name not in result.key_types:
                there = ", ".join(fields) or "none"
                yield name, f"the key {name!r} is no field of the kinds that {result.name} reads. There are: {there}"
            elif name in fields and name in result.key:
                type_ = column_type(fields[name])
                if result.key_types.get(name, StringType()) != type_:
                    said = f'key_types={{"{name}": {type_!r}}}'
                    yield name, f"the key {name!r} of {result.name} is a {fields[name].type}: say so with {said}"
        values = [value.name for value in (*result.values, *(result.derived.values if result.derived else ()))]
        for name in dict.fromkeys((*result.key_types, *values)):
            if (name in result.key and name in values) or values.count(name) > 1:
                yield name, f"{result.name} has two columns {name!r}"
            elif why := unusable(name, taken=OF_RESULTS):
                yield name, f"the column {why}"
        totals = [result.rows, *(value.total for value in result.values)]
        for total in totals:
            yield from _of_total(result, total, kinds)
        for value in result.values:
            if value.total is not None and value.total.field in fields:
                yield from _of_sum(value, fields[value.total.field])

    def _of_story(self, declared: Mapping[str, Result]) -> Iterator[tuple[str, str]]:
        story = self.story
        if why := unusable(story.name):
            yield story.name, f"the name {why}"
        if not self.results:
            yield story.name, "the pipeline has no results: a module each in the folder results"
            return
        if not story.controlled:
            yield "controlled", "controlled is empty: name a result that the control is judged on"
        for part in ("controlled", "killed", "live"):
            for name in getattr(story, part):
                if name not in self.results:
                    yield name, f"{part} names {name!r}, which is no result. There are: {', '.join(self.results)}"
        charted = story.charted
        if charted.result not in self.results:
            there = ", ".join(self.results)
            yield charted.result, f"charted names {charted.result!r}, which is no result. There are: {there}"
        elif charted.result in declared:
            result = declared[charted.result]
            if not isinstance(result.window, Tumbling):
                yield (
                    charted.result,
                    f"{charted.result} is charted, and its windows do not lie side by side: chart another one",
                )
            numbers = [
                each.name for each in result.values if isinstance(each.type, IntegerType | LongType | DecimalType)
            ]
            if charted.column not in numbers:
                there = ", ".join(numbers) or "none"
                yield (
                    charted.column,
                    f"{charted.column!r} is charted, and no number of {charted.result}. There are: {there}",
                )


def _of_total(result: Result, total: Total | None, kinds: Mapping[str, Kind]) -> Iterator[tuple[str, str]]:
    if total is None:
        return
    if total.kind not in result.kinds:
        yield total.kind, f"a total of {result.name} is of the kind {total.kind!r}, which it does not read"
    elif total.field is not None and total.field not in {field.name for field in kinds[total.kind].fields}:
        yield total.field, f"a total of {result.name} adds up {total.field!r}, which is no field of {total.kind}"


def _of_sum(value: Value, field: Field) -> Iterator[tuple[str, str]]:
    """A sum beyond its type would stop the stream for good."""
    if field.type == "whole number":
        return
    if not isinstance(field.type, Decimal) and field.type != "long whole number":
        yield value.name, f"{value.name!r} adds up {field.name!r}, which is a {in_words(field.type)} and no number"
        return
    scale = field.type.scale if isinstance(field.type, Decimal) else 0
    if value.type != sum_type(scale):
        yield (
            value.name,
            f"{value.name!r} adds up {field.name!r}, a {in_words(field.type)}, as {value.type.simpleString()}: a sum could "
            f"exceed that. Declare it as sum_type({scale or ''}) and compute it with exact_sum, of transformations.sums",
        )
