"""Apply each mutant to a copy of the project, run what has to notice it, and print which did. `make mutants` runs this.

    python tests/mutants/run.py [--write docs/laws.md] [words of a mutant's name ...]

The exit code is 1 if a mutant survives, or if its text is no longer there. The selected tests run once on the copy as it
is, because a test that fails anyway would notice everything. All run in one process, which keeps its JVM: starting one for
each would take longer than the tests. The copy is made anew for every mutant, and nothing is changed in place.
"""

import argparse
import contextlib
import io
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

import pytest
from mutants import MUTANTS, Mutant
from pyspark.sql import SparkSession
from table import row, write_rows

PROJECT = Path(__file__).parent.parent.parent
LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "notebooks", "docs", "demo", "live")
WIDTHS = (52, 62, 8)


def copy_of_the_project(where: Path) -> Path:
    shutil.copytree(PROJECT, where, ignore=LEFT_OUT)
    (where / ".jars").symlink_to(PROJECT / ".jars")
    return where


def forget(*roots: Path) -> None:
    """Forget the modules of the project, so that the next run imports those of its own copy."""
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None) or next(iter(getattr(module, "__path__", [])), "")
        if name not in ("__main__", "mutants", "table") and any(
            Path(file).is_relative_to(root) for root in roots if file
        ):
            del sys.modules[name]


def run(home: Path, mutant: Mutant) -> tuple[str | None, str]:
    """The first test that fails, or none, and what was printed."""
    os.chdir(home)
    os.environ["PYTHONPATH"] = str(home)
    os.environ["LAWS_RESULTS"] = mutant.results
    kept, said = list(sys.path), io.StringIO()
    sys.path[:0] = [str(home), str(home / "tests")]
    failed: list[str] = []

    class Watch:
        def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
            if report.failed:
                failed.append(report.nodeid.rpartition("/")[2])

    options = ["-x", "-q", "-o", "timeout_method=signal", "--timeout=400", "--rootdir", str(home)]
    chosen = ["-k", mutant.only] if mutant.only else []
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            code = pytest.main([*options, *chosen, *mutant.tests.split()], plugins=[Watch()])
    finally:
        sys.path[:] = kept
        os.chdir(PROJECT)
        forget(home)
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        raise SystemExit(f"{mutant.name}: pytest ended with {code!r}\n{said.getvalue()}")
    return (failed[0] if failed else None), said.getvalue()


def printed(*cells: str) -> None:
    line = " | ".join(cell.ljust(width) for cell, width in zip(cells, WIDTHS, strict=True))
    sys.stdout.write(f"| {line} |\n")
    sys.stdout.flush()


def main(words: list[str], document: Path | None = None) -> int:
    names = [mutant.name for mutant in MUTANTS]
    chosen = [mutant for mutant in MUTANTS if not words or any(word in mutant.name for word in words)]
    SparkSession.stop = lambda _self: None  # type: ignore[method-assign]
    unmutated: dict[tuple[str, str, str], str | None] = {}
    survivors = 0
    printed("mutant", "noticed by", "seconds")
    printed(*("-" * width for width in WIDTHS))
    with tempfile.TemporaryDirectory() as directory:
        for number, mutant in enumerate(chosen):
            what = (mutant.tests, mutant.results, mutant.only)
            if what not in unmutated:
                unmutated[what], said = run(copy_of_the_project(Path(directory) / f"as-it-is-{number}"), mutant)
                if unmutated[what]:
                    sys.stderr.write(f"{unmutated[what]} fails without a mutant:\n{said}\n")
            if unmutated[what]:
                survivors += 1
                printed(mutant.name, f"NOTHING: {unmutated[what]} fails without it", "")
                continue
            home = copy_of_the_project(Path(directory) / str(number))
            text = (home / mutant.file).read_text()
            if text.count(mutant.old) != 1:
                raise SystemExit(
                    f"{mutant.name}: its text stands {text.count(mutant.old)} times in {mutant.file}, not once"
                )
            (home / mutant.file).write_text(text.replace(mutant.old, mutant.new))
            begun = time.monotonic()
            noticed, _ = run(home, mutant)
            survivors += noticed is None
            seconds = time.monotonic() - begun
            printed(mutant.name, noticed or "NOTHING: it survives", f"{seconds:.0f}")
            if document is not None:
                write_rows(document, names, {mutant.name: row(mutant.name, noticed, seconds)})
            shutil.rmtree(home)
    sys.stdout.write(f"\n{len(chosen) - survivors} of {len(chosen)} noticed, {survivors} survive.\n")
    return int(survivors > 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("words", nargs="*", help="only mutants whose name has one of these")
    parser.add_argument("--write", type=Path, help="the document whose table of mutants follows, row by row")
    given = parser.parse_args()
    sys.exit(main(given.words, given.write and given.write.resolve()))
