"""Values of the data on a terminal: an id may be anything, also what a terminal would obey, or markup of Rich's.

And the terminal itself, for what is said while standard error is somebody else's.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape


def spelt(text: str) -> str:
    """The text with everything that cannot be printed spelt out, as `\\x1b`; line breaks and tabs stay."""
    return "".join(
        sign if sign.isprintable() or sign in "\n\t" else sign.encode("unicode_escape", "surrogatepass").decode()
        for sign in text
    )


def plain(value: object) -> str:
    """A value as text between markup: what is in it is neither obeyed nor rendered."""
    return escape(spelt(str(value)).replace("\n", "\\n").replace("\t", "\\t"))


@contextmanager
def apart(console: Console) -> Iterator[None]:
    """Let a console on standard error have a number of its own for it: while Spark starts, 2 is Spark's log file."""
    usual = sys.__stderr__
    if usual is None or sys.stderr is not usual:  # closed, or a test's
        yield
        return
    with os.fdopen(os.dup(2), "w", encoding=usual.encoding, errors=usual.errors) as own:
        before, console._file = console._file, own
        try:
            yield
        finally:
            console._file = before
