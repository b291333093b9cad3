"""Compare a layer with batch over all keys, at one version of the log.

Runs when `batch_recompute` has published a day, and **by hand from the trigger form**. The report of a run, with its
verdict, is on the run's page under *Parity*.

`reconcile` compares all results with one start of Spark; `verdict` has a task for each of them, named by it, with the
verdict on that result alone:

| exit code | what it means | what happens |
|---|---|---|
| 0 | the layers agree | the task succeeds |
| 1 | they differ | the task fails at once with the verdict; `repair_after_reconciliation` asks what to do |
| 2 | they could not be compared | the task is tried again, and compares its result alone; then it fails with the reason |

The run agrees if every result does. A task of `verdict` that a person clears compares its result again, too.

The control (candidate `legacy`) should differ: its run fails too, but nothing is to be repaired, and nobody is asked.
"""

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.providers.standard.operators.python import PythonOperator
from airflow.sdk import DAG, AssetAll, PartitionedAssetTimetable, TriggerRule

from form import candidate_param, moment_param, results_param, switch_param, tolerance_param
from house import (
    BATCH,
    COMMON,
    KAPPA,
    ON_LAKE,
    PINNED,
    QUICK,
    RUN,
    VERDICT,
)
from offer import OfferRepairOperator
from parity_command import ParityOperator

FIRST = "{{ params.first or dag_run.partition_key or '' }}"
TO = "{{ params.to or (macros.ds_add(dag_run.partition_key, 1) if dag_run.partition_key else '') }}"
ASKED = {
    **ON_LAKE,
    "candidate": "{{ params.candidate or 'kappa' }}",
    "result": "{{ params.result }}",
    "from": FIRST,
    "to": TO,
}
COMPARED = {
    **ASKED,
    "log-version": PINNED,
    "tolerance": "{{ params.tolerance }}",
    "recompute": "{{ params.recompute }}",
    "run": RUN,
}
JUDGED = "{{ ti.xcom_pull(task_ids='pin')['results'] }}"

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
        "candidate": candidate_param(),
        "first": moment_param("From", "First window start, included."),
        "to": moment_param("To", "Last window start, excluded."),
        "tolerance": tolerance_param(),
        "recompute": switch_param(
            "Recompute batch first",
            "Compute batch at the pinned version of the log first, so that nothing is in flight for its sake.",
        ),
    },
    **COMMON,
):
    pin = ParityOperator(task_id="pin", command="pin", options=ASKED, **QUICK)
    # One start of Spark for all results: thirteen would take longer than the work (docs/decisions/0025).
    reconcile = ParityOperator(
        task_id="reconcile",
        command="reconcile",
        options=COMPARED,
        on_difference="goes on",
        on_no_comparison="goes on",
        inlets=[KAPPA, *BATCH.values()],
        outlets=[VERDICT],
    )
    results = PythonOperator(task_id="results", python_callable=list, op_args=[JUDGED], **QUICK)
    # Each tells what was found about its result. A second try of one compares it alone.
    verdict = ParityOperator.partial(
        task_id="verdict",
        command="reconcile",
        options={**COMPARED, "result": "{{ task.about }}", "as-kept": True},
        map_index_template="{{ task.about }}",
        max_active_tis_per_dagrun=2,
    ).expand(about=results.output)
    # A leaf of its own: were the offer the only one, its success would turn the failed run green.
    agreed = EmptyOperator(task_id="agreed")
    offer_repair = OfferRepairOperator(
        task_id="offer_repair",
        judged="verdict",
        trigger_dag_id="repair_after_reconciliation",
        conf={
            "reconciliation": RUN,
            "first": "{{ params.first or dag_run.partition_key }}",
            "to": "{{ params.to or (macros.ds_add(dag_run.partition_key, 1) if dag_run.partition_key else none) }}",
        },
        trigger_rule=TriggerRule.ALL_DONE,
        retries=1,
    )
    pin >> [reconcile, results] >> verdict >> [agreed, offer_repair]
