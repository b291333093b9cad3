"""Fold superseded revisions, compact small files, and remove what is beyond the horizon. The streams may run meanwhile."""

from airflow.sdk import DAG

from house import COMMON, ON_LAKE
from parity_command import ParityOperator

with DAG(
    "maintenance",
    description="Compaction and retention.",
    doc_md=__doc__,
    schedule="0 4 * * 0",
    tags=["parity", "upkeep"],
    max_active_runs=1,
    **COMMON,
):
    ParityOperator(task_id="maintain", command="maintain", options=ON_LAKE)
