"""The order of arrival of landing files, and their lines: decided once, whatever the names and however Spark reads them."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from deliveries import START, heartbeat, land, note_landings, pop
from pyspark.sql import DataFrame, Row, SparkSession

from lakehouse.errors import ParityError
from lakehouse.lake import Lake
from lakehouse.landings import landed, manifests
from reconciliation.audit import landed_in
from speed_layer.lines import numbered, read_lines

LINE = heartbeat("e", 0)
ODD_NAMES = [
    "with spaces.jsonl",
    "100%.jsonl",
    "100%25.jsonl",
    'it\'s "quoted".jsonl',
    "grün.jsonl",
    "plus+and#hash.jsonl",
    "a;b=c&d.jsonl",
    "line\nbreak.jsonl",
]
PATTERNS = ["a[1].jsonl", "star*.jsonl", "what?.jsonl", "{a,b}.jsonl", "back\\slash.jsonl"]
"""Names that Hadoop would take for patterns."""


def noted(lake: Lake) -> list[list[str]]:
    """The names of the files in each manifest."""
    return [[landing.name for landing in sorted(files, key=lambda f: f.place)] for _, files in manifests(lake)]


def test_files_are_ordered_by_time_of_modification_and_not_by_name(landing: Path) -> None:
    land(landing, "a.jsonl", [LINE], modified=2)
    land(landing, "b.jsonl", [LINE], modified=1)
    assert [file.name for file in landed(landing)] == ["b.jsonl", "a.jsonl"]


def test_files_of_equal_times_are_ordered_by_name(landing: Path) -> None:
    names = [f"{number * 7 % 40:03d}.jsonl" for number in range(40)]
    for name in names:
        land(landing, name, [LINE], modified=5)
    assert [file.name for file in landed(landing)] == sorted(names)


def test_times_are_told_apart_to_the_nanosecond(landing: Path) -> None:
    for name, nanoseconds in (("a.jsonl", 2), ("b.jsonl", 1)):
        file = land(landing, name, [LINE])
        os.utime(file, ns=(0, 1_700_000_000_000_000_000 + nanoseconds))
    assert [file.name for file in landed(landing)] == ["b.jsonl", "a.jsonl"]


def test_a_manifest_has_so_many_files_in_their_order(lake: Lake, landing: Path) -> None:
    for name in ("c.jsonl", "a.jsonl", "e.jsonl", "b.jsonl", "d.jsonl"):
        land(landing, name, [LINE])
    assert note_landings(lake, landing, files_per_batch=2) == 5
    assert noted(lake) == [["c.jsonl", "a.jsonl"], ["e.jsonl", "b.jsonl"], ["d.jsonl"]]


def test_a_file_that_was_noted_is_not_noted_again(lake: Lake, landing: Path) -> None:
    land(landing, "a.jsonl", [LINE])
    note_landings(lake, landing, files_per_batch=10)
    assert note_landings(lake, landing, files_per_batch=10) == 0
    assert noted(lake) == [["a.jsonl"]]


def test_a_file_behind_the_order_is_taken_next_time(lake: Lake, landing: Path) -> None:
    land(landing, "a.jsonl", [LINE], modified=10)
    note_landings(lake, landing, files_per_batch=10)
    land(landing, "older.jsonl", [LINE], modified=1)
    land(landing, "newer.jsonl", [LINE], modified=20)
    assert note_landings(lake, landing, files_per_batch=10) == 2
    assert noted(lake) == [["a.jsonl"], ["older.jsonl", "newer.jsonl"]]


@pytest.mark.parametrize(("lines", "modified"), [([LINE, LINE], 1), ([LINE], 2)], ids=["longer", "touched"])
def test_a_file_that_changed_is_noted_again(lake: Lake, landing: Path, lines: list[str], modified: int) -> None:
    land(landing, "a.jsonl", [LINE], modified=1)
    note_landings(lake, landing, files_per_batch=10)
    land(landing, "a.jsonl", lines, modified=modified)
    assert note_landings(lake, landing, files_per_batch=10) == 1
    assert noted(lake) == [["a.jsonl"], ["a.jsonl"]]


def test_manifests_are_dated_in_their_order(lake: Lake, landing: Path) -> None:
    """Spark takes them by their time of modification, in milliseconds."""
    for number in range(12):
        land(landing, f"{number}.jsonl", [LINE])
    note_landings(lake, landing, files_per_batch=1)
    files = sorted(lake.landings.glob("*.json"))
    milliseconds = [file.stat().st_mtime_ns // 1_000_000 for file in files]
    assert len(files) == len(set(milliseconds)) == 12
    assert milliseconds == sorted(milliseconds)


def test_names_that_are_hidden_unfinished_or_of_another_kind_are_ignored(landing: Path) -> None:
    for name in (
        ".a.jsonl",
        "_a.jsonl",
        ".10:00.jsonl",
        "_10:00.jsonl",
        "a.json",
        "a.jsonl.gz",
        "a.jsonl.part",
        "A.JSONL",
    ):
        (landing / name).write_text(LINE + "\n")
    (landing / "directory.jsonl").mkdir()
    land(landing, "a.jsonl", [LINE])
    assert [file.name for file in landed(landing)] == ["a.jsonl"]


@pytest.mark.parametrize("kind", ["missing", "file"])
def test_a_landing_directory_that_is_none_is_refused(tmp_path: Path, kind: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(
        ParityError, match=f"There is no landing directory .*{kind}. Make it, or name another with --landing"
    ):
        landed(tmp_path / kind)


def test_an_empty_landing_directory_gives_no_manifest(lake: Lake, landing: Path) -> None:
    assert note_landings(lake, landing, files_per_batch=10) == 0
    assert noted(lake) == []


def in_order(landing: Path) -> list[Row]:
    return [Row(path=file.path, place=file.place) for file in landed(landing)]


def read(spark: SparkSession, landings: list[Row]) -> DataFrame:
    return numbered(read_lines(spark, landings, batch=0, ingested_at=START))


def lines_of(spark: SparkSession, landing: Path, names: list[str]) -> list[tuple[str, int, str]]:
    """Let files of these names land, with two lines each, and read them."""
    for number, name in enumerate(names):
        land(landing, name, [f"{number}/1", f"{number}/2"])
    rows = read(spark, in_order(landing)).orderBy("place", "line").collect()
    return [(row.file, row.line, row.value) for row in rows]


def right_lines(names: list[str]) -> list[tuple[str, int, str]]:
    return [(name, line, f"{number}/{line}") for number, name in enumerate(names) for line in (1, 2)]


def test_files_with_odd_names_are_read_each_for_itself(spark: SparkSession, tmp_path: Path) -> None:
    landing = tmp_path / "odd 100% ü"
    landing.mkdir()
    assert lines_of(spark, landing, ODD_NAMES) == right_lines(ODD_NAMES)


def test_names_that_look_like_patterns_are_names_and_their_neighbours_are_read_once(
    spark: SparkSession, landing: Path
) -> None:
    names = ["a1.jsonl", *PATTERNS, "starfish.jsonl", "a.jsonl"]
    assert lines_of(spark, landing, names) == right_lines(names)


def test_a_directory_whose_name_looks_like_a_pattern_is_read_once(spark: SparkSession, tmp_path: Path) -> None:
    landing = tmp_path / "landing [new]"
    landing.mkdir()
    assert lines_of(spark, landing, ["a.jsonl", "b.jsonl"]) == right_lines(["a.jsonl", "b.jsonl"])


def test_a_file_with_a_colon_in_its_name_is_refused_by_name(landing: Path) -> None:
    land(landing, "2026-03-01T10:00:00Z.jsonl", ["{}"])
    with pytest.raises(ParityError, match="with a colon in its name: .*2026-03-01T10:00:00Z.jsonl. Rename it"):
        landed(landing)


def test_a_file_that_is_gone_before_it_was_read_is_named(spark: SparkSession, landing: Path) -> None:
    land(landing, "a.jsonl", [LINE])
    noted_then = in_order(landing)
    (landing / "a.jsonl").unlink()
    with pytest.raises(ParityError, match=r"gone before they were read: .*/a.jsonl"):
        read(spark, noted_then)


@pytest.fixture
def small_blocks(spark: SparkSession) -> Iterator[None]:
    """Files are read in blocks of 64 bytes, packed into partitions by size and not by order."""
    changed = {"spark.sql.files.maxPartitionBytes": "64", "spark.sql.files.openCostInBytes": "16"}
    before = {name: spark.conf.get(name) for name in changed}
    for name, value in changed.items():
        spark.conf.set(name, value)
    yield
    for name, value in before.items():
        spark.conf.set(name, value)


@pytest.mark.usefixtures("small_blocks")
def test_lines_keep_their_numbers_where_files_are_split(spark: SparkSession, landing: Path) -> None:
    lengths = {"long.jsonl": 40, "longer.jsonl": 60, "short.jsonl": 2}
    for name, lines in lengths.items():
        # Lines of uneven length, some of them longer than a block.
        land(landing, name, [f"{name} {number} " + "x" * (number * 37 % 90) for number in range(1, lines + 1)])
    rows = read(spark, in_order(landing)).orderBy("place", "line").collect()
    found = [(row.file, row.line, *row.value.split()[:2]) for row in rows]
    assert found == [
        (name, number, name, str(number)) for name, lines in lengths.items() for number in range(1, lines + 1)
    ]


@pytest.mark.usefixtures("small_blocks")
def test_the_small_blocks_do_split_a_file(spark: SparkSession, landing: Path) -> None:
    """Without this the test above would prove nothing."""
    file = land(landing, "long.jsonl", ["x" * 50] * 20)
    assert spark.read.text(str(file)).selectExpr("_metadata.file_block_start as block").distinct().count() > 5


def test_the_bytes_of_a_line_are_those_of_the_file(spark: SparkSession, landing: Path) -> None:
    sent = [
        b"\xff\xfe",
        b"with CR\r",
        b"",
        b"a\x00b",
        b"\xe2\x80\xa8 line separator",
        b"\x0b\x0c",
        b"\xef\xbb\xbfinside",
    ]
    land(landing, "bytes.jsonl", [b"first", *sent])
    rows = read(spark, in_order(landing)).orderBy("line").selectExpr("cast(value as binary) as bytes").collect()
    assert [bytes(row.bytes) for row in rows] == [b"first", *sent]


def test_a_last_line_without_line_feed_is_a_line_and_an_empty_file_has_none(spark: SparkSession, landing: Path) -> None:
    (landing / "unfinished.jsonl").write_bytes(b"one\ntwo")
    (landing / "empty.jsonl").touch()
    rows = read(spark, in_order(landing)).orderBy("line").collect()
    assert [(row.file, row.line, row.value) for row in rows] == [
        ("unfinished.jsonl", 1, "one"),
        ("unfinished.jsonl", 2, "two"),
    ]


def test_a_byte_order_mark_at_the_start_of_a_file_is_no_part_of_its_first_line(
    spark: SparkSession, landing: Path
) -> None:
    """Spark's reader strips it, and the audit, which counts by other code, has to read the same line."""
    land(landing, "bom.jsonl", [b"\xef\xbb\xbf" + pop("a", 1).encode()])
    [row] = read(spark, in_order(landing)).selectExpr("cast(value as binary) as bytes").collect()
    assert bytes(row.bytes) == pop("a", 1).encode()
    assert landed_in(landing / "bom.jsonl") == {"2026-03-01T10:00Z": 1}
