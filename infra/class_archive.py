"""Makes the class-data archive: the classes that a first Delta write and read load, ready to be mapped by every later JVM.

    python infra/class_archive.py

Loading them anew costs each command some ten seconds. The archive belongs to one class path, so it is made once per
set-up and lies beside the jars. Without it everything works, only slower.
"""

import sys
import tempfile
from pathlib import Path

from delta.tables import DeltaTable
from pyspark import SparkContext

from lakehouse.session import CLASS_ARCHIVE, spark_session
from lakehouse.settings import Spark


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        table, checkpoint = f"{scratch}/table", f"{scratch}/checkpoint"
        draft = CLASS_ARCHIVE.with_suffix(".draft")
        draft.unlink(missing_ok=True)
        spark = spark_session(
            Spark(compiler="quick"),
            log_file=Path(scratch, "spark.log"),
            java_options=f"-XX:ArchiveClassesAtExit={draft}",
        )
        rows = spark.range(100).selectExpr("id", "timestamp_seconds(id) as t", "cast(id % 3 as string) as k")
        for _ in range(2):
            rows.coalesce(1).write.format("delta").mode("append").save(table)
        stream = spark.readStream.format("delta").load(table).withWatermark("t", "1 second")
        counts = stream.groupBy("k", "t").count().writeStream.outputMode("update")
        counts.foreachBatch(lambda batch, _: batch.collect()).option("checkpointLocation", checkpoint).trigger(
            availableNow=True
        ).start().awaitTermination()
        DeltaTable.forPath(spark, table).history().collect()

        gateway = SparkContext._gateway
        assert gateway is not None
        spark.stop()
        gateway.shutdown()
        gateway.proc.stdin.close()  # the JVM ends when its input does, and writes the archive as it ends
        gateway.proc.wait(timeout=300)
        if not draft.exists():
            sys.exit("The class-data archive was not written; commands will start more slowly.")
        draft.rename(CLASS_ARCHIVE)


if __name__ == "__main__":
    main()
