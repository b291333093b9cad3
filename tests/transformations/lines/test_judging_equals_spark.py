"""Of any line `judge` says what Spark's parser says: the same reason to the letter, the same values, in any block."""

from itertools import pairwise
from pathlib import Path

import judged_lines
import pyarrow as pa
import pytest
from corpora import LINES, TIMES, Corpus, by_columns, by_the_rules, corpus_of, differences, drawn_corpora, shown
from drawn_times import CLOCK, INGESTED
from game import KINDS
from nasty_lines import ALONE
from planted_in_judging import NOTHING, PLANTED, planted
from pyspark.sql import SparkSession
from seeds import JUDGE_SEED, chance

from transformations import lines
from transformations.lines import judge

WAYS = {"by columns": by_columns, "by the rules": by_the_rules}


@pytest.fixture(scope="module")
def corpora(spark: SparkSession) -> dict[str, Corpus]:
    return drawn_corpora(spark)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["lines", "times"])
def test_of_drawn_lines_both_say_the_same(corpora: dict[str, Corpus], name: str, way: str) -> None:
    found = list(differences(corpora[name], WAYS[way](lines)))
    assert not found, shown(found)


def test_what_is_drawn_has_lines_of_every_fate(corpora: dict[str, Corpus]) -> None:
    """Else it would prove little: many events, and many different reasons."""
    assert corpora["lines"].events > LINES / 3
    assert len({reason for reason, _ in corpora["lines"].verdicts}) > 50
    assert corpora["times"].events > TIMES / 2
    assert len({reason for reason, _ in corpora["times"].verdicts}) == 8


@pytest.mark.parametrize("way", WAYS)
def test_of_lines_known_to_be_difficult_both_say_the_same(difficult: Corpus, way: str) -> None:
    found = list(differences(difficult, WAYS[way](lines)))
    assert not found, shown(found)


@pytest.fixture(scope="module")
def difficult(spark: SparkSession) -> Corpus:
    known = [*judged_lines.LINES.values(), *ALONE.values()]
    return corpus_of(spark, [each if isinstance(each, bytes) else each.encode() for each in known])


def is_noticed(corpora: dict[str, Corpus], name: str, home: Path) -> bool:
    """Whether a mistake shows itself in a difference, or stops judging."""
    mistaken = planted(name, home)
    try:
        return any(
            difference
            for corpus in corpora.values()
            for way in WAYS.values()
            for difference in differences(corpus, way(mistaken))
        )
    except Exception:
        return True


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_mistake_is_noticed(corpora: dict[str, Corpus], tmp_path: Path, name: str) -> None:
    assert is_noticed(corpora, name, tmp_path)


def test_a_copy_without_a_mistake_is_not_noticed(corpora: dict[str, Corpus], tmp_path: Path) -> None:
    assert not is_noticed(corpora, NOTHING, tmp_path)


def test_what_becomes_of_a_line_does_not_depend_on_its_neighbours(corpora: dict[str, Corpus]) -> None:
    rng = chance("neighbours", seed=JUDGE_SEED)
    for corpus in corpora.values():
        whole, count = judge(corpus.lines, CLOCK, ingested_at=INGESTED, kinds=KINDS), len(corpus.lines)
        alone = sorted(rng.sample(range(count), 500))
        cuts = sorted({0, count, *rng.sample(range(count), 50), *alone, *(place + 1 for place in alone)})
        blocks = [corpus.lines[begin:end] for begin, end in pairwise(cuts)]
        assert sum(len(block) == 1 for block in blocks) >= 500
        assert pa.concat_tables(judge(block, CLOCK, ingested_at=INGESTED, kinds=KINDS) for block in blocks).equals(
            whole
        )
