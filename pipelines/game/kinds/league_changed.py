"""`league_changed`: from its event time on a player is in another league."""

from transformations.kind import Field, Kind

KIND = Kind(
    "league_changed",
    "A player is in this league from the event time on.",
    (Field("player_id", "text", personal=True), Field("league", "text")),
)
