"""With `[ingestion] pseudonym_key` no id of a player is anywhere in the lake, and everything else is as it would be."""

import json
import shutil
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deliveries import at, heartbeat, land, pop
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from batch_layer.recompute import recompute
from cli.main import app
from lakehouse.errors import BadSettings, SettingsChanged
from lakehouse.lake import Lake, create_lake
from lakehouse.log import position, waiting
from lakehouse.nameless import keyed_hash, named_as, pads
from lakehouse.pseudonyms import pseudonym
from lakehouse.settings import ClockTolerances, Settings, load_settings
from lakehouse.tables import read_table
from quality.validate import validate
from reconciliation.audit import audited
from reconciliation.history import keep
from reconciliation.reconcile import reconcile
from reconciliation.verdict import Verdict
from speed_layer.ingest import ingest
from speed_layer.legacy import legacy
from speed_layer.nameless import without_names
from speed_layer.reingest import reingest
from speed_layer.requeue import Requeued, requeue
from speed_layer.stream import stream
from transformations.catalogue import catalogue
from transformations.durations import parse_duration

KEY = "correct-horse-battery-staple-8c1f"
CLEAR = "zoë_of_4711"
"""Every id of a player contains this."""
SPELLINGS = tuple({CLEAR, "zo\\u00eb_of_4711", "of_4711", CLEAR.upper(), CLEAR.encode().hex()})
ADA, BOB, CAL = (f"{name}-{CLEAR}" for name in ("ada", "bob", "cal"))
RESULTS = ("lifetime_totals", "player_sessions")
TABLES = ("events", "quarantine", "kappa_player_sessions@1")
CLOCK = ClockTolerances(future=parse_duration("2 hours"))
AHEAD = {"received_at": at(20)}
NO_TIME = "ill-typed field: occurred_at (expected time with a zone, found string)"


def line(event_id: str, kind: str, seconds: float, **more: Any) -> str:
    return json.dumps({"event_id": event_id, "kind": kind, "occurred_at": at(seconds), **more})


FIRST = [
    pop("a", 10, bubbles=3, player=ADA, friend=BOB, nested={CAL: [ADA]}),
    pop("b", 40, bubbles=4, player=BOB, reaction_ms=200, sent_at=at(40.123), received_at=at(41)),
    line("shown", "offer_shown", 50, player_id=ADA, offer_id="o-1"),
    line("clicked", "offer_clicked", 55, player_id=ADA, offer_id="o-1"),
    line("league", "league_changed", 5, player_id=CAL, league="gold"),
    line("beat", "heartbeat", 60, player_id=BOB),
]
REJECTED = {
    f"{CAL} is not JSON": "not a JSON object",
    f'{{"event_id": "cut off", "player_id": "{CAL}", "ki': "not a JSON object",
    pop("two", 1, player=ADA) + pop("objects", 1, player=BOB): "not a JSON object",
    pop("c", 70, player={"name": CAL}): "ill-typed field: player_id (expected text, found object)",  # type: ignore[arg-type]
    pop("d", 70, player=BOB, bubbles=CAL): "ill-typed field: bubbles (expected whole number, found string)",  # type: ignore[arg-type]
    line("e", "bubbles_popped", 70, player_id=CAL): "missing field: team_id",
    line("f", CAL, 70, player_id=CAL): "unknown kind",
    pop("g", 0, player=ADA, occurred_at=f"on {CAL}'s birthday"): NO_TIME,
    pop("h", 0, player=ADA, occurred_at="2026-03-01 10:00:00+00:00"): NO_TIME,  # Python can read it
    pop("i", 70, player=CAL, bubbles=2**40): "number outside 32 bits: bubbles",
    json.dumps([ADA]): "not a JSON object",
    "": "empty line",
}  # fmt: skip
LATIN = pop("latin", 70, player="zo\xeb").replace("zo\\u00eb", "@").encode().replace(b"@", b"zo\xeb_of_4711")
READABLE = [
    (pop("ahead", 3600, bubbles=7, player=CAL, **AHEAD), "time in the future: more than 10 minutes after it was received"),
    (pop("old", 0, player=CAL, occurred_at="1999-12-31T23:59:59Z"), "time before the floor of 2000-01-01T00:00:00+00:00"),
    (pop("a", 10, bubbles=3, player=CAL), "copy of an event with other content"),
]  # fmt: skip
DELIVERIES: list[list[str | bytes]] = [
    FIRST,
    [*REJECTED, LATIN, f"{CAL} is not JSON", heartbeat("later", 7200)],
    [
        *(sent for sent, _ in READABLE),
        FIRST[0],
        pop("late", 20, bubbles=5, player=CAL, note=ADA),
        heartbeat("end", 9000),
    ],
]


@dataclass(frozen=True)
class Made:
    lake: Lake
    settings: Settings
    landing: Path
    verdict: Verdict


def settings_with(key: str) -> Settings:
    return load_settings(tried={"ingestion.pseudonym_key": key, "ingestion.files_per_batch": "2"})


@pytest.fixture(scope="module")
def landing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("landing")
    for number, lines in enumerate(DELIVERIES):
        land(directory, f"{number}.jsonl", lines)
    return directory


@pytest.fixture(scope="module")
def made(spark: SparkSession, landing: Path, tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A lake without names in which everything ran."""
    lake, settings = create_lake(tmp_path_factory.mktemp("nameless") / "lake"), settings_with(KEY)
    ingest(spark, lake, landing, settings)
    known = catalogue(settings.windows_by_result)
    results = [known[name] for name in RESULTS]
    stream(spark, lake, results, settings)
    for result in results:
        recompute(spark, lake, result, settings)
    legacy(spark, lake, settings)
    verdict = reconcile(spark, lake, results, settings)
    keep(spark, lake, verdict, settings)
    validate(spark, lake, results, settings, run="test", moment=datetime.now(UTC), log_version=None, tables=TABLES)
    return Made(lake, settings, landing, verdict)


@pytest.fixture(scope="module")
def clear(spark: SparkSession, landing: Path, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """The same deliveries without a key: what must be equal, and what the search has to find."""
    lake = create_lake(tmp_path_factory.mktemp("clear") / "lake")
    ingest(spark, lake, landing, settings_with(""))
    return lake


@pytest.fixture
def copy(made: Made, tmp_path: Path) -> Lake:
    shutil.copytree(made.lake.path, tmp_path / "lake")
    return replace(made.lake, path=tmp_path / "lake")


def places_of(lake: Lake, spellings: tuple[str, ...]) -> list[str]:
    """The files, and the columns of Parquet files, in which one of the spellings can be read."""
    found = []
    for file in (each for each in lake.path.rglob("*") if each.is_file()):
        content = file.read_bytes()
        name = str(file.relative_to(lake.path))
        if any(spelling.encode() in content or spelling in name for spelling in spellings):
            found.append(name)
        if file.suffix == ".parquet":
            table = pq.read_table(file, partitioning=None)
            for column in table.column_names:
                texts = "\n".join(_text(value) for value in table[column].to_pylist())
                if any(spelling in texts for spelling in spellings):
                    found.append(f"{name}: {column}")
    return found


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def rows(spark: SparkSession, lake: Lake, table: str, *columns: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in read_table(spark, lake, table).select("file", "line", *columns).collect())


def test_no_id_of_a_player_is_in_any_file_of_the_lake(made: Made) -> None:
    assert places_of(made.lake, SPELLINGS) == []


def test_the_search_finds_the_ids_in_a_lake_with_names(clear: Lake) -> None:
    found = {place.split("/")[1] for place in places_of(clear, SPELLINGS)}
    assert found == {"events", "duplicates", "quarantine"}


def test_the_key_is_in_no_file_of_the_lake(made: Made) -> None:
    parts = (KEY, KEY.encode().hex(), *pads(KEY))
    assert places_of(made.lake, (*parts, *map(str.upper, parts))) == []


def test_without_a_key_nothing_is_done_to_the_lines(spark: SparkSession) -> None:
    lines = spark.range(1)
    assert without_names(lines, settings_with("")) is lines


def test_the_layers_agree_and_the_audit_balances_in_every_hour(made: Made) -> None:
    assert made.verdict.status == "agree" and all(each.compared for each in made.verdict.results)
    audit = made.verdict.audit
    assert audit.balanced and audit.total("landed") == sum(map(len, DELIVERIES))
    assert len(audit.buckets) == 5, [each.name for each in audit.buckets]


def test_the_log_is_the_one_with_names_but_for_the_names(spark: SparkSession, made: Made, clear: Lake) -> None:
    columns = (
        "event_id",
        "kind",
        "event_time",
        "occurred_at",
        "sent_at",
        "received_at",
        "team_id",
        "offer_id",
        "bubbles",
    )
    for table in ("events", "duplicates"):
        named, nameless = (rows(spark, lake, table, *columns, "player_id") for lake in (clear, made.lake))
        renamed = [(*rest, player and pseudonym(player, KEY.encode())) for *rest, player in named]
        assert nameless == renamed and len(nameless) > 0, table
    assert rows(spark, made.lake, "events", "seq", "high_water") == rows(spark, clear, "events", "seq", "high_water")
    assert rows(spark, made.lake, "quarantine", "reason") == rows(spark, clear, "quarantine", "reason")
    assert position(made.lake) == position(clear)


def test_a_line_is_rewritten_from_the_declared_fields(spark: SparkSession, made: Made) -> None:
    raw = {row.event_id: json.loads(row.raw) for row in read_table(spark, made.lake, "events").collect()}
    ada, bob = (pseudonym(player, KEY.encode()) for player in (ADA, BOB))
    assert raw["a"] == {
        "event_id": "a", "kind": "bubbles_popped", "player_id": ada, "team_id": "blue", "bubbles": 3, "occurred_at": at(10),
    }  # fmt: skip
    assert raw["b"]["player_id"] == bob and raw["b"]["sent_at"] == at(40.123) and raw["b"]["reaction_ms"] == 200


def test_a_line_that_is_no_event_is_withheld_with_its_reason(spark: SparkSession, made: Made) -> None:
    found = [(row.reason, json.loads(row.raw)) for row in read_table(spark, made.lake, "quarantine").collect()]
    readable = {reason for _, reason in READABLE}
    assert {reason for reason, said in found if "withheld" not in said} == readable
    withheld = [(reason, said["withheld"]) for reason, said in found if reason not in readable]
    assert {reason for reason, _ in withheld} == {*REJECTED.values(), "not UTF-8"}
    assert all(set(said) == {"bytes", "keyed_hash"} for _, said in withheld)
    sizes = sorted(len(line if isinstance(line, bytes) else line.encode()) for line in DELIVERIES[1][:-1])
    assert sorted(said["bytes"] for _, said in withheld) == sizes
    hashes = [said["keyed_hash"] for _, said in withheld]
    assert len(set(hashes)) == len(hashes) - 1, "equal lines stay equal"


def test_a_log_that_is_built_anew_renames_nobody_a_second_time(spark: SparkSession, made: Made, copy: Lake) -> None:
    reingest(spark, copy, settings_with(""), as_log=2)  # the raw lines have no names: the key is not needed
    for table, columns in (
        ("events", ("seq", "player_id", "event_time", "raw")),
        ("duplicates", ("player_id", "raw")),
        ("quarantine", ("reason", "raw")),
    ):
        assert rows(spark, copy, f"{table}@2", *columns) == rows(spark, made.lake, table, *columns), table
    assert position(replace(copy, log=2)).lines == position(made.lake).lines


def test_a_requeue_takes_what_it_can_read_and_says_where_the_rest_is(
    spark: SparkSession, made: Made, copy: Lake
) -> None:
    wider = made.settings.model_copy(update={"clock": CLOCK})
    withheld = len(DELIVERIES[1]) - 1
    assert requeue(spark, copy, wider) == Requeued(accepted=1, copies=0, waiting=withheld + 2, withheld=withheld)
    ahead = read_table(spark, copy, "events").where("event_id = 'ahead'").first()
    assert ahead is not None and ahead.player_id == pseudonym(CAL, KEY.encode())
    assert waiting(spark, copy).count() == withheld + 2
    assert audited(spark, copy, position(copy).version).balanced
    said = CliRunner().invoke(app, ["requeue", "--lake", str(copy.path)]).output
    assert f"{withheld} of them could not be judged" in said and "land again, in a new file" in said


@pytest.mark.parametrize(
    ("key", "why"),
    [
        ("another-key-of-16-or-more", "was begun with the key [0-9a-f]{12} .* The key [0-9a-f]{12} is"),
        ("", "None is given"),
    ],
)
def test_another_key_and_none_are_refused(spark: SparkSession, made: Made, key: str, why: str) -> None:
    with pytest.raises(SettingsChanged, match=why) as refused:
        ingest(spark, made.lake, made.landing, settings_with(key))
    assert KEY not in str(refused.value) and "one person would have two names" in str(refused.value)


def test_a_key_in_the_middle_of_a_log_is_refused(spark: SparkSession, clear: Lake, made: Made) -> None:
    with pytest.raises(SettingsChanged, match="was begun without one"):
        ingest(spark, clear, made.landing, settings_with(KEY))


@pytest.mark.parametrize("key", [KEY, "k" * 64, "k" * 65, "0123456789abcdef"], ids=len)
def test_spark_s_pseudonym_is_that_of_python(spark: SparkSession, key: str) -> None:
    texts = ["", "alice", "zoë", "'; drop table events; --", "\\", "${key}", "\0", "x" * 1000, "🎈"]
    found = spark.createDataFrame(pa.table({"text": [*texts, None]})).selectExpr(
        "text", f"{named_as('text', key)} as name"
    )
    assert {row.text: row.name for row in found.collect()} == {
        None: None, **{text: pseudonym(text, key.encode()) for text in texts},
    }  # fmt: skip
    assert keyed_hash("text", key).count("sha2") == 2


def test_a_key_that_cannot_be_used_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("PARITY_INGESTION__PSEUDONYM_KEY", "PARITY_SERVING__TOKEN"):
        with monkeypatch.context() as given:
            given.setenv(variable, "too-short-7x")
            with pytest.raises(BadSettings, match="16 or more printable characters") as refused:
                load_settings()
            assert "too-short" not in str(refused.value)
