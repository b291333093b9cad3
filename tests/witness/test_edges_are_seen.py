"""The landing of edges is worth its lines: each rule of the witness, changed a little, gives another answer there.

The witness is changed as text, one rule at a time, and asked everything. No product code is involved: what differs from
the witness here differs from the product in test_witness_at_other_settings.py.
"""

from pathlib import Path

import pytest
from changed import CHANGES, SOURCE, everything
from edges import land_edges


@pytest.fixture(scope="module")
def landing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("edges")
    land_edges(found)
    return found


@pytest.fixture(scope="module")
def right(landing: Path) -> list[object]:
    return list(everything(landing, SOURCE))


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_a_rule_changes_an_answer(landing: Path, right: list[object], change: str) -> None:
    old, new = CHANGES[change]
    assert old in SOURCE, "the rule is written otherwise now"
    changed = everything(landing, SOURCE.replace(old, new))
    assert any(one != other for one, other in zip(changed, right, strict=True)), (
        "nothing in the landing of edges shows it"
    )
