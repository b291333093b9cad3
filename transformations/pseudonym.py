"""A pseudonym: a keyed hash in the place of what names a person. Equal stays equal, and distinct stays distinct.

It is HMAC-SHA-256, of which 128 bits are kept. Whose key it is, is the caller's matter.
"""

import hmac

PREFIX = "person-"
HEX_DIGITS = 32


def pseudonym(value: str, key: bytes) -> str:
    """What a person is called outside; a text that is empty stays so."""
    return PREFIX + keyed_hash(value.encode(), key) if value else value


def keyed_hash(content: bytes, key: bytes) -> str:
    return hmac.digest(key, content, "sha256").hex()[:HEX_DIGITS]
