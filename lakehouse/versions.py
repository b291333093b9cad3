"""The versions of a result in a lake, and which of them is live.

A version is one code with one set of settings; its tables, checkpoint and transaction ids carry its number. A new one is
computed beside the live one, and a swap makes it live. What is live stands in one small file that is replaced as a
whole: a reader sees the old version or the new one.

    LAKE/results/door_counts.json        {"live": 2, "before": 1, "forced": null, "swaps": [[1772359200000, 2]]}: which is live,
                                         and since when; as long as nothing was swapped, 1 is live
    LAKE/results/door_counts@2.json      what version 2 is computed with, and its epoch
    LAKE/results/door_counts@1.retired   the same of a version that is gone: its number is not given again
"""

import shutil
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from lakehouse.batches import batch_name
from lakehouse.changelogs import changelog_name
from lakehouse.control import legacy_name
from lakehouse.errors import UnknownVersion, VersionRefused
from lakehouse.identity import noted
from lakehouse.lake import Lake
from lakehouse.log import newest_version, position
from lakehouse.notes import edited, note
from lakehouse.reach import Reach, reach
from lakehouse.reach import consumed as consumed
from lakehouse.settings import Lateness, Settings
from lakehouse.terms import at_log
from transformations.durations import parse_duration, to_millis
from transformations.result import Result, Way

FIRST = 1


def numbers(lake: Lake, name: str) -> list[int]:
    """The versions that the lake has of a result, ascending."""
    return _numbers(lake, name, ".json")


def _numbers(lake: Lake, name: str, suffix: str) -> list[int]:
    files = (lake.path / "results").glob(f"{name}@*{suffix}")
    return sorted(int(file.stem.rpartition("@")[2]) for file in files)


def live_number(lake: Lake, name: str, *, moment: datetime | None = None) -> int:
    """The version that readers see, or saw at that moment."""
    pointer = note(lake, name)
    if moment is None:
        return int(pointer.get("live", FIRST))
    until = to_millis(moment)
    return next((number for at, number in reversed(pointer.get("swaps", [])) if at <= until), FIRST)


def _point(pointer: dict[str, Any], *, live: int, before: int, forced: list[str] | None) -> None:
    """Change the pointer to the live version; each change is kept with its time, for readers who look back."""
    swaps = [*pointer.get("swaps", []), [to_millis(datetime.now(UTC)), live]]
    pointer.update(live=live, before=before, forced=forced, swaps=swaps)


def at_live(lake: Lake, result: Result) -> Result:
    return replace(result, version=live_number(lake, result.name))


def at_number(lake: Lake, result: Result, number: int) -> Result:
    """The version with this number, which the lake has to have."""
    known = numbers(lake, result.name)
    if number not in known:
        has = f"it has {', '.join(map(str, known))}" if known else "it has none yet"
        raise UnknownVersion(
            f"{result.name} has no version {number} in {lake.path}; {has}. "
            f"`parity replay --lake {lake.path} --result {result.name}` makes a new one."
        )
    return replace(result, version=number)


def as_noted(lake: Lake, result: Result, settings: Settings) -> tuple[Result, Settings]:
    """The version with what it is computed with in the lake, whatever the settings say now."""
    given: dict[str, str] = noted(lake, result).get("settings", {})
    if not given:
        return result, settings
    windows = {
        name.removeprefix("window_"): parse_duration(value)
        for name, value in given.items()
        if name.startswith("window_")
    }
    declared = lake.pipeline.catalogue({result.name: windows})[result.name]
    lateness = {"allowed": given["allowed_lateness"], "policy": given["policy"]}
    if "hold" in given:
        lateness["hold"] = given["hold"]
    way: Way = "recompute" if given.get("way") == "recompute" else "engine"
    own = replace(declared, version=result.version, way=way)
    return own, settings.model_copy(update={"lateness": Lateness.model_validate(lateness)})


def version_to_replay(lake: Lake, result: Result, number: int | None = None) -> Result:
    """The version to compute: the one of this number, or the one whose replay was begun, or a new one.

    A number that a version has or had is refused, unless its replay was begun and has not finished.
    """
    begun = [each for each in numbers(lake, result.name) if is_replaying(lake, replace(result, version=each))]
    if number is None:
        return replace(result, version=begun[-1]) if begun else new_version(lake, result)
    asked = replace(result, version=number)
    if number in _retired(lake, result.name):
        raise VersionRefused(
            f"{asked.id} was retired, and a number is not given twice. Nothing was written. Leave --as-version out for a "
            "new number."
        )
    if number in _taken(lake, result.name) and number not in begun:
        raise VersionRefused(
            f"{asked.id} exists in {lake.path}. Nothing was written. Leave --as-version out for a new number, or let "
            f"`parity stream --lake {lake.path} --result {asked.id}` bring it up to the log."
        )
    return asked


def new_version(lake: Lake, result: Result) -> Result:
    """A version with a number that none has or had."""
    return replace(result, version=max([*_taken(lake, result.name), *_retired(lake, result.name)]) + 1)


def _taken(lake: Lake, name: str) -> set[int]:
    return {live_number(lake, name), *numbers(lake, name)}


def _retired(lake: Lake, name: str) -> list[int]:
    return _numbers(lake, name, ".retired")


def is_replaying(lake: Lake, result: Result) -> bool:
    """Whether a replay of this version was begun and has not caught up."""
    return "replay" in noted(lake, result)


def is_behind_live(lake: Lake, result: Result) -> bool:
    """Whether a version has not come as far as the live one."""
    reached, live_reached = reach(lake, result), reach(lake, at_live(lake, result))
    return reached is None or (live_reached is not None and reached.is_behind(live_reached))


def make_live(lake: Lake, result: Result, *, force: bool = False) -> int:
    """Make this version the live one; returns the number of the one before. One that is behind the live one is refused.

    One that is live already stays so: the number of the one before is then its own.
    """
    before = live_number(lake, result.name)
    if result.version == before:
        return before
    reached, live_reached = reach(lake, result), reach(lake, replace(result, version=before))
    if reached is None:
        raise VersionRefused(
            f"{result.id} has no answer yet: its replay has not finished. Nothing was changed. "
            f"`parity replay --lake {lake.path} --result {result.name} --as-version {result.version}` goes on with it."
        )
    forced = None
    if live_reached is not None and reached.is_behind(live_reached):
        forced = [reached.told(live_reached), live_reached.told(reached)]
        if not force:
            raise VersionRefused(
                f"{result.id} has not caught up: it has come to {forced[0]}, the live {result.name}@{before} to {forced[1]}. "
                f"Nothing was changed. {_catches_up(lake, result, reached, live_reached)} lets it catch up; --force swaps "
                "all the same, and readers then see an older answer until it has."
            )
    with edited(lake, result.name) as pointer:
        _point(pointer, live=result.version, before=before, forced=forced)
    return before


def _catches_up(lake: Lake, result: Result, reached: Reach, other: Reach) -> str:
    """What lets a version catch up. A second log does not grow by itself."""
    streams = f"`parity stream --lake {lake.path} --result {result.id}`"
    log_ends = position(replace(lake, log=reached.log)).batch < other.batch
    grows = f"`parity reingest --lake {lake.path} --as-log {reached.log}`, then " if log_ends else ""
    return f"{grows}{streams}"


def forced_swap(lake: Lake, result: Result) -> str | None:
    """That this version is live because somebody forced it, in a sentence."""
    pointer = note(lake, result.name)
    if pointer.get("live") != result.version or not pointer.get("forced"):
        return None
    reached, live_reached = pointer["forced"]
    return (
        f"{result.id} was made live by force at {reached}, when {result.name}@{pointer['before']} was at {live_reached}"
    )


def make_previous_live(lake: Lake, name: str) -> tuple[int, int]:
    """Undo the last swap; returns the numbers that are live now and were until now."""
    with edited(lake, name) as pointer:
        if "before" not in pointer:
            raise VersionRefused(f"{name} was never swapped in {lake.path}, so there is nothing to undo.")
        before, live = pointer["before"], pointer["live"]
        if before not in numbers(lake, name):
            raise VersionRefused(f"{name}@{before}, which was live before, has been retired. Nothing was changed.")
        _point(pointer, live=before, before=live, forced=None)
    return before, live


def refuse_live(lake: Lake, result: Result) -> None:
    """Refuse what may not be done to the live version."""
    if result.version == live_number(lake, result.name):
        raise VersionRefused(
            f"{result.id} is live, so it is not removed. `parity swap --lake {lake.path} --result {result.name} --to N` "
            "makes another version live."
        )


def remove(lake: Lake, result: Result) -> None:
    """Remove the tables, the checkpoint and the note of a version that is not live."""
    refuse_live(lake, result)
    # The note goes first: what is left behind by a crash after that belongs to nobody, and a new version has a new number.
    file = lake.result_file(result.id)
    file.rename(file.with_suffix(".retired"))
    for name in (changelog_name(result), batch_name(result), legacy_name(result)):
        shutil.rmtree(lake.table(name), ignore_errors=True)
    shutil.rmtree(lake.checkpoint(result.id), ignore_errors=True)


def described(lake: Lake, name: str) -> list[dict[str, Any]]:
    """Every version of a result with its state, how far it is behind the log, and its size, as plain data."""
    newest_version(lake)
    live = live_number(lake, name)
    return [_described(lake, name, number, live=live) for number in numbers(lake, name)]


def _described(lake: Lake, name: str, number: int, *, live: int) -> dict[str, Any]:
    result = replace(lake.pipeline.catalogue()[name], version=number)
    reached, known = consumed(lake, result), noted(lake, result)
    newest = newest_version(at_log(lake, result))
    state = "live" if number == live else "replaying" if is_replaying(lake, result) else "beside"
    return {
        "result": name,
        "version": number,
        "state": state,
        "forced": forced_swap(lake, result),
        "log_version": reached,
        "lag_versions": None if reached is None else newest - reached,
        "bytes": sum(size_of(lake, table) for table in (changelog_name(result), batch_name(result))),
        "code": known.get("epoch", {}).get("code"),
        "settings": known.get("settings", {}),
    }


def size_of(lake: Lake, table: str) -> int:
    """The bytes of a table on disk."""
    folder = lake.path / "tables" / table
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
