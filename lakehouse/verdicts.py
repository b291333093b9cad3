"""The tables of the history of verdicts: `reconciliations`, one row a result, and `differences`, one a differing key."""

RECONCILIATIONS, DIFFERENCES = "reconciliations", "differences"
HISTORY_LOCK = "history"
"""Who holds it sees both tables as of the same verdict."""
SCHEMAS = {
    RECONCILIATIONS: (
        "id string, at timestamp, candidate string, policy string, result string, version int, log_version long, "
        "status string, keys long, compared long, equal long, differing long, in_flight long, unexplained long, "
        "audit_balanced boolean, verdict string"
    ),
    DIFFERENCES: (
        "id string, result string, version int, key string, window_start string, window_end string, batch string, "
        "candidate string, differing array<string>, causes array<string>, event_ids array<string>, evidence string"
    ),
}
