"""Hashes of ids and contents: what is equal has equal ones, what differs in anything that counts has others."""

import json
from collections.abc import Iterator

import pyarrow as pa
from game import KINDS
from judged_lines import HEARTBEAT, LEAGUE, LINES, OFFER, SOUND, line
from lines_at_the_start import INGESTED, judged_at_the_start
from pyspark.sql import SparkSession

from transformations.clock import Clock
from transformations.kind import Field, Kind
from transformations.lines import id_hash_sql, judge, with_hashes

KEY, OTHER_KEY = bytes(range(32)), bytes(range(1, 33))
HASHES = ["id_high", "id_low", "content_hash"]


def hashed(*lines: str | bytes, key: bytes = KEY) -> list[tuple[int, int, int]]:
    rows = with_hashes(judged_at_the_start(*lines), key, KINDS).select(HASHES).to_pylist()
    return [tuple(row.values()) for row in rows]


def contents(*lines: str | bytes, key: bytes = KEY) -> list[int]:
    return [content for _, _, content in hashed(*lines, key=key)]


def test_only_events_have_hashes_and_nothing_else_is_changed() -> None:
    judged = judged_at_the_start(*LINES.values())
    table = with_hashes(judged, KEY, KINDS)
    assert table.drop_columns(HASHES).equals(judged)
    for name in HASHES:
        assert table.schema.field(name).type == pa.int64()
        assert table[name].is_valid().equals(table["reason"].is_null())


def test_no_line_at_all_and_no_event_have_no_hashes() -> None:
    assert hashed() == []
    assert hashed("", "no JSON") == [(None, None, None)] * 2


def test_a_line_has_the_same_hashes_in_any_block() -> None:
    texts = [text for text in LINES.values() if len(text) < 3000]
    assert hashed(*texts) == [only for text in texts for only in hashed(text)]


def test_a_copy_has_the_same_hashes_however_it_is_spelt_and_whenever_it_is_sent() -> None:
    copies = [
        line(),
        line(sent_at="2026-03-01T10:20:00Z", received_at="2026-03-01T10:20:01Z"),
        line(sent_at=None, received_at=None),
        line(occurred_at="2026-03-01T12:00:03.120999+02:00"),
        line(extra="anything", league="gold", offer_id=7),
        json.dumps(dict(reversed(SOUND.items())), separators=(",", ":")),
        line().replace("alice", "\\u0061lice"),
    ]
    assert len(set(hashed(*copies))) == 1


def different_contents() -> Iterator[str]:
    """Each differs from every other in something that counts, most of them in little."""
    yield line()
    yield line(occurred_at="2026-03-01T10:00:03.121Z")
    yield from (line(**{name: value}) for name in ("player_id", "team_id") for value in ("", "null", "a", 'a"', "a,b"))
    yield from (line(bubbles=value) for value in (0, 1, -7, 70))
    yield from (line(reaction_ms=value) for value in (None, 0, 7, 23))
    yield line(player_id='alice","blue', team_id="")
    yield line(player_id="alice", team_id='","blue')
    yield line(player_id="aliceblue", team_id="")
    yield line(player_id="", team_id="aliceblue")
    for between in ("|", ",", ";", " ", "\t", "\0", "\x1f", '","', "\\", "\\u0000"):
        yield line(player_id=f"a{between}b", team_id="c", reaction_ms=None)
        yield line(player_id="a", team_id=f"b{between}c", reaction_ms=None)
    yield line(bubbles=72, reaction_ms=31)
    yield line(bubbles=7, reaction_ms=2)
    yield from (line(OFFER, kind=kind) for kind in ("offer_shown", "offer_clicked"))
    yield line(LEAGUE, league="o-1")
    yield line(HEARTBEAT)


def test_contents_that_differ_in_anything_have_different_hashes() -> None:
    lines = list(different_contents())
    found = contents(*lines)
    assert len(lines) > 45 and len(set(found)) == len(lines) and None not in found


def test_ids_that_differ_in_anything_have_different_hashes() -> None:
    ids = ["e", "E", "e ", " e", "ee", "é", "e\u0301", "e\x00", "[]", "x" * 1000]
    found = hashed(*(line(event_id=event_id) for event_id in ids))
    assert len({high for high, _, _ in found}) == len({low for _, low, _ in found}) == len(ids)
    assert len({content for _, _, content in found}) == 1


def test_with_another_key_everything_has_another_hash() -> None:
    (one,), (other,) = hashed(line()), hashed(line(), key=OTHER_KEY)
    assert not set(one) & set(other)


def test_a_field_that_is_declared_later_changes_no_hash_of_before() -> None:
    """Else every copy of an event of before would contradict it."""
    more: list[Kind] = [Kind("raid_started", "", (Field("raid", "text"),))]
    more += [Kind(kind.name, "", (Field("a_first", "text", required=False), *reversed(kind.fields))) for kind in KINDS]
    lines = [text.encode() for text in different_contents()]
    assert contents_of(lines, more) == contents(*lines)


def test_a_value_under_another_name_is_another_content() -> None:
    """Of a kind with two fields that may be missing."""
    kind = Kind("note", "", (Field("title", "text", required=False), Field("text", "text", required=False)))
    lines = [line(HEARTBEAT, kind="note", **{name: "x"}).encode() for name in ("title", "text", "other")]
    assert len(set(contents_of(lines, [kind]))) == 3


def contents_of(lines: list[bytes], kinds: list[Kind]) -> list[int]:
    judged = judge(lines, Clock(), ingested_at=INGESTED, kinds=kinds)
    assert judged["reason"].null_count == len(lines)
    return list(with_hashes(judged, KEY, kinds)["content_hash"].to_pylist())


def test_spark_computes_the_same_hash_of_an_id(spark: SparkSession) -> None:
    texts = [text for text in LINES.values() if len(text) < 3000]
    texts += [line(event_id=f"{number} Zoë 🫧") for number in range(200)]
    table = with_hashes(judged_at_the_start(*texts), KEY, KINDS).select(["event_id", "id_high", "id_low"])
    high, low = id_hash_sql(KEY)
    same = f"count_if(id_high <=> {high} and id_low <=> {low}) as same"
    ids = spark.createDataFrame(table).where("id_high is not null")
    row = ids.selectExpr("count(*) as ids", same, "count_if(id_high < 0) as negative").first()
    assert row is not None and row.ids == row.same > 200
    assert row.negative > 50, "half of them have the sign bit"
