"""From a landing line to an event, or to the reason why it is none. One sample line:

    {"event_id": "7f3a…", "kind": "bubbles_popped", "player_id": "alice", "team_id": "blue", "bubbles": 7,
     "reaction_ms": 231, "occurred_at": "2026-03-01T10:00:03.120Z", "sent_at": "…", "received_at": "…"}

`from_json` accepts more than it should: trailing garbage, numbers as ids, two objects on a line, 1.5 as 1. So a line is
read as a variant, whose types are those that the line itself has, and each field is taken only if its type is right.
Nothing is dropped here: a line that is no event gets a `reason` and keeps its bytes.
"""

from collections.abc import Iterable

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from .clock import Clock
from .kinds import COLUMN_TYPES, KINDS, Field, Kind, fields

TIMES = ("occurred_at", "sent_at", "received_at")
_TIME_PATTERN = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$"


def parsed(lines: DataFrame, clock: Clock, kinds: Iterable[Kind] = KINDS) -> DataFrame:
    """`lines` (a column `value`, and others that stay) with the columns of an event and a `reason`, null for an event."""
    kinds = tuple(kinds)
    variants = lines.withColumn("json", _single_object("value"))
    for name in ("event_id", "kind"):
        variants = variants.withColumn(name, _text(name))
    for name in TIMES:
        variants = variants.withColumn(name, _time(name))
    for field in fields(kinds).values():
        variants = variants.withColumn(field.name, _typed(field))
    timed = variants.withColumn("event_time", clock.event_time())
    return timed.withColumn("reason", _reason(kinds, clock)).drop("json")


def _single_object(column: str) -> Column:
    """The line as a variant, or null unless it is one JSON object and nothing else.

    In an array with a sentinel behind it, a line with trailing garbage or a second object shows itself.
    """
    array = F.try_parse_json(F.concat(F.lit("["), F.col(column), F.lit(',"~"]')))
    alone = F.try_variant_get(array, "$[1]", "string").eqNullSafe("~") & F.try_variant_get(array, "$[2]", "string").isNull()
    first = F.try_variant_get(array, "$[0]", "variant")
    an_object = F.schema_of_variant(first).startswith("OBJECT")
    return F.when(F.is_valid_utf8(column) & alone & an_object, first)


def _raw(name: str) -> Column:
    return F.try_variant_get("json", f"$.{name}", "variant")


def _given(name: str) -> Column:
    """Whether the line has the field at all; a JSON null counts as missing."""
    return F.coalesce(F.schema_of_variant(_raw(name)) != "VOID", F.lit(False))


def _text(name: str) -> Column:
    return F.when(F.schema_of_variant(_raw(name)) == "STRING", F.try_variant_get("json", f"$.{name}", "string"))


def _time(name: str) -> Column:
    """The time in whole milliseconds, which is as fine as the engine's watermark; a time needs a zone."""
    text = _text(name)
    return F.when(text.rlike(_TIME_PATTERN), F.date_trunc("millisecond", F.try_to_timestamp(text)))


def _typed(field: Field) -> Column:
    if field.type == "text":
        return _text(field.name)
    whole = F.schema_of_variant(_raw(field.name)) == "BIGINT"
    return F.when(whole, F.try_variant_get("json", f"$.{field.name}", COLUMN_TYPES[field.type].simpleString()))


def _ill_typed(name: str, expected: str) -> Column:
    """Why the field has no value although the line has the field."""
    found = F.schema_of_variant(_raw(name))
    kind_found = F.lower(F.regexp_extract(found, r"^\w+", 0))
    wrong = F.concat(F.lit(f"ill-typed field: {name} (expected {expected}, found "), kind_found, F.lit(")"))
    if expected != "whole number":
        return wrong
    too_large = found.rlike(r"^(BIGINT|DECIMAL\((19|[23]\d),0\))$")
    return F.when(too_large, F.lit(f"number outside 32 bits: {name}")).otherwise(wrong)


def _checked(name: str, expected: str, *, required: bool) -> Column:
    """The reason to reject a line for one field, or null."""
    missing = F.when(~_given(name), F.lit(f"missing field: {name}") if required else F.lit(None))
    return F.coalesce(missing, F.when(_given(name) & F.col(name).isNull(), _ill_typed(name, expected)))


def _reason(kinds: tuple[Kind, ...], clock: Clock) -> Column:
    """The first reason that applies, or null for an event."""
    known = F.col("kind").isin(*(kind.name for kind in kinds))
    by_kind = [
        F.when(F.col("kind") == kind.name, _checked(field.name, field.type, required=field.required))
        for kind in kinds
        for field in kind.fields
    ]
    return F.coalesce(
        F.when(~F.is_valid_utf8("value"), "not UTF-8"),
        F.when(F.length(F.trim("value")) == 0, "empty line"),
        F.when(F.col("json").isNull(), "not a JSON object"),
        _checked("event_id", "text", required=True),
        F.when(F.col("event_id") == "", "missing field: event_id"),
        _checked("kind", "text", required=True),
        F.when(~known, "unknown kind"),
        *by_kind,
        *(_checked(name, "time with a zone", required=name == "occurred_at") for name in TIMES),
        clock.implausible(),
    )
