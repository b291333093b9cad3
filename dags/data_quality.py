"""Validate every table of the lake with Great Expectations, each at a version that is fixed when the run starts.

The log, its duplicates and its quarantine, each result of each layer, and the history of reconciliations. An
expectation that is not met fails the run at once. The report of a run is on the run's page under *Parity*, with links to
the Data Docs.
"""

from airflow.sdk import DAG

from form import results_param
from house import COMMON, ON_LAKE, PINNED, QUICK, RUN
from parity_command import ParityOperator

with DAG(
    "data_quality",
    description="Great Expectations over every table, at pinned versions.",
    doc_md=__doc__,
    schedule="0 5 * * *",  # after the night's recompute: one that has not come is then more than `batch_lag` behind
    tags=["parity", "data quality"],
    max_active_runs=1,
    params={"result": results_param("Which results are validated, beside the log and the history; none for all.")},
    **COMMON,
):
    pin = ParityOperator(task_id="pin", command="pin", options=ON_LAKE, **QUICK)
    validate = ParityOperator(
        task_id="validate",
        command="quality",
        options={**ON_LAKE, "result": "{{ params.result }}", "log-version": PINNED, "run": RUN},
    )
    pin >> validate
