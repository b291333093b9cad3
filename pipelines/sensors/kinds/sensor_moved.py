"""`sensor_moved`: a sensor was put into a room, where it is from then on."""

from transformations.kind import Field, Kind

KIND = Kind(
    "sensor_moved",
    "A sensor was put into a room.",
    (Field("sensor_id", "text"), Field("room_id", "text")),
)
