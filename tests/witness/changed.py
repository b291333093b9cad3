"""The witness with one of its rules changed a little, as text, and all that it then says of a landing."""

import types
from collections.abc import Iterator
from pathlib import Path

import witness
from edges import INGESTED_AT
from witness import MINUTE, WINDOWS

SOURCE = Path(witness.__file__).read_text()
CHANGES: dict[str, tuple[str, str]] = {
    "a clock is wrong at 30 s already": ("sent_at) > {WRONG_CLOCK}", "sent_at) >= {WRONG_CLOCK}"),
    "a fast clock is right": ("abs(received_at - sent_at) >", "(received_at - sent_at) >"),
    "the future begins at ten minutes": ("AND event_time <= least", "AND event_time < least"),
    "the future is judged by ingestion's clock alone": ("coalesce(received_at, {{ingested_at}})", "{{ingested_at}}"),
    "the floor is not accepted": ("event_time >= {FLOOR}", "event_time > {FLOOR}"),
    "a time needs no zone": ("(Z|[+-]\\d\\d:\\d\\d)", "(Z|[+-]\\d\\d:\\d\\d)?"),
    "finer digits are rounded": (r"regexp_replace({said}, '([.]\d\d\d)\d+', '\1')", "{said}"),
    "a number may be written as text": ("IN ('BIGINT', 'UBIGINT')", "IN ('BIGINT', 'UBIGINT', 'VARCHAR')"),
    "a number may have a fraction": ("IN ('BIGINT', 'UBIGINT')", "IN ('BIGINT', 'UBIGINT', 'DOUBLE')"),
    "the last copy wins": ("PARTITION BY event_id ORDER BY place, line", "PARTITION BY event_id ORDER BY place DESC, line DESC"),
    "fields of other kinds are used": ("THEN {said} END AS {name}", "THEN {said} ELSE {said} END AS {name}"),
    **{
        f"a copy may have another {name}": ("for name in CONTENT)", f"for name in CONTENT if name != '{name}')")
        for name in ("occurred_at", "player_id", "team_id", "bubbles", "reaction_ms", "league", "offer_id")
    },
    "an event on the edge is in the earlier window": ("({moment} - {moment} % {size})", "(({moment}-1) - ({moment}-1) % {size})"),
    "ties level up in the order of arrival": (
        "{start(size)} ORDER BY event_time, event_id\n                                ROWS",
        "{start(size)} ORDER BY event_time, line\n                                ROWS",
    ),
    "the goal has to be passed": ("WHERE total >= {GOAL}", "WHERE total > {GOAL}"),
    "a hopping window has no start": ("event_time >= window_start AND", "event_time > window_start AND"),
    "a hopping window has its end": ("event_time < window_start + {size}", "event_time <= window_start + {size}"),
    "a gap apart is apart": ("pause > {gap}", "pause >= {gap}"),
    "a sliding window has both ends": ("pop.event_time - {size} >= gone", "pop.event_time - {size} > gone"),
    "ties slide in the order of arrival": ("event_id ROWS UNBOUNDED", "line ROWS UNBOUNDED"),
    "every pop above the goal is hot": (" AND (before IS NULL OR before < {GOAL})", ""),
    "the first pop is never hot": ("before IS NULL OR before < {GOAL}", "before < {GOAL}"),
    "ties streak in the order of arrival": ("event_time, event_id) AS nth", "event_time, line) AS nth"),
    "nine are a streak": ("(nth + {STREAK - 1})", "(nth + {STREAK})"),
    "a click at the bound is too late": ("AND shown.event_time + {within}", "AND shown.event_time + {within} - 1"),
    "a click at once is too early": ("BETWEEN shown.event_time AND", "BETWEEN shown.event_time + 1 AND"),
    "the last click counts": ("min(click.event_time)", "max(click.event_time)"),
    "anybody's click counts": ("click.player_id = shown.player_id AND ", ""),
    "a click on any offer counts": (" AND click.offer_id = shown.offer_id", ""),
    "a league begins behind its instant": ("pops.event_time >= changes.event_time", "pops.event_time > changes.event_time"),
    "of two changes the lesser id holds": ("max_by(league, event_id)", "min_by(league, event_id)"),
    "players are counted with repetition": ("count(DISTINCT player_id)\n", "count(player_id)\n"),
    "percentiles are not interpolated": ("ELSE {between} END", "ELSE {lower} END"),
    "at the bound a row is in time": ("({moment}) > high_water", "({moment}) >= high_water"),
    "a row is late by its own time": ('in_time(f"{start(size)} + {size}")', 'in_time("event_time")'),
    "the mark is that of the whole log": ("OVER (ORDER BY place, line ROWS UNBOUNDED PRECEDING)", "OVER ()"),
    "a window settles a moment later": ('begun + last["size"] <= until', 'begun + last["size"] < until'),
    "a session settles a moment later": ("next_value <= until", "next_value < until"),
    "an offer settles a moment earlier": ('begun + last["within"] < until', 'begun + last["within"] <= until'),
    "an hour of offers settles earlier": ('last["size"] + last["within"] < until', 'last["size"] + last["within"] <= until'),
}  # fmt: skip


def everything(landing: Path, source: str) -> Iterator[object]:
    """All that a witness made of this text says of the landing, one answer after the other."""
    module = types.ModuleType("changed")
    exec(compile(source, "changed witness", "exec"), module.__dict__)
    asked = module.Witness(landing, ingested_at=round(INGESTED_AT.timestamp() * 1000))
    yield asked.counts()
    for name in WINDOWS:
        rows = asked.rows(name)
        yield rows
        yield asked.rows(name, dropping=5 * MINUTE)
        for allowed in (5 * MINUTE, 10 * MINUTE):
            yield asked.settled(name, rows, allowed=allowed)
