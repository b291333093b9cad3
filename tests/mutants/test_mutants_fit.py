"""Each mutant of `make mutants` finds the line that it changes: one that has gone stale would prove nothing."""

from pathlib import Path

import pytest
from mutants import MUTANTS, Mutant

PROJECT = Path(__file__).parents[2]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_changes_one_place_and_names_a_test_that_is_there(mutant: Mutant) -> None:
    assert (PROJECT / mutant.file).read_text().count(mutant.old) == 1
    assert mutant.old != mutant.new
    for test in mutant.tests.split():
        file, _, name = test.partition("::")
        assert (PROJECT / file).is_file()
        assert not name or f"def {name.partition('[')[0]}(" in (PROJECT / file).read_text()
