"""What may be asked of the API: typed, bounded, and nothing beside it. A misspelt parameter is refused, not left out."""

import re
from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any

from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field
from pyspark.sql.types import BooleanType, DecimalType, IntegerType, LongType, TimestampType

from lakehouse.errors import ParityError
from serving.pins import Layer
from transformations.result import Result

MOST_ROWS = 10_000
EARLIEST, LATEST = datetime(1970, 1, 1, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC)
_TRUTHS = {"true": True, "false": False}
_DECIMAL = re.compile(r"-?[0-9]{1,38}(\.[0-9]{1,38})?")
RANGES: dict[type[Any], int] = {IntegerType: 2**31, LongType: 2**63}


def _moment(text: object) -> datetime:
    try:
        found = datetime.fromisoformat(str(text))
    except ValueError:
        raise ValueError("this is no time; write e.g. 2026-03-01T10:00:00Z") from None
    if found.tzinfo is None:
        raise ValueError(f"the time has no zone; write e.g. {text}Z")
    if not EARLIEST <= found <= LATEST:
        raise ValueError("a time has to be between 1970 and 9999")
    return found.astimezone(UTC)


Moment = Annotated[AwareDatetime, BeforeValidator(_moment)]
Text = Annotated[str, Field(max_length=1000)]
Cursor = Annotated[
    str | None, Field(description="`next` of the page before; the rest has to be the same", max_length=8000)
]
Limit = Annotated[int, Field(description="at most so many rows a page", ge=1, le=MOST_ROWS)]


class Parameters(BaseModel):
    model_config = ConfigDict(extra="forbid", populate_by_name=True)


class Page(Parameters):
    """A page of a listing."""

    limit: Limit = 100
    cursor: Cursor = None


class Rows(Parameters):
    """Which rows of a result, as which layer answers them."""

    layer: Annotated[Layer, Field(description="whose answer")] = "kappa"
    first: Annotated[Moment | None, Field(alias="from", description="first window start, included")] = None
    end: Annotated[Moment | None, Field(alias="to", description="last window start, excluded")] = None
    key: Annotated[
        list[Text], Field(description="values of the first columns of the key, in their order", max_length=10)
    ] = []
    settled: Annotated[
        bool | None, Field(description="only what is settled, or only what is in flight; both if left out")
    ] = None
    as_of: Annotated[Moment | None, Field(description="the answer as it was served at this time")] = None
    limit: Limit = 1000
    cursor: Cursor = None


class Revisions(Parameters):
    """Which result: a value for each column of its key, and the start of its window."""

    key: Annotated[list[Text], Field(description="values of the key, in the order of its columns", max_length=10)] = []
    window: Annotated[Moment, Field(description="the start of the window")]


def key_values(result: Result, given: list[str]) -> tuple[Any, ...]:
    """The values of a key as the columns have them."""
    names = (*result.key, *("" for _ in given))  # who gives too many is told so by the reader
    return tuple(key_value(result, name, text) for name, text in zip(names, given, strict=False))


def key_value(result: Result, name: str, text: str) -> Any:
    """The value of one column of a key as the column has it."""
    of = result.key_types.get(name)
    if isinstance(of, BooleanType):
        if text not in _TRUTHS:
            raise ParityError(f"key = {text!r}: {name} of {result.name} is true or false.")
        return _TRUTHS[text]
    if isinstance(of, TimestampType):
        try:
            return _moment(text)
        except ValueError as error:
            raise ParityError(f"key = {text!r}: {name} of {result.name}: {error}.") from None
    if isinstance(of, DecimalType):
        if _DECIMAL.fullmatch(text) is None:
            raise ParityError(f"key = {text!r}: {name} of {result.name} is a decimal number; write e.g. 21.5.")
        return Decimal(text)
    bound = RANGES.get(type(of))
    if bound is None:
        return text
    try:
        number = int(text)
    except ValueError:
        raise ParityError(f"key = {text!r}: {name} of {result.name} is a whole number.") from None
    if not -bound <= number < bound:
        raise ParityError(
            f"key = {text!r}: {name} of {result.name} is a whole number between {-bound} and {bound - 1}."
        )
    return number
