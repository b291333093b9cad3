"""A lake without names: with `[ingestion] pseudonym_key` every person is replaced before anything is written.

Equal stays equal, so results, copies and verdicts are what they would be. The key is not in the lake, only its fingerprint:
one person must have one name in the whole of a log. A line that is no event may hold a name anywhere. Its bytes are withheld:
the landing file has them, and the lake has how many they were and their keyed hash.
"""

import hmac
from hashlib import sha256

from pyspark.sql import Column
from pyspark.sql import functions as F

from lakehouse.arrivals import ARRIVALS
from lakehouse.errors import SettingsChanged
from lakehouse.lake import Lake
from lakehouse.notes import edited, note

NOTED = "pseudonym_key_fingerprint"
WITHHELD = '{"withheld":'
"""How `raw` begins where it stands for bytes that are withheld."""


def agree_on_key(lake: Lake, key: str) -> None:
    """Note the key that the log is begun with, or refuse another one, and none: a person would have two names."""
    known, given = note(lake, ARRIVALS).get(NOTED), _fingerprint(key) if key else None
    if known is None and given is not None and not lake.has(ARRIVALS):
        with edited(lake, ARRIVALS) as content:
            content[NOTED] = given
    elif known != given:
        began = "was begun without one" if known is None else f"was begun with the key {known}"
        told = "None is given" if given is None else f"The key {given} is given"
        raise SettingsChanged(
            f"[ingestion] pseudonym_key: the log of {lake.path} {began} (by its fingerprint). {told} now, and one person would "
            "have two names. Nothing was written. Set it back, or ingest the landing files into a new lake."
        )


def is_nameless(lake: Lake) -> bool:
    return NOTED in note(lake, ARRIVALS)


def is_withheld(lake: Lake) -> Column:
    """Whether `raw` stands for bytes that are withheld. Elsewhere a line may say so of itself, and is a line."""
    return F.col("raw").cast("string").startswith(WITHHELD) if is_nameless(lake) else F.lit(False)


def _fingerprint(key: str) -> str:
    return hmac.new(key.encode(), b"which key is this", sha256).hexdigest()[:12]
