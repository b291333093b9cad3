"""Fingerprints of code: which transformation made which row. The source itself is kept in the lake under its own.

A fingerprint covers a module of the pipeline, or of `transformations`, and what it imports of both, by their syntax trees: a
comment or a line break changes nothing.

    LAKE/code/<fingerprint>/transformations   the package
    LAKE/code/<fingerprint>/pipeline          the pipeline's own modules, kinds and results
"""

import ast
import hashlib
import shutil
import tempfile
import threading
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import transformations
from lakehouse.lake import Lake
from lakehouse.pipelines import PARTS
from transformations.pipeline import Pipeline
from transformations.result import Result

SOURCE = Path(transformations.__file__).parent
LENGTH = 12
_parsing = threading.Lock()  # Python 3.11 cannot parse in two threads at once, and streams run side by side


class Import(NamedTuple):
    """What an import names: of a module, so many packages above the importing one (0: of all modules)."""

    level: int
    module: str
    names: tuple[str, ...]


def result_fingerprint(result: Result, pipeline: Pipeline) -> str:
    """The code that defines `result`, with the parameters of its window."""
    file = pipeline.folder / "results" / f"{result.name}.py"
    return _fingerprint([file], pipeline, extra=repr(sorted(result.window.parameters.items())))


def parser_fingerprint(pipeline: Pipeline) -> str:
    """The code that makes events of lines, and the kinds that it knows."""
    lines = [SOURCE / "lines" / f"{name}.py" for name in ("judge", "nameless", "hashes", "sequence")]
    return _fingerprint([*lines, *sorted((pipeline.folder / "kinds").glob("*.py"))], pipeline)


def keep_code(lake: Lake, fingerprint: str) -> None:
    """Keep the source of the transformations in the lake, so that a later reader can ask what this code computes."""
    kept = lake.code(fingerprint)
    if kept.exists():
        return
    draft = Path(tempfile.mkdtemp(prefix=".", dir=kept.parent))
    for file, name in _sources(lake.pipeline):
        copy = draft / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)  # without its mode: everybody may read the project, and not what is in a lake
    try:
        draft.rename(kept)
    except OSError:  # another stream has kept the same code in the meantime
        shutil.rmtree(draft)


def _sources(pipeline: Pipeline) -> Iterator[tuple[Path, str]]:
    """Every module that can have a say in a result, and what it is called in a lake.

    Of the pipeline's folder not what else is in it: a user may have put the lake there.
    """
    files = [*SOURCE.rglob("*.py"), *pipeline.folder.glob("*.py")]
    for part in PARTS:
        files += (pipeline.folder / part).rglob("*.py")
    yield from ((file, _name(file, pipeline)) for file in files)


def _name(file: Path, pipeline: Pipeline) -> str:
    if file.is_relative_to(SOURCE):
        return f"transformations/{file.relative_to(SOURCE)}"
    return f"pipeline/{file.relative_to(pipeline.folder)}"


def _fingerprint(begin: Iterable[Path], pipeline: Pipeline, *, extra: str = "") -> str:
    with _parsing:
        found: set[Path] = set()
        for file in begin:
            found |= _with_imports(file, frozenset(found))
        names = sorted((_name(file, pipeline), file) for file in found)
        trees = [f"{name}\n{_parsed(file.read_text())[0]}" for name, file in names]
    return fingerprint_of("\n".join([*trees, extra]))


def fingerprint_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:LENGTH]


def _with_imports(file: Path, known: frozenset[Path] = frozenset()) -> set[Path]:
    found = {file}
    for each in _parsed(file.read_text())[1]:
        for imported in _imported(file, each):
            if imported not in known | found:
                found |= _with_imports(imported, known | frozenset(found))
    return found


@lru_cache(maxsize=256)
def _parsed(text: str) -> tuple[str, tuple[Import, ...]]:
    """The syntax tree of a source as text, and what it imports. A job asks a dozen times for the same ones."""
    tree = ast.parse(text)
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            found.append(Import(node.level, node.module or "", tuple(each.name for each in node.names)))
        elif isinstance(node, ast.Import):
            found += [Import(0, each.name, ()) for each in node.names]
    return ast.dump(tree), tuple(found)


def _imported(file: Path, found: Import) -> list[Path]:
    """The files of a pipeline, or of `transformations`, that an import reads; a package stands for every module in it."""
    parts = found.module.split(".") if found.module else []
    if found.level:
        base = file.parents[found.level - 1]
    elif parts and parts[0] == SOURCE.name:
        base, parts = SOURCE, parts[1:]
    else:
        return []
    if parts:
        return _files(base.joinpath(*parts))
    return [each for name in found.names for each in _files(base / name)]


def _files(module: Path) -> list[Path]:
    if module.is_dir():
        return sorted(module.glob("*.py"))
    file = module.with_suffix(".py")
    return [file] if file.is_file() else []
