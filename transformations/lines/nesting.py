"""How deep a line is nested, found without a parser: every parser ends somewhere, and each elsewhere."""

import re

LEVELS = 100
"""How deep a line may be nested, its own object counted."""

_ESCAPED = re.compile(r"\\.", re.DOTALL)
_TEXT = re.compile(r'"[^"]*"')
_OTHER = re.compile(r"[^\[\]{}]+")
_CLOSES = {"]": "[", "}": "{"}


def too_deep(line: str) -> bool:
    """Whether a pair of brackets has more than `LEVELS` levels, or more brackets than that are never closed.

    A bracket that does not fit what is open closes nothing, and nothing that is open there can be closed any more.
    """
    if line.count("[") + line.count("{") <= LEVELS:
        return False
    open_brackets: list[str] = []
    levels_within = [0]
    """For each open bracket, and for the line itself, the levels of what was closed in it so far."""
    never_closed = 0
    for bracket in _OTHER.sub("", _TEXT.sub("", _ESCAPED.sub("", line))):
        if bracket in "[{":
            open_brackets.append(bracket)
            levels_within.append(0)
        elif open_brackets and open_brackets[-1] == _CLOSES[bracket]:
            open_brackets.pop()
            levels = levels_within.pop() + 1
            if levels > LEVELS:
                return True
            levels_within[-1] = max(levels_within[-1], levels)
        else:
            never_closed += len(open_brackets)
            open_brackets, levels_within = [], [0]
    return never_closed + len(open_brackets) > LEVELS
