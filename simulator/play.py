"""What happens: a slot of the day becomes a pop, an offer, a click, a change of league or a heartbeat."""

import heapq
import random
from typing import NamedTuple

from simulator.lines import Record, event_id
from simulator.rhythm import HOUR, MINUTE, SERVER, Slot
from simulator.roster import LEAGUES, Player, Roster

BUBBLES = [bubbles for bubbles in range(1, 21) for _ in range(21 - bubbles)]
"""1 to 20 bubbles in one pop, small numbers more often than large ones."""

SHOWN = 0.057
CHANGES_LEAGUE = 0.013
CLICKED = 0.4
CLICKED_AGAIN = 0.05
CORRECTION = 0.003
CORRECTION_AT_THE_END = 0.12
"""A referee takes bubbles back mostly in the last seconds of a match's minute: it undoes some level-ups."""
THE_END = 52_000


class Happening(NamedTuple):
    """An event as it truly happened, before a phone dates and delivers it."""

    event_id: str
    kind: str
    player: Player | None
    fields: Record
    at: int


class Play:
    """Turns slots into happenings. It remembers the offers that will be clicked and the players' leagues."""

    def __init__(self, rng: random.Random, roster: Roster) -> None:
        self._rng = rng
        self._roster = roster
        self._clicks: list[tuple[int, str, Player]] = []

    def happening(self, slot: Slot) -> Happening:
        """What happens at a slot. Slots must come in the order of time."""
        if slot.team == SERVER:
            return Happening(event_id(self._rng), "heartbeat", None, {}, slot.at)
        if self._clicks and self._clicks[0][0] <= slot.at and not slot.match:
            return self._click(slot.at)
        player = self._roster.playing(slot.team, slot.at)
        dice = 1.0 if slot.match else self._rng.random()
        if dice < SHOWN:
            return self._offer(player, slot.at)
        if dice < SHOWN + CHANGES_LEAGUE:
            return self._league(player, slot.at)
        return self._pop(player, slot)

    def _pop(self, player: Player, slot: Slot) -> Happening:
        rng = self._rng
        correction = CORRECTION_AT_THE_END if slot.match and slot.at % MINUTE >= THE_END else CORRECTION
        bubbles = -rng.randint(5, 30) if rng.random() < correction else rng.choice(BUBBLES)
        fields: Record = {"player_id": player.name, "team_id": player.team, "bubbles": bubbles}
        reaction = rng.random()
        if reaction < 0.96:  # the rest are older phones, which do not measure it
            fields["reaction_ms"] = 120 + int(900 * reaction * reaction)
        return Happening(event_id(rng), "bubbles_popped", player, fields, slot.at)

    def _offer(self, player: Player, at: int) -> Happening:
        offer = f"offer-{self._rng.getrandbits(48):012x}"
        if self._rng.random() < CLICKED:
            due = at + self._hesitation()
            heapq.heappush(self._clicks, (due, offer, player))
            if self._rng.random() < CLICKED_AGAIN:
                heapq.heappush(self._clicks, (due + self._rng.randint(1_000, 5 * MINUTE), offer, player))
        fields: Record = {"player_id": player.name, "offer_id": offer}
        return Happening(event_id(self._rng), "offer_shown", player, fields, at)

    def _hesitation(self) -> int:
        """From a minute to three hours between seeing an offer and clicking it."""
        dice = self._rng.random()
        if dice < 0.7:
            return self._rng.randint(MINUTE, 15 * MINUTE)
        return self._rng.randint(15 * MINUTE, HOUR) if dice < 0.9 else self._rng.randint(HOUR, 3 * HOUR)

    def _click(self, at: int) -> Happening:
        _, offer, player = heapq.heappop(self._clicks)
        fields: Record = {"player_id": player.name, "offer_id": offer}
        return Happening(event_id(self._rng), "offer_clicked", player, fields, at)

    def _league(self, player: Player, at: int) -> Happening:
        others = [league for league in (player.league - 1, player.league + 1) if 0 <= league < len(LEAGUES)]
        player.league = self._rng.choice(others)
        fields: Record = {"player_id": player.name, "league": LEAGUES[player.league]}
        return Happening(event_id(self._rng), "league_changed", player, fields, at)
