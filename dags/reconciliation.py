"""Compare a layer with batch over all keys, at one version of the log.

Runs when `batch_recompute` has published a day, and **by hand from the trigger form**. The report of a run, with its
verdict, is on the run's page under *Parity*.

| exit code | what it means | what happens |
|---|---|---|
| 0 | the layers agree | the run succeeds |
| 1 | they differ | the run fails at once with the verdict; `repair_after_reconciliation` asks what to do |
| 2 | they could not be compared | retried, then failed with the reason |

The control (candidate `legacy`) should differ: its run fails too, but nothing is to be repaired, and nobody is asked.
"""

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.providers.standard.operators.trigger_dagrun import TriggerDagRunOperator
from airflow.sdk import DAG, AssetAll, Param, PartitionedAssetTimetable, TriggerRule

from house import (
    BATCH,
    COMMON,
    CONTROL,
    LAKE,
    PINNED,
    QUICK,
    RUN,
    can_be_repaired,
    moment_param,
    results_param,
)
from parity_command import FOUND_IN, VERDICT, ParityOperator

FIRST = "{{ params.first or dag_run.partition_key or '' }}"
TO = "{{ params.to or (macros.ds_add(dag_run.partition_key, 1) if dag_run.partition_key else '') }}"
ASKED = {
    "lake": LAKE,
    "candidate": "{{ params.candidate }}",
    "result": "{{ params.result }}",
    "from": FIRST,
    "to": TO,
}

with DAG(
    "reconciliation",
    description="Does the stream's answer equal the batch layer's? With the causes of every difference.",
    doc_md=__doc__,
    schedule=PartitionedAssetTimetable(assets=AssetAll(*BATCH.values())),
    is_paused_upon_creation=False,
    tags=["parity", "reconciliation"],
    max_active_runs=1,
    params={
        "result": results_param("Which results are compared; none for all."),
        "candidate": Param(
            "kappa",
            type="string",
            pattern=f"^(kappa|{CONTROL}|@[1-9][0-9]*)$",
            title="Candidate",
            description="Who is judged against batch: kappa, legacy (the control), or a version of the results, e.g. @2.",
            examples=["kappa", "legacy", "@2"],
        ),
        "first": moment_param("From", "First window start, included."),
        "to": moment_param("To", "Last window start, excluded."),
        "tolerance": Param(
            None,
            type=["null", "array"],
            title="Tolerance",
            description="Allowed difference of a value column, one a line, e.g. bubbles=0.5. Nothing else is tolerated.",
            items={"type": "string", "pattern": "^[a-z][a-z0-9_]*=[0-9]+([.][0-9]+)?$"},
        ),
        "recompute": Param(
            False,
            type="boolean",
            title="Recompute batch first",
            description="Compute batch at the pinned version of the log first, so that nothing is in flight for its sake.",
        ),
    },
    **COMMON,
):
    pin = ParityOperator(task_id="pin", command="pin", options=ASKED, **QUICK)
    reconcile = ParityOperator(
        task_id="reconcile",
        command="reconcile",
        options={
            **ASKED,
            "log-version": PINNED,
            "tolerance": "{{ params.tolerance }}",
            "recompute": "{{ params.recompute }}",
            "run": RUN,
        },
    )
    # A leaf of its own: were the offer the only one, its success would turn the failed run green.
    agreed = EmptyOperator(task_id="agreed")
    offer_repair = TriggerDagRunOperator(
        task_id="offer_repair",
        trigger_dag_id="repair_after_reconciliation",
        conf={
            "reconciliation": RUN,
            "verdict": f"{{{{ ti.xcom_pull(task_ids='reconcile', key='{VERDICT}') }}}}",
            "result": f"{{{{ ti.xcom_pull(task_ids='reconcile', key='{FOUND_IN}') }}}}",
            "first": f"{FIRST}",
            "to": f"{TO}",
        },
        trigger_rule=TriggerRule.ONE_FAILED,
        pre_execute=can_be_repaired,
        retries=1,
    )
    pin >> reconcile >> [agreed, offer_repair]
