"""The witness: both results straight from the landing files, in plain SQL, by an engine of its own (DuckDB).

It shares no code with the product, nor its recipe: two layers with one shared function would also share its mistakes.
What it knows it knows from docs/landing-format.md and the definition of the results. Times are whole milliseconds.
"""

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
WINDOW, ALLOWED, WRONG_CLOCK, FUTURE, GOAL = 60_000, 300_000, 30_000, 600_000, 500
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
    """Milliseconds since 1970, if the text is a time with a zone."""
    said = text(name)
    moment = f"TRY_CAST({said} AS TIMESTAMPTZ)"
    return f"CASE WHEN regexp_full_match({said}, '{TIME}') THEN epoch_ms({moment}) END"


def given(name: str) -> str:
    return f"coalesce(json_type(event, '$.{name}'), 'NULL') <> 'NULL'"


FIELDS = f"""
CREATE TABLE fields AS
SELECT place, line, {text("event_id")} AS event_id, {text("kind")} AS kind,
       {time("occurred_at")} AS occurred_at, {time("sent_at")} AS sent_at, {time("received_at")} AS received_at,
       {text("player_id")} AS player_id, {text("team_id")} AS team_id, {text("offer_id")} AS offer_id,
       {text("league")} AS league, {number("bubbles")} AS bubbles, {number("reaction_ms")} AS reaction_ms,
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
WHERE event_time <= coalesce(received_at, {{ingested_at}}) + {FUTURE} AND event_time >= {FLOOR};

CREATE TABLE events AS SELECT * FROM arrivals WHERE delivery = 1
"""

COPIES = f"""
SELECT count(*) FILTER (WHERE honest), count(*) FILTER (WHERE NOT honest)
FROM (SELECT {" AND ".join(f"copy.{name} IS NOT DISTINCT FROM event.{name}" for name in CONTENT)} AS honest
      FROM arrivals AS copy JOIN events AS event USING (event_id) WHERE copy.delivery > 1)
"""

POPS = f"""
CREATE TABLE pops AS
SELECT *, event_time - ((event_time % {WINDOW}) + {WINDOW}) % {WINDOW} AS window_start FROM events WHERE kind = 'bubbles_popped'
"""

TEAM_SCORES = """
SELECT team_id, window_start, sum(bubbles)::BIGINT, count(*), min(bubbles), max(bubbles), count(DISTINCT player_id)
FROM pops GROUP BY ALL ORDER BY window_start, team_id
"""

LEVEL_UPS = f"""
SELECT team_id, window_start, min(event_time) AS reached_at
FROM (SELECT *, sum(bubbles) OVER (PARTITION BY team_id, window_start ORDER BY event_time, event_id
                                   ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS total FROM pops)
WHERE total >= {GOAL} GROUP BY ALL ORDER BY window_start, team_id
"""

QUERIES = {"team_scores": TEAM_SCORES, "level_ups": LEVEL_UPS}


class Witness:
    """What the landing files say. `ingested_at` (milliseconds) judges lines that do not say when they were received."""

    def __init__(self, landing: Path, *, ingested_at: int) -> None:
        self._database = duckdb.connect()
        self._run("SET TimeZone = 'UTC'")
        files = [file for file in landing.glob("*.jsonl") if not file.name.startswith((".", "_"))]
        files.sort(key=lambda file: (file.stat().st_mtime_ns, file.name))
        for place, file in enumerate(files):
            create = READ if place == 0 else READ.replace("CREATE TABLE lines AS", "INSERT INTO lines")
            self._run(create.format(place=place, file="'" + str(file).replace("'", "''") + "'"))
        for step in (JSON, FIELDS, EVENTS.format(ingested_at=ingested_at), POPS):
            self._run(step)

    def rows(self, result: str) -> list[tuple[object, ...]]:
        """The rows of a result: team, start of the window, values."""
        return self._run(QUERIES[result]).fetchall()

    def settled_until(self) -> int:
        """Windows that end until then are settled."""
        [mark] = self._one("SELECT max(event_time) FROM events")
        return mark - ALLOWED

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
