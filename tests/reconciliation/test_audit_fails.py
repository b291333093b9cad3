"""The input audit can fail: rows of the log that are gone, added, moved or there twice, and landing files that are not there.

What is struck is the log alone, in hours that no team's score knows. Both layers have their answers already, and they agree:
nothing but the audit sees it.
"""

import os
import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from corrupted import Rows, copied, corrupt
from game import catalogue
from pyspark.sql import SparkSession
from typed import parity

from lakehouse.arrivals import ARRIVALS
from lakehouse.lake import Lake
from lakehouse.landings import manifests
from lakehouse.settings import load_settings
from reconciliation.reconcile import reconcile
from reconciliation.sentences import agreement
from reconciliation.verdict import Verdict

FAR = timedelta(hours=4)
STRUCK = {("event", "event"), ("duplicate", "copied"), ("quarantined", None)}
"""One row of each fate: of the hours from 11:00, 12:00 and 13:00. In the second one the event of the copy is as well."""


def moved(row: dict[str, Any]) -> dict[str, Any]:
    """Four hours later. Of a quarantined line the bytes say when it occurred."""
    if row["fate"] == "quarantined":
        return {**row, "raw": row["raw"].replace(b"T13:", b"T17:")}
    return {**row, "occurred_at": row["occurred_at"] + FAR}


STRIKES: dict[str, tuple[Callable[[dict[str, Any]], Rows], dict[int, tuple[int, int]]]] = {
    "deleted": (lambda _: [], {11: (1, 0), 12: (2, 1), 13: (1, 0)}),
    "added": (lambda row: [row, moved(row)], {15: (0, 1), 16: (0, 1), 17: (0, 1)}),
    "moved": (lambda row: [moved(row)], {11: (1, 0), 12: (2, 1), 13: (1, 0), 15: (0, 1), 16: (0, 1), 17: (0, 1)}),
    "there twice": (lambda row: [row, row], {11: (1, 2), 12: (2, 3), 13: (1, 2)}),
}
"""What becomes of each of these rows; and by hours how many lines landed and how many the log then accounts for."""


def strike(lake: Lake, name: str) -> None:
    struck, _ = STRIKES[name]

    def change(rows: Rows) -> Rows:
        mine = [(row["fate"], row["event_id"]) in STRUCK for row in rows]
        return [each for row, hit in zip(rows, mine, strict=True) for each in (struck(row) if hit else [row])]

    corrupt(lake, ARRIVALS, change)


def judged(spark: SparkSession, lake: Lake) -> Verdict:
    settings = load_settings()
    verdict = reconcile(spark, lake, [catalogue(settings.windows_by_result)["team_scores"]], settings)
    assert [each.status for each in verdict.results] == ["agree"], "the layers have the same answers still"
    return verdict


def with_own_landing(lake: Lake) -> Path:
    """The landing directory of a copied lake, so that one can take files from it."""
    [(_, [first, *_])] = manifests(lake)
    old, new = Path(first.path).parent, lake.path.parent / "landing"
    shutil.copytree(old, new)
    for manifest in lake.landings.glob("*.json"):
        manifest.write_text(manifest.read_text().replace(str(old), str(new)))
    return new


@pytest.mark.parametrize("name", STRIKES)
def test_a_row_of_each_fate_that_is_struck_makes_the_verdict_differ_in_its_hour(
    spark: SparkSession, agreeing: Lake, tmp_path: Path, name: str
) -> None:
    lake = copied(agreeing, tmp_path)
    strike(lake, name)
    verdict = judged(spark, lake)
    hours = {f"2026-03-01T{hour}:00Z": numbers for hour, numbers in STRIKES[name][1].items()}
    assert {each.bucket: (each.landed, each.accounted) for each in verdict.audit.unbalanced} == hours
    assert (verdict.status, verdict.exit_code, verdict.audit.balanced) == ("differ", 1, False)
    said = agreement(verdict)
    assert f"the input audit does not balance in {len(hours)} hours: " in said
    for hour, (landed, accounted) in list(hours.items())[:4]:
        assert f"{hour} ({landed} landed, {accounted} accounted for)" in said
    assert ("and 2 more" in said) == (len(hours) == 6)


def test_the_command_ends_with_1_and_names_the_hour(agreeing: Lake, tmp_path: Path) -> None:
    lake = copied(agreeing, tmp_path)
    strike(lake, "moved")  # the totals are as before
    told = parity("reconcile", "--lake", lake.path, "--result", "team_scores")
    assert told.exit_code == 1, told.stderr
    assert "✗ does not balance" in told.stdout and "2026-03-01T11:00Z (1 landed, 0 accounted for)" in told.stdout
    assert "Verdict: differ" in told.stderr


def test_the_lake_that_nobody_struck_agrees_and_balances(spark: SparkSession, agreeing: Lake, tmp_path: Path) -> None:
    verdict = judged(spark, copied(agreeing, tmp_path))
    assert (verdict.status, verdict.exit_code, verdict.audit.balanced) == ("agree", 0, True)
    assert (verdict.audit.total("landed"), verdict.audit.total("quarantined")) == (11, 1)


@pytest.mark.parametrize(
    "gone",
    [
        lambda file: file.unlink(),
        lambda file: os.utime(file, ns=(0, 0)),
        lambda file: os.truncate(file, file.stat().st_size - 1),
    ],
    ids=["is gone", "is of another time", "is shorter"],
)
def test_where_nothing_can_be_audited_equal_answers_are_no_agreement(
    spark: SparkSession, agreeing: Lake, tmp_path: Path, gone: Callable[[Path], None]
) -> None:
    lake = copied(agreeing, tmp_path)
    gone(with_own_landing(lake) / "2.jsonl")
    verdict = judged(spark, lake)
    assert (verdict.status, verdict.exit_code, verdict.audit.balanced) == ("could not compare", 2, None)
    said = agreement(verdict)
    assert "is not known: they are equal in all 6 settled keys" in said and "the input could not be audited" in said
    assert "1 of 2 landing files are gone or have changed since, e.g. 2.jsonl" in said
