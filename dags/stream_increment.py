"""Run the stream until it has caught up, every five minutes: for people who have no place for a long-running process.

What has landed is taken into the log first, if the Airflow variable `parity_landing` names the directory. A run that is
still at work holds the next one back; a stream that runs elsewhere on the lake refuses a second one.
"""

from datetime import timedelta

from airflow.sdk import DAG, TriggerRule

from form import results_param
from house import COMMON, EVENTS, KAPPA, ON_LAKE, STREAM_POOL, has_a_landing
from parity_command import ParityOperator

with DAG(
    "stream_increment",
    description="Ingest what has landed, then bring the stream's results up to the log.",
    doc_md=__doc__,
    schedule="*/5 * * * *",
    tags=["parity", "speed layer"],
    max_active_runs=1,
    params={"result": results_param("Which results are streamed; none for all.")},
    **{**COMMON, "dagrun_timeout": timedelta(hours=1)},
):
    ingest = ParityOperator(
        task_id="ingest",
        command="ingest",
        options={**ON_LAKE, "landing": "{{ var.value.get('parity_landing', '') }}"},
        pre_execute=has_a_landing,
        outlets=[EVENTS],
    )
    stream = ParityOperator(
        task_id="stream",
        command="stream",
        options={**ON_LAKE, "result": "{{ params.result }}"},
        trigger_rule=TriggerRule.NONE_FAILED,
        pool=STREAM_POOL,
        inlets=[EVENTS],
        outlets=[KAPPA],
    )
    ingest >> stream
