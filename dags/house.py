"""What all DAGs share: where the lake is, what a careful task is, and how runs, results and intervals are named."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from airflow.sdk import Asset, Param, Variable
from airflow.sdk.definitions.context import Context
from airflow.sdk.exceptions import AirflowSkipException

from parity_command import PROJECT, VERDICT

LAKE = "{{ var.value.parity_lake }}"
RUN = "{{ dag.dag_id }}.{{ run_id }}"
"""The name under which a run's reports are kept; the Parity page of the run finds them by it."""
PINNED = "{{ ti.xcom_pull(task_ids='pin')['log_version'] }}"
CONTROL = "legacy"
"""The candidate that has to differ."""
STREAMED = "kappa|@[1-9][0-9]*"
"""The candidates that ought to agree, as a pattern: the live results of the stream, or a version of them."""
START = datetime(2000, 1, 1, tzinfo=UTC)
"""The floor of event time: a backfill can begin anywhere after it."""

# A result is a module of this name; importing them would need Spark, which Airflow's environment does not have.
RESULTS = sorted(file.stem for file in (PROJECT / "transformations" / "results").glob("[a-z]*.py"))

BATCH = {name: Asset(name=f"batch_{name}", uri=f"parity://batch/{name}", group="parity") for name in RESULTS}


def told_failure(context: Context) -> None:
    """Keep a line of what failed where the Parity page shows it. The task's own log has the whole of it."""
    ti, error = context["ti"], context.get("exception")
    line = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "dag": ti.dag_id,
        "run": ti.run_id,
        "task": ti.task_id,
        "try": ti.try_number,
        "error": str(error or "ended from outside").splitlines()[0][:500],
    }
    reports = Path(Variable.get("parity_lake")) / "reports"
    if reports.parent.is_dir():
        reports.mkdir(mode=0o700, exist_ok=True)
        with (reports / "failures.jsonl").open("a") as kept:
            kept.write(json.dumps(line) + "\n")


def can_be_repaired(context: Context) -> None:
    """Before a repair is offered: only for a difference of the stream.

    What could not be compared has nothing to repair, and a control that differs is as it should be: neither batch nor
    the stream would become another by it.
    """
    if not context["ti"].xcom_pull(task_ids="reconcile", key=VERDICT):
        raise AirflowSkipException("The reconciliation failed for another reason than a difference: see its error.")
    if context["params"]["candidate"] == CONTROL:
        raise AirflowSkipException("The control differs, as it should: there is nothing to repair.")


def judged_results(results: list[str] | None, candidate: str) -> list[str] | None:
    """The results by the names under which the candidate was judged: `team_scores@2`, where it is a version."""
    if not candidate.startswith("@"):
        return results
    return [f"{name}{candidate}" for name in results or RESULTS]


def has_a_landing(_context: Context) -> None:
    """Before ingestion: where no landing directory is named, the log is written by somebody else."""
    if not Variable.get("parity_landing", default=""):
        raise AirflowSkipException("The variable parity_landing is not set: nothing is ingested here.")


DEFAULTS: dict[str, Any] = {
    "owner": "data-platform",
    "retries": 2,
    "retry_delay": timedelta(seconds=30),
    "retry_exponential_backoff": True,
    "max_retry_delay": timedelta(minutes=10),
    "execution_timeout": timedelta(hours=2),
    "on_failure_callback": told_failure,
}
COMMON: dict[str, Any] = {
    "start_date": START,
    "catchup": False,
    "default_args": DEFAULTS,
    "render_template_as_native_obj": True,  # a list of results stays a list
    "dagrun_timeout": timedelta(hours=6),
}
QUICK: dict[str, Any] = {"retries": 1, "retry_delay": timedelta(seconds=5), "execution_timeout": timedelta(minutes=5)}
"""A task without Spark: what is wrong with its options is told at once."""


def results_param(description: str) -> Param:
    return Param(
        None,
        type=["null", "array"],
        title="Results",
        description=description,
        items={"type": "string", "enum": RESULTS},
        examples=RESULTS,
        uniqueItems=True,
    )


def one_result_param() -> Param:
    return Param("team_scores", type="string", title="Result", description="The result by its name.", enum=RESULTS)


def moment_param(title: str, description: str) -> Param:
    return Param(
        None,
        type=["null", "string"],
        format="date-time",  # shows the picker; it does not refuse anything by itself
        pattern=r"^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d))?$",
        title=title,
        description=f"{description} A time with its zone. Leave it empty for no bound.",
    )
