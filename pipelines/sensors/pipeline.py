"""What the sensors are, and which of their results stand for the others."""

from transformations.pipeline import Charted, Story

PIPELINE = Story(
    name="sensors",
    story="Sensors measure the temperature of rooms and move between them. Gateways go offline, deliver twice, and their clocks "
    "drift.",
    controlled=("sensor_means", "sensor_sessions"),
    charted=Charted("sensor_means", "reads"),
    killed=("room_hours", "sensor_means", "sensor_sessions"),  # of each way to stream and to tell a result
    live=("sensor_means", "room_hours"),
    simulator="simulator.sensors",
)
