"""The reconciliation finds what was really planted in a stored table, and only that: one value of one settled key.

Nothing is injected into what it reports. The value is wrong by a number that no set of events makes.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from corrupted import Rows, copied, corrupt
from typed import parity

from lakehouse.lake import Lake

TABLES = {"kappa": "kappa_team_scores@1", "batch": "batch_team_scores@1"}
MINUTE = 20
"""The minute of the key, whose window is [10:20, 10:21). The mark of the lake is at 19:00, 31,140 seconds after its end."""
MORE = 1_000_003


def plant(lake: Lake, layer: str, change: Callable[[Rows], Rows]) -> None:
    """Change the rows of the one key in the table of a layer."""

    def changed(rows: Rows) -> Rows:
        mine = [row for row in rows if row["window_start"].minute == MINUTE]
        return [row for row in rows if row not in mine] + change(mine)

    corrupt(lake, TABLES[layer], changed)


def more(bubbles: int) -> Callable[[Rows], Rows]:
    return lambda rows: [{**row, "bubbles": row["bubbles"] + bubbles} for row in rows]


def told(lake: Lake, *options: str | Path, code: int) -> dict[str, Any]:
    done = parity("reconcile", "--lake", lake.path, "--result", "team_scores", "--format", "json", *options)
    assert done.exit_code == code, done.stderr
    verdict = json.loads(done.stdout)
    assert verdict["audit"]["balanced"] is True
    [found] = verdict["results"]
    return dict(found)


@pytest.mark.parametrize("layer", TABLES)
def test_one_changed_value_of_one_settled_key_is_found_as_unexplained(
    agreeing: Lake, tmp_path: Path, layer: str
) -> None:
    lake, page = copied(agreeing, tmp_path), tmp_path / "report.html"
    plant(lake, layer, more(MORE))
    found = told(lake, "--report", page, code=1)
    assert (found["compared"], found["differing"], found["by_cause"]) == (6, 1, {"unexplained": 1})
    [difference] = found["differences"]
    assert (difference["key"], difference["window_start"]) == ({"team_id": "blue"}, "2026-03-01T10:20:00.000Z")
    assert (difference["differing"], difference["event_ids"]) == (["bubbles"], [])
    one, other = ("candidate", "batch") if layer == "kappa" else ("batch", "candidate")
    assert (difference[one]["bubbles"], difference[other]["bubbles"]) == (30 + MORE, 30)
    assert (found["engine_wrong"] == 1) == (layer == "kappa"), "nobody but the engine has written this row"
    said = page.read_text(encoding="utf-8")
    assert "Where the stream differs, and why" in said and "unexplained" in said and f"{30 + MORE:,}" in said


def test_a_key_that_is_gone_and_one_that_never_was_are_found(agreeing: Lake, tmp_path: Path) -> None:
    """With a cause only where the events explain it: a row that is not there is one whose only event was lost."""
    lake = copied(agreeing, tmp_path)
    plant(lake, "kappa", lambda rows: [{**row, "team_id": "green"} for row in rows])
    found = told(lake, code=1)
    causes = {each["key"]["team_id"]: (each["causes"], each["event_ids"]) for each in found["differences"]}
    assert causes == {"blue": (["lost"], ["pop 20"]), "green": (["unexplained"], [])}


def test_a_commit_of_the_stream_that_is_counted_twice_is_found_in_each_of_its_keys(
    agreeing: Lake, tmp_path: Path
) -> None:
    """The cells are right, and still the stream has written each of them twice."""
    lake = copied(agreeing, tmp_path)
    corrupt(lake, TABLES["kappa"], lambda rows: [*rows, *rows])
    found = told(lake, code=1)
    assert (found["compared"], found["equal"], found["differing"]) == (6, 0, 6)
    assert (found["duplicate_revisions"], found["by_cause"]) == (6, {"duplicate": 6})
    assert {each["evidence"] for each in found["differences"]} == {"a revision was written 2 times"}


@pytest.mark.parametrize("layer", TABLES)
@pytest.mark.parametrize(("off", "code"), [(5, 0), (-5, 0), (6, 1), (-6, 1)])
def test_a_tolerance_ends_where_it_says(agreeing: Lake, tmp_path: Path, layer: str, off: int, code: int) -> None:
    lake = copied(agreeing, tmp_path)
    plant(lake, layer, more(off))
    found = told(lake, "--tolerance", "bubbles=5", code=code)
    assert (found["differing"], found["equal"]) == (code, 6 - code)
    assert found["engine_wrong"] == (code if layer == "kappa" else 0), "what is tolerated is tolerated of the engine"


def test_a_tolerance_of_one_column_is_none_of_another(agreeing: Lake, tmp_path: Path) -> None:
    lake = copied(agreeing, tmp_path)
    plant(lake, "batch", lambda rows: [{**row, "events": row["events"] + 1} for row in rows])
    found = told(lake, "--tolerance", "bubbles=5", code=1)
    assert [each["differing"] for each in found["differences"]] == [["events"]]


@pytest.mark.parametrize(("horizon", "beyond"), [("31140 seconds", 3), ("31140001 milliseconds", 2)])
def test_a_key_that_ended_at_the_horizon_is_beyond_it_and_one_after_it_is_judged(
    agreeing: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, horizon: str, beyond: int
) -> None:
    lake = copied(agreeing, tmp_path)
    plant(lake, "kappa", more(MORE))
    monkeypatch.setenv("PARITY_RETENTION__HORIZON", horizon)
    found = told(lake, code=0 if beyond == 3 else 1)
    assert (found["keys"], found["beyond_horizon"], found["compared"]) == (6, beyond, 6 - beyond)
    assert found["differing"] == found["unexplained"] == found["engine_wrong"] == 3 - beyond
