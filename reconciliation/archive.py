"""The transformations as they were: the code that made a row, loaded from the lake beside the code of today.

The modules of `transformations` import each other relatively, so under a name of their own nothing is mixed up. Those of the
pipeline import `transformations` by its name: in the code that was kept, that is the package which was kept with them.
"""

import ast
import sys
import threading
from functools import partial
from importlib import import_module
from importlib.machinery import SOURCE_SUFFIXES, FileFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from lakehouse.lake import Lake
from transformations.result import Result

_LOADING = threading.Lock()
"""Results are judged side by side, and one that finds a package half loaded would load it a second time."""
_MEANT = "transformations"


def result_as_it_was(lake: Lake, result: Result, fingerprint: str) -> Result | None:
    """`result` as the code with this fingerprint defines it, or none if the lake does not keep that code."""
    source = lake.code(fingerprint)
    if not (source / "pipeline" / "results" / f"{result.name}.py").is_file():
        return None
    with _LOADING:
        module = import_module(f"{_package(source, fingerprint)}.pipeline.results.{result.name}")
    was: Result = getattr(module, result.name)(**result.window.durations)
    return was


def _package(source: Path, fingerprint: str) -> str:
    """The name under which kept code is imported."""
    name = f"kept_{fingerprint}"
    if name not in sys.modules:
        for folder in (source, *(each for each in source.rglob("*") if each.is_dir())):
            loader = (partial(_Kept, package=name), SOURCE_SUFFIXES)
            sys.path_importer_cache[str(folder)] = FileFinder(str(folder), loader)  # type: ignore[arg-type]
        made = ModuleType(name, f"The code {fingerprint}.")
        made.__path__ = [str(source)]
        sys.modules[name] = made
    return name


class _Kept(SourceFileLoader):
    """A module of kept code. It leaves no compiled file behind: the lake is read only here."""

    def __init__(self, fullname: str, path: str, *, package: str) -> None:
        super().__init__(fullname, path)
        self._package = package

    def path_stats(self, path: str) -> Any:
        raise OSError(f"{path} is not compiled")

    def source_to_code(  # type: ignore[override]
        self, data: Any, path: Any, *, _optimize: int = -1
    ) -> CodeType:
        tree = _Renamed(self._package).visit(ast.parse(data, str(path)))
        code: CodeType = compile(tree, str(path), "exec", dont_inherit=True, optimize=_optimize)
        return code


class _Renamed(ast.NodeTransformer):
    """Imports of `transformations` as imports of the package that was kept."""

    def __init__(self, package: str) -> None:
        self._package = package

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.ImportFrom:
        if not node.level and node.module is not None and _is_meant(node.module):
            node.module = f"{self._package}.{node.module}"
        return node

    def visit_Import(self, node: ast.Import) -> list[ast.stmt]:
        found: list[ast.stmt] = [node]
        for each in node.names:
            if _is_meant(each.name):
                if each.asname is None:  # the name that is bound is the first part, whichever module is meant
                    bound = ast.ImportFrom(self._package, [ast.alias(_MEANT)], 0)
                    found.append(ast.copy_location(bound, node))
                each.name = f"{self._package}.{each.name}"
        return [ast.fix_missing_locations(each) for each in found]


def _is_meant(module: str) -> bool:
    return module.partition(".")[0] == _MEANT
