"""A fleet of sensors whose gateways go offline, deliver twice and have clocks that drift; some readings are of no sensor."""

from simulator.sensors.day import simulate
from simulator.sensors.feed import feed

__all__ = ["feed", "simulate"]
