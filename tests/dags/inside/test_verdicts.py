"""A reconciliation of several results as Airflow runs it: each has its own verdict and its own retry. The commands are stubs.

`test_runs.py` has the real commands, over one result.
"""

import json
import os
import sys
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from airflow.dag_processing.dagbag import DagBag
from airflow.models.asset import AssetEvent
from airflow.models.dagrun import DagRun
from airflow.utils.session import create_session

import parity_command

pytestmark = pytest.mark.usefixtures("database")

# What `parity` says: for `pin` the results, for one result as often as it is asked the next of its codes, for all 1.
STUB = """
import json, sys
from itertools import pairwise
from pathlib import Path

codes = json.loads(Path({codes!r}).read_text())
asked = [sys.argv[at + 1] for at, part in enumerate(sys.argv) if part == "--result"]
with open({typed!r}, "a") as typed:
    typed.write(json.dumps(sys.argv[1:]) + "\\n")
if sys.argv[1] == "pin":
    print(json.dumps({{"log_version": 3, "results": sorted(codes)}}))
    sys.exit(0)
alone = "--as-kept" in sys.argv
code = codes[asked[0]].pop(0) if alone else max(each[0] for each in codes.values())
Path({codes!r}).write_text(json.dumps(codes))
print("In the log.")
print(f"{{asked[0] if alone else 'all'}} ended with {{code}}.")
about = f" ({{asked[0]}}@1)" if code == 1 else ""
print("Verdict: " + ["agree", "differ", "could not compare"][code] + about, file=sys.stderr)
sys.exit(code)
"""


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let `parity` be the stub; its home is where it has written down what was typed."""
    said = STUB.format(codes=str(tmp_path / "codes.json"), typed=str(tmp_path / "typed.jsonl"))
    (tmp_path / "parity").write_text(f"#!{sys.executable}\n{said}")
    (tmp_path / "parity").chmod(0o700)
    monkeypatch.setattr(parity_command, "PARITY", tmp_path / "parity")
    monkeypatch.setenv("AIRFLOW_VAR_PARITY_LAKE", str(tmp_path))
    _offers()  # those of other tests, which have the same Airflow
    return tmp_path


def _ran(command: Path, codes: dict[str, list[int]], **conf: Any) -> tuple[str, dict[str, tuple[str, int]]]:
    """The state of a run in which the command ends so, and of each task its state and the number of its tries."""
    (command / "codes.json").write_text(json.dumps(codes))
    [dag] = DagBag(Path(os.environ["AIRFLOW__CORE__DAGS_FOLDER"], "reconciliation.py")).dags.values()
    dag.get_task("verdict").partial_kwargs["retry_delay"] = timedelta(0)
    run = dag.test(run_conf={"result": sorted(codes), **conf}, logical_date=datetime.now(UTC))
    with create_session() as session:
        tasks = run.get_task_instances(session=session)
        return str(run.state), {
            each.rendered_map_index or each.task_id: (str(each.state), each.try_number) for each in tasks
        }


def _offers() -> list[DagRun]:
    with create_session() as session:
        found = session.query(DagRun).filter_by(dag_id="repair_after_reconciliation").all()
        for each in found:
            session.delete(each)
        return list(found)


def test_each_result_has_its_verdict_and_the_repair_is_of_those_that_differ(command: Path) -> None:
    state, tasks = _ran(command, {"level_ups": [1], "player_pace": [0], "team_scores": [1]})
    assert state == "failed"
    assert {name: tasks[name] for name in ("level_ups", "player_pace", "team_scores")} == {
        "level_ups": ("failed", 1), "player_pace": ("success", 1), "team_scores": ("failed", 1),
    }  # fmt: skip
    [offer] = _offers()
    assert offer.conf["result"] == ["level_ups@1", "team_scores@1"]
    assert offer.conf["verdict"] == "level_ups@1: level_ups ended with 1.\n\nteam_scores@1: team_scores ended with 1."


def test_what_could_not_be_compared_is_tried_again_alone(command: Path) -> None:
    state, tasks = _ran(command, {"level_ups": [0], "team_scores": [2, 0]})
    assert state == "success" and not _offers()
    assert (tasks["level_ups"], tasks["team_scores"]) == (("success", 1), ("success", 2))
    typed = [json.loads(line) for line in (command / "typed.jsonl").read_text().splitlines()]
    compared = [[value for part, value in pairwise(line) if part == "--result"] for line in typed[1:]]
    assert compared[0] == ["level_ups", "team_scores"]
    assert sorted(compared[1:]) == [
        ["level_ups"],
        ["team_scores"],
        ["team_scores"],
    ]  # Airflow orders mapped tasks as it likes


def test_an_event_of_the_verdict_says_what_was_found(command: Path) -> None:
    _ran(command, {"level_ups": [1]}, candidate="legacy")
    assert not _offers(), "the control has to differ"
    with create_session() as session:
        newest = session.query(AssetEvent).filter_by(source_task_id="reconcile").order_by(AssetEvent.id.desc()).first()
        assert newest.extra["said"] == "all ended with 1." and "--candidate legacy" in newest.extra["command"]
