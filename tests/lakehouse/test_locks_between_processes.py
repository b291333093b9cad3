"""One writer at a time: between processes, between threads, and after a SIGKILL of the holder."""

import json
import os
import signal
import subprocess
import sys
import threading
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import LongType, StructField, StructType
from short_lived import SHORT_LIVED

from lakehouse.commits import commits
from lakehouse.errors import AlreadyRunning
from lakehouse.lake import Lake
from lakehouse.locks import exclusive
from lakehouse.tables import create_table, read_table

HERE = Path(__file__).parent
PROJECT = HERE.parents[1]
APPENDS = 60

HOLDER = """
import sys
from pathlib import Path
from lakehouse.locks import exclusive
from lakehouse.session import java_process, spark_session
from lakehouse.settings import Spark

file = Path(sys.argv[1])
spark = spark_session(Spark(master="local[1]", compiler="quick"), log_file=file.with_name("holder.log"))
with exclusive(spark, file, wait=True):
    sys.stdout.write(f"{java_process(spark)}\\n")
    sys.stdout.flush()
    sys.stdin.readline()
"""


def started(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, *arguments],
        cwd=PROJECT,
        env={**os.environ, **SHORT_LIVED},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def hears(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def tell(process: subprocess.Popen[str], word: str) -> None:
    assert process.stdin is not None
    process.stdin.write(f"{word}\n")
    process.stdin.flush()


def test_a_second_process_is_refused_at_once_until_the_holder_is_killed(spark: SparkSession, lake: Lake) -> None:
    file = lake.lock_file("stream-team_scores@1")
    holder = started("-c", HOLDER, str(file))
    try:
        java = int(hears(holder))
        with pytest.raises(AlreadyRunning) as refused, exclusive(spark, file, wait=False):
            pytest.fail("two processes hold one lock")
        assert holder.poll() is None, "refused only after the holder had ended"
        assert f"it holds {file.name} in {file.parent}" in str(refused.value)
        assert "nothing was changed" in str(refused.value)
        os.kill(java, signal.SIGKILL)
    finally:
        holder.kill()
        holder.wait()
    with exclusive(spark, file, wait=True):  # blocks for ever unless the killed holder's lock is free
        pass
    with exclusive(spark, file, wait=False):
        pass


@pytest.mark.timeout(1500)
def test_two_processes_with_60_appends_each_lose_nothing(spark: SparkSession, lake: Lake) -> None:
    schema = StructType([StructField("id", LongType())])
    create_table(lake, "numbers", schema, horizon=timedelta(days=1))
    appender = str(HERE / "appender.py")
    writers = {first: started(appender, str(lake.path), "numbers", str(first), str(APPENDS)) for first in (0, 1000)}
    try:
        assert [hears(writer) for writer in writers.values()] == ["ready", "ready"]
        for writer in writers.values():
            tell(writer, "go")
        seen = {first: json.loads(hears(writer)) for first, writer in writers.items()}
        assert [writer.wait() for writer in writers.values()] == [0, 0]
    finally:
        for writer in writers.values():
            writer.kill()
    ids = sorted(row.id for row in read_table(spark, lake, "numbers").collect())
    assert ids == [*range(APPENDS), *range(1000, 1000 + APPENDS)]
    files = (Path(lake.table("numbers")) / "_delta_log").glob("*.json")
    assert sorted(int(file.stem) for file in files) == list(range(2 * APPENDS + 1))
    # A commit is lost only if two meet within microseconds. That nobody commits between another's look at the table
    # and its commit is as much as the lock promises, and shows its absence at once.
    version = {commit["number"]: commit["version"] for commit in commits(lake, "numbers")}
    for first, versions in seen.items():
        assert [version[first + number] for number in range(APPENDS)] == [before + 1 for before in versions]
    turns = [number // 1000 for number in sorted(version, key=version.__getitem__)]
    assert sum(one != other for one, other in pairwise(turns)) > APPENDS / 10, "they hardly met"


def test_two_threads_of_one_process_exclude_each_other(spark: SparkSession, lake: Lake) -> None:
    file = lake.lock_file("numbers")
    inside, most, entered = 0, 0, 0
    count = threading.Lock()

    def work() -> None:
        nonlocal inside, most, entered
        for _ in range(50):
            with exclusive(spark, file, wait=True):
                with count:
                    inside += 1
                    most = max(most, inside)
                    entered += 1
                with count:
                    inside -= 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (most, entered) == (1, 200)


def test_a_second_thread_is_refused_while_the_first_holds_the_lock(spark: SparkSession, lake: Lake) -> None:
    """And its refusal does not free the first one's lock, as closing a file does with locks of the operating system."""
    file = lake.lock_file("ingest")
    refusals: list[str] = []

    def second() -> None:
        try:
            with exclusive(spark, file, wait=False):
                refusals.append("no refusal")
        except AlreadyRunning as refused:
            refusals.append(str(refused))

    with exclusive(spark, file, wait=False):
        for _ in range(2):
            thread = threading.Thread(target=second)
            thread.start()
            thread.join()
    assert len(refusals) == 2
    assert all("Another process is at work here" in refusal for refusal in refusals)
    with exclusive(spark, file, wait=False):
        pass


def test_a_lock_is_freed_when_its_holder_fails(spark: SparkSession, lake: Lake) -> None:
    file = lake.lock_file("ingest")
    with pytest.raises(RuntimeError, match="half-way"), exclusive(spark, file, wait=False):
        raise RuntimeError("half-way")
    with exclusive(spark, file, wait=False):
        pass


def test_locks_of_different_names_do_not_exclude_each_other(spark: SparkSession, lake: Lake) -> None:
    with exclusive(spark, lake.lock_file("a"), wait=False), exclusive(spark, lake.lock_file("b"), wait=False):
        pass
