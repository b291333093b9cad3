"""What happens: a slot of the day becomes a pop, an offer, a click, a change of league or a heartbeat."""

import heapq
import random
from itertools import count
from typing import NamedTuple

from simulator.game.coincidences import Coincidences
from simulator.game.happening import Happening
from simulator.game.rhythm import HOUR, MINUTE, SERVER, Slot
from simulator.game.roster import LEAGUES, Player, Roster
from simulator.lines import Record, event_id

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


class _Click(NamedTuple):
    """A click that is to come, and to whom it would have been if its offer had not been shown before."""

    offer: str
    player: Player
    instead_of: Player


class Play:
    """Turns slots into happenings. It remembers the offers that will be clicked and the players' leagues."""

    def __init__(self, rng: random.Random, roster: Roster, coincidences: Coincidences) -> None:
        self._rng = rng
        self._roster = roster
        self._coincidences = coincidences
        self._clicks: list[tuple[int, int, _Click]] = []
        self._number = count()

    def happening(self, slot: Slot) -> Happening:
        """What happens at a slot, or at the instant of what happened before it. Slots must come in the order of time."""
        return self._coincidences.befallen(self._ordinary(slot))

    def _ordinary(self, slot: Slot) -> Happening:
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
        dealt = player
        offer, player = self._coincidences.offered(f"offer-{self._rng.getrandbits(48):012x}", player)
        if self._rng.random() < CLICKED:
            due = at + self._hesitation()
            click = _Click(offer, player, dealt)
            heapq.heappush(self._clicks, (due, next(self._number), click))
            if self._rng.random() < CLICKED_AGAIN:
                again = due + self._rng.randint(1_000, 5 * MINUTE)
                heapq.heappush(self._clicks, (again, next(self._number), click))
        fields: Record = {"player_id": player.name, "offer_id": offer}
        instead_of = None if player is dealt else (dealt, at)
        return Happening(event_id(self._rng), "offer_shown", player, fields, at, instead_of)

    def _hesitation(self) -> int:
        """From a minute to three hours between seeing an offer and clicking it."""
        dice = self._rng.random()
        if dice < 0.7:
            return self._rng.randint(MINUTE, 15 * MINUTE)
        return self._rng.randint(15 * MINUTE, HOUR) if dice < 0.9 else self._rng.randint(HOUR, 3 * HOUR)

    def _click(self, at: int) -> Happening:
        _, _, (offer, player, dealt) = heapq.heappop(self._clicks)
        fields: Record = {"player_id": player.name, "offer_id": offer}
        instead_of = None if player is dealt else (dealt, at)
        return Happening(event_id(self._rng), "offer_clicked", player, fields, at, instead_of)

    def _league(self, player: Player, at: int) -> Happening:
        others = [league for league in (player.league - 1, player.league + 1) if 0 <= league < len(LEAGUES)]
        player.league = self._rng.choice(others)
        fields: Record = {"player_id": player.name, "league": LEAGUES[player.league]}
        return Happening(event_id(self._rng), "league_changed", player, fields, at)
