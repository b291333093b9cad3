"""`offer_clicked`: a player clicked an offer."""

from transformations.kind import Field, Kind

KIND = Kind(
    "offer_clicked",
    "A player clicked an offer.",
    (Field("player_id", "text", personal=True), Field("offer_id", "text")),
)
