"""One writer at a time: locks that the operating system frees when their holder dies, however it dies.

On a local disk Delta's commit is a check and a rename, exclusive within one JVM only: two processes can lose a commit.
Whoever commits holds the lock. For a commit of Spark that is the JVM: after a SIGKILL of Python it may live on for a moment
and finish its commit, and until then nobody else may begin. Ingestion commits from Python, so Python holds its locks. Both
kinds are of the operating system's one kind, and exclude each other.
"""

import fcntl
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import IO

from pyspark.sql import SparkSession

from lakehouse.errors import AlreadyRunning

GRACE = timedelta(seconds=3)

# The operating system's lock belongs to the process: threads of one process need their own.
_threads: dict[Path, threading.Lock] = defaultdict(threading.Lock)


@contextmanager
def exclusive(spark: SparkSession, file: Path, *, wait: bool) -> Iterator[None]:
    """Let the JVM hold the lock on `file`. Without `wait`, a lock that somebody else holds is an error after a short grace."""
    with _one_thread(file, wait=wait) as file:
        channel = spark._jvm.java.io.RandomAccessFile(str(file), "rw").getChannel()  # type: ignore[union-attr]
        try:
            if wait:
                channel.lock()
            elif not _soon(lambda: channel.tryLock() is not None):
                raise _refusal(file)
            yield
        finally:
            channel.close()  # closing frees the lock


@contextmanager
def exclusive_here(file: Path, *, wait: bool) -> Iterator[None]:
    """Hold the lock on `file` in this process, which commits itself."""
    with _one_thread(file, wait=wait) as file, file.open("a") as held:
        # Not flock, which Java's locks do not see. Closing any descriptor of the file would free the lock; only
        # this function opens it, and for one thread at a time.
        if wait:
            fcntl.lockf(held, fcntl.LOCK_EX)
        elif not _soon(lambda: _locked_now(held)):
            raise _refusal(file)
        yield


@contextmanager
def _one_thread(file: Path, *, wait: bool) -> Iterator[Path]:
    file = file.resolve()
    if not _threads[file].acquire(blocking=wait):
        raise _refusal(file)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        yield file
    finally:
        _threads[file].release()


def _refusal(file: Path) -> AlreadyRunning:
    return AlreadyRunning(
        f"Another process is at work here: it holds {file.name} in {file.parent}. "
        "Wait for it or stop it; nothing was changed."
    )


def _locked_now(held: IO[str]) -> bool:
    try:
        fcntl.lockf(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _soon(locked: Callable[[], bool]) -> bool:
    """Whether the lock could be had within the grace: a JVM that was killed just now is not gone at once."""
    deadline = time.monotonic() + GRACE.total_seconds()
    while not locked():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True
