"""What a simulation delivered: the truth that the pipeline's own counts can be held against."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, kw_only=True)
class Delivered:
    """Every line is one of: an event's first delivery, an honest copy, a conflicting copy, a malformed line.

    So `lines == events + duplicates + conflicting_copies + malformed`; the other counts overlap with those.
    """

    files: int
    lines: int
    events: int
    """Distinct well-formed events, of all kinds."""
    duplicates: int
    """Honest copies: the same event again, sent and received later."""
    conflicting_copies: int
    """Copies that say something else than the event with their id, and come after it."""
    malformed: int
    """Lines that nobody should accept, those from the future among them."""
    skewed: int
    """Well-formed lines, copies included, from phones with a wrong clock."""
    late: int
    """Events whose first delivery came more than five minutes after they happened."""
    future: int
    """Malformed lines that are well-formed but for a time in the future."""

    @property
    def quarantined(self) -> int:
        """The lines that a strict reader puts aside: the malformed ones and the copies that contradict."""
        return self.malformed + self.conflicting_copies

    @classmethod
    def of(cls, counts: Mapping[str, int], *, files: int, lines: int) -> Self:
        """What was counted by the names that the deliveries give."""
        named = ("events", "duplicates", "conflicting_copies", "malformed", "skewed", "late", "future")
        return cls(files=files, lines=lines, **{name: counts.get(name, 0) for name in named})
