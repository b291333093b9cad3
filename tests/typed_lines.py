"""Lines with fields of every type: values known by name with what becomes of them, drawn ones, and another reader of both.

The other reader shares no code with the product: Python's `json` keeps each number as it is written, and Python's `decimal`
says what it is worth.
"""

import json
import random
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from types import ModuleType
from typing import Any

from deliveries import at

from transformations import kind as declarations

READING: dict[str, tuple[str, int | None]] = {
    "sensor": ("text", None),
    "level": ("decimal", 2),
    "round": ("decimal", 0),
    "fine": ("decimal", 18),
    "count": ("whole number", None),
    "total": ("long whole number", None),
    "open": ("true or false", None),
    "seen_at": ("time", None),
    "tags": ("texts", None),
    "owners": ("texts", None),
}
"""The fields of the kind `reading` with their types and scales; all but the first two are optional."""
ALARM = ("open", "tags", "level")
"""Those that the kind `alarm` has too."""
PLACES = Context(prec=1100, Emax=MAX_EMAX, Emin=MIN_EMIN)
ILL = "ill-typed field: {name} (expected {expected}, found {found})"


def kinds_of(module: ModuleType = declarations) -> list[Any]:
    """Two kinds, declared with the classes of a package that may be a copy."""

    def field(name: str, *, required: bool) -> Any:
        of, scale = READING[name]
        return module.Field(
            name, of if scale is None else module.Decimal(scale), required=required, personal=name == "owners"
        )

    reading = [field(name, required=name in ("sensor", "level")) for name in READING]
    return [
        module.Kind("reading", "", tuple(reading)),
        module.Kind("alarm", "", tuple(field(name, required=name != "level") for name in ALARM)),
    ]


def line(event_id: str = "e", kind: str = "reading", **said: str) -> bytes:
    """A sound line, or one in which a field is written just so."""
    given = {"event_id": f'"{event_id}"', "kind": f'"{kind}"', "occurred_at": f'"{at(0)}"'}
    given |= {"sensor": '"s"', "level": "1.5"} if kind == "reading" else {"open": "true", "tags": "[]"}
    return ("{" + ", ".join(f'"{name}": {text}' for name, text in (given | said).items()) + "}").encode()


FINER, OUTSIDE = "more digits after the point", "outside"
OTHERS = "array with other values"
MOMENT = "2026-03-01T10:00:03.120Z"

KNOWN: list[tuple[str, str, Any]] = [
    # decimals, by value: trailing zeros and exponents are ways of writing
    ("level", "1.10", Decimal("1.10")), ("level", "1.1", Decimal("1.10")), ("level", "1.100000", Decimal("1.10")),
    ("level", "11e-1", Decimal("1.10")), ("level", "0.11E+1", Decimal("1.10")), ("level", "1e2", Decimal("100.00")),
    ("level", "1", Decimal("1.00")), ("level", "-1", Decimal("-1.00")), ("level", "0", Decimal("0.00")),
    ("level", "-0", Decimal("0.00")), ("level", "-0.00", Decimal("0.00")), ("level", "0e999999999", Decimal("0.00")),
    ("level", "0.29", Decimal("0.29")), ("level", "-273.15", Decimal("-273.15")), ("level", "4.35", Decimal("4.35")),
    ("level", "9999999999999999.99", Decimal("9999999999999999.99")),
    ("level", "9999999999999999", Decimal("9999999999999999")),
    ("level", "-9999999999999999.99", Decimal("-9999999999999999.99")),
    ("level", "90071992547409.93", Decimal("90071992547409.93")),
    ("level", "1" + "0" * 15 + "e-15", Decimal("1.00")), ("level", "0." + "0" * 20 + "1e21", Decimal("1.00")),
    ("level", "1.234", FINER), ("level", "1e-3", FINER), ("level", "0.001", FINER), ("level", "1e-400", FINER),
    ("level", "1.1000000000000000055", FINER), ("level", "1.10000000000000008", FINER), ("level", "1e-999999999", FINER),
    ("level", "10000000000000000", OUTSIDE), ("level", "1e16", OUTSIDE), ("level", "9999999999999999.991", FINER),
    ("level", "1e400", OUTSIDE), ("level", "1e999999999", OUTSIDE), ("level", "9" * 999, OUTSIDE), ("level", str(2**64), OUTSIDE),
    ("level", "1e15", Decimal("1000000000000000.00")), ("level", "-10000000000000000.0", OUTSIDE),
    ("level", '"1.10"', "string"), ("level", "true", "boolean"), ("level", "[1.1]", "array"), ("level", "{}", "object"),
    ("round", "999999999999999999", Decimal(10**18 - 1)), ("round", "1000000000000000000", OUTSIDE), ("round", "7.0", Decimal(7)),
    ("round", "7.5", FINER), ("round", "7e17", Decimal(7 * 10**17)), ("round", "70e-1", Decimal(7)), ("round", "1e18", OUTSIDE),
    ("fine", "0.000000000000000001", Decimal("1e-18")), ("fine", "1e-18", Decimal("1e-18")), ("fine", "1e-19", FINER),
    ("fine", "0.999999999999999999", Decimal("0.999999999999999999")), ("fine", "1", OUTSIDE), ("fine", "-0.5", Decimal("-0.5")),
    ("fine", "0.1", Decimal("0.1")), ("fine", "0.1000000000000000055", FINER), ("fine", "1.5", OUTSIDE),
    # whole numbers: both sizes by one rule
    *((name, text, value) for name, bits in (("count", 32), ("total", 64)) for text, value in (
        ("0", 0), ("-0", 0), ("-12", -12), (str(2 ** (bits - 1) - 1), 2 ** (bits - 1) - 1),
        (str(-(2 ** (bits - 1))), -(2 ** (bits - 1))),
        (str(2 ** (bits - 1)), OUTSIDE), (str(-(2 ** (bits - 1)) - 1), OUTSIDE), (str(2**64), OUTSIDE), ("9" * 50, OUTSIDE),
        ("1.0", "decimal"), ("-0.0", "decimal"), ("1e2", "double"), ("1.5", "decimal"), ('"7"', "string"), ("true", "boolean"),
        ("[7]", "array"), ("1e400", "double"),
    )),
    ("total", "3000000000", 3_000_000_000), ("total", str(2**53 + 1), 2**53 + 1), ("total", str(2**63 + 1), OUTSIDE),
    # true or false
    ("open", "true", True), ("open", "false", False), ("open", "0", "bigint"),
    ("open", "1", "bigint"), ("open", '"true"', "string"),
    ("open", "[true]", "array"), ("open", "1.0", "decimal"),
    # times
    ("seen_at", f'"{MOMENT}"', MOMENT), ("seen_at", '"2026-03-01T11:00:03.120999+01:00"', MOMENT),
    ("seen_at", '"2099-01-01T00:00:00Z"', "2099-01-01T00:00:00.000Z"),
    ("seen_at", '"1969-07-20T20:17:40Z"', "1969-07-20T20:17:40.000Z"),
    ("seen_at", '"2026-03-01T10:00:03.120"', "string"), ("seen_at", '"2026-03-01"', "string"),
    ("seen_at", '"2026-02-30T10:00:00Z"', "string"),
    ("seen_at", '"9999-01-01T00:00:00Z"', "string"), ("seen_at", '"0001-12-31T23:59:59Z"', "string"), ("seen_at", '""', "string"),
    ("seen_at", "1772359203", "bigint"), ("seen_at", "null", None), ("seen_at", f'["{MOMENT}"]', "array"),
    # lists of texts
    ("tags", "[]", []), ("tags", '["a", "b"]', ["a", "b"]),
    ("tags", '["b", "a", "a"]', ["b", "a", "a"]), ("tags", '[""]', [""]),
    ("tags", '["\\u0061", "Zo\u00eb", "\\ud83e\\udee7"]', ["a", "Zo\u00eb", "\U0001fae7"]),
    ("tags", '["[{\\"", "]"]', ['[{"', "]"]),
    ("tags", "null", None), ("tags", "[null]", OTHERS), ("tags", '["a", null]', OTHERS), ("tags", '["a", 1]', OTHERS),
    ("tags", '[["a"]]', OTHERS), ("tags", '[{"a": "b"}]', OTHERS), ("tags", "[true]", OTHERS), ("tags", '"a"', "string"),
    ("tags", '{"a": "b"}', "object"), ("tags", "7", "bigint"), ("owners", '["alice", "bob"]', ["alice", "bob"]),
    ("level", "1.25", Decimal("1.25")),
]  # fmt: skip


def reason_of(name: str, found: str) -> str:
    of, scale = READING[name]
    if found == OUTSIDE:
        return f"number outside { {'whole number': '32 bits', 'long whole number': '64 bits'}.get(of, '18 digits') }: {name}"
    words = {"decimal": f"decimal of scale {scale}", "time": "time with a zone", "texts": "list of texts"}
    return ILL.format(name=name, expected=words.get(of, of), found=found)


class Token(str):
    """A number as it is written."""


def other_reader(text: bytes) -> tuple[str | None, dict[str, Any]]:
    """The reason against a `reading` that is an object with all that is required, or its values. Moments are in milliseconds."""
    said = json.loads(text, parse_int=Token, parse_float=Token)
    values: dict[str, Any] = {}
    for name, (of, scale) in READING.items():
        value = said.get(name)
        if value is None:
            values[name] = None
            continue
        found, reason = _read(value, of, scale)
        if reason is not None:
            return reason_of(name, reason), {}
        values[name] = found
    return None, values


def _read(value: Any, of: str, scale: int | None) -> tuple[Any, str | None]:
    called = {bool: "boolean", str: "string", list: "array", dict: "object"}.get(type(value)) or _number(value)
    if of == "decimal":
        return (None, called) if type(value) is not Token else _decimal(value, scale or 0)
    if "whole" in of:
        whole = type(value) is Token and not set(value) & set(".eE")
        bits = 64 if of.startswith("long") else 32
        if not whole:
            return None, called
        return (int(value), None) if -(2 ** (bits - 1)) <= int(value) < 2 ** (bits - 1) else (None, OUTSIDE)
    if of == "true or false":
        return (value, None) if isinstance(value, bool) else (None, called)
    if of == "texts":
        if not isinstance(value, list):
            return None, called
        return (value, None) if all(type(each) is str for each in value) else (None, OTHERS)
    if type(value) is not str:
        return None, called
    if of == "time":
        try:
            return round(datetime.strptime(value, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC).timestamp() * 1000), None
        except ValueError:
            return None, called
    return value, None


def _decimal(token: str, scale: int) -> tuple[Any, str | None]:
    exact = PLACES.create_decimal(token).normalize(PLACES)
    _, digits, exponent = exact.as_tuple()
    if not any(digits):
        return Decimal(0), None
    assert isinstance(exponent, int)
    if exponent < -scale:
        return None, FINER
    return (exact, None) if exact.adjusted() + 1 + scale <= 18 else (None, OUTSIDE)


def _number(token: str) -> str:
    """What Spark calls it."""
    if not set(token) & set(".eE") and -(2**63) <= int(token) < 2**63:
        return "bigint"
    if set(token) & set("eE"):
        return "double"
    digits = token.lstrip("-").replace(".", "").lstrip("0")
    after = len(token.partition(".")[2])
    return "decimal" if max(len(digits), after) <= 38 else "double"


def drawn_readings(chance: random.Random, count: int) -> list[bytes]:
    """Readings whose fields are written in every way: most of them right, some of them known to be difficult."""
    return [_drawn(chance, number) for number in range(count)]


def _drawn(chance: random.Random, number: int) -> bytes:
    said: dict[str, str] = {}
    for name in chance.sample(list(READING), chance.choice((1, 2, 2, 3, 10))):
        if chance.random() < 0.25:
            known = [text for other, text, _ in KNOWN if other == name and name not in ("seen_at",)]
            said[name] = chance.choice(known) if known else "null"
        else:
            said[name] = _written(chance, *READING[name])
    if chance.random() < 0.1:
        said["extra"] = chance.choice(
            ('"\\u0041"', '{"level": 1.2345678901234567890}', "[1, [2]]", '"x\\"y"', "0.12345678901234567")
        )
    if said.get("level") == "null" or said.get("sensor") == "null":
        del said["level" if said.get("level") == "null" else "sensor"]
    return line(f"{number}", **said)  # fmt: skip


def _written(chance: random.Random, of: str, scale: int | None) -> str:
    if of == "decimal":
        return _number_text(chance, scale or 0)
    if "whole" in of:
        edge = 2 ** (63 if of.startswith("long") else 31)
        return str(chance.choice((chance.randint(-100, 100), chance.randint(-edge, edge - 1), edge, -edge - 1)))
    if of == "true or false":
        return chance.choice(("true", "false", "true", "1"))
    if of == "time":
        return f'"{at(chance.uniform(-1e6, 1e6))}"'
    texts = ["a", "b", "", "Zo\u00eb", 'x"y', "[", "7"]
    if of == "texts":
        return json.dumps(chance.choices(texts, k=chance.randint(0, 4)), ensure_ascii=chance.random() < 0.5)
    return json.dumps(chance.choice(texts), ensure_ascii=chance.random() < 0.5)


def _number_text(chance: random.Random, scale: int) -> str:
    """A number of up to 25 digits, its point anywhere, with an exponent or without."""
    digits = "".join(chance.choices("0123456789", k=chance.choice((1, 2, 3, 5, 14, 15, 16, 17, 18, 19, 25))))
    after = chance.choice((0, 1, scale, scale, scale + 1, len(digits)))
    padded = digits.rjust(after + 1, "0")
    before, behind = padded[: len(padded) - after].lstrip("0") or "0", padded[len(padded) - after :]
    zeros = "0" * chance.choice((0, 0, 0, 1, 3, 16)) if behind else ""
    text = f"{chance.choice(('', '', '-'))}{before}{'.' + behind + zeros if behind else ''}"
    return text + (
        f"{chance.choice('eE')}{chance.choice(('', '+', '-'))}{chance.randint(0, 20)}" if chance.random() < 0.2 else ""
    )


def plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values that can be compared: a decimal without its zeros at the end, the sign of a zero not at all."""
    return {
        name: value.normalize(PLACES) + 0 if isinstance(value, Decimal) else value for name, value in values.items()
    }
