"""What a result in a lake was computed with, and which epoch of its stream is the live one.

Windows, allowed lateness and policy belong to a result's version: a checkpoint cannot follow a change of them (a larger
lateness on an old checkpoint made the engine drop 836 rows). A new checkpoint starts a new epoch with a transaction id
of its own: with a stable id, a lost checkpoint would lose data silently, because its batch numbers start again at 0.
"""

import json
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lakehouse.errors import CheckpointLost, NothingToCompare, SettingsChanged, StaleEpoch
from lakehouse.lake import Lake, write_json
from lakehouse.settings import Settings
from transformations.durations import written
from transformations.result import Result


@dataclass(frozen=True)
class Epoch:
    """One life of a stream's checkpoint. `app_id` names its transactions; nobody else has it."""

    number: int
    app_id: str
    checkpoint: Path


def agree_on_settings(lake: Lake, result: Result, settings: Settings) -> None:
    """Note what `result` is computed with in this lake, or refuse what differs from the note."""
    given = {
        "allowed_lateness": written(settings.lateness.allowed),
        "policy": settings.lateness.policy,
        "way": result.way,
        **{f"window_{name}": value for name, value in result.window.parameters.items()},
    }
    noted = _note(lake, result)
    if "settings" not in noted:
        write_json(lake.result_file(result.id), {**noted, "settings": given})
        return
    known = {"way": "engine", **noted["settings"]}  # older lakes do not name the way: there was one
    changed = [
        f"{name}: the lake has {known.get(name)!r}, the settings say {value!r}"
        for name, value in given.items()
        if known.get(name) != value
    ]
    if changed:
        raise SettingsChanged(
            f"{result.id} in {lake.path} was computed with other settings.\n  "
            + "\n  ".join(changed)
            + "\nA checkpoint cannot follow such a change. Set it back, or ingest into a new lake with the new settings."
        )


def live_epoch(lake: Lake, result: Result) -> Epoch:
    """The epoch whose rows the view shows."""
    noted = _note(lake, result).get("epoch")
    if noted is None:
        raise NothingToCompare(f"The stream of {result.id} has not run in {lake.path}. Run `parity stream` first.")
    return _epoch(lake, result, noted)


def current_epoch(lake: Lake, result: Result, *, rebuild: bool = False) -> Epoch:
    """The epoch to go on with: the live one, the first, or with `rebuild` a new one that becomes the live one."""
    noted = _note(lake, result)
    if rebuild or "epoch" not in noted:
        number = noted.get("epoch", {"number": 0})["number"] + 1
        noted["epoch"] = {"number": number, "app_id": f"{result.id}/{number}/{uuid.uuid4().hex}"}
        write_json(lake.result_file(result.id), noted)
        return _epoch(lake, result, noted["epoch"])
    return _epoch(lake, result, noted["epoch"])


def refuse_lost_checkpoint(lake: Lake, result: Result, epoch: Epoch, *, last_batch: int | None) -> None:
    """Refuse to go on if the table has a micro-batch of this epoch that the checkpoint does not know.

    Spark would start again at batch 0, and every append would be skipped as a retry: a silent loss.
    """
    if last_batch is None or (epoch.checkpoint / "offsets" / str(last_batch)).exists():
        return
    raise CheckpointLost(
        f"The checkpoint of {result.id} is gone or damaged: its table has micro-batch {last_batch}, "
        f"{epoch.checkpoint} does not. The table is left as it is. "
        f"`parity stream --lake {lake.path} --result {result.name} --rebuild` computes the result anew from the log."
    )


def refuse_stale(lake: Lake, result: Result, epoch: Epoch) -> None:
    """Refuse to write for an epoch that another process has replaced."""
    live = live_epoch(lake, result)
    if live.app_id != epoch.app_id:
        raise StaleEpoch(
            f"{result.id} has moved on to epoch {live.number}; this process belongs to epoch {epoch.number} "
            "and may not write any more. Stop it; nothing was written."
        )


def _note(lake: Lake, result: Result) -> dict[str, Any]:
    file = lake.result_file(result.id)
    return dict(json.loads(file.read_text())) if file.exists() else {}


def _epoch(lake: Lake, result: Result, noted: dict[str, Any]) -> Epoch:
    checkpoint = lake.checkpoint(result.id) / f"epoch-{noted['number']}"
    return Epoch(noted["number"], noted["app_id"], checkpoint)
