"""The pipelines: which folder is meant, and what its modules declare.

One of the project is a package below `pipelines`. A folder elsewhere becomes a package under a name of its own, so that two of
them do not mix.
"""

import sys
from functools import lru_cache
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType

import transformations
from lakehouse.errors import NoPipeline
from transformations.kinds import HEARTBEAT
from transformations.pipeline import Pipeline, Story

DEFAULT = "game"
"""The pipeline of a lake of which nothing else is said."""
PROJECT = Path(transformations.__file__).parents[1]
PIPELINES = PROJECT / "pipelines"
STORY = "pipeline.py"
"""The file that makes a folder a pipeline."""


def folder_of(path: str, *, base: Path | None = None) -> Path:
    """The folder that is meant by a name in the project, or by a path; a relative one is so to `base` (none: to here)."""
    if path.isidentifier() and (PIPELINES / path / STORY).is_file():
        return PIPELINES / path
    folder = ((base or Path()) / Path(path).expanduser()).resolve()
    return PIPELINES / folder.name if folder.parent == PIPELINES.resolve() else folder


def pipeline_at(path: str) -> Pipeline:
    """The pipeline of this name in the project, or in this folder."""
    folder = folder_of(path)
    if not (folder / STORY).is_file():
        known = ", ".join(sorted(each.parent.name for each in PIPELINES.glob(f"*/{STORY}"))) or "none"
        raise NoPipeline(
            f"There is no pipeline in {folder}: it has no {STORY}. Name a folder that has one, or one of the project: {known}."
        )
    return _loaded(folder)


def default_pipeline() -> Pipeline:
    return pipeline_at(DEFAULT)


def story_of(folder: Path) -> Story:
    """What the pipeline in a folder says of itself. Its results, which need Spark, are not imported."""
    story: Story = import_module(f"{_package(folder)}.pipeline").PIPELINE
    return story


@lru_cache
def _loaded(folder: Path) -> Pipeline:
    """What the modules of a folder declare. They are imported once in a process."""
    package = _package(folder)
    kinds = [module.KIND for module in _modules(package, "kinds").values()]
    return Pipeline(
        path=folder.name if folder.parent == PIPELINES else str(folder),
        folder=folder,
        story=story_of(folder),
        kinds=tuple(sorted([*kinds, HEARTBEAT], key=lambda kind: kind.name)),
        declared={name: getattr(module, name) for name, module in _modules(package, "results").items()},
    )


def _package(folder: Path) -> str:
    """The name under which the modules of the folder are imported."""
    if folder.parent == PIPELINES:
        return f"{PIPELINES.name}.{folder.name}"
    name = f"pipeline_{sha256(str(folder).encode()).hexdigest()[:12]}"
    if name not in sys.modules:
        made = ModuleType(name, f"The pipeline in {folder}.")
        made.__path__ = [str(folder)]
        sys.modules[name] = made
    return name


def _modules(package: str, part: str) -> dict[str, ModuleType]:
    """The modules of `kinds` or `results` by their names."""
    found = import_module(f"{package}.{part}")
    return {each.name: import_module(f"{package}.{part}.{each.name}") for each in iter_modules(found.__path__)}
