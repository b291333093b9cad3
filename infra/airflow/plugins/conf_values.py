"""A wrong value of a form is refused with a sentence: what was given, and what is allowed.

Airflow refuses it by itself, but with all that the library of schemas has to say: the schema, the path in it and the value,
over twenty lines. It has no setting and no hook for this. So the fields of Parity carry a word of their own in their
schema, `allowed`, which the library passes over, and where it stands this is what the form and the API are answered:

    Invalid input for param candidate: 'nobody' is not possible. Allowed: kappa, legacy, or a version, e.g. @2.

Fields without that word, those of other DAGs among them, are answered as before.
"""

from typing import Any

from airflow.serialization.definitions.param import SerializedParam
from jsonschema import ValidationError

ALLOWED = "allowed"
LONGEST = 100  # characters of a value that are repeated

_by_airflow = SerializedParam.resolve


def watch() -> None:
    """Answer with sentences from now on, in this process."""
    SerializedParam.resolve = _resolved  # type: ignore[method-assign, assignment]


def _resolved(param: SerializedParam, *, raises: bool = False) -> Any:
    try:
        return _by_airflow(param, raises=raises)
    except ValidationError as error:
        if ALLOWED not in param.schema:
            raise
        raise ValueError(sentence(error.instance, param.schema[ALLOWED])) from None


def sentence(value: Any, allowed: str) -> str:
    """`value` is the part that is wrong: of a list one element, where the others are right."""
    given = repr(value)
    if len(given) > LONGEST:
        given = f"{given[:LONGEST]}…"
    return f"{given} is not possible. Allowed: {allowed}."
