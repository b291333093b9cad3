"""What a result in a lake was computed with, and which epoch of its stream is the live one.

Windows, allowed lateness and policy belong to a result's version: a checkpoint cannot follow a change of them (a larger
lateness on an old checkpoint made the engine drop 836 rows). A new checkpoint starts a new epoch with a transaction id
of its own: with a stable id, a lost checkpoint would lose data silently, because its batch numbers start again at 0.
"""

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from lakehouse.errors import CheckpointLost, CodeChanged, NothingToCompare, SettingsChanged, StaleEpoch
from lakehouse.fingerprint import fingerprint_of, result_fingerprint
from lakehouse.lake import Lake
from lakehouse.notes import edited, note
from lakehouse.settings import Settings
from transformations.durations import written
from transformations.result import Result

ReplayWay = Literal["engine", "steps"]
_DEFAULTS = {"way": "engine", "log": "1", "from_log_version": "0"}  # what notes of older lakes leave out: there was one


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
    refuse_other_settings(lake, result, settings)
    with edited(lake, result.id) as note:
        note.setdefault("settings", given_settings(lake, result, settings))


def refuse_other_settings(lake: Lake, result: Result, settings: Settings) -> None:
    """Refuse settings, or a log, that a version is not computed with."""
    known = _known_settings(lake, result)
    changed = [
        f"{name}: the lake has {known.get(name)!r}, the settings say {value!r}"
        for name, value in given_settings(lake, result, settings).items()
        if known and known.get(name) != value
    ]
    if changed:
        raise SettingsChanged(
            f"{result.id} in {lake.path} was computed with other settings.\n  "
            + "\n  ".join(changed)
            + "\nA checkpoint cannot follow such a change. Set it back, or let "
            f"`parity replay --lake {lake.path} --result {result.name}` compute a new version beside this one."
        )


def given_settings(lake: Lake, result: Result, settings: Settings) -> dict[str, str]:
    """What a version is computed with, beside its code."""
    return {
        "allowed_lateness": written(settings.lateness.allowed),
        "policy": settings.lateness.policy,
        "way": result.way,
        "log": str(lake.log),
        "from_log_version": str(lake.since),
        **{f"window_{name}": value for name, value in result.window.parameters.items()},
    }


def settings_fingerprint(lake: Lake, result: Result, settings: Settings) -> str:
    """What a version is computed with beside its code, in one word, for the commits that its writers make."""
    return fingerprint_of(json.dumps(given_settings(lake, result, settings), sort_keys=True))


def at_log(lake: Lake, result: Result) -> Lake:
    """The lake with the log that this version is computed from."""
    known = _known_settings(lake, result)
    return replace(lake, log=int(known["log"]), since=int(known["from_log_version"])) if known else lake


def shared_log(lake: Lake, results: Sequence[Result]) -> Lake:
    """The lake with the log that all of these versions are computed from; versions of different logs are refused."""
    logs = {result.id: at_log(lake, result).log for result in results}
    if len(set(logs.values())) > 1:
        listed = ", ".join(f"{name} of log {log}" for name, log in logs.items())
        raise NothingToCompare(
            f"These are computed from different logs: {listed}. Name those of one log with --result."
        )
    return replace(lake, log=next(iter(logs.values()), lake.log))


def _known_settings(lake: Lake, result: Result) -> dict[str, str]:
    given: dict[str, str] | None = noted(lake, result).get("settings")
    return {} if given is None else {**_DEFAULTS, **given}


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
    known = noted(lake, result).get("epoch")
    if rebuild or known is None:
        return begun_epoch(lake, result, since=lake.since)
    code, now = known.get("code"), result_fingerprint(result)
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


def begun_epoch(lake: Lake, result: Result, *, since: int, history: int | None = None) -> Epoch:
    """A new epoch, which becomes the live one."""
    with edited(lake, result.id) as noted_now:
        number = noted_now.get("epoch", {"number": 0})["number"] + 1
        noted_now["epoch"] = {
            "number": number,
            "app_id": f"{result.id}/{number}/{uuid.uuid4().hex}",
            "code": result_fingerprint(result),
            "since": since,
            "history": history,
            "complete": history is None,
        }
        return _epoch(lake, result, noted_now["epoch"])


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
        lake.checkpoint(result.id) / f"epoch-{known['number']}",
        known.get("since", 0),
        known.get("history"),
        known.get("complete", True),
    )
