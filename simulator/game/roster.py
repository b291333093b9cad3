"""Who plays: the teams, their players, and who of them is holding a phone at the moment."""

import random
from dataclasses import dataclass

TEAMS = {"blue": 6, "red": 5, "green": 5, "amber": 4, "violet": 4}
"""The teams, with their share of what is played on an ordinary day."""

# fmt: off
NAMES = (
    "alice", "bob", "carol", "david", "erin", "frank", "grace", "heidi", "ivan", "judy", "kofi", "lena",
    "mallory", "nina", "oscar", "peggy", "quentin", "rosa", "sybil", "trent", "uma", "victor", "wendy",
    "xavier", "yara", "zoe",
)
# fmt: on

LEAGUES = ("bronze", "silver", "gold", "diamond")

SHIFT = 15 * 60_000
"""Players come and go every quarter of an hour: their events form sessions, with breaks between them."""


@dataclass(slots=True)
class Player:
    number: int
    name: str
    team: str
    league: int


class Roster:
    """All players, dealt to the teams in turn."""

    def __init__(self, rng: random.Random, *, players: int) -> None:
        self._rng = rng
        self.teams = list(TEAMS)[: min(players, len(TEAMS))]
        self._members: list[list[Player]] = [[] for _ in self.teams]
        for number in range(players):
            team = number % len(self.teams)
            league = rng.randrange(len(LEAGUES))
            self._members[team].append(Player(number, _name(number), self.teams[team], league))
        self._shift = -1
        self._playing: list[list[Player]] = []

    def playing(self, team: int, at: int) -> Player:
        """One of the team's players who are playing at that moment. Moments must not run backwards."""
        if at // SHIFT != self._shift:
            self._shift = at // SHIFT
            self._playing = [self._rng.sample(members, -(-len(members) // 3)) for members in self._members]
        return self._rng.choice(self._playing[team])


def _name(number: int) -> str:
    """alice, bob, ... zoe, alice2, bob2, ..."""
    again, name = divmod(number, len(NAMES))
    return f"{NAMES[name]}{again + 1}" if again else NAMES[name]
