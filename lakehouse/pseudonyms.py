"""Pseudonyms: what is shown of a row does not name a person.

A personal value is replaced by a keyed hash (transformations/pseudonym.py).
The key belongs to the lake and is readable for its owner only, so the pages of `parity quality` and the answers of
`parity serve` call a person the same: LAKE/quality/key.

Whoever lands an event chooses a text and is shown its keyed hash. So the key itself makes pseudonyms and nothing else: what is
signed for another purpose is signed with a key that `derived_key` makes for it.
"""

import os
import secrets
from hashlib import blake2b

from lakehouse.lake import Lake

KEY_BYTES = 32
HIDDEN = ("raw",)
"""Columns that hold a whole line, whatever is in it."""


def lake_key(lake: Lake) -> bytes:
    """The key of the lake, made on first use."""
    file = lake.path / "quality" / "key"
    file.parent.mkdir(mode=0o700, exist_ok=True)
    draft = file.with_name(f".key.{os.getpid()}")
    if not file.exists():
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as opened:
            opened.write(secrets.token_hex(KEY_BYTES))
        try:
            os.link(draft, file)  # whole or not at all, and never over one that another process has made meanwhile
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    return bytes.fromhex(file.read_text())


def derived_key(key: bytes, purpose: str) -> bytes:
    """A key for one purpose beside pseudonyms.

    Not by HMAC-SHA-256: the pseudonym of a person who is called like the purpose would be half of it.
    """
    return blake2b(purpose.encode(), key=key, digest_size=KEY_BYTES).digest()
