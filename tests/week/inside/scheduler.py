"""Airflow's own scheduler, with the time as an input.

It makes the decisions of `SchedulerJobRunner`: which runs are due, which task is next, which retry, which run an asset
starts. Its executor runs a task here and now. The clock goes from one due moment to the next, nobody waits for it.
"""

import os
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from airflow.api_fastapi.app import create_app
from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser
from airflow.callbacks.database_callback_sink import DatabaseCallbackSink
from airflow.dag_processing.bundles.manager import DagBundlesManager
from airflow.dag_processing.dagbag import BundleDagBag, DagBag, sync_bag_to_db
from airflow.executors.base_executor import BaseExecutor
from airflow.jobs.job import Job
from airflow.jobs.scheduler_job_runner import SchedulerJobRunner
from airflow.models.asset import AssetEvent
from airflow.models.dag import DagModel
from airflow.models.dagrun import DagRun
from airflow.models.taskinstance import TaskInstance
from airflow.sdk.api.datamodels._generated import TaskInstance as TaskToRun
from airflow.sdk.execution_time.supervisor import run_task_in_process
from airflow.utils.session import create_session
from fastapi.testclient import TestClient
from moments import Clock

DAGS = os.environ["AIRFLOW__CORE__DAGS_FOLDER"]
BUNDLE = "dags-folder"


class Here(BaseExecutor):
    """Runs a task in this process, one after another; what became of it the task says itself."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(parallelism=1)
        self._clock = clock

    def start(self) -> None: ...

    def end(self) -> None: ...

    def _process_workloads(self, workload_items: Sequence[Any]) -> None:
        for each in workload_items:
            self.queued_tasks.pop(each.ti.key, None)
            os.environ["WEEK_MOMENT"] = self._clock.moment.isoformat()
            # Read anew for each task, as a worker does: a run leaves its conf in the params of the DAG.
            bag = DagBag(Path(DAGS, each.dag_rel_path))
            asked = TaskToRun(**each.ti.model_dump(include=set(TaskToRun.model_fields)))
            run_task_in_process(ti=asked, task=bag.dags[each.ti.dag_id].get_task(each.ti.task_id))


class Scheduler:
    """What a person or the passing time asks of it; `tests/week/operation.py` does."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._person: TestClient | None = None
        self._read_dags()
        with create_session() as session:
            session.add(job := Job())
            job.job_type = "SchedulerJob"
            session.flush()
            self.job = job.id
        self.runner = SchedulerJobRunner(job, executors=[Here(clock)])
        self.runner.executor.job_id = self.job
        self.runner.executor.callback_sink = DatabaseCallbackSink()

    def switch(self, dags: Sequence[str], on: bool) -> None:
        """Switch DAGs on or off, as a person does in the interface."""
        with create_session() as session:
            for dag in session.query(DagModel).filter(DagModel.dag_id.in_(dags)):
                dag.is_paused = not on
        self._read_dags()

    def advance(self, to: str, stop_at_retry: bool = False) -> str:
        """Go on from one due moment to the next until `to`; returns the moment that was reached."""
        end = datetime.fromisoformat(to)
        while True:
            self._work()
            if self._clock.moment >= end or (stop_at_retry and self._retries()):
                return self._clock.moment.isoformat()
            self._clock.set(min([end, *(each for each in self._due() if each > self._clock.moment)]))

    def _work(self) -> None:
        """What is due at this moment, to its end."""
        before, stands = None, self._stands()
        while stands != before:  # a decision can make the next one possible: a run that has ended lets another begin
            before = stands
            with create_session() as session:
                session.get(Job, self.job).latest_heartbeat = self._clock.moment
            self.runner.adopt_or_reset_orphaned_tasks()
            self.runner._mark_backfills_complete()
            with create_session() as session:
                self.runner._do_scheduling(session)
            self.runner.executor.heartbeat()
            stands = self._stands()

    def _stands(self) -> list[tuple[str, str]]:
        """Where all runs and tasks stand."""
        with create_session() as session:
            return [
                *((str(run.id), str(run.state)) for run in session.query(DagRun)),
                *((str(ti.id), str(ti.state)) for ti in session.query(TaskInstance)),
            ]

    def _due(self) -> list[datetime]:
        """The moments at which something is due that the scheduler knows of by now."""
        with create_session() as session:
            dags = session.query(DagModel).filter(DagModel.next_dagrun_create_after.is_not(None), ~DagModel.is_paused)
            starts = [dag.next_dagrun_create_after for dag in dags]
        return starts + self._retries()

    def _retries(self) -> list[datetime]:
        with create_session() as session:
            waiting = session.query(TaskInstance).filter(TaskInstance.state == "up_for_retry").all()
            for each in waiting:
                each.task = self.runner.scheduler_dag_bag.get_dag_for_run(each.dag_run, session=session).get_task(
                    each.task_id
                )
            return [each.next_retry_datetime() for each in waiting]

    def _read_dags(self) -> None:
        """What the DAG processor does all the time: a DAG without catch-up then skips what it has slept through."""
        manager = DagBundlesManager()
        with create_session() as session:
            manager.sync_bundles_to_db(session=session)
        [bundle] = [each for each in manager.get_all_dag_bundles() if each.name == BUNDLE]
        bundle.initialize()
        bag = BundleDagBag(dag_folder=bundle.path, bundle_path=bundle.path, bundle_name=bundle.name)
        assert not bag.import_errors, bag.import_errors
        sync_bag_to_db(bag, bundle.name, bundle.version)

    def runs(self) -> list[dict[str, Any]]:
        """All runs, in the order in which they were made."""
        with create_session() as session:
            return [
                {
                    "dag": run.dag_id,
                    "run": run.run_id,
                    "state": str(run.state),
                    "day": run.partition_key,
                    "type": str(run.run_type),
                    "conf": run.conf,
                    "tasks": {
                        (ti.task_id if ti.map_index < 0 else f"{ti.task_id}[{ti.map_index}]"): [
                            str(ti.state),
                            ti.try_number,
                        ]
                        for ti in run.get_task_instances(session=session)
                    },
                }
                for run in session.query(DagRun).order_by(DagRun.id)
            ]

    def published(self) -> dict[str, list[str]]:
        """The days that were published, for each asset that has any."""
        found: dict[str, set[str]] = {}
        with create_session() as session:
            for event in session.query(AssetEvent).filter(AssetEvent.partition_key.is_not(None)):
                found.setdefault(event.asset.name, set()).add(event.partition_key)
        return {name: sorted(days) for name, days in found.items()}

    def api(self, method: str, path: str, body: Any = None) -> Any:
        """What a person does in the interface, by the same API."""
        if self._person is None:
            app = create_app(apps="core")
            token = app.state.auth_manager.generate_jwt(SimpleAuthManagerUser(username="operator", role="admin"))
            self._person = TestClient(app, headers={"Authorization": f"Bearer {token}"}).__enter__()
        answer = self._person.request(method, f"/api/v2{path}", json=body)
        assert answer.status_code < 300, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json() if answer.content else None
