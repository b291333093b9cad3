"""The rules of the log: order, marks, balance with what the commits say, shares, freshness."""

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from lakehouse.arrivals import (
    ARRIVALS,
    DUPLICATE,
    DUPLICATES,
    EVENT,
    EVENTS,
    QUARANTINE,
    QUARANTINED,
    columns_of,
    event_columns,
    schema,
)
from quality.pins import Pin
from quality.rules import Columns, Figure, NoRow, Rule, at, equals, given, known, not_after, unique
from transformations.durations import iso, milliseconds, to_millis, written
from transformations.kind import Kind
from transformations.kinds import declaring, fields

ORIGIN = ("batch", "file", "line")
PLACE = ("seq", "event_id", "kind")
ALWAYS = ("seq", "event_time", "high_water", "occurred_at", "event_id", "kind", "ingested_at", "fingerprint", "raw")


def schema_of(name: str, kinds: tuple[Kind, ...]) -> StructType:
    """The columns of the arrivals, or of those of one fate, as Spark knows them."""
    whole = schema(kinds)
    shown = whole.names if name == ARRIVALS else columns_of(name, kinds)
    return from_arrow_schema(pa.schema([whole.field(each) for each in shown]))


def arrival_rules(pin: Pin) -> list[Rule]:
    shows, kinds = ("arrival", "fate", *ORIGIN), pin.lake.pipeline.kinds
    filled = " or ".join(f"{name} is not null" for name in event_columns(kinds))
    return [
        Columns(schema_of(ARRIVALS, kinds)),
        given(("arrival", "fate", "requeued", "ingested_at", "fingerprint", "raw", *ORIGIN), shows),
        known("fate", (EVENT, DUPLICATE, QUARANTINED), shows),
        NoRow(
            "arrivals have no gap",
            "arrival counts the rows from 1 on, without a gap and without a number that is taken twice.",
            "arrival <> _arrival_before + 1",
            ("_arrival_before", *shows),
        ),
        NoRow(
            "a landed line has one row",
            "Each landed line has one row, beside that of a requeue.",
            "_rows_of_line > 1",
            shows,
        ),
        NoRow(
            "quarantined lines have no fields",
            "Of a line that is no event nothing but its bytes is kept.",
            f"fate = '{QUARANTINED}' and ({filled})",
            shows,
        ),
        _balance("rows", "count(1)", pin.position.arrivals),
    ]


def event_rules(pin: Pin) -> list[Rule]:
    bounds, clock, allowed = pin.settings.quality, pin.settings.clock, pin.settings.lateness.allowed
    kinds = pin.lake.pipeline.kinds
    late = f"unix_millis(event_time) <= unix_millis(high_water) - {milliseconds(allowed)}"
    future = f"unix_millis(least(received_at, ingested_at)) + {milliseconds(clock.future)}"
    return [
        Columns(schema_of(EVENTS, kinds)),
        given((*ALWAYS, *ORIGIN), PLACE),
        unique(["event_id"]),
        known("kind", (kind.name for kind in kinds), PLACE),
        *_required(kinds),
        _own_fields(kinds),
        NoRow(
            "places have no gap",
            "seq counts the events from 1 on, without a gap and without a place that is taken twice.",
            "seq <> _seq_before + 1",
            ("_seq_before", *PLACE),
        ),
        NoRow(
            "the mark never falls",
            "high_water never decreases in the order of arrival.",
            "high_water < _mark_before",
            (*PLACE, "_mark_before", "high_water"),
        ),
        NoRow(
            "the mark is the greatest time so far",
            "high_water is the greatest event time among the events up to and including the event.",
            "high_water is distinct from _greatest",
            (*PLACE, "event_time", "high_water", "_greatest"),
        ),
        NoRow(
            "no event is beyond its mark",
            "event_time is not after high_water.",
            "event_time > high_water",
            (*PLACE, "event_time", "high_water"),
        ),
        NoRow(
            "times are possible",
            f"event_time is not before {iso(clock.floor)}, at most {written(clock.future)} after it was received, and in "
            "whole milliseconds.",
            f"event_time < {at(clock.floor)} or unix_millis(event_time) > {future} or pmod(unix_micros(event_time), 1000) > 0",
            (*PLACE, "event_time", "received_at", "ingested_at"),
        ),
        NoRow(
            "hashes are those of the ids",
            "id_high and id_low, by which copies are looked for, are the hash of event_id.",
            "id_high is distinct from _id_high or id_low is distinct from _id_low",
            (*PLACE, "id_high", "id_low"),
        ),
        not_after("ingested_at", pin.moment, PLACE),
        equals(
            "balance",
            f"There are as many events as the commits of the log say: {pin.position.seq:,}.",
            "count(1)",
            pin.position.seq,
        ),
        Figure(
            "share of late events",
            f"At most {bounds.late:.1%} of the events came more than the allowed {written(allowed)} behind the mark.",
            f"coalesce(avg(if({late}, 1D, 0D)), 0D)",
            most=bounds.late,
            unit="share",
        ),
        Figure(
            "freshness",
            f"The newest event was ingested at most {written(bounds.log_age)} before the validation at {iso(pin.moment)}.",
            f"coalesce(({to_millis(pin.moment)} - unix_millis(max(ingested_at))) / 1000D, 0D)",
            most=bounds.log_age.total_seconds(),
            unit="seconds",
        ),
    ]


def duplicate_rules(pin: Pin) -> list[Rule]:
    shows = ("event_id", *ORIGIN)
    rules: list[Rule] = [
        Columns(schema_of(DUPLICATES, pin.lake.pipeline.kinds)),
        given(("event_id", "kind", "occurred_at", "ingested_at", "raw", *ORIGIN), shows),
        unique(ORIGIN),
        NoRow("copies have an original", "Each copy has an event of the log with its id.", "_same is null", shows),
        NoRow(
            "copies say what the original says",
            "A copy has the content of the event that the log has; one with other content belongs into the quarantine.",
            "not _same",
            shows,
        ),
        not_after("ingested_at", pin.moment, shows),
        _share("duplicate", pin.settings.quality.duplicates, "count(1)", pin),
    ]
    return [*rules, _balance("duplicates", "count(1)", pin.position.duplicates)]


def quarantine_rules(pin: Pin) -> list[Rule]:
    shows = ("reason", *ORIGIN)
    waiting = "coalesce(sum(if(_waiting, 1, 0)), 0)"
    rules: list[Rule] = [
        Columns(schema_of(QUARANTINE, pin.lake.pipeline.kinds)),
        given(("reason", "ingested_at", "raw", *ORIGIN), shows),
        unique(ORIGIN),
        NoRow("reasons are said", "Each line has a reason in words.", "trim(reason) = ''", shows),
        not_after("ingested_at", pin.moment, shows),
        _share("quarantined", pin.settings.quality.quarantined, waiting, pin),
    ]
    return [*rules, _balance("lines that wait", waiting, pin.position.quarantined)]


def _required(kinds: Sequence[Kind]) -> list[NoRow]:
    """What the declaration of a kind requires."""
    return [
        NoRow(
            f"{kind.name} is complete",
            f"An event of kind {kind.name} has {', '.join(names)}.",
            f"kind = '{kind.name}' and ({' or '.join(f'`{name}` is null' for name in names)})",
            (*PLACE, *names),
        )
        for kind in kinds
        if (names := [field.name for field in kind.fields if field.required])
    ]


def _own_fields(kinds: Sequence[Kind]) -> NoRow:
    """What the declarations do not have: a value there would leak into a result that reads several kinds."""
    others = {kind.name: [name for name in fields(kinds) if kind.name not in declaring(kinds, name)] for kind in kinds}
    leaks = (
        f"kind = '{kind}' and coalesce({', '.join(f'cast(`{name}` as string)' for name in names)}) is not null"
        for kind, names in others.items()
        if names
    )
    return NoRow(
        "events have the fields of their kind",
        "An event has no value in a column that its kind does not declare. `parity reingest` judges its line anew.",
        " or ".join(f"({leak})" for leak in leaks),
        (*PLACE, *fields(kinds)),
    )


def _share(which: str, most: float, measure: str, pin: Pin) -> Figure:
    lines = pin.position.seq + pin.position.duplicates + pin.position.quarantined
    return Figure(
        f"share of {which} lines",
        f"At most {most:.1%} of the {lines:,} lines that were delivered are {which}.",
        f"{measure} / {max(lines, 1)}D",
        most=most,
        unit="share",
    )


def _balance(what: str, measure: str, count: int) -> Figure:
    return equals("balance", f"There are as many {what} as the commits of the log say: {count:,}.", measure, count)
