"""Recompute the batch results of one day of event time.

The batch layer of the Lambda architecture: every day the day before, from the log as it is when the run starts. A
**backfill** from the interface recomputes earlier days; a run by hand takes the day from its form, and everything
without one. Results without windows are recomputed as a whole. Each run publishes the asset of every batch result with
the day as its partition key, which starts `reconciliation`.

Idempotent: the rows of the day are replaced in one commit a result. A retry computes the same at the same log version.
"""

from airflow.sdk import DAG, CronPartitionTimetable, Param

from house import BATCH, COMMON, LAKE, PINNED, QUICK
from parity_command import ParityOperator

DAY = "{{ dag_run.partition_key or params.day or '' }}"
NEXT_DAY = "{{ macros.ds_add(dag_run.partition_key or params.day, 1) if dag_run.partition_key or params.day else '' }}"

with DAG(
    "batch_recompute",
    description="The batch layer: recompute the results of one day of event time.",
    doc_md=__doc__,
    schedule=CronPartitionTimetable("0 0 * * *", timezone="UTC", run_offset=-1, key_format="%Y-%m-%d"),
    tags=["parity", "batch layer"],
    max_active_runs=1,
    params={
        "day": Param(
            None,
            type=["null", "string"],
            format="date",
            pattern=r"^\d{4}-\d\d-\d\d$",
            title="Day",
            description="For a run by hand: the day of event time, UTC. Empty for everything. A backfill fills it itself.",
        )
    },
    **COMMON,
):
    pin = ParityOperator(task_id="pin", command="pin", options={"lake": LAKE, "from": DAY, "to": NEXT_DAY}, **QUICK)
    recompute = ParityOperator(
        task_id="recompute",
        command="recompute",
        options={"lake": LAKE, "from": DAY, "to": NEXT_DAY, "log-version": PINNED},
        partition=DAY,
        outlets=list(BATCH.values()),
    )
    pin >> recompute
