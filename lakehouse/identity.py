"""The epochs of a version's stream, and which of them is the live one.

A new checkpoint starts a new epoch with a transaction id of its own: with a stable id, a lost checkpoint would lose data
silently, because its batch numbers start again at 0.
"""

import uuid
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from lakehouse.commits import commits
from lakehouse.errors import CheckpointLost, CodeChanged, NothingToCompare, StaleEpoch
from lakehouse.fingerprint import result_fingerprint
from lakehouse.lake import Lake
from lakehouse.notes import edited, note
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
    run: str | None = None
    """The run that began it, if that has a name: its retry goes on with it."""


def changelog_name(result: Result) -> str:
    return f"kappa_{result.id}"


def live_epoch(lake: Lake, result: Result) -> Epoch:
    """The epoch whose rows the view shows."""
    epoch = noted(lake, result).get("epoch")
    if epoch is None:
        raise NothingToCompare(f"The stream of {result.id} has not run in {lake.path}. Run `parity stream` first.")
    return _epoch(lake, result, epoch)


def begins_anew(lake: Lake, result: Result, *, rebuild: bool, run: str | None = None) -> bool:
    """Whether a stream begins a new epoch: its first one, or a rebuild, unless the live epoch is that of the same `run`.

    A retry of a rebuild goes on with what the attempt before it has computed.
    """
    known = noted(lake, result).get("epoch")
    return known is None or (rebuild and (run is None or known.get("run") != run))


def current_epoch(
    lake: Lake, result: Result, *, rebuild: bool = False, run: str | None = None, trust_code: bool = False
) -> Epoch:
    """The epoch to go on with: the live one, the first, or with `rebuild` a new one that becomes the live one.

    One that was begun by other code is refused, unless that code is trusted to be the same logic.
    """
    if begins_anew(lake, result, rebuild=rebuild, run=run):
        return begun_epoch(lake, result, since=lake.since, run=run)
    known = noted(lake, result)["epoch"]
    code, now = known.get("code"), result_fingerprint(result, lake.pipeline)
    if code not in (None, now):  # older lakes do not name the code
        if not trust_code:
            raise CodeChanged(
                f"The stream of {result.id} in {lake.path} was begun by other code: {code}, which the lake keeps in "
                f"code/{code}; this is {now}. A checkpoint need not follow a change of logic. Nothing was written. "
                f"`parity replay --lake {lake.path} --result {result.name}` computes a new version with this code beside "
                "it. If the change leaves the logic alone, --trust-code goes on; each row says which code made it."
            )
        with edited(lake, result.id) as noted_now:
            noted_now["epoch"]["code"] = now
    return _epoch(lake, result, known)


def begun_epoch(lake: Lake, result: Result, *, since: int, history: int | None = None, run: str | None = None) -> Epoch:
    """A new epoch, which becomes the live one."""
    epoch = replace(unused_epoch(lake, result, since=since, history=history, complete=history is None), run=run)
    make_epoch_live(lake, result, epoch)
    return epoch


def unused_epoch(lake: Lake, result: Result, *, since: int, history: int | None, complete: bool) -> Epoch:
    """An epoch that nobody has written for, noted nowhere yet.

    The rows of a restore that was killed are in the table while no note names their epoch: its number is used up too.
    """
    table = changelog_name(result)
    named = [said.get("epoch", 0) for said in commits(lake, table)] if lake.has(table) else []
    number = max([noted(lake, result).get("epoch", {}).get("number", 0), *named]) + 1
    app_id = f"{result.id}/{number}/{uuid.uuid4().hex}"
    return Epoch(number, app_id, _checkpoint(lake, result, number), since, history, complete)


def make_epoch_live(lake: Lake, result: Result, epoch: Epoch) -> None:
    """Note the epoch as the live one, of the code that does so: from now on readers see its rows and no others."""
    with edited(lake, result.id) as noted_now:
        noted_now["epoch"] = {
            "number": epoch.number,
            "app_id": epoch.app_id,
            "code": result_fingerprint(result, lake.pipeline),
            "since": epoch.since,
            "history": epoch.history,
            "complete": epoch.complete,
            "run": epoch.run,
        }


def note_replay(lake: Lake, result: Result, way: ReplayWay | None) -> None:
    """Note that a version is being replayed, and in which way; or, with none, that it has caught up."""
    with edited(lake, result.id) as noted_now:
        noted_now.pop("replay", None)
        if way is not None:
            noted_now["replay"] = way


def complete_history(lake: Lake, result: Result) -> None:
    """Note that the static steps of the live epoch are done: its stream may begin."""
    with edited(lake, result.id) as noted_now:
        noted_now["epoch"]["complete"] = True


def refuse_lost_checkpoint(lake: Lake, result: Result, epoch: Epoch, *, last_batch: int | None) -> None:
    """Refuse to go on if the table has a micro-batch of this epoch that the checkpoint does not know.

    Spark would start again at batch 0, and every append would be skipped as a retry: a silent loss.
    """
    if last_batch is None or (epoch.checkpoint / "offsets" / str(last_batch)).exists():
        return
    raise CheckpointLost(
        f"The checkpoint of {result.id} is gone or damaged: its table has micro-batch {last_batch}, "
        f"{epoch.checkpoint} does not. The table is left as it is. "
        f"`parity stream --lake {lake.path} --result {result.id} --rebuild` computes the result anew from the log."
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
    return note(lake, result.id)


def _epoch(lake: Lake, result: Result, known: dict[str, Any]) -> Epoch:
    return Epoch(
        known["number"],
        known["app_id"],
        _checkpoint(lake, result, known["number"]),
        known.get("since", 0),
        known.get("history"),
        known.get("complete", True),
        known.get("run"),
    )


def _checkpoint(lake: Lake, result: Result, epoch: int) -> Path:
    return lake.checkpoint(result.id) / f"epoch-{epoch}"
