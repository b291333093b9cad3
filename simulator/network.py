"""The way from the phones to the server: delays, retries that deliver twice, contradictions and broken lines.

Which events are retried, contradicted or followed by a broken line is drawn before the first of them. So the
number of lines is known from the start, and files of equal size can be cut while the lines arrive.
"""

import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from simulator.lines import Record, as_line, event_id, timestamp
from simulator.malformed import BREAKAGES, Breaker
from simulator.phones import Phone
from simulator.play import Happening
from simulator.rhythm import HOUR, MINUTE

SLOWEST_CROSSING = 8_000
"""Far below the 30 s from which `received_at - sent_at` counts as a wrong clock."""
FIRST_RETRY = 10_000
"""Longer than the slowest crossing: a copy never overtakes the original."""
LATE = 5 * MINUTE


class Delivery(NamedTuple):
    """A line at the server's door; `counts` names the figures of `Delivered` that it adds to."""

    arrives: int
    line: str
    counts: tuple[str, ...]


class Network:
    """Carries `events` happenings of players, in the order of time, and the heartbeats between them."""

    def __init__(self, rng: random.Random, phones: Sequence[Phone], *, events: int) -> None:
        self._rng = rng
        self._phones = phones
        self._breaker = Breaker(rng)
        self._carried = self._owed = 0
        retried = rng.sample(range(events), round(events * 0.02))
        self._twice = frozenset(retried)
        self._thrice = frozenset(retried[: len(retried) // 6])
        # Only a pop can be contradicted: the next one is, and at the very end there might be none.
        self._contradicted = frozenset(rng.sample(range(events * 9 // 10), -(-(events // 100) // 100)))
        broken = max(round(events * 0.003), min(len(BREAKAGES), events // 100))
        self._broken = frozenset(rng.sample(range(events), broken))
        self.extra_lines = sum(map(len, (self._twice, self._thrice, self._contradicted, self._broken)))

    def carry(self, happening: Happening) -> Iterator[Delivery]:
        """All deliveries of one happening, the original first."""
        if happening.player is None:
            yield self._heartbeat(happening)
            return
        turn = self._carried
        self._carried += 1
        phone = self._phones[happening.player.number]
        sent = phone.sends(happening.at)
        crossing = self._crossing()
        record = self._dated(happening, phone, sent, sent + crossing)
        late = ("late",) if sent + crossing - happening.at > LATE else ()
        skewed = ("skewed",) if phone.clock_error else ()
        yield Delivery(sent + crossing, as_line(record), ("events", *late, *skewed))
        for _ in range((turn in self._twice) + (turn in self._thrice)):
            sent += self._retry_delay()
            yield self._copy(record, phone, sent, crossing, ("duplicates", *skewed))
        self._owed += turn in self._contradicted
        if self._owed and happening.kind == "bubbles_popped":
            self._owed -= 1
            other = record | {"bubbles": int(record["bubbles"]) + self._rng.randint(1, 5)}
            sent += self._retry_delay()
            yield self._copy(other, phone, sent, crossing, ("conflicting_copies", *skewed))
        if turn in self._broken:
            yield self._malformed(happening)

    def _heartbeat(self, happening: Happening) -> Delivery:
        now = timestamp(happening.at)
        record: Record = {"event_id": happening.event_id, "kind": happening.kind}
        line = as_line(record | {"occurred_at": now, "sent_at": now, "received_at": now})
        return Delivery(happening.at, line, ("events",))

    def _dated(self, happening: Happening, phone: Phone, sent: int, received: int) -> Record:
        """The record as it arrives: the phone's clock dates the first two times, the server's the third."""
        record: Record = {"event_id": happening.event_id, "kind": happening.kind, **happening.fields}
        record["occurred_at"] = timestamp(happening.at + phone.clock_error)
        # A wrong clock can be corrected only with both times: such phones are of a model that sends them.
        known = 1.0 if phone.clock_error else self._rng.random()
        if known > 0.007:
            record["sent_at"] = timestamp(sent + phone.clock_error)
        if not 0.004 < known < 0.011:
            record["received_at"] = timestamp(received)
        return record

    def _copy(self, record: Record, phone: Phone, sent: int, crossing: int, counts: tuple[str, ...]) -> Delivery:
        # The correction of a wrong clock contains the crossing: an equal one gives an equal event time.
        received = sent + (crossing if phone.clock_error else self._crossing())
        times = {"sent_at": timestamp(sent + phone.clock_error), "received_at": timestamp(received)}
        known = {field: time for field, time in times.items() if field in record}
        return Delivery(received, as_line(record | known), counts)

    def _malformed(self, happening: Happening) -> Delivery:
        """A broken line from a phone that is otherwise in order, about something that no other line tells."""
        assert happening.player is not None
        received = happening.at + self._crossing()
        line, future = self._breaker.broken(
            {
                "event_id": event_id(self._rng),
                "kind": "bubbles_popped",
                "player_id": happening.player.name,
                "team_id": happening.player.team,
                "bubbles": self._rng.randint(1, 20),
                "occurred_at": timestamp(happening.at),
                "sent_at": timestamp(happening.at),
                "received_at": timestamp(received),
            }
        )
        return Delivery(received, line, ("malformed", "future") if future else ("malformed",))

    def _crossing(self) -> int:
        """The time from phone to server: mostly below a second, at times some seconds."""
        slowness = self._rng.random()
        return 30 + int((SLOWEST_CROSSING - 30) * slowness * slowness * slowness * slowness)

    def _retry_delay(self) -> int:
        dice = self._rng.random()
        if dice < 0.5:
            return self._rng.randint(FIRST_RETRY, MINUTE)
        return self._rng.randint(MINUTE, 30 * MINUTE) if dice < 0.8 else self._rng.randint(HOUR, 6 * HOUR)
