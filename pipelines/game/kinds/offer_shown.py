"""`offer_shown`: an offer appeared on a player's screen."""

from transformations.kind import Field, Kind

KIND = Kind(
    "offer_shown",
    "An offer was shown to a player.",
    (Field("player_id", "text", personal=True), Field("offer_id", "text")),
)
