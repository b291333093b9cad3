"""The rules of a result, in either layer. They follow from its declaration: a new result needs none of its own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from pyspark.sql.types import TimestampType

from quality.plain import exact
from quality.rules import NoRow, Nothing, Rule, at, equals, given, quoted
from quality.stretches import ROWS, Stretch, totals_named
from transformations.durations import iso
from transformations.result import Result, Total

Totals = Mapping[Total, int | Decimal]
"""What the log has of each, summed up."""


@dataclass(frozen=True)
class Span:
    """The times that a result can have: not before the floor, and not beyond the mark of the log that it was computed at."""

    floor: datetime
    high_water: datetime


def row_rules(result: Result, span: Span | None) -> list[Rule]:
    """What holds for every row of the result, one by one."""
    shows = (*result.identity, "window_end")
    rules: list[Rule] = [
        given([*result.key, "window_start"], shows),
        NoRow(
            "windows are in place",
            f"window_start and window_end are where a {result.window.name} has them: {result.window.bounds}"
            + "".join(f", {name} {length}" for name, length in result.window.parameters.items())
            + ".",
            f"not coalesce({result.window.in_place()}, false)",
            shows,
        ),
    ]
    if span is not None:
        rules += [_windows_in_range(shows, span), *_times_in_range(result, span)]
    if result.present != "true":
        rules.append(
            NoRow(
                "rows are present",
                f"A row is there only while {result.present}.",
                f"not coalesce({result.present}, false)",
                (*shows, *result.value_names),
            )
        )
    for value in result.values:
        if value.least is not None:
            below = f"{quoted(value.name)} < {value.least}"
            says = f"{value.name} ({value.meaning}) is never null and not below {value.least}."
            name = f"{value.name} is not negative" if value.least == 0 else f"{value.name} is large enough"
            rules.append(NoRow(name, says, f"{quoted(value.name)} is null or {below}", (*shows, value.name)))
    return rules


def conserved(result: Result, totals: Totals, version: int) -> list[Rule]:
    """The values that add up what the log has: nothing is lost on the way to the result, and nothing counts twice."""
    times = result.window.times_counted
    if times is None:
        return []
    counted = "" if times == 1 else f", {times} times because each event is in {times} windows"
    return [
        equals(
            f"{value.name} are conserved",
            f"{value.name} of all rows add up to {_said(value.total)} in the log at version {version}{counted}: "
            f"{totals[value.total] * times:,}.",
            f"coalesce(sum({quoted(value.name)}), 0)",
            totals[value.total] * times,
        )
        for value in result.values
        if value.total is not None
    ]


def conserved_by_interval(result: Result, stretches: Sequence[Stretch]) -> list[Rule]:
    """The same of the batch layer, where each interval is of the log as it was when it was computed last; and nothing
    that the log has between two intervals is left out."""
    left_out = [each for each in stretches if each.gap and each.events]
    checked = [each for each in stretches if each.run is not None and each.expected is not None]
    return [
        *(_conserved_in(name, total, checked) for name, total in totals_named(result).items() if checked),
        Nothing(
            "nothing is left out",
            "No interval between two that the batch layer has computed was never computed while the log has events there; "
            "`parity recompute --from T --to T` computes it.",
            tuple({**_bounds(each), "events": each.events} for each in left_out),
        ),
    ]


def _conserved_in(name: str, total: Total, checked: Sequence[Stretch]) -> Nothing:
    intervals = "1 interval" if len(checked) == 1 else f"{len(checked):,} intervals"
    expected = sum((each.expected or {})[name] for each in checked)
    return Nothing(
        f"{name} are conserved",
        f"{name.capitalize() if name == ROWS else f'{name} of all rows'} that start in an interval add up to {_said(total)} "
        f"in the log as it was when the interval was computed last: {intervals}, {expected:,} in all.",
        tuple(
            {
                **_bounds(each),
                "log_version": each.run.log_version if each.run else None,
                name: exact(each.found[name]),
                "in the log": exact((each.expected or {})[name]),
            }
            for each in checked
            if each.found[name] != (each.expected or {})[name]
        ),
    )


def _bounds(stretch: Stretch) -> dict[str, str]:
    first, end = stretch.interval.first, stretch.interval.end
    return {"from": "the beginning" if first is None else iso(first), "until": "the end" if end is None else iso(end)}


def _windows_in_range(shows: tuple[str, ...], span: Span) -> NoRow:
    return NoRow(
        "windows are in range",
        f"A window ends after {iso(span.floor)} and starts no later than the mark of the log, {iso(span.high_water)}.",
        f"window_end <= {at(span.floor)} or window_start > {at(span.high_water)}",
        shows,
    )


def _times_in_range(result: Result, span: Span) -> list[Rule]:
    return [
        NoRow(
            f"{value.name} is in range",
            f"{value.name} is not before {iso(span.floor)} and not after the mark of the log, {iso(span.high_water)}.",
            f"{quoted(value.name)} < {at(span.floor)} or {quoted(value.name)} > {at(span.high_water)}",
            (*result.identity, value.name),
        )
        for value in result.values
        if isinstance(value.type, TimestampType) and not value.any_time
    ]


def _said(total: Total) -> str:
    if total.distinct:
        return f"the number of {total.kind} with different {', '.join(total.distinct)}"
    return f"the number of {total.kind}" if total.field is None else f"{total.field} of {total.kind}"
