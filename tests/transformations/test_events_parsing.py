"""Which lines are events, and the reason for each that is none. All lines are in one landing file, read once."""

import json
from datetime import timedelta
from pathlib import Path

import pytest
from deliveries import START, land
from judged_lines import ACCEPTED, LINES, REJECTED
from pyspark.sql import Row, SparkSession

from speed_layer.lines import numbered, read_lines
from transformations.clock import Clock
from transformations.durations import to_millis
from transformations.events import parsed


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return land(tmp_path_factory.mktemp("lines"), "lines.jsonl", LINES.values())


@pytest.fixture(scope="module")
def judged(spark: SparkSession, file: Path) -> dict[str, Row]:
    """What became of each line, by its name."""
    return judgements(spark, file)


def judgements(spark: SparkSession, file: Path) -> dict[str, Row]:
    """The file, read and judged. The clock of ingestion stands an hour after the start."""
    lines = read_lines(spark, [Row(path=str(file), place=0)], batch=0, ingested_at=START + timedelta(hours=1))
    moments = [f"unix_millis({name}) as {name}" for name in ("event_time", "occurred_at", "sent_at", "received_at")]
    columns = ["line", "cast(value as binary) as bytes", "reason", "event_id", "kind", "player_id", "bubbles"]
    rows = numbered(parsed(lines, Clock())).selectExpr(*columns, "reaction_ms", *moments)
    return dict(zip(LINES, sorted(rows.collect(), key=lambda row: row.line), strict=True))


@pytest.mark.parametrize("name", REJECTED)
def test_a_line_that_is_no_event_gets_its_reason(judged: dict[str, Row], name: str) -> None:
    _, reason = REJECTED[name]
    assert judged[name].reason == reason


@pytest.mark.parametrize("name", ACCEPTED)
def test_a_sound_line_is_an_event(judged: dict[str, Row], name: str) -> None:
    assert judged[name].reason is None


@pytest.mark.parametrize("name", [name for name in ACCEPTED if "id" in name.split()])
def test_an_id_is_kept_to_the_letter(judged: dict[str, Row], name: str) -> None:
    assert judged[name].event_id == json.loads(ACCEPTED[name])["event_id"]


def test_every_line_keeps_its_bytes(judged: dict[str, Row]) -> None:
    for name, text in LINES.items():
        assert bytes(judged[name].bytes) == (text if isinstance(text, bytes) else text.encode()), name


@pytest.mark.parametrize(
    ("name", "seconds"),
    [
        ("a time with an offset", 3.12),
        ("a time with an offset behind UTC", 3.12),
        ("a time in whole seconds", 3),
        ("a time in microseconds", 3.12),
        ("a time in nanoseconds", 3.12),
        ("a time in tenths", 3.1),
    ],
)
def test_a_time_is_its_moment_in_utc_cut_to_milliseconds(judged: dict[str, Row], name: str, seconds: float) -> None:
    assert judged[name].occurred_at == to_millis(START) + round(seconds * 1000)


@pytest.mark.parametrize(
    ("name", "bubbles"),
    [
        ("negative bubbles", -12),
        ("no bubbles", 0),
        ("2**31 - 1", 2**31 - 1),
        ("-2**31", -(2**31)),
        ("a heartbeat", None),
    ],
)
def test_a_whole_number_is_kept_to_the_unit(judged: dict[str, Row], name: str, bubbles: int | None) -> None:
    assert judged[name].bubbles == bubbles


def test_optional_fields_that_are_missing_are_null(judged: dict[str, Row]) -> None:
    for name in ("no optional field", "optional fields that are null"):
        row = judged[name]
        assert (row.reaction_ms, row.sent_at, row.received_at) == (None, None, None)


def test_a_sound_line_gives_all_its_fields(judged: dict[str, Row]) -> None:
    row, start = judged["a pop"], to_millis(START)
    assert (row.event_id, row.kind, row.player_id, row.bubbles, row.reaction_ms) == (
        "e",
        "bubbles_popped",
        "alice",
        7,
        231,
    )
    assert (row.occurred_at, row.sent_at, row.received_at) == (start + 3120, start + 3400, start + 3600)


def test_compiled_code_judges_as_interpreted_code_does(spark: SparkSession, file: Path, judged: dict[str, Row]) -> None:
    """The tests run Spark interpreted, because that is quicker; large lakes are ingested by the code that it generates."""
    compiled = {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "CODEGEN_ONLY"}
    before = {name: spark.conf.get(name) for name in compiled}
    assert before["spark.sql.codegen.wholeStage"] == "false"
    for name, value in compiled.items():
        spark.conf.set(name, value)
    try:
        assert judgements(spark, file) == judged
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)
