"""A mobile game whose phones deliver late, twice, with wrong clocks and sometimes garbage."""

from simulator.game.day import simulate
from simulator.game.feed import feed

__all__ = ["feed", "simulate"]
