"""Landing files of all sorts, drawn: a simulated day in another cut, nasty lines, copies that overtake, and odd files."""

import codecs
import json
import os
import random
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from nasty_lines import wide

from simulator.game import simulate

CLOCK = datetime(2026, 12, 1, tzinfo=UTC)
"""The clock of ingestion, after all that the simulator tells."""


def drawn_lines(rng: random.Random, scratch: Path) -> list[bytes]:
    """Lines in their order of arrival."""
    simulate(scratch, events=rng.randrange(80, 200), senders=8, files=6, seed=rng.randrange(10**6))
    lines = [line for file in sorted(scratch.glob("*.jsonl")) for line in file.read_bytes().split(b"\n")[:-1]]
    lines += [each[:2000] for each in wide(rng.randrange(20, 60), rng.randrange(10**6))]
    lines += [_copied(rng, rng.choice(lines)) for _ in range(rng.randrange(10, 60))]
    # Some of everything is moved, so copies come before what they are copies of.
    for _ in range(rng.randrange(len(lines))):
        lines.insert(rng.randrange(len(lines)), lines.pop(rng.randrange(len(lines))))
    return lines


def _copied(rng: random.Random, line: bytes) -> bytes:
    """The line as it was, spelt otherwise, sent at another time, or with other content."""
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        return line
    if not isinstance(said, dict):
        return line
    change = rng.choice(
        [{}, {"colour": "red"}, {"received_at": "2026-11-30T00:00:00Z"}, {"bubbles": 99}, {"player_id": "x"}]
    )
    return rng.choice([line, json.dumps({**said, **change}).encode("utf-8", "surrogatepass").replace(b"\n", b" ")])


def drawn_files(rng: random.Random, lines: Sequence[bytes]) -> list[bytes]:
    """The contents of landing files: cut anywhere, some empty, some with a byte order mark, some without a last line feed."""
    cuts = sorted(rng.choices(range(len(lines) + 1), k=rng.randrange(3, 12)))
    parts = [lines[first:last] for first, last in zip([0, *cuts], [*cuts, len(lines)], strict=True)]
    contents = []
    for part in parts:
        content = b"".join(line + b"\n" for line in part)
        if rng.random() < 0.2:
            content = codecs.BOM_UTF8 + content
        # A line feed less would take an empty last line away, and an empty file has none.
        if rng.random() < 0.3 and part and part[-1]:
            content = content.removesuffix(b"\n")
        contents.append(content)
    return contents


def land_all(landing: Path, contents: Sequence[bytes], *, first: int = 0) -> None:
    """Let the files land in their order, whose names say nothing of it."""
    for number, content in enumerate(contents, start=first):
        file = landing / f"{number * 7 % 101:03}.{number}: part.jsonl"
        draft = file.with_name(f".{file.name}")
        draft.write_bytes(content)
        os.utime(draft, ns=(0, (1_700_000_000 + number) * 1_000_000_000))
        draft.replace(file)
