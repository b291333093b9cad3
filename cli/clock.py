"""The clock of a command: the machine's, unless whoever calls the application gives it one, as its object.

CliRunner().invoke(app, ["quality", "--lake", "demo"], obj=lambda: datetime(2026, 3, 2, 5, tzinfo=UTC))
"""

import click

from lakehouse.clock import Clock, wall_clock


def command_clock() -> Clock:
    context = click.get_current_context(silent=True)
    given = None if context is None else context.obj
    return given if callable(given) else wall_clock
