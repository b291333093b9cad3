"""Names taken out of judged lines: nobody is named in what is left, and it judges to the same values."""

import hashlib
import hmac
import json
import random
from typing import Any

import pyarrow as pa
import pytest
from drawn_lines import drawn_lines
from drawn_times import drawn_times
from game import KINDS
from judged_lines import ACCEPTED, LINES, OFFER, SOUND, line, undated
from lines_at_the_start import CLOCKS, as_bytes, judged_at_the_start
from nasty_lines import ALONE
from seeds import JUDGE_SEED, chance

from transformations.lines import without_names

KEY = "correct-horse-battery-staple-8c1f"
CLEAR = "zoë_of_4711"


def keyed_hash(content: bytes) -> str:
    return hmac.new(KEY.encode(), content, hashlib.sha256).hexdigest()[:32]


def renamed(player: str | None) -> str | None:
    return f"person-{keyed_hash(player.encode())}" if player else player


def nameless(*lines: str | bytes) -> pa.Table:
    return without_names(judged_at_the_start(*lines), KEY, KINDS)


@pytest.fixture(scope="module")
def rng() -> random.Random:
    return chance("names", seed=JUDGE_SEED)


def is_readable(row: dict[str, Any]) -> bool:
    return row["reason"] is None or row["reason"].startswith(CLOCKS)


def test_a_player_has_a_pseudonym_and_every_other_column_stays() -> None:
    lines = [*LINES.values(), line(player_id=""), line(player_id="bob"), line(OFFER, player_id="bob")]
    before, after = judged_at_the_start(*lines), nameless(*lines)
    assert after.schema == before.schema
    assert after.drop_columns(["player_id", "raw"]).equals(before.drop_columns(["player_id", "raw"]))
    assert after["player_id"].to_pylist() == [renamed(player) for player in before["player_id"].to_pylist()]
    assert len(set(after["player_id"].to_pylist())) == len({None, "", "alice", "bob"})


def test_a_rewritten_line_has_the_declared_fields_and_judges_to_the_same_values(rng: random.Random) -> None:
    """Also where its times stand at the first and the last day that a time may have."""
    known = [text for text in (*LINES.values(), *ALONE.values()) if len(text) < 100_000]
    lines = [*known, *drawn_times(rng, 3000), *drawn_lines(rng, 3000)]
    after = nameless(*lines)
    again = judged_at_the_start(*after["raw"].to_pylist())
    declared = {kind.name: {field.name for field in kind.fields} for kind in KINDS}
    years = set()
    for row, judged in zip(after.to_pylist(), again.to_pylist(), strict=True):
        if is_readable(row):
            assert judged == row
            given = set(json.loads(row["raw"])) - {"event_id", "kind", "occurred_at", "sent_at", "received_at"}
            assert given <= declared[row["kind"]]
            years.add(row["occurred_at"].year)
    assert {1, 2, 9998, 9999} <= years


@pytest.mark.parametrize(
    "text", [undated(occurred_at="2099-01-01T00:00:00Z"), line()], ids=["by the clock", "an event"]
)
def test_a_line_is_rewritten_as_the_landing_format_has_it(text: str) -> None:
    said, (raw,) = json.loads(text), nameless(text)["raw"].to_pylist()
    said["occurred_at"] = said["occurred_at"].replace("00Z", "00.000Z")
    assert json.loads(raw) == {**said, "player_id": renamed(SOUND["player_id"])}


def test_of_any_other_line_the_bytes_are_withheld() -> None:
    lines = [*LINES.values(), "twice", "twice"]
    found = nameless(*lines).to_pylist()
    withheld = [(as_bytes(text), row["raw"]) for text, row in zip(lines, found, strict=True) if not is_readable(row)]
    assert len(withheld) > 80
    for text, raw in withheld:
        assert raw == f'{{"withheld":{{"bytes":{len(text)},"keyed_hash":"{keyed_hash(text)}"}}}}'.encode()
    assert found[-1]["raw"] == found[-2]["raw"]


def test_no_name_is_left_anywhere() -> None:
    named = [
        line(player_id=CLEAR, extra={CLEAR: [CLEAR]}),
        line(player_id=CLEAR, occurred_at="2099-01-01T00:00:00Z"),
        line(player_id=CLEAR, team_id=None),
        line(player_id=[CLEAR]),
        line(OFFER, player_id=CLEAR, league=CLEAR, bubbles=CLEAR),
        f"{CLEAR} is no JSON",
        line(player_id=CLEAR).encode().replace(b"o", b"\xff"),
        *(text.replace("alice", CLEAR) for text in ACCEPTED.values() if len(text) < 3000),
    ]
    spellings = (CLEAR, CLEAR.encode("unicode_escape").decode(), "of_4711")
    before, after = str(judged_at_the_start(*named).to_pylist()), str(nameless(*named).to_pylist())
    assert all(spelling in before for spelling in spellings[::2])
    assert not any(spelling in after for spelling in spellings)


def test_no_line_at_all_has_no_names() -> None:
    assert nameless().num_rows == 0
