"""With `[ingestion] pseudonym_key` no id of a player is anywhere in the lake, and everything else is as it would be."""

import json
import shutil
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import logged
import pyarrow.parquet as pq
import pytest
from deliveries import at, heartbeat, land, pop
from game import catalogue
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from batch_layer.recompute import recompute
from cli.main import app
from ingestion.ingest import ingest
from ingestion.reingest import reingest
from ingestion.requeue import Requeued, requeue
from lakehouse.arrivals import ARRIVALS, DUPLICATE, EVENT, HASHES, QUARANTINED
from lakehouse.errors import BadSettings, SettingsChanged
from lakehouse.lake import Lake, create_lake
from lakehouse.log import position, waiting
from lakehouse.settings import ClockTolerances, Settings, load_settings
from quality.validate import validate
from reconciliation.audit import audited
from reconciliation.history import keep
from reconciliation.reconcile import reconcile
from reconciliation.verdict import Verdict
from speed_layer.legacy import legacy
from speed_layer.stream import stream
from transformations.durations import parse_duration
from transformations.pseudonym import pseudonym

from keys import key_spellings  # isort: skip

KEY = "correct-horse-battery-staple-8c1f"
CLEAR = "zoë_of_4711"
"""Every id of a player contains this."""
SPELLINGS = tuple({CLEAR, "zo\\u00eb_of_4711", "of_4711", CLEAR.upper(), CLEAR.encode().hex()})
ADA, BOB, CAL = (f"{name}-{CLEAR}" for name in ("ada", "bob", "cal"))
RESULTS = ("lifetime_totals", "player_sessions")
TABLES = ("events", "quarantine", "kappa_player_sessions@1")
FATES = (EVENT, DUPLICATE, QUARANTINED)
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
    ingest(None, lake, landing, settings)
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
def clear(landing: Path, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """The same deliveries without a key: what must be equal, and what the search has to find."""
    lake = create_lake(tmp_path_factory.mktemp("clear") / "lake")
    ingest(None, lake, landing, settings_with(""))
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


def rows(lake: Lake, fate: str, *columns: str) -> list[tuple[Any, ...]]:
    return logged.rows(lake, fate, "file", "line", *columns)


def test_no_id_of_a_player_is_in_any_file_of_the_lake(made: Made) -> None:
    assert places_of(made.lake, SPELLINGS) == []


def test_the_search_finds_the_ids_in_a_lake_with_names(clear: Lake) -> None:
    found = {place.split("/")[1] for place in places_of(clear, SPELLINGS)}
    assert found == {ARRIVALS}
    columns = {place.partition(": ")[2] for place in places_of(clear, SPELLINGS)} - {""}
    assert columns == {"raw", "player_id"}


def test_the_key_is_in_no_file_of_the_lake(made: Made) -> None:
    parts = key_spellings(KEY)
    assert places_of(made.lake, (*parts, *map(str.upper, parts))) == []


def test_without_a_key_nothing_is_done_to_the_lines(clear: Lake) -> None:
    found = logged.landed_lines(clear)
    assert found and {(file, line, raw) for fate in FATES for file, line, raw in rows(clear, fate, "raw")} == set(found)


def test_the_layers_agree_and_the_audit_balances_in_every_hour(made: Made) -> None:
    assert made.verdict.status == "agree" and all(each.compared for each in made.verdict.results)
    audit = made.verdict.audit
    assert audit.balanced and audit.total("landed") == sum(map(len, DELIVERIES))
    assert len(audit.buckets) == 5, [each.name for each in audit.buckets]


def test_the_log_is_the_one_with_names_but_for_the_names(made: Made, clear: Lake) -> None:
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
    for fate in (EVENT, DUPLICATE):
        named, nameless = (rows(lake, fate, *columns, "player_id") for lake in (clear, made.lake))
        renamed = [(*rest, player and pseudonym(player, KEY.encode())) for *rest, player in named]
        assert nameless == renamed and len(nameless) > 0, fate
    assert rows(made.lake, EVENT, "seq", "high_water") == rows(clear, EVENT, "seq", "high_water")
    assert rows(made.lake, QUARANTINED, "reason") == rows(clear, QUARANTINED, "reason")
    assert replace(position(made.lake), token="") == replace(position(clear), token="")


def test_a_line_is_rewritten_from_the_declared_fields(made: Made) -> None:
    raw = {event_id: json.loads(raw) for *_, event_id, raw in rows(made.lake, EVENT, "event_id", "raw")}
    ada, bob = (pseudonym(player, KEY.encode()) for player in (ADA, BOB))
    assert raw["a"] == {
        "event_id": "a", "kind": "bubbles_popped", "player_id": ada, "team_id": "blue", "bubbles": 3, "occurred_at": at(10),
    }  # fmt: skip
    assert raw["b"]["player_id"] == bob and raw["b"]["sent_at"] == at(40.123) and raw["b"]["reaction_ms"] == 200


def test_a_line_that_is_no_event_is_withheld_with_its_reason(made: Made) -> None:
    found = [(reason, json.loads(raw)) for *_, reason, raw in rows(made.lake, QUARANTINED, "reason", "raw")]
    readable = {reason for _, reason in READABLE}
    assert {reason for reason, said in found if "withheld" not in said} == readable
    withheld = [(reason, said["withheld"]) for reason, said in found if reason not in readable]
    assert {reason for reason, _ in withheld} == {*REJECTED.values(), "not UTF-8"}
    assert all(set(said) == {"bytes", "keyed_hash"} for _, said in withheld)
    sizes = sorted(len(line if isinstance(line, bytes) else line.encode()) for line in DELIVERIES[1][:-1])
    assert sorted(said["bytes"] for _, said in withheld) == sizes
    hashes = [said["keyed_hash"] for _, said in withheld]
    assert len(set(hashes)) == len(hashes) - 1, "equal lines stay equal"


def test_a_log_that_is_built_anew_renames_nobody_a_second_time(made: Made, copy: Lake) -> None:
    reingest(copy, settings_with(""), as_log=2)  # the raw lines have no names: the key is not needed
    second = replace(copy, log=2)
    for fate in FATES:
        columns = ("seq", "player_id", "event_time", "reason", "raw", *HASHES)
        assert rows(second, fate, *columns) == rows(made.lake, fate, *columns) != [], fate
    assert position(replace(copy, log=2)).lines == position(made.lake).lines


def test_a_requeue_takes_what_it_can_read_and_says_where_the_rest_is(
    spark: SparkSession, made: Made, copy: Lake
) -> None:
    wider = made.settings.model_copy(update={"clock": CLOCK})
    withheld = len(DELIVERIES[1]) - 1
    assert requeue(copy, wider) == Requeued(accepted=1, copies=0, waiting=withheld + 2, withheld=withheld)
    [ahead] = [player for *_, event_id, player in rows(copy, EVENT, "event_id", "player_id") if event_id == "ahead"]
    assert ahead == pseudonym(CAL, KEY.encode())
    assert waiting(spark, copy, position(copy).version).count() == withheld + 2
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
def test_another_key_and_none_are_refused(made: Made, key: str, why: str) -> None:
    with pytest.raises(SettingsChanged, match=why) as refused:
        ingest(None, made.lake, made.landing, settings_with(key))
    assert KEY not in str(refused.value) and "one person would have two names" in str(refused.value)


def test_a_key_in_the_middle_of_a_log_is_refused(clear: Lake, made: Made) -> None:
    with pytest.raises(SettingsChanged, match="was begun without one"):
        ingest(None, clear, made.landing, settings_with(KEY))


@pytest.mark.parametrize("key", [KEY, "k" * 64, "k" * 65, "0123456789abcdef"], ids=len)
def test_a_pseudonym_is_an_hmac_by_the_letter_of_its_standard(key: str) -> None:
    """RFC 2104, written out: whoever has the key can find a person's rows with any tool."""
    block = (sha256(key.encode()).digest() if len(key) > 64 else key.encode()).ljust(64, b"\0")
    inner, outer = (bytes(byte ^ pad for byte in block) for pad in (0x36, 0x5C))
    for text in ("alice", "zoë", "'; drop table events; --", "\\", "${key}", "\0", "x" * 1000, "🎈"):
        expected = sha256(outer + sha256(inner + text.encode()).digest()).hexdigest()[:32]
        assert pseudonym(text, key.encode()) == f"person-{expected}"
    assert pseudonym("", key.encode()) == ""


def test_a_key_that_cannot_be_used_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("PARITY_INGESTION__PSEUDONYM_KEY", "PARITY_SERVING__TOKEN"):
        with monkeypatch.context() as given:
            given.setenv(variable, "too-short-7x")
            with pytest.raises(BadSettings, match="16 or more printable characters") as refused:
                load_settings()
            assert "too-short" not in str(refused.value)
