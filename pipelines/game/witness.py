"""What the results of the game have to be, by rules of their own, for `parity chaos`: nothing of Parity is imported here.

Stream and batch share the functions of `results`, so they agree on a mistake in these. This is written from docs/catalogue.md.
"""

MINUTE, HOUR = 60_000, 3_600_000
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
"""When a row is settled, if everything before `{before}` is."""
