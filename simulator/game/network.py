"""The way from the phones to the server: delays, retries that deliver twice, contradictions and broken lines.

Which events are retried, contradicted or followed by a broken line is drawn before the first of them. So the
number of lines is known from the start, and files of equal size can be cut while the lines arrive.
"""

import random
from collections.abc import Iterator, Sequence
from functools import partial

from simulator.arrivals import Delivery
from simulator.game.happening import Happening
from simulator.game.malformed import BREAKAGES, Breaker
from simulator.game.oddities import Oddities, Said
from simulator.game.phones import Phone
from simulator.game.rhythm import HOUR, MINUTE
from simulator.game.roster import Player
from simulator.lines import Record, as_line, event_id, timestamp

SLOWEST_CROSSING = 8_000
"""Far below the 30 s from which `received_at - sent_at` counts as a wrong clock."""
FIRST_RETRY = 10_000
"""Longer than the slowest crossing: a copy overtakes its original only where an oddity makes that slower still."""
LATE = 5 * MINUTE
PROMPT = 2_000
"""What a phone sends so soon was not underground."""


class Network:
    """Carries `events` happenings of players, in the order of time, and the heartbeats between them."""

    def __init__(self, rng: random.Random, odd: random.Random, phones: Sequence[Phone], *, events: int) -> None:
        self._rng = rng
        self._oddities = Oddities(odd, events=events)
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
        phone, sent, drawn = self._sent(happening, happening.player)
        crossing = self._crossing()
        self._owed += turn in self._contradicted
        contradicted = self._owed > 0 and happening.kind == "bubbles_popped"
        sound = not phone.clock_error and sent - happening.at < PROMPT and not contradicted
        overtaken = turn in self._twice and sound and self._oddities.overtakes()
        if overtaken:
            crossing = self._oddities.slow_crossing()
        said = Said(happening.at + phone.clock_error, sent + phone.clock_error, sent + crossing)
        odd = self._oddities.told(turn, said, plain=sound and turn not in self._twice)
        record = self._dated(happening, said, complete=phone.clock_error != 0, drawn=drawn)
        copy = partial(self._copy, phone=phone, said=said, drawn=drawn)
        if odd is not None:
            record = {name: value for name, value in record.items() if name not in odd.fields} | odd.fields
        late = ("late",) if (odd.delay if odd else sent + crossing - happening.at) > LATE else ()
        skewed = ("skewed",) if phone.clock_error or (odd is not None and odd.is_skewed) else ()
        yield Delivery(sent + crossing, as_line(record), ("events", *late, *skewed))
        for number in range((turn in self._twice) + (turn in self._thrice)):
            delay = self._retry_delay()
            sent += FIRST_RETRY if overtaken and number == 0 else delay
            yield copy(record, sent, ("duplicates", *skewed))
        if contradicted:
            self._owed -= 1
            other = record | {"bubbles": int(record["bubbles"]) + self._rng.randint(1, 5)}
            sent += self._retry_delay()
            yield copy(other, sent, ("conflicting_copies", *skewed))
        if turn in self._broken:
            yield self._malformed(happening)

    def _sent(self, happening: Happening, player: Player) -> tuple[Phone, int, bool]:
        """The phone, when it sends, and whether the day draws for the line what it draws for those of right clocks."""
        phone = self._phones[player.number]
        ordinary, at = happening.instead_of or (player, happening.at)
        dealt = self._phones[ordinary.number]
        sent = dealt.sends(at)
        if happening.instead_of:
            sent = phone.sends_besides(happening.at, self._oddities.wait())
        return phone, sent, not dealt.clock_error

    def _heartbeat(self, happening: Happening) -> Delivery:
        now = timestamp(happening.at)
        record: Record = {"event_id": happening.event_id, "kind": happening.kind}
        line = as_line(record | {"occurred_at": now, "sent_at": now, "received_at": now})
        return Delivery(happening.at, line, ("events",))

    def _dated(self, happening: Happening, said: Said, *, complete: bool, drawn: bool) -> Record:
        """The record as it arrives: the phone's clock dates the first two times, the server's the third."""
        record: Record = {"event_id": happening.event_id, "kind": happening.kind, **happening.fields}
        record["occurred_at"] = timestamp(said.occurred)
        # A wrong clock can be corrected only with both times: such phones are of a model that sends them.
        dice = self._rng.random() if drawn else 1.0
        known = 1.0 if complete else dice
        if known > 0.007:
            record["sent_at"] = timestamp(said.sent)
        if not 0.004 < known < 0.011:
            record["received_at"] = timestamp(said.received)
        return record

    def _copy(
        self, record: Record, sent: int, counts: tuple[str, ...], *, phone: Phone, said: Said, drawn: bool
    ) -> Delivery:
        # The correction of a wrong clock contains the crossing: a copy with another one has another event time.
        first = said.received - said.sent + phone.clock_error
        again = self._crossing() if drawn else self._oddities.crossing_again(first, slowest=SLOWEST_CROSSING)
        received = sent + again
        times = {"sent_at": timestamp(sent + phone.clock_error), "received_at": timestamp(received)}
        if elsewhere := self._oddities.elsewhere(said.occurred):
            times["occurred_at"] = elsewhere
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
