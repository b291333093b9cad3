"""Fields of every type: what becomes of a value, by columns and one by one, is what another reader says."""

import random
from collections.abc import Callable, Sequence
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pytest
from drawn_lines import bitten
from lines_at_the_start import INGESTED
from planted_in_judging import NOTHING, PLANTED_IN_TYPES, planted
from seeds import JUDGE_SEED, chance
from typed_lines import (
    KNOWN,
    MOMENT,
    READING,
    drawn_readings,
    kinds_of,
    line,
    other_reader,
    plain,
    reason_of,
)

from transformations import lines as lines_package
from transformations.clock import Clock
from transformations.kind import Decimal as DecimalType
from transformations.kind import Field, FieldType
from transformations.lines import judge, with_hashes, without_names
from transformations.lines.schema import MOMENT as MOMENT_TYPE
from transformations.lines.times import moment

Verdict = tuple[str | None, dict[str, Any]]
Way = Callable[[Sequence[bytes]], list[Verdict]]
DRAWN = 3000
KINDS = kinds_of()
KEY, PSEUDONYM_KEY = bytes(range(32)), "correct-horse-battery-staple-8c1f"


def by_columns(package: Any = lines_package) -> Way:
    root = package.__name__.rpartition(".")[0]
    clock, kinds = import_module(f"{root}.clock").Clock(), kinds_of(import_module(f"{root}.kind"))

    def judged(lines: Sequence[bytes]) -> list[Verdict]:
        table = package.judge(lines, clock, ingested_at=INGESTED, kinds=kinds)
        return verdicts(table)

    return judged


def by_the_rules(package: Any = lines_package) -> Way:
    root = package.__name__.rpartition(".")[0]
    clock = import_module(f"{root}.clock").Clock()
    kinds = {kind.name: kind for kind in kinds_of(import_module(f"{root}.kind"))}

    def judged(lines: Sequence[bytes]) -> list[Verdict]:
        found = [package.rules.judge_line(each, clock, ingested_at=INGESTED, kinds=kinds) for each in lines]
        return [(each.reason, plain({name: each.values.get(name) for name in READING})) for each in found]

    return judged


def verdicts(table: pa.Table) -> list[Verdict]:
    for place, field in enumerate(table.schema):
        if field.type == MOMENT_TYPE:
            millis = table[field.name].cast(pa.timestamp("ms", "UTC")).cast(pa.int64())
            table = table.set_column(place, field.name, millis)
    return [(row["reason"], plain({name: row[name] for name in READING})) for row in table.to_pylist()]


WAYS: dict[str, Callable[..., Way]] = {"by columns": by_columns, "by the rules": by_the_rules}
KNOWN_LINES = [line(str(place), **{name: text}) for place, (name, text, _) in enumerate(KNOWN)]


def expected_of(name: str, outcome: Any) -> Verdict:
    """The verdict on a known line; of a reading that is none, the values are not promised."""
    is_time = READING[name][0] == "time" and isinstance(outcome, str) and outcome.endswith("Z")
    if isinstance(outcome, str) and not is_time:
        return reason_of(name, outcome), {}
    value = moment(outcome) if is_time else outcome
    return None, plain({**dict.fromkeys(READING), "sensor": "s", "level": Decimal("1.5"), name: value})


def promised(verdict: Verdict) -> Verdict:
    reason, values = verdict
    return reason, values if reason is None else {}


def drawn() -> list[bytes]:
    return drawn_readings(chance("readings", seed=JUDGE_SEED), DRAWN)


def unlike_the_known(way: Way) -> list[tuple[bytes, Verdict, Verdict]]:
    """Known lines that are judged otherwise, each alone and all in one block."""
    expected = [expected_of(name, outcome) for name, _, outcome in KNOWN]
    together, alone = way(KNOWN_LINES), [way([each])[0] for each in KNOWN_LINES]
    return [
        (text, wanted, found)
        for found_all in (together, alone)
        for text, wanted, found in zip(KNOWN_LINES, expected, found_all, strict=True)
        if promised(found) != wanted
    ]


def unlike_the_other_reader(way: Way, lines: list[bytes]) -> list[tuple[bytes, Verdict, Verdict]]:
    found = [promised(each) for size in (1, 7, 500) for each in in_blocks(way, lines, size)]
    others = [(reason, plain(values)) for reason, values in map(other_reader, lines)] * 3
    return [each for each in zip(lines * 3, others, found, strict=True) if each[1] != each[2]]


def in_blocks(way: Way, lines: list[bytes], size: int) -> list[Verdict]:
    return [each for begin in range(0, len(lines), size) for each in way(lines[begin : begin + size])]


@pytest.mark.parametrize("way", WAYS)
def test_each_value_becomes_what_its_type_says(way: str) -> None:
    assert not unlike_the_known(WAYS[way]())


@pytest.mark.parametrize("way", WAYS)
def test_drawn_readings_are_judged_as_another_reader_does(way: str) -> None:
    lines = drawn()
    found = unlike_the_other_reader(WAYS[way](), lines)
    assert not found, found[:5]
    reasons = [reason for reason, _ in map(other_reader, lines)]
    assert reasons.count(None) > DRAWN / 4 and len(set(reasons)) > 20


def test_of_any_damaged_line_both_ways_say_the_same() -> None:
    rng = chance("damaged readings", seed=JUDGE_SEED)
    known = [*KNOWN_LINES, *drawn_readings(rng, 2000), line(kind="alarm", level="1.10"), *respelt(rng)]
    lines = [bitten(rng, rng.choice(known)).replace(b"\n", b" ") for _ in range(DRAWN)] + known
    found = unlike_each_other(lines_package, lines)
    assert not found, found[:3]


def unlike_each_other(package: Any, lines: list[bytes]) -> list[tuple[bytes, Verdict, Verdict]]:
    """Lines that are judged otherwise by columns than one by one, alone and among others."""
    slow = by_the_rules(package)(lines) * 2
    quick = [each for size in (1, 300) for each in in_blocks(by_columns(package), lines, size)]
    return [each for each in zip(lines * 2, slow, quick, strict=True) if promised(each[1]) != promised(each[2])]


def respelt(rng: random.Random) -> list[bytes]:
    """Numbers that a float hides, under names that are spelt with escapes, beside others and within."""
    tokens = ("1.1000000000000000055", "1e-400", "1.10000000000000008", "1.10", "0.0", "-0.0")
    names = (b'"lev\\u0065l"', b'"\\u006cevel"', b'"level"\t', b'"level" ')
    return [
        line(level="@", extra=extra).replace(b'"level"', rng.choice(names)).replace(b"@", token.encode())
        for token in tokens
        for extra in ('{"level": 1.2}', '"\\u00eb"', '"level"', '[{"x": 1.2}]')
    ]


def test_a_field_of_another_kind_is_none_of_this_one() -> None:
    """Whatever it says."""
    (reason, values), *others = by_columns()(
        [line(kind="alarm", **{name: text}) for name, text, _ in KNOWN if name not in ("open", "tags", "level")]
    )
    for found in [(reason, values), *others]:
        assert promised(found) == (None, {**dict.fromkeys(READING), "open": True, "tags": []})


def content(*lines: bytes) -> list[int]:
    judged = judge(lines, Clock(), ingested_at=INGESTED, kinds=KINDS)
    assert judged["reason"].null_count == len(lines), judged["reason"].to_pylist()
    return list(with_hashes(judged, KEY, KINDS)["content_hash"].to_pylist())


def test_equal_values_have_one_content_however_they_are_written() -> None:
    assert len(set(content(*(line(level=text) for text in ("1.1", "1.10", "1.100", "11e-1", "110E-2"))))) == 1
    assert len(set(content(*(line(level=text) for text in ("0", "-0", "0.00", "-0.0", "0e5"))))) == 1
    assert len(set(content(*(line(seen_at=f'"{text}"') for text in (MOMENT, "2026-03-01T11:00:03.1209+01:00"))))) == 1
    assert len(set(content(*(line(tags=text) for text in ('["a","b"]', '[ "a" , "\\u0062" ]'))))) == 1


def test_values_that_differ_have_different_contents() -> None:
    lines = [line()]
    lines += [line(level=text) for text in ("0", "0.01", "0.1", "1", "10", "-1", "110")]
    lines += [line(fine=text) for text in ("0", "1e-18", "-1e-18", "0.1")]
    lines += [line(round=text) for text in ("0", "1", "10")]
    lines += [line(total=text) for text in ("0", "1", str(2**53), str(2**53 + 1))]
    lines += [line(count="1"), line(open="true"), line(open="false")]
    lines += [line(seen_at=f'"{text}"') for text in (MOMENT, "2026-03-01T10:00:03.121Z")]
    texts = (
        "[]",
        '[""]',
        '["",""]',
        '["a"]',
        '["a","b"]',
        '["b","a"]',
        '["ab"]',
        '["a,b"]',
        '["a\\",\\"b"]',
        '["[\\"a\\"]"]',
    )
    lines += [line(tags=text) for text in texts] + [line(owners='["a"]')]
    found = content(*lines)
    assert len(set(found)) == len(lines)


def test_a_list_of_persons_has_pseudonyms_and_a_rewritten_line_says_the_same() -> None:
    lines = [*KNOWN_LINES, *drawn(), line(owners='["alice", "bob", ""]'), line(owners="[]"), line(owners='["alice"]')]
    judged = judge(lines, Clock(), ingested_at=INGESTED, kinds=KINDS)
    table = without_names(judged, PSEUDONYM_KEY, KINDS)
    assert table.schema == judged.schema
    assert table.drop_columns(["owners", "raw"]).equals(judged.drop_columns(["owners", "raw"]))
    (alice, bob, empty), nobody, (again,) = table["owners"].to_pylist()[-3:]
    assert (nobody, empty, alice) == ([], "", again) and alice != bob and alice.startswith("person-")
    before, after = (each["owners"].to_pylist() for each in (judged, table))
    assert [owners and len(owners) for owners in before] == [owners and len(owners) for owners in after]
    sound = [place for place, reason in enumerate(judged["reason"].to_pylist()) if reason is None]
    assert len(sound) > DRAWN / 4
    again = judge(table["raw"].to_pylist(), Clock(), ingested_at=INGESTED, kinds=KINDS)
    assert again.take(sound).equals(table.take(sound))
    assert not [each for each in table["raw"].to_pylist()[-3:] if b"alice" in each or b"bob" in each]


@pytest.mark.parametrize("name", [NOTHING, *PLANTED_IN_TYPES])
def test_a_mistake_in_a_type_is_noticed(tmp_path: Path, name: str) -> None:
    package: ModuleType = planted(name, tmp_path)
    lines = drawn()[:1000]
    spelt = respelt(chance("spelt", seed=JUDGE_SEED))
    try:
        noticed = unlike_each_other(package, spelt) or any(
            unlike_the_known(way(package)) or unlike_the_other_reader(way(package), lines) for way in WAYS.values()
        )
    except Exception:
        noticed = True
    assert bool(noticed) == (name != NOTHING)


@pytest.mark.parametrize("scale", [-1, 19, 1.5, "2", None, True])
def test_a_decimal_has_a_scale_that_its_digits_allow(scale: Any) -> None:
    with pytest.raises(ValueError, match="from 0 to 18"):
        DecimalType(scale)


@pytest.mark.parametrize("of", ["whole number", "long whole number", DecimalType(2), "true or false", "time"])
def test_only_texts_can_name_a_person(of: FieldType) -> None:
    with pytest.raises(ValueError, match="'owner' is personal and a"):
        Field("owner", of, personal=True)


def test_a_type_that_there_is_not_is_refused() -> None:
    with pytest.raises(ValueError, match="no type 'number'. There are: 'text', "):
        Field("level", "number")  # type: ignore[arg-type]
