"""The kinds of events and their fields: what a landing line must carry, and the columns that the log has for it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from pyspark.sql.types import DataType, IntegerType, StringType

FieldType = Literal["text", "whole number"]
COLUMN_TYPES: dict[FieldType, DataType] = {"text": StringType(), "whole number": IntegerType()}


@dataclass(frozen=True)
class Field:
    name: str
    type: FieldType
    required: bool = True


@dataclass(frozen=True)
class Kind:
    name: str
    fields: tuple[Field, ...] = ()


PLAYER = Field("player_id", "text")
OFFER = Field("offer_id", "text")

KINDS = (
    Kind(
        "bubbles_popped",
        (
            PLAYER,
            Field("team_id", "text"),
            Field("bubbles", "whole number"),
            Field("reaction_ms", "whole number", required=False),
        ),
    ),
    Kind("offer_shown", (PLAYER, OFFER)),
    Kind("offer_clicked", (PLAYER, OFFER)),
    Kind("league_changed", (PLAYER, Field("league", "text"))),
    Kind("heartbeat"),  # moves the high-water mark in silence
)


def fields(kinds: Iterable[Kind] = KINDS) -> dict[str, Field]:
    """Every field of the kinds by its name, in the order of their declaration."""
    return {field.name: field for kind in kinds for field in kind.fields}
