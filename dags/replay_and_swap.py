"""Compute a result anew from the log beside the live one, show what changes, and make it live if a person agrees.

For a fixed bug or a changed window. The new version's number is fixed when the run starts. The comparison is on the
page of the approval. The log goes on while a person thinks, so the swap lets the new version catch up first. Rejected,
the new version stays beside the live one: `parity retire` removes it.

Each task finds what an attempt before it has done, and goes on from there.
"""

from datetime import timedelta

from airflow.providers.standard.operators.hitl import ApprovalOperator
from airflow.sdk import DAG

from form import one_result_param, text_param
from house import COMMON, EVENTS, KAPPA, ON_LAKE, QUICK, REBUILT, STREAM_POOL
from parity_command import ParityOperator

RESULT = "{{ params.result }}"
NEW = "{{ ti.xcom_pull(task_ids='pin')['to_replay'][params.result] }}"
LIVE = "{{ ti.xcom_pull(task_ids='pin')['live'][params.result] }}"

with DAG(
    "replay_and_swap",
    description="Replay a result to a new version, compare, wait for approval, swap.",
    doc_md=__doc__,
    schedule=None,
    is_paused_upon_creation=False,
    tags=["parity", "reprocessing", "needs a person"],
    max_active_runs=1,
    params={
        "result": one_result_param(),
        "way": text_param(
            "steps",
            title="Way",
            description="Settled history in static steps, or the stream from the start.",
            enum=["steps", "engine"],
            allowed="steps or engine",
        ),
    },
    **{**COMMON, "dagrun_timeout": timedelta(days=2)},
):
    pin = ParityOperator(task_id="pin", command="pin", options={**ON_LAKE, "result": RESULT}, **QUICK)
    replay = ParityOperator(
        task_id="replay",
        command="replay",
        options={**ON_LAKE, "result": RESULT, "as-version": NEW, "way": "{{ params.way }}"},
        execution_timeout=REBUILT,
        pool=STREAM_POOL,
    )
    compare = ParityOperator(
        task_id="compare",
        command="compare",
        options={**ON_LAKE, "left": f"{RESULT}@{LIVE}", "right": f"{RESULT}@{NEW}"},
        on_difference="goes on",
    )
    approval = ApprovalOperator(
        task_id="approval",
        subject=f"Make {RESULT}@{NEW} live instead of {RESULT}@{LIVE}?",
        body="{{ ti.xcom_pull(task_ids='compare')[:4000] | replace('\\n', '\\n\\n') }}",
        response_timeout=timedelta(days=1),
        execution_timeout=None,
    )
    swap = ParityOperator(
        task_id="swap",
        command="swap",
        options={**ON_LAKE, "result": RESULT, "to": NEW, "catch-up": True},
        pool=STREAM_POOL,
        inlets=[EVENTS],
        outlets=[KAPPA],
    )
    pin >> replay >> compare >> approval >> swap
