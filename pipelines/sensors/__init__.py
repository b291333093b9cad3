"""Sensors that measure the temperature of rooms."""
