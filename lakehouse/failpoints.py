"""Places where a fault can be asked for: it strikes this process and its JVM, for real, at a known moment.

    PARITY_FAILPOINT=stream.appended:door_counts:2 parity stream …

kills the stream of `door_counts` after the sink's commit of micro-batch 2 and before Spark's commit log. Instead of the
number `*` is any. A word before it says what else is to happen: `stop@…` stops both processes as Ctrl-Z does, `full@…`
lets every later write fail as on a full disk. `PARITY_FAILPOINT=/path/to/file` names a file that says it, read at every
place, so that a process that runs for long can be struck later. The demo, the tests and `parity chaos` use it; without
the variable nothing happens.
"""

import os
import resource
import signal
import threading
from pathlib import Path
from typing import Literal

from pyspark.sql import SparkSession

from lakehouse.session import java_process

VARIABLE = "PARITY_FAILPOINT"
Place = Literal[
    "ingest.read",
    "ingest.written",
    "ingest.committed",
    "ingest.indexing",
    "ingest.appended",
    "stream.begun",
    "stream.computed",
    "stream.appended",
    "legacy.appended",
    "recompute.begun",
    "recompute.computed",
    "recompute.replaced",
    "replay.computed",
    "replay.appended",
    "restore.appended",
    "restore.copied",
]
ANY = "*"


def failpoint(spark: SparkSession | None, place: Place, what: str, number: int) -> None:
    """Be struck here if the environment asks for it. Without a session there is no JVM to be struck as well."""
    asked = _asked()
    if not asked:
        return
    action, _, where = asked.partition("@")
    if action not in _STRIKES:  # the name of a second log has the sign too
        action, where = "kill", asked
    if where in (f"{place}:{what}:{number}", f"{place}:{what}:{ANY}"):
        struck = [os.getpid()] if spark is None else [java_process(spark), os.getpid()]
        _STRIKES[action](struck)


def _asked() -> str:
    asked = os.environ.get(VARIABLE, "")
    if not asked.startswith("/"):
        return asked
    try:
        return Path(asked).read_text().strip()
    except FileNotFoundError:
        return ""


def _kill(processes: list[int]) -> None:
    for each in processes:
        os.kill(each, signal.SIGKILL)


def _stop(processes: list[int]) -> None:
    """The others first; then this one, by a signal to this very thread.

    One to the process may be taken by any thread: on a busy machine this one had committed before it stopped.
    """
    for each in processes:
        if each != os.getpid():
            os.kill(each, signal.SIGSTOP)
    signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)


def _full(processes: list[int]) -> None:
    """No file may grow any more. What is written fails with "File too large", in the JVM and here."""
    for each in processes:
        _, hard = resource.prlimit(each, resource.RLIMIT_FSIZE)
        resource.prlimit(each, resource.RLIMIT_FSIZE, (0, hard))


_STRIKES = {"kill": _kill, "stop": _stop, "full": _full}
