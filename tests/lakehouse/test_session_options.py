"""The options that a session is started with: which JVM suits which work, and that a user's own options count."""

from pathlib import Path
from typing import Any

import pytest

from cli.jobs import ingest
from lakehouse.session import CARRIER_JAVA, session_options
from lakehouse.settings import Spark

LOG = Path("spark.log")
HEAP, JAVA = "spark.driver.memory", "spark.driver.extraJavaOptions"


def test_a_carrier_compiles_little_and_has_less_heap() -> None:
    usual, carrier = (session_options(Spark(), log_file=LOG, carrier=each) for each in (False, True))
    assert (usual[HEAP], carrier[HEAP]) == ("2g", "1g")
    assert CARRIER_JAVA not in usual[JAVA] and CARRIER_JAVA in carrier[JAVA]
    assert carrier["spark.sql.codegen.wholeStage"] == "false" and "spark.sql.codegen.wholeStage" not in usual


def test_what_the_settings_name_counts_also_in_a_carrier() -> None:
    named = Spark(options={HEAP: "3g", "spark.buffer.pageSize": "8m"})
    carrier = session_options(named, log_file=LOG, carrier=True)
    assert (carrier[HEAP], carrier["spark.buffer.pageSize"]) == ("3g", "8m")


def test_ingestion_by_spark_starts_a_carrier(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[dict[str, Any]] = []

    class Started(BaseException):  # not an error of the command, which it would tell
        pass

    def start(_: Spark, **options: Any) -> None:
        started.append(options)
        raise Started

    monkeypatch.setenv("PARITY_INGESTION__ENGINE", "spark")
    monkeypatch.setattr("lakehouse.session.spark_session", start)
    (tmp_path / "landing").mkdir()
    with pytest.raises(Started):
        ingest(tmp_path / "lake", tmp_path / "landing")
    assert [options["carrier"] for options in started] == [True]
