"""What seldom happens, and on every day: two things at one instant, a guest in another team, an offer shown again.

All of it comes from a generator of its own, and the rest of the day stays as it was: a coincidence takes the place of
something ordinary, whose choices are made nevertheless.
"""

import random
from collections import deque

from simulator.game.happening import Happening
from simulator.game.roster import LEAGUES, Player

AGAIN = 0.05
"""The share of offers that have been shown to the player before."""
REMEMBERED = 20
GUEST = 0.004
"""The share of pops with which a player helps out in another team."""
AT_ONCE = 0.05
"""Of the pops behind one of the same team: both are of one player and one instant. A thumb is quicker than the clock."""
MIND_CHANGED = 0.2
"""Of what follows a change of league: the player changes again in the same instant."""


class Coincidences:
    """Looks at what happens in the order of time, and lets some of it coincide with what was before."""

    def __init__(self, rng: random.Random, teams: list[str]) -> None:
        self._rng = rng
        self._teams = teams
        self._offers: deque[tuple[str, Player]] = deque(maxlen=REMEMBERED)
        self._before: Happening | None = None

    def offered(self, offer: str, player: Player) -> tuple[str, Player]:
        """The offer for the player, or one that was shown a while ago, to whom it was shown then."""
        if self._offers and self._rng.random() < AGAIN:
            return self._rng.choice(self._offers)
        self._offers.append((offer, player))
        return offer, player

    def befallen(self, happening: Happening) -> Happening:
        """What happens, perhaps as something that coincides."""
        if happening.kind == "bubbles_popped":
            happening = self._coinciding(happening)
        self._before = happening
        return happening

    def _coinciding(self, pop: Happening) -> Happening:
        before, dice = self._before, self._rng.random()
        assert pop.player is not None
        if before is not None and before.player is not None:
            if before.kind == "league_changed" and dice < MIND_CHANGED:
                other = self._rng.choice([league for league in LEAGUES if league != before.fields["league"]])
                turn = (pop.player, pop.at)
                return before._replace(
                    event_id=pop.event_id, fields={**before.fields, "league": other}, instead_of=turn
                )
            if before.kind == pop.kind and before.player.team == pop.player.team and dice < AT_ONCE:
                fields = {**pop.fields, "player_id": before.player.name}
                return pop._replace(player=before.player, fields=fields, at=before.at, instead_of=(pop.player, pop.at))
        others = [team for team in self._teams if team != pop.player.team]
        if others and dice > 1 - GUEST:
            return pop._replace(fields={**pop.fields, "team_id": self._rng.choice(others)})
        return pop
