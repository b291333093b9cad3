"""The tests of the DAGs, the operator and the pages, run where Airflow is; and their commands, parsed where `parity` is."""

import json
import os
import re
import subprocess
from datetime import timedelta
from pathlib import Path

import pytest
import typer
from short_lived import SHORT_LIVED

from cli.main import app
from lakehouse.settings import Batch

PROJECT = Path(__file__).parents[2]
INSIDE = Path(__file__).parent / "inside"
AIRFLOW = PROJECT / ".airflow" / "bin" / "python"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("airflow")


def environment(home: Path) -> dict[str, str]:
    """What Airflow has to know before it is imported."""
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith(("AIRFLOW", "PARITY_", "PYTEST"))},
        **SHORT_LIVED,
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__DAGS_FOLDER": str(PROJECT / "dags"),
        "AIRFLOW__CORE__PLUGINS_FOLDER": str(PROJECT / "infra" / "airflow" / "plugins"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": "tester:admin",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(home / "passwords.json"),
        "AIRFLOW__API_AUTH__JWT_SECRET": "only for tests, and as long as the sixty-four bytes that are asked for a signature",
        "AIRFLOW_VAR_PARITY_LAKE": str(home / "lake"),
        "AIRFLOW_VAR_PARITY_LANDING": str(home / "landing"),
        "PARITY_SPARK__COMPILER": "quick",
        "PARITY_SPARK__MASTER": "local[2]",
    }


@pytest.mark.parametrize("tests", sorted(file.name for file in INSIDE.glob("test_*.py")))
def test_inside_airflow_all_tests_pass(tests: str, home: Path) -> None:
    done = subprocess.run(
        [AIRFLOW, "-m", "pytest", "-q", "-rf", "-p", "no:cacheprovider", "--confcutdir", ".", tests],
        cwd=INSIDE, env=environment(home), capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-5_000:]


def test_the_report_reckons_with_the_schedule_that_the_batch_layer_has() -> None:
    scheduled = re.search(r'CronPartitionTimetable\("(.+?)"', (PROJECT / "dags" / "batch_recompute.py").read_text())
    assert scheduled is not None and scheduled[1] == "0 0 * * *" and Batch().every == timedelta(days=1)


def test_every_command_of_a_dag_is_one_that_could_be_typed(home: Path) -> None:
    """`test_integrity.py` has written them down, with what a form or a partition can fill in."""
    lines = json.loads((home / "commands.json").read_text())
    assert len(lines) > 40
    commands = typer.main.get_command(app)
    assert isinstance(commands, typer.core.TyperGroup)
    for _, name, *options in lines:
        commands.commands[name].make_context(name, options)  # raises where the real command would refuse
