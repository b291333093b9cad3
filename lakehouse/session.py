"""The Spark session: one per process, with Delta, its noise in a log file, and options that suit small commits."""

import logging
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark import SparkContext
from pyspark.sql import SparkSession

from lakehouse.errors import ParityError, SparkEnded
from lakehouse.settings import Spark

PROJECT = Path(__file__).resolve().parent.parent
JARS = PROJECT / ".jars"
CLASS_ARCHIVE = JARS / "classes.jsa"
LONGEST_END = 20.0
LONGEST_DEATH = 2.0
LOG_CONFIG = Path(__file__).with_name("log4j2.properties")

OPTIONS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.session.timeZone": "UTC",
    # Hadoop sets the mode of each file that it makes, and asks its own mask, not that of the process.
    "spark.hadoop.fs.permissions.umask-mode": "077",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "2g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # Few partitions: the data of one node. A checkpoint keeps the number that it was started with.
    "spark.sql.shuffle.partitions": "2",
    # With two partitions there is nothing to adapt, and planning stage by stage costs each small query more than its work.
    "spark.sql.adaptive.enabled": "false",
    # Spark's default, INT96, is deprecated in Parquet and has no statistics in the file.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # Delta's default of 50 dominates the cost of a small commit.
    "spark.databricks.delta.snapshotPartitions": "2",
    # A recompute that finds nothing is an answer too: its commit says so.
    "spark.databricks.delta.skipRecordingEmptyCommits": "false",
    # What is read at an old version is there: a maintained table is read at the version that its maintenance left. Without
    # this Delta refuses any version that is older than the horizon, also the newest one of a lake that stood still.
    "spark.databricks.delta.vacuum.enforceTimeTravelWithinDeletedFileRetentionDuration": "false",
    # A restart asks for the commits of the last micro-batch once more, also if it is done. Delta may have removed them. That
    # a micro-batch to be run misses none, the stream checks itself.
    "spark.databricks.delta.streaming.trailingCommitValidation.enabled": "false",
    "spark.sql.streaming.stateStore.providerClass": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # Counting the rows of the state store costs a look-up per put: puts become 2.6 times cheaper without it.
    "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows": "false",
    # On a local disk the default starts a process for each file of a checkpoint, 67 in a micro-batch; so does that of Delta for
    # a commit. A rename is as atomic by these, and only one process commits at a time.
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    "spark.delta.logStore.file.impl": "io.delta.storage.LocalLogStore",
    # The check for rows that the engine dropped reads the progress of every micro-batch, and looks once a second.
    "spark.sql.streaming.numRecentProgressUpdates": "1000",
}

SMALL = {
    # Compiling the code that Spark generates for a query takes longer than interpreting the query.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # Each sort, aggregation and broadcast begins with a page, by default of up to 64 MB, for rows that fit into one of these.
    "spark.buffer.pageSize": "1m",
}
"""What small lakes need, with `compiler = "quick"`."""

CARRIER = {**SMALL, "spark.driver.memory": "1g"}
CARRIER_JAVA = "-XX:TieredStopAtLevel=1"
"""What a JVM needs that only hands blocks of lines to Python's workers and back. It computes nothing, so there is nothing worth
compiling: a million lines took 41 CPU seconds with HotSpot's second compiler, 33 without it and 30 with small pages too."""


def spark_session(settings: Spark, *, log_file: Path, carrier: bool = False, java_options: str = "") -> SparkSession:
    """The session of this process, started if there is none. A `carrier` is for work that Python's workers do."""
    os.environ["PYSPARK_PYTHON"] = sys.executable  # another interpreter's workers would hang
    os.environ["TZ"] = "UTC"  # collected timestamps come in the process's local time and without a zone
    time.tzset()
    os.environ.pop("SPARK_HOME", None)  # a Spark of the machine's own has other jars
    log_file.parent.mkdir(parents=True, exist_ok=True)
    logging.raiseExceptions = False  # what cannot be logged, on a full disk, is no reason for another stack trace
    logging.basicConfig(filename=log_file)  # a Ctrl-C in the middle of a call into the JVM is logged with a stack trace
    options = session_options(settings, log_file=log_file, carrier=carrier, java_options=java_options)
    builder = SparkSession.Builder().appName("parity").master(settings.master)
    for name, value in options.items():
        builder = builder.config(name, value)
    with _output_to(log_file):
        session = builder.getOrCreate()
    # A JVM that dies breaks this server's connection. It would print a stack trace, which belongs into the log.
    session.sparkContext._accumulatorServer.handle_error = _log_lost_connection  # type: ignore[method-assign,assignment]
    return session


def session_options(
    settings: Spark, *, log_file: Path, carrier: bool = False, java_options: str = ""
) -> dict[str, str]:
    """The options of a session; those that the settings name come last, and count."""
    java = [_java_options(log_file), *([CARRIER_JAVA] if carrier else []), java_options]
    return {
        **OPTIONS,
        **(SMALL if settings.compiler == "quick" else {}),
        **(CARRIER if carrier else {}),
        "spark.driver.extraClassPath": _class_path(),
        "spark.driver.extraJavaOptions": " ".join(java).strip(),
        **settings.options,
    }


def end_spark() -> None:
    """Stop Spark, if it runs, and wait until its JVM is gone."""
    context, gateway = SparkContext._active_spark_context, SparkContext._gateway
    if context is None or gateway is None:
        return
    context.stop()
    java: subprocess.Popen[bytes] = gateway.proc
    if java.stdin is not None:
        java.stdin.close()  # a JVM that nobody can speak to ends
    try:
        java.wait(LONGEST_END)
    except subprocess.TimeoutExpired:
        java.kill()
        java.wait()


def spark_ended() -> SparkEnded | None:
    """The refusal of whoever goes on without a JVM, if this process had one and it is gone."""
    gateway = SparkContext._gateway
    if gateway is None:
        return None
    try:
        gateway.proc.wait(LONGEST_DEATH)
    except subprocess.TimeoutExpired:
        return None
    return SparkEnded(
        "Spark's JVM has ended while it was at work: it was killed, or the machine ran out of memory. What was being written "
        "does not count; all that was committed before is whole. Run the same command again."
    )


def _log_lost_connection(*_: object) -> None:
    logging.getLogger("parity").warning("A connection of the JVM broke off", exc_info=True)


def java_process(spark: SparkSession) -> int:
    """The process id of the JVM, which does the work and the commits."""
    return int(spark._jvm.java.lang.ProcessHandle.current().pid())  # type: ignore[union-attr]


def _class_path() -> str:
    jars = sorted(JARS.glob("delta-*.jar"))
    if not jars:
        raise ParityError(f"Spark's Delta jars are not in {JARS}. Run `make setup` in {PROJECT} first.")
    return ":".join(str(jar) for jar in jars)


def _java_options(log_file: Path) -> str:
    options = [
        f"-Dlog4j2.configurationFile={LOG_CONFIG.as_uri()}",
        f"-Dparity.log={log_file}",
        "-Xshare:auto",
        # Small heaps and few cores: the default collector's own threads took 5 % of the CPU.
        "-XX:+UseParallelGC",
        # What Spark's classes need: on the way there from the default of 21 MB, each step is a collection of everything.
        "-XX:MetaspaceSize=192m",
        # Hadoop starts `chmod` and `readlink` for local files, a dozen times for a commit; this way without a helper between.
        "-Djdk.lang.Process.launchMechanism=VFORK",
    ]
    if CLASS_ARCHIVE.exists():
        options.append(f"-XX:SharedArchiveFile={CLASS_ARCHIVE}")
    return " ".join(options)


@contextmanager
def _output_to(log_file: Path) -> Iterator[None]:
    """Let what is started here inherit the log file as its output: the JVM prints before its log is configured."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept = os.dup(1), os.dup(2)
    with log_file.open("ab") as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    try:
        yield
    finally:
        for descriptor, original in zip((1, 2), kept, strict=True):
            os.dup2(original, descriptor)
            os.close(original)
