"""What the input audit reads from a landing line, with Python alone: its hour, or that it cannot be read."""

from collections import Counter
from pathlib import Path

import pytest
from deliveries import heartbeat, land, pop

from reconciliation.audit import bucket, landed_in


def test_the_audit_reads_no_deeper_than_the_landing_format_allows(tmp_path: Path) -> None:
    """Whoever calls it from wherever: near its own limit Python reads a line at one place and not at another."""
    levels = (1, 99, 100, 900, 985, 3000)
    told = [pop("e", 0).replace('"alice"', "[" * each + "]" * each) for each in levels]
    in_texts = pop("e", 0, extra='"[{\\' * 500)
    file = land(tmp_path, "deep.jsonl", [*told, in_texts, heartbeat("e", 0)])
    assert landed_in(file) == Counter({"2026-03-01T10:00Z": 4, "unreadable": 4})


@pytest.mark.parametrize("year", ["0001", "0099", "0999", "9999"])
def test_the_audit_writes_every_year_with_four_digits(year: str) -> None:
    assert bucket(f'{{"occurred_at": "{year}-01-01T05:59:00Z"}}'.encode()) == f"{year}-01-01T05:00Z"
