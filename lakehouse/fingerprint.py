"""Fingerprints of code: which transformation made which row. The source itself is kept in the lake under its own.

A fingerprint covers a module of `transformations` and the modules of the package that it imports, by their syntax
trees: a comment or a line break changes nothing.
"""

import ast
import hashlib
import shutil
import tempfile
import threading
from functools import lru_cache
from pathlib import Path

import transformations
from lakehouse.lake import Lake
from transformations.catalogue import RESULTS
from transformations.result import Result

SOURCE = Path(transformations.__file__).parent
LENGTH = 12
_parsing = threading.Lock()  # Python 3.11 cannot parse in two threads at once, and streams run side by side


def result_fingerprint(result: Result) -> str:
    """The code that defines `result`, with the parameters of its window."""
    return _fingerprint(RESULTS[result.name].__module__, extra=repr(sorted(result.window.parameters.items())))


def parser_fingerprint() -> str:
    """The code that makes events of lines."""
    return _fingerprint(*(f"transformations.lines.{name}" for name in ("judge", "nameless", "hashes", "sequence")))


def keep_code(lake: Lake, fingerprint: str) -> None:
    """Keep the source of the transformations in the lake, so that a later reader can ask what this code computes."""
    kept = lake.code(fingerprint)
    if kept.exists():
        return
    draft = Path(tempfile.mkdtemp(prefix=".", dir=kept.parent))
    for file in SOURCE.rglob("*.py"):  # without their modes: everybody may read the project, and not what is in a lake
        copy = draft / file.relative_to(SOURCE)
        copy.parent.mkdir(exist_ok=True)
        shutil.copyfile(file, copy)
    try:
        draft.rename(kept)
    except OSError:  # another stream has kept the same code in the meantime
        shutil.rmtree(draft)


def _fingerprint(*modules: str, extra: str = "") -> str:
    with _parsing:
        files = sorted({file for module in modules for file in _with_imports(_file(module))})
        trees = [f"{file.relative_to(SOURCE)}\n{_parsed(file.read_text())[0]}" for file in files]
    return fingerprint_of("\n".join([*trees, extra]))


def fingerprint_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:LENGTH]


def _file(module: str) -> Path:
    return SOURCE.joinpath(*module.split(".")[1:]).with_suffix(".py")


def _with_imports(file: Path, known: frozenset[Path] = frozenset()) -> set[Path]:
    found = {file}
    for level, module in _parsed(file.read_text())[1]:
        for imported in _imported(file.parents[level - 1] / module):
            if imported not in known | found:
                found |= _with_imports(imported, known | frozenset(found))
    return found


@lru_cache(maxsize=256)
def _parsed(text: str) -> tuple[str, tuple[tuple[int, str], ...]]:
    """The syntax tree of a source as text, and what it imports of its package. A job asks a dozen times for the same ones."""
    tree = ast.parse(text)
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return ast.dump(tree), tuple((node.level, node.module) for node in imports if node.level and node.module)


def _imported(module: Path) -> list[Path]:
    """The file of a module; a package stands for every module that it finds in itself."""
    return sorted(module.glob("*.py")) if module.is_dir() else [module.with_suffix(".py")]
