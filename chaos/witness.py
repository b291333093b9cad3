"""The witness: what the results have to be, from the account of the landing files alone, in SQL of its own (DuckDB).

Stream and batch share the functions of `transformations`, so they agree on a mistake in these. What stands here is written from
the definition of the results in docs/catalogue.md. Times are milliseconds. tests/witness has a witness of all results at all
settings; there the two are held against each other.
"""

from collections.abc import Sequence

import duckdb
import pyarrow as pa

from chaos.accounting import Arrived

MINUTE, HOUR = 60_000, 3_600_000
ALLOWED = 5 * MINUTE
FIELDS = {
    "player_id": pa.string(),
    "team_id": pa.string(),
    "bubbles": pa.int64(),
    "offer_id": pa.string(),
    "league": pa.string(),
}

TEAM_SCORES = f"""
SELECT team_id, event_time // {MINUTE} * {MINUTE} AS window_start, sum(bubbles)::BIGINT AS bubbles, count(*) AS events
FROM known WHERE kind = 'bubbles_popped' GROUP BY ALL
"""

PLAYER_SESSIONS = f"""
WITH pops AS (SELECT player_id, event_time, bubbles FROM known WHERE kind = 'bubbles_popped'),
     begins AS (SELECT *, coalesce(event_time - lag(event_time) OVER each > {15 * MINUTE}, true) AS is_first FROM pops
                WINDOW each AS (PARTITION BY player_id ORDER BY event_time)),
     sessions AS (SELECT *, sum(is_first::INT) OVER (PARTITION BY player_id ORDER BY event_time) AS number FROM begins)
SELECT player_id, min(event_time) AS window_start, max(event_time) + {15 * MINUTE} AS window_end, count(*) AS events,
       sum(bubbles)::BIGINT AS bubbles
FROM sessions GROUP BY player_id, number
"""

OFFER_OUTCOMES = f"""
WITH clicks AS (SELECT * FROM known WHERE kind = 'offer_clicked')
SELECT offer.player_id, offer.offer_id, offer.event_time AS window_start, min(clicks.event_time) AS clicked_at
FROM known AS offer LEFT JOIN clicks
     ON clicks.player_id = offer.player_id AND clicks.offer_id = offer.offer_id
        AND clicks.event_time - offer.event_time BETWEEN 0 AND {HOUR}
WHERE offer.kind = 'offer_shown' GROUP BY ALL
"""

LEAGUE_SCORES = f"""
WITH changes AS (SELECT player_id, event_time, max_by(league, event_id) AS league FROM known
                 WHERE kind = 'league_changed' GROUP BY ALL)
SELECT coalesce(league, 'none') AS league, pop.event_time // {10 * MINUTE} * {10 * MINUTE} AS window_start,
       sum(bubbles)::BIGINT AS bubbles, count(*) AS events
FROM (SELECT * EXCLUDE (league) FROM known WHERE kind = 'bubbles_popped') AS pop
     ASOF LEFT JOIN changes ON pop.player_id = changes.player_id AND pop.event_time >= changes.event_time
GROUP BY ALL
"""

QUERIES = {
    "team_scores": TEAM_SCORES,
    "player_sessions": PLAYER_SESSIONS,
    "offer_outcomes": OFFER_OUTCOMES,
    "league_scores": LEAGUE_SCORES,
}
SETTLED = {
    "team_scores": f"window_start + {MINUTE} <= {{before}}",
    "player_sessions": "window_end <= {before}",
    "offer_outcomes": f"window_start + {HOUR} < {{before}}",  # a click may come exactly at the bound
    "league_scores": f"window_start + {10 * MINUTE} <= {{before}}",
}
Row = tuple[object, ...]


class Witness:
    """What follows from events, all of them or those that had arrived at some point."""

    def __init__(self, events: Sequence[Arrived]) -> None:
        self._marks = [(each.arrival, each.event.event_time) for each in events]
        columns = {
            "arrival": pa.array([each.arrival for each in events], pa.int64()),
            "event_time": pa.array([each.event.event_time for each in events], pa.int64()),
            **{
                name: pa.array([getattr(each.event, name) for each in events], pa.string())
                for name in ("event_id", "kind")
            },
            **{
                name: pa.array([each.event.fields.get(name) for each in events], type_)
                for name, type_ in FIELDS.items()
            },
        }
        self._database = duckdb.connect()
        self._database.register("events", pa.table(columns))

    def columns(self, result: str) -> list[str]:
        """The columns that the witness knows of a result."""
        return [each[0] for each in self._of(result, 0, "true").description or ()]

    def rows(self, result: str, *, arrivals: int, settled_before: int | None = None) -> list[Row]:
        """The rows of a result over the first arrivals; with `settled_before`, those that only late events can change then."""
        where = "true" if settled_before is None else SETTLED[result].format(before=settled_before)
        return sorted(self._of(result, arrivals, where).fetchall(), key=repr)

    def settled_before(self, arrivals: int) -> int:
        """Until when results are settled: the greatest event time that had arrived, less the allowed lateness."""
        return max((time for arrival, time in self._marks if arrival <= arrivals), default=0) - ALLOWED

    def _of(self, result: str, arrivals: int, where: str) -> duckdb.DuckDBPyConnection:
        known = f"known AS (SELECT * FROM events WHERE arrival <= {arrivals})"
        return self._database.execute(f"WITH {known} SELECT * FROM ({QUERIES[result]}) WHERE {where}")
