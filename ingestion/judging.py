"""Judging: blocks of landing files become tables of rows, here in this process or on all cores of Spark.

Either way the functions are the same and the tables come in the order of the blocks, so what is done with them does not know
who judged.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from ingestion.blocks import Block, read
from ingestion.rules import Rules
from lakehouse.arrivals import TIME

Judges = Callable[[Sequence[Block], Rules, int], Iterator[pa.Table]]
"""Blocks, rules and the clock of ingestion in; a table for each block out, with the counts of lines of its pieces."""
_COUNTS = b"lines of each piece"
BLOCKS_A_JOB = 16
"""The blocks that one Spark job judges: 64 MB of lines, which the driver holds when they come back."""


def judged_here(blocks: Sequence[Block], rules: Rules, ingested_at: int) -> Iterator[pa.Table]:
    """Judged in this process, one block after the other."""
    for block in blocks:
        yield _judged(block, rules, ingested_at)


def judged_by(spark: SparkSession) -> Judges:
    """Judged by Spark's tasks on all cores, a block each; sixteen blocks a job.

    A table travels as one value, the bytes of its Arrow stream: as rows of its columns it would be taken apart and put
    together twice on its way through the JVM.
    """

    def judged(blocks: Sequence[Block], rules: Rules, ingested_at: int) -> Iterator[pa.Table]:
        for first in range(0, len(blocks), BLOCKS_A_JOB):
            some = blocks[first : first + BLOCKS_A_JOB]
            numbers = spark.range(0, len(some), 1, len(some))
            found = numbers.mapInArrow(partial(_task, some, rules, ingested_at), "table binary").toArrow()
            for packed in found["table"]:
                yield pa.ipc.open_stream(packed.as_buffer()).read_all()

    return judged


def _task(
    blocks: Sequence[Block], rules: Rules, ingested_at: int, numbers: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """What one of Spark's tasks does: judge the blocks of these numbers."""
    for number in (number for batch in numbers for number in batch["id"].to_pylist()):
        table = _judged(blocks[number], rules, ingested_at)
        packed = pa.BufferOutputStream()
        with pa.ipc.new_stream(packed, table.schema) as stream:
            stream.write_table(table)
        yield pa.record_batch({"table": pa.array([packed.getvalue().to_pybytes()], pa.binary())})


def _judged(block: Block, rules: Rules, ingested_at: int) -> pa.Table:
    lines, counts = read(block)
    return rules.judged(lines, ingested_at=ingested_at).replace_schema_metadata({_COUNTS: json.dumps(counts)})


def with_origin(
    blocks: Sequence[Block], tables: Iterator[pa.Table], *, batch: int, rules: Rules, ingested_at: int
) -> Iterator[pa.Table]:
    """The tables of the blocks of a micro-batch, each row with the file and the number of its line in it."""
    last = 0
    for block, table in zip(blocks, tables, strict=True):
        counts = json.loads(table.schema.metadata[_COUNTS])
        # Only the first piece of a block can go on with a file, and it goes on where the block before ended.
        firsts = [last + 1 if block[0].start else 1, *([1] * (len(block) - 1))]
        lines = [np.arange(first, first + count) for first, count in zip(firsts, counts, strict=True)]
        last = firsts[-1] + counts[-1] - 1
        files = pa.DictionaryArray.from_arrays(
            np.repeat(np.arange(len(block), dtype=np.int32), counts), [Path(piece.path).name for piece in block]
        )
        rows = table.replace_schema_metadata(None)
        yield with_stamps(
            rows.append_column("file", files.cast(pa.string())).append_column("line", pa.array(np.concatenate(lines))),
            batch=batch,
            rules=rules,
            ingested_at=ingested_at,
        )


def with_stamps(rows: pa.Table, *, batch: int, rules: Rules, ingested_at: int) -> pa.Table:
    """The rows with the micro-batch that they came in, its clock, and the code that judges them now."""
    count = rows.num_rows
    stamps = {
        "batch": pa.repeat(pa.scalar(batch, pa.int64()), count),
        "ingested_at": pa.repeat(pa.scalar(ingested_at * 1000, pa.int64()), count).cast(TIME),
        "fingerprint": pa.repeat(rules.fingerprint, count),
    }
    for name, column in stamps.items():
        rows = rows.append_column(name, column)
    return rows
