"""The declaration of a kind of event: what a landing line of it must carry. The log has a column for each field."""

from dataclasses import dataclass
from typing import Literal

FieldType = Literal["text", "whole number"]


@dataclass(frozen=True)
class Field:
    """One field of a kind. What is `personal` names a person: nothing that is shown of a check has it in clear."""

    name: str
    type: FieldType
    required: bool = True
    personal: bool = False


@dataclass(frozen=True)
class Kind:
    name: str
    meaning: str
    fields: tuple[Field, ...] = ()
