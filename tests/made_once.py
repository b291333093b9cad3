"""What several workers need and one makes: the first to come makes it, the others wait for it."""

import fcntl
from collections.abc import Callable
from pathlib import Path

import pytest


def made_once(factory: pytest.TempPathFactory, worker: str, name: str, make: Callable[[Path], object]) -> Path:
    """The directory of this name that all workers share, after `make` has filled it, once."""
    base = factory.getbasetemp()
    shared = (base if worker == "master" else base.parent) / name
    shared.mkdir(exist_ok=True)
    with (shared / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (shared / "made").exists():
            make(shared)
            (shared / "made").touch()
    return shared
