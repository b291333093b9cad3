"""Reading while others write: every answer is of one version, new ones show at once, and nothing piles up."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import httpx
import orjson
import psutil
import pytest
from deliveries import land, pop
from pyspark.sql import SparkSession
from served import declared, small_settings

from batch_layer.recompute import recompute
from ingestion.ingest import ingest
from lakehouse.changelogs import changelog_name
from lakehouse.commits import newest
from lakehouse.compaction import compact, maintenance_session
from lakehouse.errors import NothingToCompare
from lakehouse.lake import Lake
from lakehouse.log import position
from lakehouse.settings import Settings
from lakehouse.versions import make_live, version_to_replay
from serving.answers import Answers
from serving.cursors import Cursors
from serving.parameters import Rows
from serving.pins import LAYERS, Layer
from serving.reader import Reader
from speed_layer.replay import replay
from speed_layer.stream import stream

ROUNDS = 3
SETTINGS: Settings = small_settings()
[SCORES] = declared(SETTINGS, ["team_scores"])
TABLE = changelog_name(SCORES)


def moments(number: int) -> tuple[list[int], list[int]]:
    """When the twenty pops of a round happened: five of them late, in minutes that are settled since long."""
    late = [60 * each for each in range(5 if number else 0)]
    return late, [3600 * number + 30 * each for each in range(20 - len(late))]


def land_round(landing: Path, number: int) -> None:
    """Twenty pops of one bubble."""
    late, new = moments(number)
    lines = [pop(f"late {number}.{each}", second) for each, second in enumerate(late)]
    lines += [pop(f"new {number}.{each}", second, team=f"team {each % 3}") for each, second in enumerate(new)]
    land(landing, f"{number:02d}.jsonl", lines)


def merged(batch: int, stream: int) -> int:
    """The bubbles of the Lambda view where batch has computed so many rounds and the stream has seen so many.

    Up to five minutes before the mark at which batch ran, a minute is batch's; what ended later is the stream's.
    """
    ends = [[second // 60 * 60 + 60 for part in moments(number) for second in part] for number in range(ROUNDS)]
    cut_off = max(second for number in range(batch) for part in moments(number) for second in part) - 300
    early = sum(end <= cut_off for number in range(batch) for end in ends[number])
    return early + sum(end > cut_off for number in range(stream) for end in ends[number])


class Readers:
    """Threads that ask for the same result again and again; each answer has to be that of one version of the log."""

    def __init__(self, reader: Reader, layers: tuple[Layer, ...]) -> None:
        self._reader = reader
        self._stop = threading.Event()
        self.seen: dict[Layer, set[int]] = {layer: set() for layer in layers}
        self.wrong: list[str] = []
        self._threads = [threading.Thread(target=self._ask, args=(layer,)) for layer in layers]

    @contextmanager
    def asking(self) -> Iterator[None]:
        for thread in self._threads:
            thread.start()
        try:
            yield
        finally:
            self._stop.set()
            for thread in self._threads:
                thread.join()

    def _ask(self, layer: Layer) -> None:
        while not self._stop.wait(0.02):  # the writers are in this process, and need the interpreter as well
            try:
                answer = self._reader.answer("team_scores", layer)
            except NothingToCompare:
                continue
            except Exception as error:
                self.wrong.append(f"{layer}: {error!r}")
                return
            version = answer.subject.at.log_version
            bubbles = sum(answer.rows["bubbles"].to_pylist())
            self.seen[layer].add(version)
            # Commit 0 makes the table, each one after it is a round.
            covered = answer.subject.at.covered
            right = merged(covered[0].log_version, version) if layer == "lambda" else 20 * version
            if bubbles != right:
                self.wrong.append(f"{layer} at log version {version}: {bubbles}, not {right}")


def test_no_answer_mixes_versions_while_stream_repair_batch_and_compaction_write(
    spark: SparkSession, lake: Lake, landing: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lakehouse.compaction.A_HANDFUL", 1)
    with Reader(lake, SETTINGS) as reader:
        readers = Readers(reader, ("kappa", "batch", "lambda"))
        with readers.asking():
            for number in range(ROUNDS):
                land_round(landing, number)
                ingest(spark, lake, landing, SETTINGS)
                stream(spark, lake, [SCORES], SETTINGS)
                recompute(spark, lake, SCORES, SETTINGS)
                compact(maintenance_session(spark), lake, TABLE)
        assert readers.wrong == []
        everything = set(range(1, ROUNDS + 1))
        assert all(seen >= everything for seen in readers.seen.values()), f"a version was never visible: {readers.seen}"
        assert "OPTIMIZE" in {commit_operation(lake, version) for version in range(newest(lake, TABLE) + 1)}
        assert sum(reader.answer("team_scores").rows["bubbles"].to_pylist()) == 20 * ROUNDS


def commit_operation(lake: Lake, version: int) -> str:
    commit = Path(lake.table(TABLE)) / "_delta_log" / f"{version:020d}.json"
    return str(json.loads(commit.read_text().splitlines()[0])["commitInfo"]["operation"])


def test_what_is_committed_is_visible_at_once(spark: SparkSession, lake: Lake, landing: Path) -> None:
    with Reader(lake, SETTINGS) as reader:
        for number in range(2):
            land_round(landing, number)
            ingest(spark, lake, landing, SETTINGS)
            stream(spark, lake, [SCORES], SETTINGS)
            assert reader.answer("team_scores").subject.at.log_version == position(lake).version


def test_a_swap_does_not_change_what_was_served_before_it(spark: SparkSession, lake: Lake, landing: Path) -> None:
    land_round(landing, 0)
    ingest(spark, lake, landing, SETTINGS)
    stream(spark, lake, [SCORES], SETTINGS)
    before = datetime.now(UTC)
    new = version_to_replay(lake, SCORES)
    replay(spark, lake, new, SETTINGS, way="steps")
    make_live(lake, new)
    with Reader(lake, SETTINGS) as reader:
        assert reader.answer("team_scores").subject.result.version == 2
        assert reader.answer("team_scores", as_of=before).subject.result.version == 1


def test_pages_go_on_with_the_versions_of_the_first_one(spark: SparkSession, lake: Lake, landing: Path) -> None:
    land_round(landing, 0)
    ingest(spark, lake, landing, SETTINGS)
    stream(spark, lake, [SCORES], SETTINGS)
    with Reader(lake, SETTINGS) as reader:
        answers = Answers(reader, Cursors(b"key"))

        def page(cursor: str | None) -> dict[str, object]:
            body = answers.rows("team_scores", Rows(limit=4, cursor=cursor), "application/json")
            return dict(orjson.loads(body.content))

        first = page(None)
        land_round(landing, 1)
        ingest(spark, lake, landing, SETTINGS)
        stream(spark, lake, [SCORES], SETTINGS)
        bubbles, following = _bubbles(first), first["next"]
        while following is not None:
            assert isinstance(following, str)
            later = page(following)
            assert later["versions"] == first["versions"]
            bubbles, following = bubbles + _bubbles(later), later["next"]
        assert bubbles == 20
        assert _bubbles(dict(orjson.loads(answers.rows("team_scores", Rows(), "application/json").content))) == 40


def _bubbles(page: dict[str, object]) -> int:
    rows = page["rows"]
    assert isinstance(rows, list)
    return sum(row["bubbles"] for row in rows)


def question(number: int) -> tuple[str, int]:
    """What is asked, and the status of its answer."""
    if number % 10 == 9:
        path = ("/results", "/metrics", "/reconciliations", "/results/nothing")[number // 10 % 4]
        return path, 404 if path.endswith("nothing") else 200
    return f"/results/team_scores?layer={LAYERS[number % 4]}&limit={1 + number % 200}", 200


def ask(client: httpx.Client, numbers: range) -> None:
    """A server that is out of order answers quickly and needs no memory: each answer has to be the one that was asked for."""
    for number in numbers:
        path, status = question(number)
        answer = client.get(path)
        assert answer.status_code == status, f"{path}: {answer.status_code} {answer.text[:200]}"
        assert len(answer.content) > 20, f"{path}: nothing but {answer.content!r}"


def test_two_thousand_more_requests_leave_little_more_memory_behind(served_lake: Lake) -> None:
    command = [sys.executable, "-m", "cli.main", "serve", "--lake", str(served_lake.path), "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "COLUMNS": "200"})
    try:
        assert process.stdout is not None
        address = process.stdout.readline().split(" on ")[1].split()[0]
        memory = psutil.Process(process.pid).memory_info
        with httpx.Client(base_url=address, timeout=60) as client:
            ask(client, range(1_000))
            before = memory().rss
            ask(client, range(1_000, 3_000))
            grown = (memory().rss - before) / 2**20
        assert grown < 25, f"{grown:.0f} MB more"
    finally:
        process.terminate()
        process.wait(30)
