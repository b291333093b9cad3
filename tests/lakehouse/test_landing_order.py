"""The order of arrival of landing files and of their lines: decided once, whatever the names and however they are cut."""

import os
from pathlib import Path

import pytest
from deliveries import START, heartbeat, land, note_landings, pop

from ingestion.blocks import BYTES, cut
from ingestion.judging import judged_here, with_origin
from ingestion.rules import rules_of
from lakehouse.errors import ParityError
from lakehouse.lake import Lake
from lakehouse.landings import landed, manifests
from lakehouse.settings import Settings
from reconciliation.audit import landed_in
from transformations.durations import to_millis

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
    "2026-03-01T10:00:00Z.jsonl",
    "scheme://host:1.jsonl".replace("/", "|"),
]
PATTERNS = ["a[1].jsonl", "star*.jsonl", "what?.jsonl", "{a,b}.jsonl", "back\\slash.jsonl"]
"""Names that Hadoop would take for patterns."""
SIZES = [1, 64, 300, 4096, BYTES]
"""Bytes of a block: a line each, some lines, several files."""


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


@pytest.fixture(params=SIZES, ids="blocks of {}".format)
def size(request: pytest.FixtureRequest) -> int:
    return int(request.param)


def read(lake: Lake, landing: Path, settings: Settings, size: int = BYTES) -> list[tuple[str, int, bytes]]:
    """The lines of all files as ingestion reads them: file, number and bytes."""
    blocks, rules, at = cut(landed(landing), size=size), rules_of(lake, settings), to_millis(START)
    tables = with_origin(blocks, judged_here(blocks, rules, at), batch=0, rules=rules, ingested_at=at)
    columns = ("file", "line", "raw")
    return [row for table in tables for row in zip(*(table[name].to_pylist() for name in columns), strict=True)]


def land_two_lines_each(landing: Path, names: list[str]) -> list[tuple[str, int, bytes]]:
    """Let files of these names land; returns their lines."""
    for number, name in enumerate(names):
        land(landing, name, [f"{number}/1", f"{number}/2"])
    return [(name, line, f"{number}/{line}".encode()) for number, name in enumerate(names) for line in (1, 2)]


def test_files_with_odd_names_are_read_each_for_itself(
    lake: Lake, tmp_path: Path, settings: Settings, size: int
) -> None:
    landing = tmp_path / "odd 100% ü: [new]"
    landing.mkdir()
    assert land_two_lines_each(landing, ODD_NAMES) == read(lake, landing, settings, size)


def test_names_that_look_like_patterns_are_names_and_their_neighbours_are_read_once(
    lake: Lake, landing: Path, settings: Settings
) -> None:
    names = ["a1.jsonl", *PATTERNS, "starfish.jsonl", "a.jsonl"]
    assert land_two_lines_each(landing, names) == read(lake, landing, settings)


def test_a_file_that_is_gone_before_it_was_read_is_named(landing: Path) -> None:
    land(landing, "a.jsonl", [LINE])
    noted_then = landed(landing)
    (landing / "a.jsonl").unlink()
    with pytest.raises(ParityError, match=r"gone before they were read: .*/a.jsonl"):
        cut(noted_then)


def test_lines_keep_their_numbers_where_files_are_split_and_where_several_share_a_block(
    lake: Lake, landing: Path, settings: Settings, size: int
) -> None:
    lengths = {"long.jsonl": 40, "empty.jsonl": 0, "longer.jsonl": 60, "short.jsonl": 2, "one.jsonl": 1, "two.jsonl": 2}
    for name, lines in lengths.items():
        # Lines of uneven length, some of them longer than a block, some empty.
        land(landing, name, [f"{name} {number} " + "x" * (number * 37 % 90) for number in range(1, lines + 1)])
    found = [(file, line, *raw.decode().split()[:2]) for file, line, raw in read(lake, landing, settings, size)]
    assert found == [
        (name, number, name, str(number)) for name, lines in lengths.items() for number in range(1, lines + 1)
    ]


def test_the_sizes_do_split_a_file_and_do_put_several_into_a_block(landing: Path) -> None:
    """Without this the test above would prove nothing."""
    for name in ("long.jsonl", "short.jsonl"):
        land(landing, name, ["x" * 50] * 20)
    files = landed(landing)
    assert [len(cut(files, size=size)) for size in SIZES] == [40, 20, 8, 1, 1]
    assert {len(block) for block in cut(files, size=4096)} == {2}
    for size in (*SIZES, 51, 52, 102, 1019, 1020, 1021):
        pieces = [piece for block in cut(files, size=size) for piece in block]
        for file in files:
            own = [piece for piece in pieces if piece.path == file.path]
            assert [each.start for each in own] == [0, *(each.end for each in own[:-1])] and own[-1].end == file.size
            content = Path(file.path).read_bytes()
            assert all(content[: each.end].endswith(b"\n") for each in own), "a block ends with a line"


def test_a_line_that_is_longer_than_what_is_scanned_at_once_stays_whole(
    lake: Lake, landing: Path, settings: Settings
) -> None:
    lines = ["a" * 200_000, "b", "c" * 70_000]
    land(landing, "long lines.jsonl", lines)
    assert [raw.decode() for *_, raw in read(lake, landing, settings, 1000)] == lines


def test_the_bytes_of_a_line_are_those_of_the_file(lake: Lake, landing: Path, settings: Settings, size: int) -> None:
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
    assert [raw for *_, raw in read(lake, landing, settings, size)] == [b"first", *sent]


def test_a_last_line_without_line_feed_is_a_line_and_an_empty_file_has_none(
    lake: Lake, landing: Path, settings: Settings, size: int
) -> None:
    (landing / "unfinished.jsonl").write_bytes(b"one\ntwo")
    (landing / "empty.jsonl").touch()
    assert read(lake, landing, settings, size) == [("unfinished.jsonl", 1, b"one"), ("unfinished.jsonl", 2, b"two")]


def test_a_byte_order_mark_at_the_start_of_a_file_is_no_part_of_its_first_line(
    lake: Lake, landing: Path, settings: Settings, size: int
) -> None:
    """The audit, which counts by other code, has to read the same line."""
    land(landing, "bom.jsonl", [b"\xef\xbb\xbf" + pop("a", 1).encode(), b"\xef\xbb\xbf"])
    land(landing, "only a mark.jsonl", [])
    (landing / "only a mark.jsonl").write_bytes(b"\xef\xbb\xbf")
    [(_, _, first), (_, _, second)] = read(lake, landing, settings, size)
    assert (first, second) == (pop("a", 1).encode(), b"\xef\xbb\xbf")
    assert landed_in(landing / "bom.jsonl") == {"2026-03-01T10:00Z": 1, "unreadable": 1}
