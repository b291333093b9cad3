"""A lake without names: with `[ingestion] pseudonym_key` every person is replaced before anything is written.

Equal stays equal, so results, copies and verdicts are what they would be. The key is not in the lake, only its fingerprint:
one person must have one name in the whole of a log. A line that is no event may hold a name anywhere. Its bytes are withheld:
the landing file has them, and the lake has how many they were and their keyed hash.
"""

import hmac
from hashlib import sha256

from pyspark.sql import Column
from pyspark.sql import functions as F

from lakehouse.errors import SettingsChanged
from lakehouse.lake import Lake
from lakehouse.log import EVENTS
from lakehouse.notes import edited, note
from lakehouse.pseudonyms import HEX_DIGITS, PREFIX

NOTED = "pseudonym_key_fingerprint"
BLOCK = 64  # bytes that SHA-256 takes at a time; HMAC fills the key up to it
_WITHHELD = '{"withheld":'


def agree_on_key(lake: Lake, key: str) -> None:
    """Note the key that the log is begun with, or refuse another one, and none: a person would have two names."""
    known, given = note(lake, EVENTS).get(NOTED), _fingerprint(key) if key else None
    if known is None and given is not None and not lake.has(EVENTS):
        with edited(lake, EVENTS) as content:
            content[NOTED] = given
    elif known != given:
        began = "was begun without one" if known is None else f"was begun with the key {known}"
        told = "None is given" if given is None else f"The key {given} is given"
        raise SettingsChanged(
            f"[ingestion] pseudonym_key: the log of {lake.path} {began} (by its fingerprint). {told} now, and one person would "
            "have two names. Nothing was written. Set it back, or ingest the landing files into a new lake."
        )


def is_nameless(lake: Lake) -> bool:
    return NOTED in note(lake, EVENTS)


def named_as(column: str, key: str) -> str:
    """What a person is called in the lake, as SQL: what `pseudonym` says in Python."""
    return f"if({column} = '', '', concat('{PREFIX}', {keyed_hash(column, key)}))"


def withheld_bytes(column: str, key: str) -> str:
    """What the lake has of a line that is no event, as SQL: lines that are equal stay equal."""
    said = f"named_struct('bytes', octet_length({column}), 'keyed_hash', {keyed_hash(column, key)})"
    return f"to_json(named_struct('withheld', {said}))"


def is_withheld(lake: Lake) -> Column:
    """Whether `raw` stands for bytes that are withheld. Elsewhere a line may say so of itself, and is a line."""
    return F.col("raw").cast("string").startswith(_WITHHELD) if is_nameless(lake) else F.lit(False)


def keyed_hash(column: str, key: str) -> str:
    """HMAC-SHA-256 of a text, its first 128 bits, as SQL: a Python function would need Python workers for every micro-batch."""
    inner, outer = pads(key)
    within = f"unhex(sha2(concat(X'{inner}', cast({column} as binary)), 256))"
    return f"substr(sha2(concat(X'{outer}', {within}), 256), 1, {HEX_DIGITS})"


def pads(key: str) -> tuple[str, str]:
    """The two blocks that HMAC hashes before the text and before the text's hash, in hex: as secret as the key."""
    given = key.encode()
    block = (given if len(given) <= BLOCK else sha256(given).digest()).ljust(BLOCK, b"\0")
    inner, outer = (bytes(byte ^ pad for byte in block) for pad in (0x36, 0x5C))
    return inner.hex(), outer.hex()


def _fingerprint(key: str) -> str:
    return hmac.new(key.encode(), b"which key is this", sha256).hexdigest()[:12]
