"""The names taken out: judged lines as a lake without names has them, before anything is written.

It stands between judging and numbering, because numbering moves lines through files of Spark's. A line whose fields are all
right is written anew from the declared fields, with pseudonyms. It is a landing line still, so that `parity requeue` and
`parity reingest` can judge it again; they read it from the lake and rename nobody. Of any other line the bytes are withheld.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakehouse.nameless import named_as, withheld_bytes
from lakehouse.settings import Settings
from speed_layer.intake import clock_of
from transformations.events import TIMES
from transformations.kinds import fields, personal


def without_names(lines: DataFrame, settings: Settings) -> DataFrame:
    """Judged lines with pseudonyms in their columns and in `value`; as they are if there is no key."""
    key = settings.ingestion.pseudonym_key
    if not key:
        return lines
    # Only the clock may have something against the line: then every field has been read, and is of its type.
    readable = F.col("reason").eqNullSafe(clock_of(settings).implausible())
    declared = ", ".join(f"'{name}', {name}" for name in ("event_id", "kind", *fields(), *TIMES))
    rewritten = F.expr(f"to_json(named_struct({declared}))")
    return (
        lines.withColumn("readable", readable)
        .withColumns({name: F.expr(named_as(name, key)) for name in personal()})
        .withColumn("value", F.when(F.col("readable"), rewritten).otherwise(F.expr(withheld_bytes("value", key))))
        .drop("readable")
    )
