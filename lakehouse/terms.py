"""The terms of a version: what it is computed with beside its code. Windows, allowed lateness, policy, way, and its log.

They are noted with the first write. A checkpoint cannot follow a change of them: a larger lateness on an old checkpoint
made the engine drop 836 rows.
"""

import json
from collections.abc import Sequence
from dataclasses import replace

from lakehouse.errors import NothingToCompare, SettingsChanged
from lakehouse.fingerprint import fingerprint_of, result_fingerprint
from lakehouse.identity import noted
from lakehouse.lake import Lake
from lakehouse.notes import edited
from lakehouse.settings import Settings
from transformations.durations import written
from transformations.result import Result

_DEFAULTS = {"way": "engine", "log": "1", "from_log_version": "0"}  # what notes of older lakes leave out: there was one


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


def is_computed_so(lake: Lake, result: Result, settings: Settings) -> bool:
    """Whether a version is there, begun by this code with these settings: who asks for it to be computed has it already."""
    code = noted(lake, result).get("epoch", {}).get("code")
    return code == result_fingerprint(result, lake.pipeline) and _known_settings(lake, result) == given_settings(
        lake, result, settings
    )


def given_settings(lake: Lake, result: Result, settings: Settings) -> dict[str, str]:
    """What a version is computed with, beside its code."""
    hold = settings.lateness.hold_of(result)
    return {
        "allowed_lateness": written(settings.lateness.allowed),
        "policy": settings.lateness.policy,
        **({} if hold is None else {"hold": written(hold)}),
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
