"""A week of operation, told day by day. The schedule comes from the DAG files; what a person does goes through Airflow's API.

Each night has the same two moments of feeding, before midnight and after it, and what the schedule makes of them. The
methods of a day say what is different then.
"""

import fcntl
import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from arrivals import MONDAY, at, played, underground
from damage import plant
from operation import Operation

from simulator.landing import land

STREAM = "stream_increment"
"""Every five minutes there is nothing new: it is switched on when something has landed."""


class Week:
    def __init__(self, home: Path) -> None:
        self.operation = Operation(home, MONDAY)
        self.lines = 0
        self._told_until = MONDAY
        self._files = 0

    def feed(self, moment: datetime, late: Sequence[str] = ()) -> None:
        """Something lands, and the stream is looked after."""
        self.land(moment, late)
        self.switch(STREAM, on=True)
        self.operation.advance(moment)
        self.switch(STREAM, on=False)

    def land(self, moment: datetime, late: Sequence[str] = ()) -> None:
        """What was played since the last file."""
        self.operation.advance(moment)
        lines = [*late, *played(self._told_until, moment)]
        land(self.operation.landing / f"{self._files:05d}.jsonl", lines, modified=moment)
        self._told_until, self._files, self.lines = moment, self._files + 1, self.lines + len(lines)

    def night(self, day: int) -> None:
        """From the last minutes of the day to the next morning."""
        self.feed(at(day, "23:58"))
        self.feed(at(day + 1, "02:10"))
        self.operation.advance(at(day + 1, "05:30"))

    def switch(self, *dags: str, on: bool) -> None:
        self.operation.ask("switch", dags=dags, on=on)

    def runs(self, dag: str) -> list[dict[str, Any]]:
        return [run for run in self.operation.ask("runs") if run["dag"] == dag]

    def by_day(self, dag: str) -> dict[str, list[str]]:
        """The states of the runs of each day, in order."""
        found: dict[str, list[str]] = {}
        for run in self.runs(dag):
            found.setdefault(str(run["day"]), []).append(run["state"])
        return found

    def qualities(self) -> list[dict[str, Any]]:
        """What each validation found, in order."""
        files = (self.operation.lake / "quality" / "runs").glob("*.json")
        return sorted((json.loads(file.read_text()) for file in files), key=lambda each: str(each["at"]))

    def answer(self, dag: str, option: str) -> dict[str, Any]:
        """A person answers the one question that the DAG asks."""
        [asked] = self.operation.ask(
            "api", method="GET", path=f"/dags/{dag}/dagRuns/~/hitlDetails?response_received=false"
        )["hitl_details"]
        ti = asked["task_instance"]
        path = f"/dags/{dag}/dagRuns/{ti['dag_run_id']}/taskInstances/{ti['task_id']}/-1/hitlDetails"
        self.operation.ask("api", method="PATCH", path=path, body={"chosen_options": [option], "params_input": {}})
        return dict(asked)

    def trigger(self, dag: str, conf: dict[str, Any]) -> None:
        body = {"logical_date": None, "conf": conf}
        self.operation.ask("api", method="POST", path=f"/dags/{dag}/dagRuns", body=body)

    def clear(self, dag: str, run: str, *tasks: str) -> None:
        """Let a run, or these tasks of it, be done again."""
        body: dict[str, Any] = {"dry_run": False, "dag_run_id": run, "only_failed": False, "reset_dag_runs": True}
        if tasks:
            body |= {"task_ids": tasks, "include_downstream": False}
        self.operation.ask("api", method="POST", path=f"/dags/{dag}/clearTaskInstances", body=body)

    def copy(self, directory: Path) -> Path:
        shutil.copytree(self.operation.lake, directory / "lake")
        return directory / "lake"

    # The days

    def monday(self) -> None:
        """The first day. The schedules are switched on in the night, when there is something to be computed."""
        self.feed(at(0, "12:00"))
        self.feed(at(0, "23:58"))
        self.feed(at(1, "02:10"))
        self.operation.advance(at(1, "02:20"))
        self.switch("batch_recompute", on=True)
        self.operation.advance(at(1, "05:10"))
        self.switch("data_quality", on=True)
        self.operation.advance(at(1, "05:30"))

    def tuesday(self) -> None:
        """A stream of somebody else is at work when ours is to begin: it is refused, and tried again."""
        self.land(at(1, "23:58"))
        self.switch(STREAM, on=True)
        with self._stream_elsewhere("team_scores@1"):
            self.operation.advance(at(1, "23:58"), stop_at_retry=True)
        self.operation.advance(at(1, "23:59"))
        self.switch(STREAM, on=False)
        self.feed(at(2, "02:10"))
        self.operation.advance(at(2, "05:30"))

    def wednesday(self) -> None:
        """A phone comes out of the subway at noon, with what was played around midnight."""
        late = underground(at(1, "23:55"), 10, received=at(2, "11:59"))
        self.feed(at(2, "12:00"), late)

    def the_night_of_the_kill(self) -> None:
        """Thursday at 02:15: when the batch layer has written one result of two, everything is killed."""
        self.feed(at(2, "23:58"))
        self.feed(at(3, "02:10"))
        self.operation.failpoint.write_text("stop@recompute.replaced:player_sessions:*")
        self.operation.tell("advance", to=at(3, "05:30").isoformat())
        self.operation.wait_until_stopped()
        self.operation.kill()
        self.operation.failpoint.unlink()
        self.operation.now = at(3, "02:17")
        self.operation.start()
        self.operation.advance(at(3, "05:30"))

    def the_control_is_asked(self) -> None:
        """Somebody asks the control about the days that batch has computed."""
        self.operation.advance(at(3, "09:00"))
        controlled = self.operation.parity("legacy", "--lake", self.operation.lake)
        assert controlled.code == 0, controlled.stderr
        self.trigger("reconciliation", {"candidate": "legacy", "result": ["team_scores"]})
        self.operation.advance(at(3, "09:30"))

    def thursday(self) -> None:
        """Somebody writes into the table of the stream, into Wednesday, which the night compares once more."""
        plant(self.operation.lake, "kappa_team_scores@1", at(2, "15:00"))
        self.night(3)

    def friday(self) -> None:
        """A person lets the stream be rebuilt, and has the comparison and the batch run of the night done again."""
        self.operation.advance(at(4, "09:00"))
        self.question = self.answer("repair_after_reconciliation", "Rebuild the stream")
        self.operation.advance(at(4, "09:10"))
        for run in self.runs("reconciliation"):
            if run["state"] == "failed" and run["type"] == "asset_triggered":
                self.clear("reconciliation", run["run"])
        [*_, night] = self.runs("batch_recompute")
        self.clear("batch_recompute", night["run"], "recompute")
        self.operation.advance(at(4, "09:30"))

    def the_missed_night(self) -> None:
        """The batch layer is switched off for the night to Saturday. In the morning its day is backfilled."""
        self.switch("batch_recompute", on=False)
        self.feed(at(4, "23:58"))
        self.feed(at(5, "04:55"))
        self.operation.advance(at(5, "05:30"))

    def backfill(self) -> None:
        self.operation.advance(at(5, "09:00"))
        self.switch("batch_recompute", on=True)
        day = "2026-03-06T00:00:00Z"
        body = {
            "dag_id": "batch_recompute",
            "from_date": day,
            "to_date": day,
            "max_active_runs": 1,
            "run_backwards": False,
            "dag_run_conf": {},
            "reprocess_behavior": "none",
        }
        self.operation.ask("api", method="POST", path="/backfills", body=body)
        self.operation.advance(at(5, "09:30"))

    def saturday(self) -> None:
        """The scores are computed anew beside the live ones; the log goes on until a person agrees, on Sunday."""
        self.trigger("replay_and_swap", {"result": "team_scores"})
        self.operation.advance(at(5, "10:00"))
        self.night(5)
        self.switch("maintenance", on=True)
        self.operation.advance(at(6, "09:00"))
        self.approval = self.answer("replay_and_swap", "Approve")
        self.operation.advance(at(6, "09:30"))

    def sunday(self) -> None:
        self.night(6)

    @contextmanager
    def _stream_elsewhere(self, version: str) -> Iterator[None]:
        with (self.operation.lake / "locks" / f"stream-{version}.lock").open("r+") as lock:
            fcntl.lockf(lock, fcntl.LOCK_EX)
            yield
