"""The threat model names tests that are there."""

import re
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
PAGE = (PROJECT / "docs" / "security.md").read_text()


@pytest.mark.parametrize("named", sorted(set(re.findall(r"`(tests/[\w/.]+)`", PAGE))))
def test_a_claim_has_its_test(named: str) -> None:
    assert (PROJECT / named).exists()


def test_every_claim_has_one() -> None:
    claims = PAGE[PAGE.index("## What is protected") :].split("\n## ")[0]
    rows = [row for row in claims.splitlines() if row.startswith("| ") and not row.startswith("| claim")]
    assert len(rows) > 8 and all(re.search(r"`(tests/|pyproject)", row) for row in rows)


@pytest.mark.parametrize("link", re.findall(r"\]\(([^)#]+)", PAGE))
def test_every_link_leads_somewhere(link: str) -> None:
    assert (PROJECT / "docs" / link).exists()
