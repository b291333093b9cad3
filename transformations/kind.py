"""The declaration of a kind of event: what a landing line of it must carry. The log has a column for each field."""

from dataclasses import dataclass
from typing import Literal, get_args

MOST_DIGITS = 18
"""How many digits a decimal has in all: so many fit into 64 bits."""


@dataclass(frozen=True)
class Decimal:
    """The type of a decimal number: `scale` of its 18 digits stand after the point."""

    scale: int

    def __post_init__(self) -> None:
        if type(self.scale) is not int or not 0 <= self.scale <= MOST_DIGITS:
            raise ValueError(
                f"A decimal cannot have the scale {self.scale!r}. Say how many of its {MOST_DIGITS} digits stand after the "
                f"point: a whole number from 0 to {MOST_DIGITS}."
            )

    def __str__(self) -> str:
        return f"decimal of scale {self.scale}"


Named = Literal["text", "whole number", "long whole number", "true or false", "time", "texts"]
FieldType = Named | Decimal
"""A whole number has 32 bits, a long one 64. A time has a zone, and texts are a list."""

_IN_WORDS = {"time": "time with a zone", "texts": "list of texts"}


def in_words(of: FieldType) -> str:
    """What a reason calls a type."""
    return _IN_WORDS.get(str(of), str(of))


@dataclass(frozen=True)
class Field:
    """One field of a kind. What is `personal` names a person: nothing that is shown of a check has it in clear."""

    name: str
    type: FieldType
    required: bool = True
    personal: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.type, Decimal) and self.type not in get_args(Named):
            known = ", ".join(repr(each) for each in get_args(Named))
            raise ValueError(
                f"The field {self.name!r} has no type {self.type!r}. There are: {known} and Decimal(scale=…)."
            )
        if self.personal and self.type not in ("text", "texts"):
            raise ValueError(
                f"The field {self.name!r} is personal and a {in_words(self.type)}. Only a text or a list of texts can have "
                "pseudonyms in its place: declare it as one, or as not personal."
            )


@dataclass(frozen=True)
class Kind:
    name: str
    meaning: str
    fields: tuple[Field, ...] = ()
