"""The way from the gateways to the server: delays, retries that deliver twice, contradictions, and lines of no use.

Which events are retried, contradicted or followed by such a line is drawn before the first of them. So the number of lines is
known from the start, and files of equal size can be cut while the lines arrive.
"""

import random
from collections.abc import Iterator, Sequence

from simulator.arrivals import Delivery
from simulator.lines import as_line, event_id, timestamp
from simulator.sensors.gateways import HOUR, MINUTE, Gateway
from simulator.sensors.happening import Happening, Record
from simulator.sensors.malformed import BREAKAGES, Breaker, of_no_sensor

SLOWEST_CROSSING = 6_000
"""Far below the 30 s from which `received_at - sent_at` counts as a wrong clock."""
TOLERATED = 30_000
LATE = 5 * MINUTE
READING = "temperature_read"


class Network:
    """Carries `events` happenings, in the order of time."""

    def __init__(self, rng: random.Random, gateways: Sequence[Gateway], *, events: int) -> None:
        self._rng = rng
        self._gateways = gateways
        self._breaker = Breaker(rng)
        self._carried = self._owed = 0
        retried = rng.sample(range(events), round(events * 0.03))
        self._twice = frozenset(retried)
        self._thrice = frozenset(retried[: len(retried) // 6])
        # Only a reading can be contradicted: the next one is, and at the very end there might be none.
        self._contradicted = frozenset(rng.sample(range(events * 9 // 10), -(-(events // 100) // 100)))
        broken = max(round(events * 0.003), min(len(BREAKAGES), events // 100))
        self._broken = frozenset(rng.sample(range(events), broken))
        self._of_no_sensor = frozenset(rng.sample(range(events), -(-events // 500)))
        extra = (self._twice, self._thrice, self._contradicted, self._broken, self._of_no_sensor)
        self.extra_lines = sum(map(len, extra))

    def carry(self, happening: Happening) -> Iterator[Delivery]:
        """All deliveries of one happening, the original first."""
        turn = self._carried
        self._carried += 1
        gateway, sent = self._sent(happening)
        error = gateway.error(happening.at) if gateway else 0
        record: Record = {"event_id": happening.event_id, "kind": happening.kind, **happening.fields}
        record["occurred_at"] = timestamp(happening.at + error)
        said = self._said(gateway)
        received = sent + self._crossing()
        late = ("late",) if received - happening.at > LATE else ()
        yield self._delivered(record, said, gateway, sent, received, ("events", *late))
        for _ in range((turn in self._twice) + (turn in self._thrice)):
            sent += self._retry_delay()
            yield self._delivered(record, said, gateway, sent, sent + self._crossing(), ("duplicates",))
        self._owed += turn in self._contradicted
        if self._owed and happening.kind == READING:
            self._owed -= 1
            other = record | {"temperature": self._rng.randint(1500, 2500) + 1000}
            sent += self._retry_delay()
            yield self._delivered(other, said, gateway, sent, sent + self._crossing(), ("conflicting_copies",))
        yield from self._of_no_use(turn, happening)

    def _sent(self, happening: Happening) -> tuple[Gateway | None, int]:
        """Who sends it and when: readings the gateway, moves somebody who has time for it at once or hours later."""
        if happening.sensor is None:
            return None, happening.at
        if happening.kind == READING:
            gateway = self._gateways[happening.sensor.gateway]
            return gateway, gateway.sends(happening.at)
        dice = self._rng.random()
        if dice < 0.5:
            return None, happening.at + self._rng.randint(100, 20_000)
        return None, happening.at + (
            self._rng.randint(MINUTE, HOUR) if dice < 0.8 else self._rng.randint(HOUR, 8 * HOUR)
        )

    def _said(self, gateway: Gateway | None) -> tuple[str, ...]:
        """The times that a line has. A wrong clock can be corrected only with both: such gateways send them always."""
        dice = 1.0 if gateway and gateway.drift else self._rng.random()
        return tuple(
            name for name, unsaid in (("sent_at", dice < 0.006), ("received_at", 0.003 < dice < 0.009)) if not unsaid
        )

    def _delivered(
        self,
        record: Record,
        said: Sequence[str],
        gateway: Gateway | None,
        sent: int,
        received: int,
        counts: tuple[str, ...],
    ) -> Delivery:
        """The gateway's clock dates what is sent, the server's what is received."""
        by_clock = sent + (gateway.error(sent) if gateway else 0)
        times: Record = {"sent_at": timestamp(by_clock), "received_at": timestamp(received)}
        skewed = ("skewed",) if abs(received - by_clock) > TOLERATED else ()
        return Delivery(received, as_line(record | {name: times[name] for name in said}), (*counts, *skewed))

    def _of_no_use(self, turn: int, happening: Happening) -> Iterator[Delivery]:
        """A reading that says no sensor, and a broken line: about something that no other line tells."""
        if turn in self._of_no_sensor:
            received = happening.at + self._crossing()
            yield Delivery(received, of_no_sensor(self._rng, self._other(happening.at, received)), ("malformed",))
        if turn in self._broken:
            received = happening.at + self._crossing()
            line, future = self._breaker.broken(self._other(happening.at, received))
            yield Delivery(received, line, ("malformed", "future") if future else ("malformed",))

    def _other(self, at: int, received: int) -> Record:
        return {
            "event_id": event_id(self._rng),
            "kind": READING,
            "sensor_id": f"sensor-{self._rng.randrange(9999):04d}",
            "temperature": self._rng.randint(170, 250) / 10,
            "occurred_at": timestamp(at),
            "sent_at": timestamp(at),
            "received_at": timestamp(received),
        }

    def _crossing(self) -> int:
        """The time from gateway to server: mostly far below a second, at times some seconds."""
        return 20 + int((SLOWEST_CROSSING - 20) * self._rng.random() ** 6)

    def _retry_delay(self) -> int:
        dice = self._rng.random()
        if dice < 0.6:
            return self._rng.randint(10_000, MINUTE)
        return self._rng.randint(MINUTE, 30 * MINUTE) if dice < 0.9 else self._rng.randint(HOUR, 6 * HOUR)
