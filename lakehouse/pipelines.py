"""The pipelines: which folder is meant, and what its modules declare.

One of the project is a package below `pipelines`. A folder elsewhere becomes a package under a name of its own, so that two of
them do not mix.
"""

import sys
from functools import lru_cache
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from traceback import extract_tb
from types import FunctionType, ModuleType
from typing import TypeVar

import transformations
from lakehouse.errors import BadPipeline, NoPipeline
from transformations.kind import Kind
from transformations.kinds import HEARTBEAT
from transformations.pipeline import Pipeline, Story

T = TypeVar("T")

DEFAULT = "game"
"""The pipeline of a lake of which nothing else is said."""
PROJECT = Path(transformations.__file__).parents[1]
PIPELINES = PROJECT / "pipelines"
STORY = "pipeline.py"
"""The file that makes a folder a pipeline."""
PARTS = ("kinds", "results")
"""The folders in it, with a module for each kind and each result."""


def folder_of(path: str, *, base: Path | None = None) -> Path:
    """The folder that is meant by a name in the project, or by a path; a relative one is so to `base` (none: to here)."""
    if path.isidentifier() and (PIPELINES / path / STORY).is_file():
        return PIPELINES / path
    folder = ((base or Path()) / Path(path).expanduser()).resolve()
    return PIPELINES / folder.name if folder.parent == PIPELINES.resolve() else folder


def pipeline_at(path: str) -> Pipeline:
    """The pipeline of this name in the project, or in this folder."""
    folder = folder_of(path)
    _refuse_missing(folder)
    return _loaded(folder)


def default_pipeline() -> Pipeline:
    return pipeline_at(DEFAULT)


def _refuse_missing(folder: Path) -> None:
    if not (folder / STORY).is_file():
        known = ", ".join(sorted(each.parent.name for each in PIPELINES.glob(f"*/{STORY}"))) or "none"
        raise NoPipeline(
            f"There is no pipeline in {folder}: it has no {STORY}. Name a folder that has one, or one of the project: {known}."
        )


def story_of(folder: Path) -> Story:
    """What the pipeline in a folder says of itself. Its results, which need Spark, are not imported."""
    _refuse_missing(folder)
    file = folder / STORY
    story = getattr(_imported(f"{package_of(folder)}.pipeline", file), "PIPELINE", None)
    if not isinstance(story, Story):
        raise BadPipeline(f"{file}:1: it declares no PIPELINE, which is a Story of transformations.pipeline.")
    return story


def module_of(pipeline: Pipeline, named: str, *, what: str) -> ModuleType:
    """A module that the story names as its simulator or its witness: one that Python finds, or one of the folder itself."""
    try:
        return import_module(named, package_of(pipeline.folder))
    except ImportError as error:
        raise BadPipeline(
            f"The {what} {named!r} of the pipeline {pipeline.name} cannot be imported: {error}. "
            f"{pipeline.folder / STORY} names it: a module that Python finds, or with a point before it one of the folder "
            f"itself, as in '.{what}'."
        ) from None


@lru_cache
def _loaded(folder: Path) -> Pipeline:
    """What the modules of a folder declare. They are imported once in a process."""
    from lakehouse.declarations import Declarations  # needs PySpark, which a scheduler's own environment does not have

    declared = Declarations(
        folder,
        story_of(folder),
        {name: _attribute(module, "KIND", Kind) for name, module in _modules(folder, "kinds").items()},
        {name: _attribute(module, name, FunctionType) for name, module in _modules(folder, "results").items()},
    )
    if mistakes := list(declared.complaints()):
        raise BadPipeline(f"The pipeline in {folder} cannot be used:\n  " + "\n  ".join(mistakes))
    return Pipeline(
        path=folder.name if folder.parent == PIPELINES else str(folder),
        folder=folder,
        story=declared.story,
        kinds=tuple(sorted([*declared.kinds.values(), HEARTBEAT], key=lambda kind: kind.name)),
        declared=declared.results,
    )


def package_of(folder: Path) -> str:
    """The name under which the modules of the folder are imported."""
    if folder.parent == PIPELINES:
        return f"{PIPELINES.name}.{folder.name}"
    name = f"pipeline_{sha256(str(folder).encode()).hexdigest()[:12]}"
    if name not in sys.modules:
        made = ModuleType(name, f"The pipeline in {folder}.")
        made.__path__ = [str(folder)]
        sys.modules[name] = made
    return name


def _modules(folder: Path, part: str) -> dict[str, ModuleType]:
    """The modules of `kinds` or `results` by their names."""
    files = sorted(file for file in (folder / part).glob("*.py") if not file.name.startswith("_"))
    package = package_of(folder)
    return {file.stem: _imported(f"{package}.{part}.{file.stem}", file) for file in files}


def _imported(name: str, file: Path) -> ModuleType:
    """A module, or where it fails: in the last of the folder's lines that were at work."""
    try:
        return import_module(name)
    except SyntaxError as error:
        raise BadPipeline(f"{error.filename or file}:{error.lineno or 1}: it is no Python: {error.msg}.") from None
    except Exception as error:
        home = str(file.parents[1] if file.parent.name in PARTS else file.parent)
        at = [frame for frame in extract_tb(error.__traceback__) if frame.filename.startswith(home)]
        place = f"{at[-1].filename}:{at[-1].lineno}" if at else f"{file}:1"
        raise BadPipeline(f"{place}: it cannot be imported: {type(error).__name__}: {error}.") from None


def _attribute(module: ModuleType, name: str, type_: type[T]) -> T:
    found = getattr(module, name, None)
    if not isinstance(found, type_):
        what = f"KIND, which is a {type_.__name__}" if name == "KIND" else f"function {name}, which gives the Result"
        raise BadPipeline(f"{module.__file__}:1: it declares no {what}.")
    return found
