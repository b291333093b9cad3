"""Every result by its name."""

from collections.abc import Mapping
from datetime import timedelta

from .level_ups import level_ups
from .result import Result
from .team_scores import team_scores

RESULTS = {"team_scores": team_scores, "level_ups": level_ups}


def catalogue(windows: Mapping[str, Mapping[str, timedelta]] | None = None) -> dict[str, Result]:
    """The results, with the windows that the settings give; what they leave out has its own default."""
    given = windows or {}
    return {name: declare(**given.get(name, {})) for name, declare in RESULTS.items()}
