"""The outside world: a mobile game whose phones deliver late, twice, with wrong clocks and sometimes garbage.

It only writes landing files (docs/landing-format.md), knows nothing of the pipeline, and shares no code.
"""

from simulator.delivered import Delivered
from simulator.feed import feed
from simulator.game import simulate
from simulator.landing import LandingNotEmpty

__all__ = ["Delivered", "LandingNotEmpty", "feed", "simulate"]
