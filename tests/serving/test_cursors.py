"""A cursor is what the server wrote, and nothing that a producer of events can bring about."""

from base64 import urlsafe_b64encode
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakehouse.errors import ParityError
from lakehouse.pseudonyms import derived_key
from serving.cursors import DIGEST, Cursors
from transformations.pseudonym import PREFIX, pseudonym

KEYS = st.binary(min_size=32, max_size=32)
CONTENTS = st.recursive(st.integers(0, 2**53) | st.text(), st.lists, max_leaves=5)


@given(key=KEYS, question=st.text(), content=CONTENTS)
def test_a_cursor_says_what_was_written(key: bytes, question: str, content: Any) -> None:
    cursors = Cursors(key)
    assert cursors.read(question, cursors.written(question, content)) == content


@given(key=KEYS, question=st.text(), content=CONTENTS)
def test_the_pseudonym_of_a_cursors_body_does_not_sign_it(key: bytes, question: str, content: Any) -> None:
    """Whoever lands a player with this id is shown the pseudonym in every answer about that player."""
    body = orjson.dumps([question, content])
    shown = pseudonym(body.decode(), key).removeprefix(PREFIX)
    forged = urlsafe_b64encode(bytes.fromhex(shown)[:DIGEST] + body).decode().rstrip("=")
    with pytest.raises(ParityError, match="no cursor of this lake"):
        Cursors(key).read(question, forged)


@given(key=KEYS, purpose=st.text(min_size=1), other=st.text(min_size=1))
def test_no_pseudonym_tells_a_part_of_a_derived_key(key: bytes, purpose: str, other: str) -> None:
    derived = derived_key(key, purpose)
    assert derived != key and (derived == derived_key(key, other)) == (purpose == other)
    assert pseudonym(purpose, key).removeprefix(PREFIX) not in derived.hex()
