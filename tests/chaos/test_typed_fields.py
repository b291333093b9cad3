"""The reader of chaos judges fields of every type as docs/landing-format.md says."""

from datetime import datetime
from typing import Any

import pytest
from typed_lines import FINER, KNOWN, OTHERS, OUTSIDE, kinds_of, line

from chaos.lines import event_of

NOW = 1_790_000_000_000
KINDS = {kind.name: kind for kind in kinds_of()}
REFUSED = {FINER, OUTSIDE, OTHERS, "string", "boolean", "array", "object", "decimal", "double", "bigint"}


def as_read(name: str, expected: Any) -> Any:
    if name == "seen_at" and expected is not None:
        return round(datetime.fromisoformat(expected).timestamp() * 1000)
    return tuple(expected) if isinstance(expected, list) else expected


@pytest.mark.parametrize(("name", "text", "expected"), KNOWN, ids=[f"{name} {text[:30]}" for name, text, _ in KNOWN])
def test_a_value_is_read_or_the_line_is_none(name: str, text: str, expected: Any) -> None:
    event = event_of(line(**{name: text}), KINDS, now=NOW)
    if isinstance(expected, str) and expected in REFUSED:
        assert event is None
    else:
        assert event is not None and event.fields.get(name) == as_read(name, expected)


def test_numbers_that_are_written_otherwise_are_one_content() -> None:
    contents = {
        event.content for text in ("1.1", "1.10", "11e-1") if (event := event_of(line(level=text), KINDS, now=NOW))
    }
    assert len(contents) == 1
