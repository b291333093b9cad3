"""Recompute the batch results of one day of event time, and publish it once it is settled.

The batch layer of the Lambda architecture: every night the day before, from the log as it is when the run starts. The
run waits longer than the allowed lateness after the day's end. It covers the day before that again, which late events
may have changed, and every earlier day that was not settled when it was computed. A day is published when the mark of the
log has passed it, not when a clock has: one that is not settled yet is published by a later run. Publishing is an event of
the asset of every batch result with the day as its partition key, which starts `reconciliation`.

A **backfill** from the interface recomputes earlier days; a run by hand takes the day from its form, and everything
without one. Results without windows are recomputed as a whole.

Idempotent: the rows of the interval are replaced in one commit a result. A retry computes the same at the same log version.
"""

from datetime import timedelta

from airflow.sdk import DAG, CronPartitionTimetable
from pendulum.tz import fixed_timezone

from form import day_param
from house import BATCH, COMMON, EVENTS, ON_LAKE, PINNED, QUICK, nightly
from parity_command import ParityOperator
from publication import PublishOperator

DAY = "{{ dag_run.partition_key or params.day or '' }}"
# Midnight by a clock that is behind: so a backfill from one day to another has these days, whatever the hour of the run.
CLOCK = fixed_timezone(-(nightly() // timedelta(seconds=1)))
COVERED = "ti.xcom_pull(task_ids='pin').get('nightly', {})"

with DAG(
    "batch_recompute",
    description="The batch layer: recompute the results of one day of event time.",
    doc_md=__doc__,
    schedule=CronPartitionTimetable("0 0 * * *", timezone=CLOCK, run_offset=-1, key_format="%Y-%m-%d"),
    tags=["parity", "batch layer"],
    max_active_runs=1,
    params={
        "day": day_param(
            "For a run by hand: the day of event time, UTC. Empty for everything. A backfill fills it itself."
        )
    },
    **COMMON,
):
    pin = ParityOperator(task_id="pin", command="pin", options={**ON_LAKE, "day": DAY}, **QUICK)
    recompute = ParityOperator(
        task_id="recompute",
        command="recompute",
        options={
            **ON_LAKE,
            "from": f"{{{{ {COVERED}.get('first') or '' }}}}",
            "to": f"{{{{ {COVERED}.get('to') or '' }}}}",
            "log-version": PINNED,
        },
    )
    publish = PublishOperator(
        task_id="publish",
        days=f"{{{{ {COVERED}.get('publish') or [] }}}}",
        inlets=[EVENTS],
        outlets=list(BATCH.values()),
    )
    pin >> recompute >> publish
