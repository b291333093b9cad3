"""The declaration of a result. Stream, repair, batch, views, reconciliation and documentation all follow from it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Literal

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, NumericType, StringType, StructField, StructType, TimestampType

from .shape import Part, Shape

Compute = Callable[[DataFrame, Any, Sequence[str]], DataFrame]
Way = Literal["engine", "recompute"]


@dataclass(frozen=True)
class Total:
    """What a value adds up over the log: a field of the events of a kind or, without a field, how many there are.

    With `distinct`, those that share these columns count once.
    """

    kind: str
    field: str | None = None
    distinct: tuple[str, ...] = ()


@dataclass(frozen=True)
class Value:
    """One value column of a result.

    `error` is how far two answers may be apart, as a share of the greater one: what a sketch states of itself, else
    nothing. A value that is not `compared` is carried along; another one speaks for it. `least` is a bound that it
    cannot be below. With `total`, all rows together have what the log has of it, once for each window of an event. A time
    is one of events, unless it is `any_time`: then a field has said it, and it may lie before every event or after.
    """

    name: str
    type: DataType
    meaning: str
    error: float = 0.0
    compared: bool = True
    least: int | None = None
    total: Total | None = None
    any_time: bool = False

    @property
    def is_measured(self) -> bool:
        """Whether two answers can be apart by an amount, and not just differ."""
        return isinstance(self.type, NumericType | TimestampType)


@dataclass(frozen=True)
class Derived:
    """Columns that only the view has, computed from the rows of the result.

    `select` is SQL over `{rows}`, with their columns and the new ones, that Spark and DuckDB both read: readers with a JVM
    and without one see the same. What it says of a row follows from rows that settle no later than it: a settled row
    then changes by late events alone.
    """

    values: tuple[Value, ...]
    select: str
    hides: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Result:
    """A result per key and window. `compute` serves a streaming and a static DataFrame alike.

    `compute(events, window, alongside)` gets rows of the log of the declared kinds; where the window is tumbling or
    hopping each has its `window`. It groups them by the columns `alongside` (the reconciliation puts a hypothesis there,
    to try many at once), the key and the window, and returns these with the values.

    `by` are the columns of an event that say which keys it can bear upon, if they are not the key itself. `present` is
    a predicate over the values, for results that can vanish again; rows without it do not exist. `way` says how the
    stream computes it: by the engine's operator, with repairs of what late rows touched, or by recomputing what any row
    touched. `prefer` is for an engine that tells a row more than once: the greatest counts. `rows` says what of the log
    there is a row for each.
    """

    name: str
    meaning: str
    kinds: tuple[str, ...]
    key: tuple[str, ...]
    values: tuple[Value, ...]
    window: Shape
    compute: Compute
    by: tuple[str, ...] | None = None
    key_types: Mapping[str, DataType] = field(default_factory=dict)
    present: str = "true"
    way: Way = "engine"
    prefer: str | None = None
    derived: Derived | None = None
    rows: Total | None = None
    version: int = 1

    @property
    def id(self) -> str:
        """Name and version: what tables, checkpoints and transaction ids carry."""
        return f"{self.name}@{self.version}"

    @property
    def identity(self) -> tuple[str, ...]:
        """The columns that tell one row of the result from another."""
        return (*self.key, "window_start")

    @property
    def grouping(self) -> tuple[str, ...]:
        """The columns of an event that say which keys it can bear upon."""
        return self.key if self.by is None else self.by

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.key, "window_start", "window_end", *self.value_names)

    @property
    def value_names(self) -> tuple[str, ...]:
        return tuple(value.name for value in self.values)

    @property
    def errors(self) -> dict[str, float]:
        """What two answers are compared by, each with the share that they may be apart."""
        end = {} if self.window.ends_by_itself else {"window_end": 0.0}
        return end | {value.name: value.error for value in self.values if value.compared}

    @property
    def schema(self) -> StructType:
        keys = [StructField(name, self.key_types.get(name, StringType())) for name in self.key]
        window = [StructField("window_start", TimestampType()), StructField("window_end", TimestampType())]
        return StructType([*keys, *window, *(StructField(value.name, value.type) for value in self.values)])

    def of(self, events: DataFrame, alongside: Sequence[str] = ()) -> DataFrame:
        """The result over `events`, which are rows of the log of any kind, without what is not present."""
        return self.computed(self.placed(events), alongside).where(self.present)

    def on_time(self, events: DataFrame, allowed: timedelta) -> DataFrame:
        """The revisions over those of `events` that are not late: what the engine computes."""
        return self.computed(self.counted(events, allowed))

    def counted(self, events: DataFrame, dropped_after: timedelta | None) -> DataFrame:
        """The placed rows that this result is made of: all or, where late ones are dropped, those that are not late.

        To such a result a late row was never there: not as an event, and not as the change that ends the one before it.
        """
        placed = self.placed(events)
        return placed if dropped_after is None else placed.where(~self.late(dropped_after))

    def placed(self, events: DataFrame) -> DataFrame:
        """The rows that this result reads, once for each window that they belong to."""
        return self.window.placed(events.where(self.concerns()))

    def computed(self, placed: DataFrame, alongside: Sequence[str] = ()) -> DataFrame:
        """The result over placed rows, with a row for every key and window they touch, present or not."""
        rows = self.window.finished(self.compute(placed, self.window, alongside))
        return rows.select(*alongside, *self.columns)

    def concerns(self) -> Column:
        """Whether a row of the log is of a kind that this result reads.

        The predicate mentions the event time so that Spark does not push it below `withWatermark`: the watermark then
        follows every kind, and a heartbeat moves it.
        """
        return F.when(F.col("event_time").isNotNull(), F.col("kind").isin(*self.kinds)).otherwise(False)

    def late(self, allowed: timedelta) -> Column:
        """Whether a placed row came too late for the engine to own its result."""
        return self.window.late(allowed)

    def settled(self, before: Column) -> Column:
        """Whether only late rows can still change a row of the result; `before` is `high_water - D`."""
        return self.window.settled(before)

    def touched(self, rows: DataFrame, log: DataFrame) -> DataFrame:
        """What `rows` bear upon, with the stretch of event time that it reaches; both are placed rows that count."""
        return self.window.touched(rows, log, self.grouping)

    def touched_again(self, results: DataFrame) -> DataFrame:
        """The same for rows of the result."""
        return self.window.touched_again(results, self.grouping)

    def repaired(self, part: Part, touched: DataFrame) -> DataFrame:
        """The touched rows of the result, computed from a part of the log."""
        return self.window.repaired(part, touched, self.grouping, self.computed)

    def bearing(self, events: DataFrame, keys: DataFrame) -> DataFrame:
        """Each of `events` once for each of `keys` that it can bear upon, with the key as `about`."""
        named = keys.select(self.about(), *self.grouping, "window_start", "window_end")
        return self.window.bearing(events.where(self.concerns()), named, self.grouping)

    def about(self) -> Column:
        """The identity of a row in one column."""
        return F.struct(*self.identity).alias("about")

    def shown(self, rows: DataFrame) -> DataFrame:
        """Rows of the result as a reader sees them, with the columns that only the view has."""
        rows = rows.select(*self.columns)
        if self.derived is None:
            return rows
        return rows.sparkSession.sql(self.derived.select, rows=rows).drop(*self.derived.hides)
