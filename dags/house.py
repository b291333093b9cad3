"""What all DAGs share: where the lake is, what a careful task is, and how runs, results and intervals are named."""

import json
import os
import sys
import tomllib
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from airflow.sdk import Asset, Variable
from airflow.sdk.definitions.context import Context
from airflow.sdk.exceptions import AirflowSkipException

from parity_command import PROJECT

sys.path.append(str(PROJECT))  # for what the project says without Spark
from lakehouse.lake import is_lake, noted_pipeline
from lakehouse.pipelines import DEFAULT, folder_of, story_of
from transformations.durations import parse_duration

ON_LAKE = {"lake": "{{ var.value.parity_lake }}", "config": "{{ var.value.get('parity_config', '') }}"}
"""The options of every command: the lake, and the settings file if one is named."""
RUN = "{{ dag.dag_id }}.{{ run_id }}"
"""The name under which a run's reports are kept; the Parity page of the run finds them by it."""
PINNED = "{{ ti.xcom_pull(task_ids='pin')['log_version'] }}"
CONTROL = "legacy"
"""The candidate that has to differ."""
STREAM_POOL = "parity_stream"
"""Everything that a stream does goes through this pool of one place: two would meet at the lock of a result."""
REBUILT = timedelta(hours=12)
"""As long as a result may take that is computed from the start of the log."""
START = datetime(2000, 1, 1, tzinfo=UTC)
"""The floor of event time: a backfill can begin anywhere after it."""


def _settings_file() -> Path:
    """The settings file of the commands: the one that is named, else the one that they find where they start."""
    return PROJECT / (Variable.get("parity_config", default="") or "parity.toml")


def _settings() -> dict[str, Any]:
    file = _settings_file()
    return tomllib.loads(file.read_text()) if file.is_file() else {}


def _pipeline() -> Path:
    """The folder of the lake's pipeline; where there is no lake yet, of the one that it will be of."""
    lake = Variable.get("parity_lake", default="")
    if lake and is_lake(Path(lake)):
        return folder_of(noted_pipeline(Path(lake))["path"])
    if named := os.environ.get("PARITY_PIPELINE__PATH"):
        return folder_of(named, base=PROJECT)
    said = _settings().get("pipeline", {}).get("path", DEFAULT)
    return folder_of(said, base=_settings_file().resolve().parent)


PIPELINE = _pipeline()
# A result is a module of this name; importing them would need Spark, which Airflow's environment does not have.
# What the story is in, `pipeline.py`, may need no more than `transformations.pipeline`.
RESULTS = sorted(file.stem for file in (PIPELINE / "results").glob("[a-z]*.py"))
CHARTED = story_of(PIPELINE).charted
"""The result that stands for the others, with a column of it."""

# What an event of an asset says, it says of all that is in it. So batch has an asset for each result, because a run
# publishes them all; the stream and the verdict have one each, because a run may be about some of them.
EVENTS = Asset(name="events", uri="parity://events", group="parity")
KAPPA = Asset(name="kappa_results", uri="parity://kappa", group="parity")
BATCH = {name: Asset(name=f"batch_{name}", uri=f"parity://batch/{name}", group="parity") for name in RESULTS}
VERDICT = Asset(name="verdict", uri="parity://verdict", group="parity")


def nightly() -> timedelta:
    """How long after its end the day before is recomputed: by more than the allowed lateness of the settings.

    Two hours more, because a window over a join of an hour each needs that after the day's end. Whether the day is
    settled then, the mark says and not this clock: it only has to be late enough for an ordinary night.
    """
    allowed = os.environ.get("PARITY_LATENESS__ALLOWED") or _settings().get("lateness", {}).get("allowed", "5 minutes")
    return (parse_duration(allowed) + timedelta(hours=2, minutes=10)) % timedelta(days=1)


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
        file = reports / "failures.jsonl"
        torn = file.exists() and not file.read_bytes().endswith(
            b"\n"
        )  # by a full disk; this line is not to be lost with it
        with file.open("a") as kept:
            kept.write(("\n" if torn else "") + json.dumps(line) + "\n")


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
