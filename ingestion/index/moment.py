"""Named moments of a put: a test strikes the process there. In production nobody listens."""

from collections.abc import Callable
from typing import Literal

Name = Literal[
    "run.begun",
    "run.half",
    "run.written",
    "merge.slice",
    "merge.finished",
    "state.drafted",
    "state.replaced",
    "run.removed",
]
Moment = Callable[[Name], None]


def unwatched(_: Name) -> None:
    return None
