"""What DuckDB has to learn to read the SQL of the declarations, which is Spark's.

Declarations use a few functions of Spark in the text that both engines read: `prefer` of a join, `select` of a derived
column. Sketches are Apache DataSketches in Spark; the same library merges them here.
"""

from math import floor

import duckdb
from datasketches import hll_sketch, hll_union, tgt_hll_type

_QUOTIENT = """
    create macro try_divide(total, count) as
    cast(
        sign(total) * ((2 * abs(cast(total * 1000000 as hugeint)) + count) // (2 * cast(count as hugeint))) as decimal(38, 0)
    ) * 0.000001
"""
"""As Spark divides a decimal of up to six digits after the point by a count: exactly, six such digits, rounded half up. DuckDB's
own quotient is a float.
"""
MOST_REGISTERS = 21  # lg, the most that DataSketches allows; a union keeps the fewest of what goes in


def speak_spark(database: duckdb.DuckDBPyConnection) -> None:
    """Teach the database the functions of Spark that declarations use."""
    database.create_function("_hll_union", _union, ["BLOB[]"], "BLOB")
    database.create_function("_hll_estimate", _estimate, ["BLOB"], "BIGINT")
    database.execute("create macro unix_millis(moment) as epoch_ms(moment)")
    database.execute(_QUOTIENT)
    database.execute("create macro hll_union_agg(sketch) as _hll_union(list(sketch))")
    database.execute("create macro hll_sketch_estimate(sketch) as _hll_estimate(sketch)")


def _union(sketches: list[bytes]) -> bytes:
    merged = hll_union(MOST_REGISTERS)
    for sketch in sketches:
        merged.update(hll_sketch.deserialize(bytes(sketch)))
    return bytes(merged.get_result(tgt_hll_type.HLL_8).serialize_updatable())


def _estimate(sketch: bytes) -> int:
    estimate: float = hll_sketch.deserialize(bytes(sketch)).get_estimate()
    return floor(estimate + 0.5)  # as Java rounds
