"""Every result by its name: one module of `results` each, with a function of the same name that declares it."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from importlib import import_module
from pkgutil import iter_modules

from . import results
from .result import Result

Declare = Callable[..., Result]
RESULTS: dict[str, Declare] = {
    module.name: getattr(import_module(f".{module.name}", results.__name__), module.name)
    for module in iter_modules(results.__path__)
}


def catalogue(windows: Mapping[str, Mapping[str, timedelta]] | None = None) -> dict[str, Result]:
    """The results, with the durations that the settings give; what they leave out has its own default."""
    given = windows or {}
    return {name: declare(**given.get(name, {})) for name, declare in RESULTS.items()}
