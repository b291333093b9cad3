"""`temperature_read`: a sensor measured a temperature, in degrees Celsius."""

from transformations.kind import Decimal, Field, Kind

KIND = Kind(
    "temperature_read",
    "A sensor measured a temperature, in degrees Celsius.",
    (Field("sensor_id", "text"), Field("temperature", Decimal(scale=2))),
)
