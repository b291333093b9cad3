"""`bubbles_popped`: a player popped bubbles for the team; a correction has a negative number of them."""

from transformations.kind import Field, Kind

KIND = Kind(
    "bubbles_popped",
    "A player popped bubbles for a team. A correction is negative.",
    (
        Field("player_id", "text", personal=True),
        Field("team_id", "text"),
        Field("bubbles", "whole number"),
        Field("reaction_ms", "whole number", required=False),
    ),
)
