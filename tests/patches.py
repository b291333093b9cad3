"""A function that a test puts in the place of another has to be called: else the test watches for nothing.

Code moves, and a patch of a name that nobody calls any more lets its test pass for ever. So every function that is given to
`MonkeyPatch.setattr` during a test is counted, and a test with one that was never called is an error.
"""

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any

import pytest


@contextmanager
def watched_patches() -> Iterator[set[str]]:
    """The names of the functions that were patched in here and not called yet."""
    unused: set[str] = set()
    honest = pytest.MonkeyPatch.setattr

    def setattr_and_watch(self: pytest.MonkeyPatch, *arguments: Any, **options: Any) -> None:
        *target, value = arguments
        if isinstance(value, FunctionType):
            name = ".".join(each if isinstance(each, str) else getattr(each, "__name__", str(each)) for each in target)
            unused.add(name)

            @functools.wraps(value)
            def counted(*args: Any, **kwargs: Any) -> Any:
                unused.discard(name)
                return value(*args, **kwargs)

            arguments = (*target, counted)
        honest(self, *arguments, **options)

    pytest.MonkeyPatch.setattr = setattr_and_watch  # type: ignore[method-assign, assignment]
    try:
        yield unused
    finally:
        pytest.MonkeyPatch.setattr = honest  # type: ignore[method-assign]
