"""Answers that were given before. One of the same question about the same versions is the same, and is not computed again."""

import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from sys import getsizeof

MOST_BYTES = 64 * 2**20
ENTRY = 240
"""The bytes of an answer beside its texts: objects, places in tables, and room that these keep for more. Measured: 130 to 172."""


@dataclass(frozen=True, slots=True)
class Body:
    """What is sent: the content with its type, and what the headers say of it."""

    content: bytes
    media_type: str
    headers: dict[str, str] = field(default_factory=dict)


class Remembered:
    """The answers that were asked for last, up to a bound of bytes of memory. A question is a digest: it holds nothing else."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._bodies: OrderedDict[bytes, Body] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def get(self, question: bytes) -> Body | None:
        with self._lock:
            body = self._bodies.get(question)
            if body is not None:
                self._bodies.move_to_end(question)
            return body

    def keep(self, question: bytes, body: Body) -> None:
        with self._lock:
            size = _held(question, body)
            if question in self._bodies or size > self._most_bytes // 4:
                return
            self._bodies[question] = body
            self._bytes += size
            while self._bytes > self._most_bytes:
                self._bytes -= _held(*self._bodies.popitem(last=False))


def _held(question: bytes, body: Body) -> int:
    """How much memory an answer takes; of a short one most of it is not the answer."""
    texts = (question, body.content, *body.headers.values())
    return ENTRY + getsizeof(body.headers) + sum(getsizeof(text) for text in texts)
