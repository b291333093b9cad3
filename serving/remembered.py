"""Answers that were given before. One of the same question about the same versions is the same, and is not computed again."""

import threading
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field

MOST_BYTES = 64 * 2**20


@dataclass(frozen=True)
class Body:
    """What is sent: the content with its type, and what the headers say of it."""

    content: bytes
    media_type: str
    headers: dict[str, str] = field(default_factory=dict)


class Remembered:
    """The answers that were asked for last, up to a bound of bytes."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._bodies: OrderedDict[Hashable, Body] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def get(self, question: Hashable) -> Body | None:
        with self._lock:
            body = self._bodies.get(question)
            if body is not None:
                self._bodies.move_to_end(question)
            return body

    def keep(self, question: Hashable, body: Body) -> None:
        with self._lock:
            if question in self._bodies or len(body.content) > self._most_bytes // 4:
                return
            self._bodies[question] = body
            self._bytes += len(body.content)
            while self._bytes > self._most_bytes:
                self._bytes -= len(self._bodies.popitem(last=False)[1].content)
