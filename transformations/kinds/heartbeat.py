"""`heartbeat`: nothing happened, and time went on."""

from ..kind import Kind

KIND = Kind("heartbeat", "Moves the high-water mark in silence.")
