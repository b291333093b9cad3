"""Every log that broke a law once is tried again; and a log that breaks one is made small and kept."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from itertools import chain
from pathlib import Path

import judging
import kept
import pytest
from judging import RESULTS, Broken, check, configured, fresh_lake, stream_and_check
from kept import MILLISECOND, Kept, as_kept, keep
from logs import write_log
from pyspark.sql import SparkSession
from seeds import SHRINK, chance
from worlds import ALLOWED, generated

from speed_layer.stream import stream

BY_NAME = {result.name: result for result in RESULTS}


@pytest.mark.parametrize("file", kept.files(), ids=lambda file: file.stem)
def test_what_broke_a_law_once_does_not_any_more(
    spark: SparkSession, file: Path, judged: Callable[[int], None]
) -> None:
    example = kept.kept(file)
    allowed, hold = example.allowed * MILLISECOND, example.hold * MILLISECOND
    chosen = configured(allowed, example.commits_per_batch, policy=example.policy, hold=hold)
    result = replace(BY_NAME[example.result], way=example.way)
    judged(stream_and_check(spark, result, example.log, chosen))


def test_an_example_is_read_as_it_was_kept(tmp_path: Path) -> None:
    log = as_kept(generated(chance("kept"), ALLOWED[1]))
    example = Kept("team_scores", "engine", 5_000, 0, "correct", 2, log)
    assert kept.kept(keep(example, tmp_path)) == example
    assert [keep(example, tmp_path)] == kept.files(tmp_path), "the same example has the same name"


def test_a_log_that_breaks_a_law_is_made_small_and_kept(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The plain answer is made wrong for every window with three pops or more: so what is kept has three pops."""
    honest = judging.ANSWERS["team_scores"]
    monkeypatch.setitem(judging.ANSWERS, "team_scores", lambda log: {row for row in honest(log) if row[4] < 3})  # type: ignore[operator]
    monkeypatch.setattr(judging, "keep", lambda example: keep(example, tmp_path))
    monkeypatch.setenv(SHRINK, "45")
    allowed, lake = timedelta(seconds=5), fresh_lake()
    log, chosen = generated(chance("made small"), allowed, arrivals=160), configured(allowed, 1000)
    write_log(lake, log, horizon=chosen.retention.horizon)
    stream(spark, lake, [BY_NAME["team_scores"]], chosen)
    with pytest.raises(Broken, match="Made small and kept as"):
        check(spark, lake, BY_NAME["team_scores"], log, chosen)
    [file] = kept.files(tmp_path)
    left = list(chain(*kept.kept(file).log))
    assert sum(each.kind == "bubbles_popped" for each in left) >= 3
    assert len(left) < 20, f"{len(left)} of {len(list(chain(*log)))} arrivals are left"
