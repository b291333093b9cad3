"""`door_opened`: somebody opened a door."""

from transformations.kind import Field, Kind

KIND = Kind(
    "door_opened",
    "Somebody opened a door.",
    (Field("door_id", "text"), Field("badge", "text", required=False, personal=True)),
)
