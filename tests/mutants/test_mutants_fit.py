"""Each mutant of `make mutants` finds the line that it changes: one that has gone stale would prove nothing."""

from pathlib import Path

import pytest
from mutants import MUTANTS, Mutant
from table import BEGIN, END, row, rows_of, with_rows

PROJECT = Path(__file__).parents[2]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_changes_one_place_and_names_a_test_that_is_there(mutant: Mutant) -> None:
    assert (PROJECT / mutant.file).read_text().count(mutant.old) == 1
    assert mutant.old != mutant.new
    for test in mutant.tests.split():
        file, _, name = test.partition("::")
        assert (PROJECT / file).is_file()
        assert not name or f"def {name.partition('[')[0]}(" in (PROJECT / file).read_text()


DOCUMENT = f"""Before.

{BEGIN}
| Mutant | Noticed by | Seconds |
|---|---|---|
| kept | `a.py`: as it was | 3 |
| gone | `b.py`: of a mutant that is no more | 4 |
{END}

After.
"""


def test_the_table_has_a_row_for_each_mutant_and_keeps_what_did_not_run() -> None:
    found = {"new": row("new", "test_a.py::test_one_is_seen[3]", 12.4), "dead": row("dead", None, 1)}
    written = with_rows(DOCUMENT, ["kept", "new", "dead", "waiting"], found)
    assert written.splitlines() == [
        "Before.",
        "",
        BEGIN,
        "| Mutant | Noticed by | Seconds |",
        "|---|---|---|",
        "| kept | `a.py`: as it was | 3 |",
        "| new | `test_a.py`: one is seen | 12 |",
        "| dead | **nothing: it survives** | 1 |",
        "| waiting | not run | |",
        END,
        "",
        "After.",
    ]


def test_the_documented_table_is_of_these_mutants() -> None:
    rows = rows_of((PROJECT / "docs" / "laws.md").read_text())
    assert list(rows) == [mutant.name for mutant in MUTANTS]
