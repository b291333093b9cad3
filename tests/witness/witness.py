"""The witness: every result straight from the landing files, in plain SQL, by an engine of its own (DuckDB).

It shares no code with the product, nor its recipe: two layers with one shared function would also share its mistakes.
What it knows it knows from docs/landing-format.md, docs/lateness.md and the definition of the results. Times and durations
are whole milliseconds. The windows can be others than those of the catalogue, and a result can be asked for over what was in
time alone, which is what the policy `drop` shows.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

import duckdb

KINDS = {
    "bubbles_popped": {"player_id": "VARCHAR", "team_id": "VARCHAR", "bubbles": "INTEGER"},
    "offer_shown": {"player_id": "VARCHAR", "offer_id": "VARCHAR"},
    "offer_clicked": {"player_id": "VARCHAR", "offer_id": "VARCHAR"},
    "league_changed": {"player_id": "VARCHAR", "league": "VARCHAR"},
    "heartbeat": {},
}
OPTIONAL = {"bubbles_popped": {"reaction_ms": "INTEGER"}}
CONTENT = ("kind", "occurred_at", "player_id", "team_id", "bubbles", "reaction_ms", "offer_id", "league")
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)"
OUTSIDE_THE_CALENDAR = "^(0000|0001|9999)"
SECOND, MINUTE, HOUR = 1_000, 60_000, 3_600_000
ALLOWED, WRONG_CLOCK, FUTURE, GOAL, STREAK = 5 * MINUTE, 30 * SECOND, 10 * MINUTE, 500, 10
WINDOWS: dict[str, dict[str, int]] = {
    "team_scores": {"size": MINUTE},
    "level_ups": {"size": MINUTE},
    "game_pulse": {"size": 10 * SECOND},
    "player_pace": {"size": 5 * MINUTE, "slide": MINUTE},
    "player_sessions": {"gap": 15 * MINUTE},
    "reaction_times": {"size": MINUTE},
    "active_players": {"size": HOUR},
    "lifetime_totals": {},
    "hot_minutes": {"size": MINUTE},
    "pop_streaks": {"size": HOUR},
    "offer_outcomes": {"within": HOUR},
    "click_through": {"size": HOUR, "within": HOUR},
    "league_scores": {"size": 10 * MINUTE},
}
FLOOR = 946_684_800_000
"""2000-01-01T00:00Z"""

READ = """
CREATE TABLE lines AS
SELECT {place} AS place, line, text
FROM (SELECT unnest(string_split(content, chr(10))) AS text, generate_subscripts(string_split(content, chr(10)), 1) AS line,
             len(string_split(content, chr(10))) AS pieces
      FROM read_text({file}))
WHERE NOT (line = pieces AND text = '')   -- what is behind the last line feed is no line
"""

JSON = """
CREATE TABLE objects AS
SELECT place, line, CASE WHEN json_valid(text) AND json_type(text) = 'OBJECT' THEN text::JSON END AS event FROM lines
"""


def text(name: str) -> str:
    return f"CASE WHEN json_type(event, '$.{name}') = 'VARCHAR' THEN event ->> '$.{name}' END"


def number(name: str) -> str:
    whole = f"json_type(event, '$.{name}') IN ('BIGINT', 'UBIGINT')"
    return f"CASE WHEN {whole} THEN TRY_CAST(event ->> '$.{name}' AS INTEGER) END"


def time(name: str) -> str:
    """Milliseconds since 1970, if the text is a time with a zone. Finer digits are cut off; a cast would round them."""
    said = text(name)
    moment = rf"TRY_CAST(regexp_replace({said}, '([.]\d\d\d)\d+', '\1') AS TIMESTAMPTZ)"
    outside = f"regexp_matches({said}, '{OUTSIDE_THE_CALENDAR}')"
    return f"CASE WHEN regexp_full_match({said}, '{TIME}') AND NOT {outside} THEN epoch_ms({moment}) END"


def of_its_kind(name: str, said: str) -> str:
    """A field that the kind of the line does not declare is none of it."""
    kinds = [kind for kind, needed in KINDS.items() if name in {**needed, **OPTIONAL.get(kind, {})}]
    return f"CASE WHEN {text('kind')} IN ({', '.join(map(repr, kinds))}) THEN {said} END AS {name}"


def given(name: str) -> str:
    return f"coalesce(json_type(event, '$.{name}'), 'NULL') <> 'NULL'"


FIELDS = f"""
CREATE TABLE fields AS
SELECT place, line, {text("event_id")} AS event_id, {text("kind")} AS kind,
       {time("occurred_at")} AS occurred_at, {time("sent_at")} AS sent_at, {time("received_at")} AS received_at,
       {", ".join(of_its_kind(name, text(name)) for name in ("player_id", "team_id", "offer_id", "league"))},
       {", ".join(of_its_kind(name, number(name)) for name in ("bubbles", "reaction_ms"))},
       {given("sent_at")} AS says_sent, {given("received_at")} AS says_received, {given("reaction_ms")} AS says_reaction
FROM objects WHERE event IS NOT NULL
"""


def well_formed() -> str:
    """Whether a line of fields is one of its kind: all that it needs, and nothing ill-typed."""
    kinds = []
    for kind, needed in KINDS.items():
        conditions = [f"kind = '{kind}'", *(f"{field} IS NOT NULL" for field in needed)]
        conditions += [f"(NOT says_reaction OR {field} IS NOT NULL)" for field in OPTIONAL.get(kind, {})]
        kinds.append(f"({' AND '.join(conditions)})")
    return f"""event_id <> '' AND occurred_at IS NOT NULL AND (NOT says_sent OR sent_at IS NOT NULL)
               AND (NOT says_received OR received_at IS NOT NULL) AND ({" OR ".join(kinds)})"""


EVENTS = f"""
CREATE TABLE dated AS
SELECT *, occurred_at + CASE WHEN abs(received_at - sent_at) > {WRONG_CLOCK} THEN received_at - sent_at ELSE 0 END AS event_time
FROM fields WHERE {well_formed()};

CREATE TABLE arrivals AS
SELECT *, row_number() OVER (PARTITION BY event_id ORDER BY place, line) AS delivery FROM dated
WHERE coalesce(received_at, {{ingested_at}}) <= {{ingested_at}} + {FUTURE}
  AND event_time <= least(coalesce(received_at, {{ingested_at}}), {{ingested_at}}) + {FUTURE} AND event_time >= {FLOOR};

CREATE TABLE events AS
SELECT *, max(event_time) OVER (ORDER BY place, line ROWS UNBOUNDED PRECEDING) AS high_water
FROM arrivals WHERE delivery = 1
"""


COPIES = f"""
SELECT count(*) FILTER (WHERE honest), count(*) FILTER (WHERE NOT honest)
FROM (SELECT {" AND ".join(f"copy.{name} IS NOT DISTINCT FROM event.{name}" for name in CONTENT)} AS honest
      FROM arrivals AS copy JOIN events AS event USING (event_id) WHERE copy.delivery > 1)
"""

POPS = "CREATE TABLE pops AS SELECT * FROM events WHERE kind = 'bubbles_popped'"


def start(size: int, moment: str = "event_time") -> str:
    """The start of the tumbling window that the moment lies in. No event is from before 1970, which windows begin at."""
    return f"({moment} - {moment} % {size})"


InTime = Callable[[str], str]
"""Of a moment: the condition that it lay ahead of the mark less the allowed lateness when the row arrived; or `true`."""


def in_its_window(size: int, in_time: InTime) -> str:
    return in_time(f"{start(size)} + {size}")


def team_scores(in_time: InTime, *, size: int) -> str:
    return f"""
SELECT team_id, {start(size)} AS window_start, sum(bubbles)::BIGINT, count(*), min(bubbles), max(bubbles),
       count(DISTINCT player_id)
FROM pops WHERE {in_its_window(size, in_time)} GROUP BY ALL ORDER BY window_start, team_id
"""


def level_ups(in_time: InTime, *, size: int) -> str:
    return f"""
SELECT team_id, window_start, min(event_time) AS reached_at
FROM (SELECT *, {start(size)} AS window_start,
             sum(bubbles) OVER (PARTITION BY team_id, {start(size)} ORDER BY event_time, event_id
                                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS total
      FROM pops WHERE {in_its_window(size, in_time)})
WHERE total >= {GOAL} GROUP BY ALL ORDER BY window_start, team_id
"""


def game_pulse(in_time: InTime, *, size: int) -> str:
    return f"""
SELECT {start(size)} AS window_start, count(*), sum(bubbles)::BIGINT, count(DISTINCT player_id)
FROM pops WHERE {in_its_window(size, in_time)} GROUP BY ALL ORDER BY window_start
"""


def player_pace(in_time: InTime, *, size: int, slide: int) -> str:
    """Every start that could hold an event, joined to the events that it does hold."""
    return f"""
WITH starts AS (SELECT DISTINCT unnest(range({start(slide)} - {size} // {slide} * {slide}, event_time + 1, {slide}))
                       AS window_start FROM pops)
SELECT player_id, window_start, sum(bubbles)::BIGINT, count(*)
FROM starts JOIN pops ON event_time >= window_start AND event_time < window_start + {size}
WHERE {in_time(f"window_start + {size}")}
GROUP BY ALL ORDER BY window_start, player_id
"""


def player_sessions(in_time: InTime, *, gap: int) -> str:
    return f"""
WITH apart AS (SELECT *, event_time - lag(event_time) OVER (PARTITION BY player_id ORDER BY event_time) AS pause
               FROM pops WHERE {in_time("event_time")}),
     numbered AS (SELECT *, count(*) FILTER (WHERE pause IS NULL OR pause > {gap})
                            OVER (PARTITION BY player_id ORDER BY event_time) AS session FROM apart)
SELECT player_id, min(event_time) AS window_start, max(event_time) + {gap} AS window_end,
       count(*), sum(bubbles)::BIGINT
FROM numbered GROUP BY player_id, session ORDER BY window_start, player_id
"""


def percentile(share: float) -> str:
    """Of the ordered list `times`: the value at the position, or between its two neighbours in proportion.

    `quantile_cont` says the same but for the last bit of some values. Written out, it can be compared exactly.
    """
    position = f"({share}::DOUBLE * (len(times) - 1))"
    below, above = f"floor({position})", f"ceil({position})"
    lower, upper = f"times[{below}::INTEGER + 1]", f"times[{above}::INTEGER + 1]"
    between = f"{lower} * ({above} - {position}) + {upper} * ({position} - {below})"
    return f"CASE WHEN {lower} = {upper} THEN {lower}::DOUBLE ELSE {between} END"


def reaction_times(in_time: InTime, *, size: int) -> str:
    return f"""
SELECT team_id, window_start, {percentile(0.5)}, {percentile(0.95)}, {percentile(0.99)}
FROM (SELECT team_id, {start(size)} AS window_start, list(reaction_ms ORDER BY reaction_ms) AS times
      FROM pops WHERE reaction_ms IS NOT NULL AND {in_its_window(size, in_time)} GROUP BY ALL)
ORDER BY window_start, team_id
"""


def active_players(in_time: InTime, *, size: int) -> str:
    return f"""
SELECT {start(size)} AS window_start, count(DISTINCT player_id)
FROM pops WHERE {in_its_window(size, in_time)} GROUP BY ALL ORDER BY window_start
"""


def lifetime_totals(_: InTime) -> str:
    """Nothing is late for what has no end."""
    return """
SELECT player_id, 0 AS window_start, sum(bubbles)::BIGINT, count(*), min(bubbles), max(bubbles),
       min(event_time), max(event_time)
FROM pops GROUP BY player_id ORDER BY player_id
"""


def hot_minutes(in_time: InTime, *, size: int) -> str:
    """The stretch that ends with a pop: the running total at it, less that at the last pop a size or more before."""
    return f"""
WITH running AS (SELECT team_id, event_id, event_time,
                        sum(bubbles) OVER (PARTITION BY team_id ORDER BY event_time, event_id ROWS UNBOUNDED PRECEDING) AS total
                 FROM pops WHERE {in_time("event_time")}),
     moments AS (SELECT team_id, event_time, max_by(total, event_id) AS total FROM running GROUP BY ALL),
     minutes AS (SELECT pop.*, (pop.total - coalesce(gone.total, 0))::BIGINT AS bubbles
                 FROM running AS pop ASOF LEFT JOIN moments AS gone
                      ON pop.team_id = gone.team_id AND pop.event_time - {size} >= gone.event_time),
     followed AS (SELECT *, lag(bubbles) OVER (PARTITION BY team_id ORDER BY event_time, event_id) AS before FROM minutes)
SELECT team_id, event_id, event_time + 1 - {size} AS window_start, bubbles, before
FROM followed WHERE bubbles >= {GOAL} AND (before IS NULL OR before < {GOAL}) ORDER BY window_start, team_id, event_id
"""


def pop_streaks(in_time: InTime, *, size: int) -> str:
    return f"""
WITH counted AS (SELECT *, {start(size)} AS window_start,
                        row_number() OVER (PARTITION BY player_id, {start(size)} ORDER BY event_time, event_id) AS nth
                 FROM pops WHERE {in_its_window(size, in_time)})
SELECT player_id, (nth + {STREAK - 1}) // {STREAK} AS streak, window_start,
       max(event_time) - min(event_time), sum(bubbles)::BIGINT
FROM counted GROUP BY ALL HAVING count(*) = {STREAK} ORDER BY window_start, player_id, streak
"""


def outcomes(in_time: InTime, within: int) -> str:
    return f"""
(SELECT shown.player_id, shown.offer_id, shown.event_time AS shown_at, min(click.event_time) AS clicked_at
 FROM (SELECT DISTINCT player_id, offer_id, event_time FROM events
       WHERE kind = 'offer_shown' AND {in_time("event_time")}) AS shown
      LEFT JOIN (SELECT * FROM events WHERE kind = 'offer_clicked' AND {in_time("event_time")}) AS click
      ON click.player_id = shown.player_id AND click.offer_id = shown.offer_id
         AND click.event_time BETWEEN shown.event_time AND shown.event_time + {within}
 GROUP BY ALL)
"""


def offer_outcomes(in_time: InTime, *, within: int) -> str:
    return f"SELECT * FROM {outcomes(in_time, within)} ORDER BY shown_at, player_id, offer_id"


def click_through(in_time: InTime, *, size: int, within: int) -> str:
    return f"""
SELECT {start(size, "shown_at")} AS window_start, count(*), count(clicked_at)
FROM {outcomes(in_time, within)} GROUP BY ALL ORDER BY window_start
"""


def league_scores(in_time: InTime, *, size: int) -> str:
    return f"""
WITH changes AS (SELECT player_id, event_time, max_by(league, event_id) AS league
                 FROM events WHERE kind = 'league_changed' AND {in_time("event_time")} GROUP BY ALL)
SELECT coalesce(changes.league, 'none') AS league, {start(size, "pops.event_time")} AS window_start,
       sum(bubbles)::BIGINT, count(*)
FROM (SELECT * FROM pops WHERE {in_time("event_time")}) AS pops
     ASOF LEFT JOIN changes ON pops.player_id = changes.player_id AND pops.event_time >= changes.event_time
GROUP BY ALL ORDER BY window_start, league
"""


QUERIES: dict[str, Callable[..., str]] = {
    "team_scores": team_scores,
    "level_ups": level_ups,
    "game_pulse": game_pulse,
    "player_pace": player_pace,
    "player_sessions": player_sessions,
    "reaction_times": reaction_times,
    "active_players": active_players,
    "lifetime_totals": lifetime_totals,
    "hot_minutes": hot_minutes,
    "pop_streaks": pop_streaks,
    "offer_outcomes": offer_outcomes,
    "click_through": click_through,
    "league_scores": league_scores,
}
KEYS = {
    "game_pulse": 0,
    "active_players": 0,
    "click_through": 0,
    "hot_minutes": 2,
    "pop_streaks": 2,
    "offer_outcomes": 2,
}
"""How many columns stand before the start of the window, where it is not one."""
Row = tuple[object, ...]


class Witness:
    """What the landing files say. `ingested_at` (milliseconds) bounds every time in them."""

    def __init__(self, landing: Path, *, ingested_at: int, windows: Mapping[str, Mapping[str, int]] = WINDOWS) -> None:
        self._windows = {**WINDOWS, **windows}
        self._database = duckdb.connect()
        self._run("SET TimeZone = 'UTC'")
        files = [file for file in landing.glob("*.jsonl") if not file.name.startswith((".", "_"))]
        files.sort(key=lambda file: (file.stat().st_mtime_ns, file.name))
        for place, file in enumerate(files):
            create = READ if place == 0 else READ.replace("CREATE TABLE lines AS", "INSERT INTO lines")
            self._run(create.format(place=place, file="'" + str(file).replace("'", "''") + "'"))
        for step in (JSON, FIELDS, EVENTS.format(ingested_at=ingested_at), POPS):
            self._run(step)

    def rows(self, result: str, *, dropping: int | None = None) -> list[Row]:
        """The rows of a result in the order of their windows: key, start of the window, values.

        Sessions say their end too, behind the start: it is not a fixed time after it. Totals over all time start at 0.
        With `dropping` an allowed lateness, what was late by it is left out.
        """

        def in_time(moment: str) -> str:
            return "true" if dropping is None else f"({moment}) > high_water - {dropping}"

        return self._run(QUERIES[result](in_time, **self._windows[result])).fetchall()

    def settled(self, result: str, rows: list[Row], *, allowed: int = ALLOWED) -> list[Row]:
        """Those of the rows that are final but for late events: they end at or before the mark less the allowed lateness.

        Offers settle later, as a click may come exactly at the bound: strictly after it. `lifetime_totals` have no end.
        """
        [mark] = self._one("SELECT max(event_time) FROM events")
        until, last = mark - allowed, self._windows[result]

        def is_settled(row: Row) -> bool:
            begun, next_value = (row[KEYS.get(result, 1)], row[KEYS.get(result, 1) + 1])
            assert isinstance(begun, int)
            if result == "lifetime_totals":
                return True
            if result == "player_sessions":
                assert isinstance(next_value, int)
                return next_value <= until
            if result == "offer_outcomes":
                return begun + last["within"] < until
            if result == "click_through":
                return begun + last["size"] + last["within"] < until
            return begun + last["size"] <= until

        return [row for row in rows if is_settled(row)]

    def counts(self) -> dict[str, int]:
        """How many lines became what."""
        [lines] = self._one("SELECT count(*) FROM lines")
        [events] = self._one("SELECT count(*) FROM events")
        honest, conflicting = self._one(COPIES)
        return {"events": events, "duplicates": honest, "quarantine": lines - events - honest, "conflicts": conflicting}

    def _one(self, query: str) -> tuple[int, ...]:
        found = self._run(query).fetchone()
        assert found is not None
        return found

    def _run(self, query: str) -> duckdb.DuckDBPyConnection:
        return self._database.execute(query)
