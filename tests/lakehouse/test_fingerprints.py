"""Fingerprints: they change with the code and the window of a result, and with nothing else."""

import gc
import shutil
import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from lakehouse import fingerprint
from lakehouse.fingerprint import keep_code, parser_fingerprint, result_fingerprint
from lakehouse.lake import Lake
from transformations.results.level_ups import level_ups
from transformations.results.team_scores import team_scores


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the transformations that may be changed; fingerprints are of the copy."""
    copy = tmp_path / "transformations"
    shutil.copytree(fingerprint.SOURCE, copy)
    monkeypatch.setattr(fingerprint, "SOURCE", copy)
    return copy


def change(file: Path, before: str, after: str) -> None:
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after))


def test_a_fingerprint_is_short_and_the_same_every_time() -> None:
    assert result_fingerprint(team_scores()) == result_fingerprint(team_scores())
    assert len(result_fingerprint(team_scores())) == 12


@pytest.fixture
def _others_run_when_garbage_is_collected() -> Iterator[None]:
    """As with Py4J, whose finalizers talk to the JVM and let other threads run meanwhile."""

    def let_others_run(*_: object) -> None:
        time.sleep(0)

    gc.callbacks.append(let_others_run)
    yield
    gc.callbacks.remove(let_others_run)


@pytest.mark.usefixtures("_others_run_when_garbage_is_collected")
def test_two_streams_may_ask_at_once() -> None:
    """CPython 3.11 builds syntax trees with a counter that all threads share: used by two at once, it is a SystemError."""
    errors: list[BaseException] = []

    def ask() -> None:
        try:
            for _ in range(20):
                fingerprint._parsed.cache_clear()  # each has to parse
                result_fingerprint(team_scores())
        except SystemError as error:
            errors.append(error)

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_results_have_different_fingerprints() -> None:
    assert len({result_fingerprint(team_scores()), result_fingerprint(level_ups()), parser_fingerprint()}) == 3


def test_the_size_of_the_window_is_part_of_it() -> None:
    assert result_fingerprint(team_scores()) != result_fingerprint(team_scores(size=timedelta(minutes=2)))
    assert result_fingerprint(team_scores()) == result_fingerprint(team_scores(size=timedelta(seconds=60)))


def test_a_comment_or_a_line_break_changes_nothing(source: Path) -> None:
    before = result_fingerprint(team_scores()), parser_fingerprint()
    for file in source.rglob("*.py"):
        file.write_text("# a comment\n\n\n" + file.read_text() + "\n# another\n")
    assert (result_fingerprint(team_scores()), parser_fingerprint()) == before


def test_a_change_of_the_code_changes_it(source: Path) -> None:
    before, other = result_fingerprint(team_scores()), result_fingerprint(level_ups())
    change(source / "results" / "team_scores.py", 'F.sum("bubbles")', 'F.max("bubbles")')
    assert result_fingerprint(team_scores()) != before
    assert result_fingerprint(level_ups()) == other


@pytest.mark.parametrize(
    ("module", "before", "after"),
    [("windows", "F.pmod", "F.mod"), ("result", ".where(self.present)", ""), ("shape", "<= earlier", "< earlier")],
)
def test_a_change_of_what_a_result_imports_changes_it(source: Path, module: str, before: str, after: str) -> None:
    was = result_fingerprint(team_scores())
    change(source / f"{module}.py", before, after)
    assert result_fingerprint(team_scores()) != was


@pytest.mark.parametrize(
    ("module", "before", "after"),
    [
        ("lines/judge", "np.abs(error) >", "np.abs(error) >="),
        ("lines/sequence", "first & ~found[which]", "first"),
        ("lines/hashes", "sha256(key + event_id)", "sha256(event_id)"),
        ("kinds/league_changed", '"league"', '"liga"'),
    ],
)
def test_a_change_of_what_the_parser_imports_changes_the_parsers_alone(
    source: Path, module: str, before: str, after: str
) -> None:
    was, result = parser_fingerprint(), result_fingerprint(team_scores())
    change(source / f"{module}.py", before, after)
    assert parser_fingerprint() != was
    assert result_fingerprint(team_scores()) == result


def test_the_code_of_a_fingerprint_is_kept_once_and_never_changed(lake: Lake, source: Path) -> None:
    keep_code(lake, "abc")
    kept = lake.code("abc") / "results" / "team_scores.py"
    was = kept.read_text()
    assert was == (source / "results" / "team_scores.py").read_text()
    change(source / "results" / "team_scores.py", 'F.sum("bubbles")', 'F.max("bubbles")')
    keep_code(lake, "abc")
    assert kept.read_text() == was
    assert [path.name for path in (lake.path / "code").iterdir()] == ["abc"]


def test_a_copy_that_was_interrupted_is_made_anew(lake: Lake, source: Path) -> None:
    half = lake.path / "code" / ".abc"
    half.mkdir()
    (half / "leftover.py").touch()
    keep_code(lake, "abc")
    kept = {path.relative_to(lake.code("abc")) for path in lake.code("abc").rglob("*.py")}
    assert kept == {path.relative_to(source) for path in source.rglob("*.py")}
