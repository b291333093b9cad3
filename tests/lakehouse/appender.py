"""A process of its own that appends single rows to a table: `appender.py LAKE TABLE FIRST COUNT`.

It says "ready" when its session has started, and begins when it is told to. Under the lock, before each commit, it looks
which version the table has; at the end it says what it saw, as JSON.
"""

import json
import sys
from pathlib import Path

from lakehouse.commits import newest
from lakehouse.lake import open_lake
from lakehouse.session import spark_session
from lakehouse.settings import Spark
from lakehouse.tables import append

# Least work around the commit: no statistics, one partition of state, and checksums, from which a process learns what the
# other has committed. Without them it replays the log for each commit: twice the time.
CHEAP = {
    "spark.databricks.delta.writeChecksumFile.enabled": "true",
    "spark.sql.shuffle.partitions": "1",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.databricks.delta.stats.collect": "false",
    "spark.driver.memory": "512m",
}


def main(path: str, table: str, first: str, count: str) -> None:
    lake = open_lake(Path(path))
    settings = Spark(master="local[1]", compiler="quick", options=CHEAP)
    spark = spark_session(settings, log_file=lake.path / "logs" / f"appender-{first}.log")
    say("ready")
    sys.stdin.readline()
    seen: list[int] = []
    for number in range(int(first), int(first) + int(count)):
        append(
            spark,
            lake,
            table,
            spark.range(number, number + 1),
            transaction=None,
            metadata={"number": number},
            check=lambda: seen.append(newest(lake, table)),
        )
    say(json.dumps(seen))
    spark.stop()


def say(word: str) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
