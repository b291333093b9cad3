"""The lines that judging is tried on, with what Spark's parser says of each, and how they are compared."""

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from itertools import chain, islice
from typing import Any, NamedTuple

import pyarrow as pa
from drawn_lines import drawn_lines
from drawn_times import CLOCK, INGESTED, drawn_times
from game import KINDS
from lines_at_the_start import CLOCKS
from oracle import COLUMNS, arrow_judges, spark_judges
from pyspark.sql import SparkSession
from seeds import JUDGE_SEED, chance, choose_seed

LINES, TIMES = 20_000, 10_000
SMALL_BLOCKS = (1, 1, 2, 3, 5, 8) * 50
"""How many lines are judged at once at first; then more."""
Judge = Callable[..., pa.Table]
Verdict = tuple[str | None, dict[str, Any]]
Way = Callable[[Sequence[bytes]], list[Verdict]]


class Corpus(NamedTuple):
    lines: list[bytes]
    verdicts: list[Verdict]

    @property
    def events(self) -> int:
        return sum(reason is None for reason, _ in self.verdicts)


class Difference(NamedTuple):
    line: bytes
    expected: Verdict
    found: Verdict


def corpus_of(spark: SparkSession, lines: list[bytes]) -> Corpus:
    return Corpus(lines, spark_judges(spark, lines, CLOCK, ingested_at=INGESTED))


def drawn_corpora(spark: SparkSession) -> dict[str, Corpus]:
    return {
        "lines": corpus_of(spark, drawn_lines(chance("lines", seed=JUDGE_SEED), LINES)),
        "times": corpus_of(spark, drawn_times(chance("times", seed=JUDGE_SEED), TIMES)),
    }


def clock_of(lines_package: Any) -> Any:
    """The clock of the tests, of the package's own class: its rules may be mistaken too."""
    package = lines_package.__name__.rpartition(".")[0]
    return import_module(f"{package}.clock").Clock(**vars(CLOCK))


def by_columns(lines_package: Any) -> Way:
    """As `judge` does, of a package that may be a copy with a mistake in it."""
    clock = clock_of(lines_package)
    return lambda lines: arrow_judges(lines_package.judge(lines, clock, ingested_at=INGESTED, kinds=KINDS))


def by_the_rules(lines_package: Any) -> Way:
    """Every line one by one, also those that `judge` reads by columns."""
    kinds, clock = {kind.name: kind for kind in KINDS}, clock_of(lines_package)

    def judged(lines: Sequence[bytes]) -> list[Verdict]:
        found = (lines_package.rules.judge_line(line, clock, ingested_at=INGESTED, kinds=kinds) for line in lines)
        return [(each.reason, {name: each.values.get(name) for name in COLUMNS}) for each in found]

    return judged


def differences(corpus: Corpus, judged: Way) -> Iterator[Difference]:
    """What is judged otherwise than by Spark, in blocks of several sizes. The next block is judged when it is asked for."""
    rest = zip(corpus.lines, corpus.verdicts, strict=True)
    for size in chain(SMALL_BLOCKS, [2000] * len(corpus.lines)):
        block = list(islice(rest, size))
        if not block:
            return
        found = judged([line for line, _ in block])
        for (line, expected), other in zip(block, found, strict=True):
            if _promised(*expected) != _promised(*other):
                yield Difference(line, expected, other)


def _promised(reason: str | None, values: dict[str, Any]) -> Verdict:
    """The reason, and of the values those that are promised: all of an event, none of a line with a wrong field."""
    if reason is None:
        return reason, values
    by_the_clock = reason.startswith(CLOCKS)
    return reason, {name: value for name, value in values.items() if by_the_clock and name != "event_time"}


def shown(found: Sequence[Difference]) -> str:
    """The first of the differences side by side, and how to have them again."""
    rows = (f"{each.line[:500]!r}\n  expected {each.expected}\n  found    {each.found}" for each in found[:5])
    return f"{JUDGE_SEED}={choose_seed(JUDGE_SEED)}: {len(found)} lines are judged otherwise\n" + "\n".join(rows)
