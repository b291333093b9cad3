"""The transformations as they were: the code that made a row, loaded from the lake beside the code of today."""

import importlib.util
import sys
import threading
from types import ModuleType

from lakehouse.lake import Lake
from transformations.result import Result

_LOADING = threading.Lock()
"""Results are judged side by side, and one that finds a package half loaded would load it a second time."""


def result_as_it_was(lake: Lake, result: Result, fingerprint: str) -> Result | None:
    """`result` as the code with this fingerprint defines it, or none if the lake does not keep that code."""
    with _LOADING:
        module = _load(lake, fingerprint)
    if module is None:
        return None
    declared = module.RESULTS.get(result.name)
    if declared is None:
        return None
    was: Result = declared(**result.window.durations)
    return was


def _load(lake: Lake, fingerprint: str) -> ModuleType | None:
    """The kept package under a name of its own; its modules import each other relatively, so nothing is mixed up."""
    name = f"transformations_{fingerprint}"
    if f"{name}.catalogue" in sys.modules:
        return sys.modules[f"{name}.catalogue"]
    source = lake.code(fingerprint)
    if not (source / "__init__.py").is_file():
        return None
    spec = importlib.util.spec_from_file_location(
        name, source / "__init__.py", submodule_search_locations=[str(source)]
    )
    assert spec is not None and spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    sys.modules[name] = package
    spec.loader.exec_module(package)
    return importlib.import_module(f"{name}.catalogue")
