"""The order in which `parity live` gives what a person waits for: each verdict as soon as it exists, the control last."""

import io
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest
from game import catalogue
from made_verdict import made_verdict
from rich.console import Console

from cli.layers import Layers
from cli.starting import BATCH, CONTROL, VERDICTS, Starting, parts_of
from lakehouse.lake import create_lake
from lakehouse.settings import load_settings
from serving.starting import starting
from transformations.result import Result

NAMES = ("team_scores", "level_ups")
LONGEST = 20.0


@pytest.fixture
def did() -> list[str]:
    return []


@pytest.fixture
def layers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, did: list[str]) -> Layers:
    """Layers whose jobs only say that they were done, on a lake whose streams have written."""

    def reconciled(_: object, __: object, results: Sequence[Result], ___: object, *, candidate: str) -> Any:
        did.append(f"{candidate}: {', '.join(each.name for each in results)}")
        return made_verdict(candidate=candidate, results=[each.name for each in results], compared=150)

    monkeypatch.setattr("cli.layers.recompute", lambda _, __, result, ___: did.append(f"recompute {result.name}"))
    monkeypatch.setattr("cli.layers.reconcile", reconciled)
    monkeypatch.setattr("cli.layers.keep", lambda *_: None)
    monkeypatch.setattr(Layers, "_reached", lambda _: object())
    lake = create_lake(tmp_path / "lake")
    known = [catalogue()[name] for name in NAMES]
    told = Starting(lake, Console(file=io.StringIO()), parts_of(NAMES, stream_only=False))
    return Layers(lake, tmp_path, known, load_settings(), threading.Event(), told, _spark=MagicMock())


def test_the_first_verdict_waits_for_one_result_and_the_control_for_all_of_the_stream(
    layers: Layers, monkeypatch: pytest.MonkeyPatch, did: list[str]
) -> None:
    monkeypatch.setattr("cli.layers.legacy", lambda *_, **__: did.append("control"))
    control = threading.Thread(target=layers.control, daemon=True)
    control.start()
    layers.batch()
    control.join(LONGEST)
    assert did == [
        "recompute team_scores", "kappa: team_scores",
        "recompute level_ups", "kappa: team_scores, level_ups",
        "control", "legacy: team_scores, level_ups",
    ]  # fmt: skip
    did.clear()
    layers.batch()
    assert did == [
        "recompute team_scores", "recompute level_ups", "kappa: team_scores, level_ups", "legacy: team_scores, level_ups",
    ]  # fmt: skip


def test_the_lake_tells_of_the_first_verdict_before_the_rest_is_computed(
    layers: Layers, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = []

    def recompute(_: object, __: object, result: Result, ___: object) -> None:
        told.append({each["name"]: (each["state"], each["said"]) for each in starting(layers.lake)["parts"]})
        if result.name == "level_ups":
            layers.stop.set()

    monkeypatch.setattr("cli.layers.recompute", recompute)
    layers.batch()
    assert told[0][BATCH] == ("starting", "computes team_scores")
    assert told[1][BATCH] == ("starting", "computes level_ups")
    assert told[1][VERDICTS["kappa"]] == ("ready", "agrees in all 150 settled keys of team_scores")
    assert told[1][CONTROL][0] == "waiting"
    assert layers.said == {"kappa": "agrees in all 300 settled keys of 2 results"}
