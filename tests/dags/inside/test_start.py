"""`make airflow`: its components know what it sets and what is allowed of the caller's environment, and nothing else."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[3] / "infra" / "airflow"))

from airflow.api_fastapi.core_api.datamodels.monitor import HealthInfoResponse

from components import COMMANDS, HEALTH
from start import settings

OTHERS = {
    "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "True",
    "AIRFLOW__CORE__AUTH_MANAGER_CMD": "echo other",
    "AIRFLOW__CORE__FERNET_KEY_SECRET": "vault",
    "AIRFLOW__API__SSL_CERT": "/tmp/other.pem",
    "AIRFLOW__API__ACCESS_CONTROL_ALLOW_ORIGINS": "*",
    "AIRFLOW__SECRETS__BACKEND": "other.Backend",
    "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN_CMD": "echo other",
    "AIRFLOW_CONFIG": "/tmp/airflow.cfg",
    "AIRFLOW_CONN_OTHER": "http://somewhere",
    "AIRFLOW_VAR_PARITY_OTHER": "1",
    "_AIRFLOW_PATCH_GEVENT": "1",
    "airflow__core__load_examples": "True",
    "PYTHONPATH": "/tmp/with/airflow_local_settings",
    "PYTHONSTARTUP": "/tmp/other.py",
    "WEB_CONCURRENCY": "9",
    "FORWARDED_ALLOW_IPS": "*",
}


def test_no_variable_of_another_airflow_comes_along(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", raising=False)
    before = settings(tmp_path, lake=tmp_path, landing=None, port=1)
    for name, value in OTHERS.items():
        monkeypatch.setenv(name, value)
    after = settings(tmp_path, lake=tmp_path, landing=None, port=1)
    assert set(after) == set(before)
    assert {name for name in after if after[name] != before[name]} <= {  # made anew with each start
        "AIRFLOW__API__SECRET_KEY", "AIRFLOW__API_AUTH__JWT_SECRET",
    }  # fmt: skip


@pytest.mark.parametrize(
    "name",
    ["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", "PARITY_LATENESS__ALLOWED", "JAVA_HOME", "LANG", "LC_ALL", "PGPASSWORD"],
)
def test_what_is_allowed_comes_along(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str) -> None:
    monkeypatch.setenv(name, "mine")
    assert settings(tmp_path, lake=tmp_path, landing=None, port=1)[name] == "mine"


def test_what_it_sets_itself_cannot_be_set_otherwise(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in settings(tmp_path, lake=tmp_path, landing=None, port=1):
        if name.startswith("AIRFLOW") and name != "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN":
            monkeypatch.setenv(name, "other")
    assert "other" not in settings(tmp_path, lake=tmp_path, landing=None, port=1).values()


def test_everything_runs_that_the_home_page_shows_the_health_of() -> None:
    assert set(HEALTH.values()) == set(HealthInfoResponse.model_fields)
    assert set(HEALTH) == set(COMMANDS)


def test_a_settings_file_is_named_to_the_dags(tmp_path: Path) -> None:
    file = tmp_path / "parity.toml"
    assert settings(tmp_path, lake=tmp_path, landing=None, config=file, port=1)["AIRFLOW_VAR_PARITY_CONFIG"] == str(
        file
    )
    assert settings(tmp_path, lake=tmp_path, landing=None, port=1)["AIRFLOW_VAR_PARITY_CONFIG"] == ""
