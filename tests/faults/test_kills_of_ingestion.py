"""SIGKILL of ingestion at each moment of a micro-batch, once and twice in a row, of either engine

A micro-batch is one data file and one commit. Whatever is killed, the log has the micro-batch as a whole or not at all, and the
next start goes on: row by row the log is that of a run that nobody killed, the index of ids has what the log has, and a data
file that was left over is nobody's.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import psutil
import pytest
from engines import Engine, run_by
from killed import MOMENTS, Struck, left_of, struck_lake
from logged import assert_whole, written
from observations import Observe
from processes import EMBEDDED
from pyspark.sql import SparkSession
from seeds import chance
from struck import KILLED, PATIENCE, REFUSED, SOON, begun

from chaos.processes import Process
from ingestion.ingest import ingest
from lakehouse.arrivals import ARRIVALS
from lakehouse.log import position
from lakehouse.settings import Settings

BATCH = 1
"""The micro-batch that is struck: one has been taken in before it, one follows."""
Alone = Literal["JVM", "Python"]


def environment_of(engine: Engine) -> dict[str, str]:
    return EMBEDDED if engine == "embedded" else {"PARITY_INGESTION__ENGINE": "spark"}


def command(made: Struck) -> tuple[str | Path, ...]:
    return ("ingest", "--lake", made.lake.path, "--landing", made.landing, "--files-per-batch", "1")


def killed(made: Struck, engine: Engine, moment: str, times: int) -> None:
    """Kill it there, and its next start there as well: in the same micro-batch, or in the next where it has this one."""
    for number in range(times):
        batch = BATCH + number if MOMENTS[moment].over else BATCH
        failpoint = f"ingest.{moment}:arrivals:{batch}"
        process = begun(made.lake, command(made), failpoint=failpoint, **environment_of(engine))
        assert process.wait(PATIENCE) == KILLED, process.said
    assert left_of(made.lake, batch) == MOMENTS[moment].after(times)


def goes_on(made: Struck, settings: Settings, spark: SparkSession | None = None) -> None:
    """The next start, and then the log is what it would have been."""
    ingest(spark, made.lake, made.landing, run_by("spark" if spark else "embedded", settings), files_per_batch=1)
    assert written(made.lake) == made.expected
    assert_whole(made.lake)


@pytest.fixture
def made(tmp_path: Path, settings: Settings) -> Struck:
    return struck_lake(tmp_path, settings)


@pytest.mark.parametrize("times", [1, 2], ids=["once", "twice in a row"])
@pytest.mark.parametrize("moment", MOMENTS)
def test_the_embedded_engine(
    made: Struck, settings: Settings, moment: str, times: int, observe: Observe, stopwatch: Callable[[], float]
) -> None:
    killed(made, "embedded", moment, times)
    stopwatch()
    goes_on(made, settings)
    how = "" if times == 1 else ", twice in a row"
    observe(f"embedded, {MOMENTS[moment].said}{how}", MOMENTS[moment].told, stopwatch())


@pytest.mark.parametrize(
    ("moment", "times"),
    [
        pytest.param(moment, times, marks=() if (moment, times) == ("written", 1) else pytest.mark.chaos)
        for moment in MOMENTS
        for times in (1, 2)
    ],
)
def test_spark_s_engine(
    request: pytest.FixtureRequest, made: Struck, settings: Settings, moment: str, times: int, observe: Observe,
    stopwatch: Callable[[], float],
) -> None:  # fmt: skip
    """Python and its JVM die at once. Struck once the embedded engine goes on with it, struck twice Spark's own."""
    killed(made, "spark", moment, times)
    stopwatch()
    goes_on(made, settings, request.getfixturevalue("spark") if times == 2 else None)
    how = "" if times == 1 else ", twice in a row"
    observe(f"Spark, {MOMENTS[moment].said}{how}", MOMENTS[moment].told, stopwatch())


@dataclass(frozen=True)
class Halves:
    """The two processes of Spark's engine, both stopped."""

    python: Process
    java: psutil.Process


def stopped(made: Struck, moment: str) -> Halves:
    process = begun(
        made.lake, command(made), failpoint=f"stop@ingest.{moment}:arrivals:{BATCH}", **environment_of("spark")
    )
    while not process.is_stopped():
        assert process.code is None, process.said
        time.sleep(SOON)
    [java] = [each for each in psutil.Process(process.pid).children(recursive=True) if each.name() == "java"]
    return Halves(process, java)


@pytest.mark.parametrize(
    ("alone", "moment"),
    [
        pytest.param(alone, moment, marks=() if moment == "written" else pytest.mark.chaos)
        for alone in ("JVM", "Python")
        for moment in ("read", "written", "committed", "appended")
    ],
)
def test_one_of_the_two_processes_of_spark_s_engine(
    made: Struck, settings: Settings, alone: Alone, moment: str, observe: Observe, stopwatch: Callable[[], float]
) -> None:
    halves = stopped(made, moment)
    if alone == "Python":
        psutil.Process(halves.python.pid).kill()
        assert halves.python.wait(PATIENCE) == KILLED
        halves.python.resume()
        told = "The log is as it was at that moment, and the JVM ends by itself."
        expected = MOMENTS[moment].after(1)
        assert left_of(made.lake, BATCH) == expected
    else:
        halves.java.kill()
        halves.python.resume()
        code = halves.python.wait(PATIENCE)
        assert code == REFUSED and "SparkEnded" in halves.python.said, halves.python.said
        assert "Traceback" not in halves.python.said, halves.python.said
        told = "Python, which commits, finishes the micro-batch, says that Spark is gone, and ends."
        assert position(made.lake).batch == BATCH
    psutil.wait_procs([halves.java], timeout=PATIENCE)
    assert not halves.java.is_running()
    stopwatch()
    goes_on(made, settings)
    observe(f"Spark, the {alone} alone, {MOMENTS[moment].said}", told, stopwatch())


def test_the_embedded_engine_at_any_instant(
    tmp_path: Path, settings: Settings, observe: Observe, stopwatch: Callable[[], float]
) -> None:
    """Killed from outside, again and again, wherever it happens to be."""
    rng = chance("killed at any instant")
    made = struck_lake(tmp_path, settings, files=40)

    def taken() -> int:
        return position(made.lake).batch if made.lake.has(ARRIVALS) else -1

    kills = 0
    while (before := taken()) + 1 < 40 and kills < 6:
        process = begun(made.lake, command(made), **EMBEDDED)
        while taken() == before and process.code is None:
            time.sleep(SOON)
        time.sleep(rng.uniform(0, 0.03))
        process.kill()
        kills += 1
    assert kills > 1
    stopwatch()
    goes_on(made, settings)
    observe(f"embedded, {kills} times at any instant while it takes in 40 files", "As without a kill.", stopwatch())
