"""What a result in a lake was computed with, and which epoch of its stream is the live one.

Windows, allowed lateness and policy belong to a result's version: a checkpoint cannot follow a change of them (a larger
lateness on an old checkpoint made the engine drop 836 rows). A new checkpoint starts a new epoch with a transaction id
of its own: with a stable id, a lost checkpoint would lose data silently, because its batch numbers start again at 0.
"""

import json
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from lakehouse.errors import CheckpointLost, CodeChanged, NothingToCompare, SettingsChanged, StaleEpoch
from lakehouse.fingerprint import result_fingerprint
from lakehouse.lake import Lake, write_json
from lakehouse.settings import Settings
from transformations.durations import written
from transformations.result import Result

ReplayWay = Literal["engine", "steps"]


@dataclass(frozen=True)
class Epoch:
    """One life of a stream's checkpoint. `app_id` names its transactions; nobody else has it."""

    number: int
    app_id: str
    checkpoint: Path
    since: int = 0
    """The first version of the log that the stream reads."""
    history: int | None = None
    """The version of the log at which static steps compute what is settled there; all else is the stream's."""
    complete: bool = True
    """Whether all of these steps are done."""


def agree_on_settings(lake: Lake, result: Result, settings: Settings) -> None:
    """Note what `result` is computed with in this lake, or refuse what differs from the note."""
    given = {
        "allowed_lateness": written(settings.lateness.allowed),
        "policy": settings.lateness.policy,
        "way": result.way,
        **{f"window_{name}": value for name, value in result.window.parameters.items()},
    }
    note = noted(lake, result)
    if "settings" not in note:
        write_json(lake.result_file(result.id), {**note, "settings": given})
        return
    known = {"way": "engine", **note["settings"]}  # older lakes do not name the way: there was one
    changed = [
        f"{name}: the lake has {known.get(name)!r}, the settings say {value!r}"
        for name, value in given.items()
        if known.get(name) != value
    ]
    if changed:
        raise SettingsChanged(
            f"{result.id} in {lake.path} was computed with other settings.\n  "
            + "\n  ".join(changed)
            + "\nA checkpoint cannot follow such a change. Set it back, or let "
            f"`parity replay --lake {lake.path} --result {result.name}` compute a new version beside this one."
        )


def live_epoch(lake: Lake, result: Result) -> Epoch:
    """The epoch whose rows the view shows."""
    epoch = noted(lake, result).get("epoch")
    if epoch is None:
        raise NothingToCompare(f"The stream of {result.id} has not run in {lake.path}. Run `parity stream` first.")
    return _epoch(lake, result, epoch)


def current_epoch(lake: Lake, result: Result, *, rebuild: bool = False, trust_code: bool = False) -> Epoch:
    """The epoch to go on with: the live one, the first, or with `rebuild` a new one that becomes the live one.

    One that was begun by other code is refused, unless that code is trusted to be the same logic.
    """
    note = noted(lake, result)
    if rebuild or "epoch" not in note:
        return begun_epoch(lake, result)
    code, now = note["epoch"].get("code"), result_fingerprint(result)
    if code not in (None, now):  # older lakes do not name the code
        if not trust_code:
            raise CodeChanged(
                f"The stream of {result.id} in {lake.path} was begun by other code: {code}, which the lake keeps in "
                f"code/{code}; this is {now}. A checkpoint need not follow a change of logic. Nothing was written. "
                f"`parity replay --lake {lake.path} --result {result.name}` computes a new version with this code beside "
                "it. If the change leaves the logic alone, --trust-code goes on; each row says which code made it."
            )
        note["epoch"]["code"] = now
        write_json(lake.result_file(result.id), note)
    return _epoch(lake, result, note["epoch"])


def begun_epoch(lake: Lake, result: Result, *, since: int = 0, history: int | None = None) -> Epoch:
    """A new epoch, which becomes the live one."""
    note = noted(lake, result)
    number = note.get("epoch", {"number": 0})["number"] + 1
    app_id = f"{result.id}/{number}/{uuid.uuid4().hex}"
    begun = {
        "number": number,
        "app_id": app_id,
        "code": result_fingerprint(result),
        "since": since,
        "history": history,
        "complete": history is None,
    }
    write_json(lake.result_file(result.id), {**note, "epoch": begun})
    return _epoch(lake, result, begun)


def note_replay(lake: Lake, result: Result, way: ReplayWay | None) -> None:
    """Note that a version is being replayed, and in which way; or, with none, that it has caught up."""
    note = {name: value for name, value in noted(lake, result).items() if name != "replay"}
    write_json(lake.result_file(result.id), note if way is None else {**note, "replay": way})


def complete_history(lake: Lake, result: Result) -> None:
    """Note that the static steps of the live epoch are done: its stream may begin."""
    note = noted(lake, result)
    note["epoch"]["complete"] = True
    write_json(lake.result_file(result.id), note)


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


def noted(lake: Lake, result: Result) -> dict[str, Any]:
    """What the lake notes of a version: the settings it is computed with, and its epoch."""
    file = lake.result_file(result.id)
    return dict(json.loads(file.read_text())) if file.exists() else {}


def _epoch(lake: Lake, result: Result, note: dict[str, Any]) -> Epoch:
    checkpoint = lake.checkpoint(result.id) / f"epoch-{note['number']}"
    return Epoch(
        note["number"],
        note["app_id"],
        checkpoint,
        note.get("since", 0),
        note.get("history"),
        note.get("complete", True),
    )
