"""Spark's parser, by which ingestion judged lines before: from a landing line to an event, or to the reason why it is none.

    {"event_id": "7f3a…", "kind": "bubbles_popped", "player_id": "alice", "team_id": "blue", "bubbles": 7,
     "reaction_ms": 231, "occurred_at": "2026-03-01T10:00:03.120Z", "sent_at": "…", "received_at": "…"}

`from_json` accepts more than it should: trailing garbage, numbers as ids, two objects on a line, 1.5 as 1. So a line is
read twice: as a variant, whose types are those that the line itself has, and by `from_json` for the texts. A field is
taken only if the line's kind declares it and its type is right. (A variant could give the texts as well, but builds a cast
for each value of each row.) Nothing is dropped here: a line that is no event gets a `reason` and keeps its bytes.

The steps are SQL texts: the same steps as Column objects took a second of calls into the JVM for every micro-batch.
"""

from collections.abc import Iterable

from game import KINDS
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from oracle.clock_columns import event_time, implausible
from transformations.clock import Clock
from transformations.columns import column_type
from transformations.kind import Field, Kind
from transformations.kinds import declaring, fields

TIMES = ("occurred_at", "sent_at", "received_at")
# The years 2 to 9998: Python's calendar has one more on either side, which a reader in another zone leaves.
TIME_PATTERN = r"^(?!0000|0001|9999)\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d([.]\\d{1,9})?(Z|[+-]\\d\\d:\\d\\d)\\z"

LEVELS = 100
"""How deep a line may be nested, its own object counted. Every parser ends somewhere, and each elsewhere."""

# Most lines have fewer brackets than levels. Of the others what is escaped goes first, which may be a quote, then the texts,
# then a level at a time from within. No pattern repeats a group: on a long line Java's stack would overflow.
_BRACKETS = (
    r"""regexp_replace(regexp_replace(regexp_replace(value, '(?s)\\\\.', ''), '"[^"]*"', ''), '[^\\[\\]{}]+', '')"""
)
_INNERMOST = r"'\\[\\]|\\{\\}'"


def _many_brackets(text: str) -> str:
    return f"octet_length({text}) - octet_length(replace(replace({text}, '[', ''), '{{', '')) > {LEVELS}"


_TOO_DEEP = f"""
    if({_many_brackets("value")} and is_valid_utf8(value),
       aggregate(sequence(1, {LEVELS}), {_BRACKETS}, (rest, level) -> regexp_replace(rest, {_INNERMOST}, ''),
                 rest -> rlike(rest, {_INNERMOST}) or {_many_brackets("rest")}), false) as too_deep
"""

# The parser ignores what follows a value. In an array with a sentinel behind it, trailing garbage or a second object shows
# itself; the sentinel is the line's own hash, which no line can contain.
_AS_ARRAY = """
    if(is_valid_utf8(value) and not too_deep, try_parse_json(concat('[', value, ',"', md5(value), '"]')), null) as json_array
"""
_SINGLE_OBJECT = """
    if(try_variant_get(json_array, '$[1]', 'string') = md5(value) and startswith(trim(leading ' \\t\\r' from value), '{'),
       try_variant_get(json_array, '$[0]', 'variant'), null) as json
"""


def parsed(lines: DataFrame, clock: Clock, kinds: Iterable[Kind] = KINDS) -> DataFrame:
    """`lines` (`value`, `ingested_at`, and others that stay) with the columns of an event and a `reason`, null for one."""
    kinds = tuple(kinds)
    declared = fields(kinds)
    names = ("event_id", "kind", *TIMES, *declared)
    texts = ", ".join(f"{name} string" for name in names)
    types = (f"schema_of_variant(try_variant_get(json, '$.{name}', 'variant')) as {name}_type" for name in names)
    times_and_fields = (
        *map(_time, TIMES),
        *(_typed(field, declaring(kinds, field.name)) for field in declared.values()),
    )
    return (
        lines.selectExpr("*", _TOO_DEEP)
        .selectExpr("*", _AS_ARRAY)
        .selectExpr("*", _SINGLE_OBJECT)
        .selectExpr("*", f"if(json is null, null, from_json(value, '{texts}')) as said", *types)
        .selectExpr("*", *map(_text, ("event_id", "kind")))
        .selectExpr("*", *times_and_fields)
        .withColumn("event_time", event_time(clock))
        .withColumn("reason", F.coalesce(F.expr(_reason(kinds)), implausible(clock)))
        .drop("too_deep", "json_array", "json", "said", *(f"{name}_type" for name in names))
    )


def _text(name: str) -> str:
    return f"if({name}_type = 'STRING', said.{name}, null) as {name}"


def _time(name: str) -> str:
    """The time in whole milliseconds, which is as fine as the engine's watermark; a time needs a zone."""
    moment = f"date_trunc('millisecond', try_to_timestamp(said.{name}))"
    return f"if({name}_type = 'STRING' and rlike(said.{name}, '{TIME_PATTERN}'), {moment}, null) as {name}"


def _typed(field: Field, kinds: Iterable[str]) -> str:
    """The value, if its type is right and the line is of a kind that has the field.

    A column is shared by kinds: what a line of another kind says under that name means something else, if anything.
    """
    found, value = "STRING", f"said.{field.name}"
    if field.type == "whole number":
        found, value = "BIGINT", f"try_cast({value} as {column_type(field).simpleString()})"
    of_kind = ", ".join(f"'{kind}'" for kind in kinds)
    return f"if(kind in ({of_kind}) and {field.name}_type = '{found}', {value}, null) as {field.name}"


def _reason(kinds: tuple[Kind, ...]) -> str:
    """The first reason that applies, or null; the clock has more to say."""
    known = ", ".join(f"'{kind.name}'" for kind in kinds)
    return f"""case
        when not is_valid_utf8(value) then 'not UTF-8'
        when trim(both ' \\t\\r' from value) = '' then 'empty line'
        when too_deep then 'nested deeper than {LEVELS} levels'
        when json is null then 'not a JSON object'
        {_complaints("event_id", "text", required=True)}
        when event_id = '' then 'missing field: event_id'
        {_complaints("kind", "text", required=True)}
        when kind not in ({known}) then 'unknown kind'
        {" ".join(_complaints(f.name, f.type, required=f.required, kind=kind.name) for kind in kinds for f in kind.fields)}
        {" ".join(_complaints(name, "time with a zone", required=name == "occurred_at") for name in TIMES)}
    end"""


def _complaints(name: str, expected: str, *, required: bool, kind: str | None = None) -> str:
    """The reasons to reject a line for one field. A JSON null counts as missing."""
    of_kind = f"kind = '{kind}' and" if kind else ""
    missing = f"{name}_type is null or {name}_type = 'VOID'"
    found = f"lower(regexp_extract({name}_type, '^[A-Z]+', 0))"
    complaints = [f"when {of_kind} ({missing}) then 'missing field: {name}'"] if required else []
    if expected == "whole number":
        too_large = f"{name}_type != 'STRING' and rlike(said.{name}, '^-?[0-9]+$')"
        complaints.append(
            f"when {of_kind} not ({missing}) and {name} is null and {too_large} then 'number outside 32 bits: {name}'"
        )
    complaints.append(
        f"when {of_kind} not ({missing}) and {name} is null "
        f"then concat('ill-typed field: {name} (expected {expected}, found ', {found}, ')')"
    )
    return " ".join(complaints)
