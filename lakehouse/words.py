"""What kinds, fields, results and columns may be called: names that nothing else has, in tables, queries and files."""

import re

from lakehouse.arrivals import COUNTED, DUPLICATES, EVENTS, HASHES, OF_NO_COPY, OF_NO_EVENT, ORIGIN, QUARANTINE

LONGEST = 60
_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


OF_EVENTS = frozenset((*COUNTED, *HASHES, *OF_NO_COPY, *OF_NO_EVENT, *ORIGIN)) | _words(
    """
    event_id kind event_time occurred_at sent_at received_at processing_time raw place about alike appended behind clock copy
    delivery duplicate event hit hit_since hypothesis late late_for mark moment moved moved_by processed shifted sorted_at start
    state stretch times until waits window window_start window_end written_at
    """
)
"""The columns that every event has, whatever its kind, and those that are put beside them on the way."""
OF_RESULTS = _words(
    """
    window_start window_end window cause deleted settled epoch batch log_version written_at fingerprint computed_at layer part
    cursor limit key from to as_of about at batch_code bucket candidate candidate_code causes chosen clock computed cut_after
    cut_before delivery differing differs event_ids evidence first fitting folds hit hit_since hypothesis last moment outer place
    sorted_at winner
    """
)
"""What a row of a result has beside its key and its values, what is put beside them, and what is asked of it."""
TABLES = frozenset({EVENTS, DUPLICATES, QUARANTINE}) | _words(
    "arrivals all reconciliations differences legacy ingest maintain savepoints quality"
)
"""What tables, queries and locks are called that are no result."""
SQL = _words(
    """
    all analyse analyze and anti any array as asc asof asymmetric authorization between both by case cast check collate
    column constraint create cross cube current_catalog current_date current_role current_time current_timestamp
    current_user default deferrable delete desc describe distinct do drop else end escape except exclude exists extract
    false fetch filter for foreign from full function grant group grouping having hour if ilike in initially inner insert
    intersect interval into is join lambda lateral leading left like limit local localtime localtimestamp map minus minute
    month natural not null offset on only or order outer over overlaps partition pivot placing position primary qualify
    range references replace returning right rollup row rows second select semi session_user set show similar some struct
    summarize symmetric table tablesample then time timestamp to trailing true truncate union unique unknown unpivot
    update user using values variadic when where window with within without year
    """
)
"""Words of SQL, which stand in queries beside the names of columns."""


def unusable(name: str, *, taken: frozenset[str] = frozenset()) -> str | None:
    """Why something cannot be called so, or none."""
    if not _NAME.fullmatch(name):
        return f"{name!r} is no name: write small letters and digits, with _ between words"
    if len(name) > LONGEST:
        return f"{name!r} is longer than {LONGEST} characters"
    if name in taken:
        return f"{name!r} is a word that Parity uses itself"
    return f"{name!r} is a word of SQL" if name in SQL else None
