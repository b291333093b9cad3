"""The scheduler of the week as a process: a JSON line on standard input asks, one on standard output answers.

    python serve.py 2026-03-02T00:00:00+00:00

Airflow gets its clock before anything of it is imported.
"""

import json
import os
import sys
import traceback
from datetime import datetime
from pathlib import Path

from moments import Clock, install

HOME = Path(os.environ["AIRFLOW_HOME"])
PREPARED = HOME / "prepared"


def main() -> None:
    clock = Clock(datetime.fromisoformat(sys.argv[1]))
    install(clock)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what Airflow prints is no answer
    sys.path.insert(0, os.environ["AIRFLOW__CORE__DAGS_FOLDER"])
    if not PREPARED.exists():
        _prepare()
    from scheduler import Scheduler

    scheduler = Scheduler(clock)
    _tell(answers, {"answer": "ready"})
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            _tell(answers, {"answer": getattr(scheduler, asked.pop("do"))(**asked)})
        except Exception:
            _tell(answers, {"error": traceback.format_exc()})


def _prepare() -> None:
    """What `infra/airflow/start.py` does at the first start."""
    from airflow.models.pool import Pool
    from airflow.utils.db import initdb
    from airflow.utils.session import create_session

    from house import STREAM_POOL

    initdb()
    with create_session() as session:
        Pool.create_or_update_pool(STREAM_POOL, slots=1, description="", include_deferred=False, session=session)
    PREPARED.touch()


def _tell(answers: object, what: dict[str, object]) -> None:
    answers.write(json.dumps(what, default=str) + "\n")  # type: ignore[attr-defined]
    answers.flush()  # type: ignore[attr-defined]


main()
