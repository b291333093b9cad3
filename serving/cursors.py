"""Cursors: where a page ended, and the versions that it was of. The next page is of the same ones, whatever came since.

A cursor is signed with a key of its own, derived from that of the lake: one that somebody has made up is refused before
anything in it is believed. The lake's key itself will not do, because it makes pseudonyms of whatever text somebody lands.
"""

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import sha256
from typing import Any

import orjson

from lakehouse.errors import ParityError
from lakehouse.pseudonyms import derived_key

DIGEST = 16


class Cursors:
    """The cursors of a lake with this key."""

    def __init__(self, lake_key: bytes) -> None:
        self._key = derived_key(lake_key, "cursors of the API")

    def written(self, question: str, content: Any) -> str:
        """A cursor for the next page of a question."""
        body = orjson.dumps([question, content])
        return urlsafe_b64encode(self._signature(body) + body).decode().rstrip("=")

    def read(self, question: str, cursor: str) -> Any:
        """What a cursor of this question says."""
        try:
            raw = urlsafe_b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4))
        except (ValueError, UnicodeEncodeError):
            raw = b""
        signature, body = raw[:DIGEST], raw[DIGEST:]
        if not hmac.compare_digest(signature, self._signature(body)):
            raise ParityError(
                f"cursor = {cursor[:40]!r}: this is no cursor of this lake. Take `next` of the page before."
            )
        asked, content = orjson.loads(body)
        if asked != question:
            raise ParityError(
                f"cursor = {cursor[:40]!r}: it belongs to another question. Ask for the next page "
                "with the parameters of the first."
            )
        return content

    def _signature(self, body: bytes) -> bytes:
        return hmac.new(self._key, body, sha256).digest()[:DIGEST]
