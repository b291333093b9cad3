"""The kinds of events of a pipeline, taken together: their fields, which are columns of the log."""

from collections.abc import Iterable

from .kind import Field, Kind

HEARTBEAT = Kind("heartbeat", "Moves the high-water mark in silence.")
"""Nothing happened, and time went on: it belongs to every pipeline."""


def personal(kinds: Iterable[Kind]) -> tuple[str, ...]:
    """The names of the fields that name a person, in whichever table they are a column."""
    return tuple(dict.fromkeys(field.name for kind in kinds for field in kind.fields if field.personal))


def fields(kinds: Iterable[Kind]) -> dict[str, Field]:
    """Every field of the kinds by its name. A name has one type, because the log has one column for it."""
    found: dict[str, Field] = {}
    for kind in kinds:
        for field in kind.fields:
            known = found.setdefault(field.name, field)
            if known.type != field.type:
                raise ValueError(
                    f"The field {field.name!r} of {kind.name} is a {field.type}, but another kind has it as a {known.type}. "
                    "Give it a name of its own."
                )
    return found


def content(kinds: Iterable[Kind]) -> list[str]:
    """What makes two deliveries of one id honest copies: all but the times of sending and receiving, which a retry has anew."""
    return ["kind", "occurred_at", *fields(kinds)]


def declaring(kinds: Iterable[Kind], name: str) -> tuple[str, ...]:
    """The names of the kinds that have a field. An event of any other kind has null in its column."""
    return tuple(kind.name for kind in kinds if name in {field.name for field in kind.fields})
