"""Airflow's clock, with the time as an input: what it reads in Python, and what its queries ask the database for."""

import datetime as dt
import importlib
import sqlite3
from types import SimpleNamespace
from typing import Any

READERS = ("airflow._shared.timezones.timezone", "airflow.sdk._shared.timezones.timezone")
RUNNERS = ("airflow.sdk.execution_time.task_runner", "airflow.sdk.execution_time.supervisor")
TICK = dt.timedelta(microseconds=1)


class Clock:
    """Stands still but for a microsecond a reading, so that no two readings are the same."""

    def __init__(self, moment: dt.datetime) -> None:
        self.moment = moment

    def set(self, moment: dt.datetime) -> None:
        self.moment = max(moment, self.moment)

    def read(self) -> dt.datetime:
        self.moment += TICK
        return self.moment


class _Like(type):
    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, dt.datetime)


def install(clock: Clock) -> None:
    """From now on Airflow, in this process, knows no other time."""
    from sqlalchemy import event
    from sqlalchemy.engine import Engine
    from sqlalchemy.ext.compiler import compiles
    from sqlalchemy.sql.functions import now

    class Told(dt.datetime, metaclass=_Like):
        @classmethod
        def now(cls, tz: dt.tzinfo | None = None) -> Any:
            return clock.read().astimezone(tz) if tz else clock.read().replace(tzinfo=None)

    told = SimpleNamespace(**{**vars(dt), "datetime": Told})
    for name in READERS:
        importlib.import_module(name).dt = told  # type: ignore[attr-defined]
    for name in RUNNERS:
        importlib.import_module(name).datetime = Told  # type: ignore[attr-defined]

    compiles(now, "sqlite")(lambda *_, **__: "the_moment()")

    @event.listens_for(Engine, "connect")
    def _connected(connection: Any, _record: Any) -> None:
        if isinstance(connection, sqlite3.Connection) or hasattr(connection, "create_function"):
            connection.create_function("the_moment", 0, lambda: f"{clock.moment:%Y-%m-%d %H:%M:%S.%f}")
