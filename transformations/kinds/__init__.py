"""Every kind of event: one module each, found by its name. A module declares its kind as `KIND`."""

from collections.abc import Iterable
from importlib import import_module
from pkgutil import iter_modules

from ..kind import Field, Kind

KINDS: tuple[Kind, ...] = tuple(import_module(f".{module.name}", __name__).KIND for module in iter_modules(__path__))


def personal(kinds: Iterable[Kind] = KINDS) -> tuple[str, ...]:
    """The names of the fields that name a person, in whichever table they are a column."""
    return tuple(dict.fromkeys(field.name for kind in kinds for field in kind.fields if field.personal))


def fields(kinds: Iterable[Kind] = KINDS) -> dict[str, Field]:
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


def content(kinds: Iterable[Kind] = KINDS) -> list[str]:
    """What makes two deliveries of one id honest copies: all but the times of sending and receiving, which a retry has anew."""
    return ["kind", "occurred_at", *fields(kinds)]


def declaring(kinds: Iterable[Kind], name: str) -> tuple[str, ...]:
    """The names of the kinds that have a field. An event of any other kind has null in its column."""
    return tuple(kind.name for kind in kinds if name in {field.name for field in kind.fields})
