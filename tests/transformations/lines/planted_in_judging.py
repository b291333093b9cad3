"""Mistakes that somebody could make in the rules of a line: each is planted in a copy of the package, loaded beside it."""

import importlib
import importlib.util
import shutil
import sys
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import transformations

SOURCE = Path(transformations.__file__).parent


class Planted(NamedTuple):
    file: str
    old: str
    new: str


RULES, VALUES, JSON, TIMES = "lines/rules.py", "lines/values.py", "lines/strict_json.py", "lines/times.py"
QUICK, UNAMBIGUOUS, NESTING, CLOCK = "lines/judge.py", "lines/unambiguous.py", "lines/nesting.py", "clock.py"
COLUMNS, NUMBERS = "lines/columns.py", "lines/numbers.py"

PLANTED = {
    # By the letter
    "a key may stand twice": Planted(JSON, "len(found) != len(pairs)", "not found and pairs"),
    "half a character is one": Planted(JSON, 'encode("utf-16-le")', 'encode("utf-16-le", "surrogatepass")'),
    "NaN is a number": Planted(JSON, "parse_constant=_constant", "parse_constant=_number"),
    "a number has any length": Planted(JSON, "NUMBER_DIGITS = 1000", "NUMBER_DIGITS = 100_000"),
    "every blank is one": Planted(JSON, "line.strip(BLANKS)", "line.strip()"),
    "an array is an object": Planted(JSON, "type(said) is not dict", "False"),
    "a fraction may be whole": Planted(JSON, 're.compile(r"-?[0-9]+")', 're.compile(r"-?[0-9]+(?:[.]0)?")'),
    "a decimal has 39 digits": Planted(JSON, "_DECIMAL_DIGITS = 38", "_DECIMAL_DIGITS = 39"),
    "digits of a fraction are not counted": Planted(JSON, "max(digits, len(after))", "digits"),
    "a blank line has content": Planted(RULES, "text.strip(BLANKS)", "text"),
    "an id may be empty": Planted(RULES, '''said["event_id"] == ""''', "False"),
    "what is null is ill-typed": Planted(RULES, "if value is None:\n", "if name not in said:\n"),
    "whole numbers have 33 bits": Planted(
        VALUES, "said.within(_BITS[expected]) else", "said.within(_BITS[expected] + 1) and int(said) != 2**31 else"
    ),
    "a large number is ill-typed": Planted(VALUES, "and said.is_whole:", "and said.within(64):"),
    "a text is no number outside 32 bits": Planted(
        VALUES, "    if isinstance(said, Number):\n", "    if isinstance(said, str) and (said := Number(said)):\n"
    ),
    "a field of any kind is one": Planted(
        RULES, "in said_types([kind]).items()", 'in (said_types([kind]) | {"league": "text", "offer_id": "text"}).items()'
    ),
    "times come before fields": Planted(
        RULES, '    yield from _complaint(said, "kind"', '    yield from _complaint(said, "sent_at", "time", required=False)\n'
        '    yield from _complaint(said, "kind"',
    ),
    "101 levels": Planted(NESTING, "LEVELS = 100", "LEVELS = 101"),
    "brackets in texts count": Planted(NESTING, '_TEXT.sub("", _ESCAPED.sub("", line))', '_ESCAPED.sub("", line)'),
    "an escaped quote ends a text": Planted(NESTING, '_ESCAPED.sub("", line)', "line"),
    "brackets never closed do not count": Planted(NESTING, "never_closed + len(open_brackets) > LEVELS", "False"),
    # Times
    "z for Z": Planted(TIMES, "(?:Z|([+-])", "(?:[Zz]|([+-])"),
    "a blank for T": Planted(TIMES, "([0-9]{2})T([0-9]{2})", "([0-9]{2})[T ]([0-9]{2})"),
    "digits of any script": Planted(TIMES, 'r"([0-9]{4})-', r'r"(\d{4})-'),
    "ten digits of a fraction": Planted(TIMES, "([0-9]{1,9})", "([0-9]{1,10})"),
    "a line feed may follow": Planted(TIMES, "_TIME.fullmatch(text)", '_TIME.fullmatch(text.removesuffix("\\n"))'),
    "18 hours and more": Planted(TIMES, "zone > MOST_HOURS_OF_ZONE * 60", "zone >= (MOST_HOURS_OF_ZONE + 1) * 60"),
    "less than 18 hours": Planted(TIMES, "zone > MOST_HOURS_OF_ZONE * 60", "zone >= MOST_HOURS_OF_ZONE * 60"),
    "a zone of 60 minutes": Planted(TIMES, "int(zone_minutes) > 59", "int(zone_minutes) > 60"),
    "east is west": Planted(TIMES, 'sign == "+"', 'sign == "-"'),
    "tenths are milliseconds": Planted(TIMES, '.ljust(3, "0")[:3]', '[:3] or "0"'),
    "a second 60": Planted(TIMES, "second > 59", "second > 60"),
    "an hour 24": Planted(TIMES, "hour > 23", "hour > 24"),
    "the year 1": Planted(TIMES, "FIRST_YEAR, LAST_YEAR = 2,", "FIRST_YEAR, LAST_YEAR = 1,"),
    "the year 9999": Planted(TIMES, "9998\n", "9999\n"),
    "the year 2 is too early": Planted(TIMES, "not FIRST_YEAR <= year", "not FIRST_YEAR < year"),
    "any 29th of February": Planted(TIMES, "right &= days.astype", "right |= days.astype"),
    "quick: a second 60": Planted(TIMES, "(second <= 59)", "(second <= 60)"),
    "quick: an hour 24": Planted(TIMES, "(hour <= 23)", "(hour <= 24)"),
    "quick: a minute 60": Planted(TIMES, "(minute <= 59)", "(minute <= 60)"),
    "quick: the year 1": Planted(TIMES, "(year >= FIRST_YEAR)", "(year >= 1)"),
    "quick: the year 9999": Planted(TIMES, "(year <= LAST_YEAR)", "(year <= 9999)"),
    "quick: any sign between": Planted(TIMES, "right &= signs[place] == sign", "pass"),
    "quick: any sign for a digit": Planted(TIMES, "right &= digits[place] <= 9", "pass"),
    "quick: centiseconds": Planted(TIMES, "two(20) * 10 + digits[22]", "two(20) * 10"),
    # The clock
    "a clock is wrong at the tolerance": Planted(CLOCK, "abs(error) > milli", "abs(error) >= milli"),
    "a fast clock is not corrected": Planted(CLOCK, "abs(error) > milli", "error > milli"),
    "the future begins at the tolerance": Planted(CLOCK, "event_time > min(", "event_time >= min("),
    "received at the tolerance is too late": Planted(CLOCK, "received > ingested_at", "received >= ingested_at"),
    "a line vouches for its own clock": Planted(CLOCK, "min(received, ingested_at)", "received"),
    "the floor is too early": Planted(CLOCK, "event_time < self.floor", "event_time <= self.floor"),
    "quick: a clock is wrong at the tolerance": Planted(QUICK, "np.abs(error) > milli", "np.abs(error) >= milli"),
    "quick: a fast clock is not corrected": Planted(QUICK, "np.abs(error) > milli", "error > milli"),
    "quick: any future": Planted(QUICK, " & (event_time <= latest)", ""),
    "quick: a line vouches for its own clock": Planted(QUICK, "np.minimum(received, ingested_at)", "received"),
    "quick: received at any time": Planted(QUICK, "(received <= ingested_at + much) & ", ""),
    "quick: no floor": Planted(QUICK, " & (event_time >= clock.floor_millis)", ""),
    # By columns
    "quick: a key may stand twice": Planted(UNAMBIGUOUS, "sure & (quotes != explained)", "sure & False"),
    "quick: a key within may stand twice": Planted(UNAMBIGUOUS, "quotes[place] == 2 * _texts(said[place])", "True"),
    "quick: any depth": Planted(UNAMBIGUOUS, "<= LEVELS", "<= 2 * LEVELS"),
    "quick: arrays alone are deep": Planted(UNAMBIGUOUS, """ or block.count(b"{") > count""", ""),
    "quick: objects alone are deep": Planted(UNAMBIGUOUS, """b"[" in block or """, ""),
    "quick: true is a number": Planted(COLUMNS, "if set(map(type, values)) - {json_type, _NULL}:", "if json_type is str:"),
    "quick: a field of any kind is one": Planted(QUICK, "(given[name] & ~own).any()", "False"),
    "quick: nothing is required": Planted(QUICK, "field in kind.fields if field.required", "field in ()"),
    "quick: an id may be empty": Planted(QUICK, 'pc.not_equal(columns["event_id"], "")', 'pc.is_valid(columns["event_id"])'),
    "quick: any kind": Planted(QUICK, "sure &= sound & ", "sure &= "),
    "quick: a wrong type is null": Planted(COLUMNS, "values[place], sure[place] = None, False", "values[place] = None"),
    "quick: no time is needed": Planted(QUICK, ' & _given(columns["occurred_at"])', ""),
}  # fmt: skip

PLANTED_IN_TYPES = {
    "longs have 65 bits": Planted(VALUES, '"long whole number": 64', '"long whole number": 65'),
    "true is a number": Planted(VALUES, "if not isinstance(said, Number):", "if not isinstance(said, Number | bool):"),
    "what is not false is true": Planted(VALUES, "said if type(said) is bool else None", "bool(said)"),
    "a list may hold anything": Planted(VALUES, "all(type(each) is str for each in said)", "True"),
    "a list may hold null": Planted(VALUES, "type(each) is str for", "type(each) in (str, type(None)) for"),
    "a text is a list of its letters": Planted(VALUES, "return said if type(said) is list and", "return list(said) if"),
    "a decimal is rounded": Planted(VALUES, "if number.fits(scale) and", "if"),
    "a decimal of 19 digits": Planted("kind.py", "MOST_DIGITS = 18", "MOST_DIGITS = 19"),
    "zeros at the end count": Planted(NUMBERS, '(before + after).rstrip("0")', "before + after"),
    "an exponent does not count": Planted(NUMBERS, "int(exponent or 0) + len(before)", "len(before)"),
    "digits after the point do not count": Planted(NUMBERS, "self.power + scale if", "self.power if"),
    "a sign is lost": Planted(NUMBERS, "{self.sign}{self.digits", "{self.digits"),
    "quick: 1.0 is whole": Planted(
        COLUMNS, "set(map(type, values)) - {json_type, _NULL}", "set(map(type, values)) - {json_type, _NULL, float}"
    ),
    "quick: 0 is false": Planted(COLUMNS, "type(value) is not json_type)", "not isinstance(value, int | json_type))"),
    "quick: a list may hold anything": Planted(COLUMNS, 'if expected == "texts":', "if False:"),
    "quick: a null in a list": Planted(COLUMNS, "set(map(type, texts)) - {str}", "set(map(type, texts)) - {str, _NULL}"),
    "quick: a float is what it says": Planted(COLUMNS, "        told &= ~", "        told |= False & ~"),
    "quick: a float is rounded": Planted(COLUMNS, " & (moved / one == floats)", ""),
    "quick: a float has 17 digits": Planted(COLUMNS, "_EXACT = 15", "_EXACT = 17"),
    "quick: an exponent is not looked at": Planted(COLUMNS, "|[0-9.]+[eE]", ""),
    "quick: no name has escapes": Planted(COLUMNS, '|[^"]*\\\\u[^"]*', ""),
    "quick: integers of any length": Planted(COLUMNS, "type(value) is int and not -most < value < most", "False"),
    "quick: a decimal may be a text": Planted(COLUMNS, "if found - {int, float}:", "if False:"),
    "quick: a time may be anything": Planted(QUICK, "        sure &= right\n", "        sure &= right | (name == 'seen_at')\n"),
}  # fmt: skip
"""Those in the types of fields that the game does not have."""

NOTHING = "nothing"
"""The name of a copy as it is."""


def planted(name: str, home: Path) -> ModuleType:
    """`transformations.lines` with the mistake in it, under a name of its own; its modules import each other relatively."""
    package = f"planted_{name.translate(_IN_A_NAME)}"
    copy = home / package
    shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    if name != NOTHING:
        mistake = (PLANTED | PLANTED_IN_TYPES)[name]
        text = (copy / mistake.file).read_text()
        assert text.count(mistake.old) == 1, f"its text stands {text.count(mistake.old)} times in {mistake.file}"
        (copy / mistake.file).write_text(text.replace(mistake.old, mistake.new))
    spec = importlib.util.spec_from_file_location(package, copy / "__init__.py", submodule_search_locations=[str(copy)])
    assert spec is not None and spec.loader is not None
    sys.modules[package] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules[package])
    return importlib.import_module(f"{package}.lines")


_IN_A_NAME = {ord(sign): "_" for sign in " :,."}
