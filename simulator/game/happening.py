"""One thing that happens in the game, to a player or on the server."""

from typing import NamedTuple

from simulator.game.roster import Player
from simulator.lines import Record


class Happening(NamedTuple):
    """An event as it truly happened, before a phone dates and delivers it."""

    event_id: str
    kind: str
    player: Player | None
    fields: Record
    at: int
    instead_of: tuple[Player, int] | None = None
    """Whose turn it would have been and when, if this is a coincidence: the choices of the day are made for them."""
