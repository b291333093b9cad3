"""The witness that chaos asks says what the one of these tests says."""

from pathlib import Path

import pytest
from accounts import NOW, RESULTS, SUBJECT, account_of, game, taken_in, witness_of
from witness import Witness as OtherWitness


@pytest.mark.parametrize("name", RESULTS)
def test_two_witnesses_say_the_same(tmp_path: Path, name: str) -> None:
    """This one judges the lines in SQL, that one in Python; their queries were written apart."""
    landing = tmp_path / "landing"
    game(landing)
    account = account_of(taken_in(tmp_path / "lake", landing), landing)
    one, other = witness_of(account.events), OtherWitness(landing, ingested_at=NOW)
    for settled in (False, True):
        before = one.settled_before(account.landed) if settled else None
        rows = other.settled(name, other.rows(name), allowed=SUBJECT.allowed) if settled else other.rows(name)
        known = len(one.columns(name))
        expected = sorted((row[:known] for row in rows), key=repr)
        assert len(expected) > 5
        assert one.rows(name, arrivals=account.landed, settled_before=before) == expected
