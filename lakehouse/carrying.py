"""What is known of a table's past, and what has to be carried on so that it stays known.

Delta removes the files of commits beyond the horizon when it writes a checkpoint. Where the log stands, how far a stream
has come and what a batch run has computed is said in such files. Whoever commits without saying anything new says again
what the table's last writers said; whoever asks for what nobody knows any more is told so.
"""

from collections.abc import Iterable
from typing import Any

from lakehouse.commits import CARRIED, is_cleaned, known_commits
from lakehouse.errors import Forgotten
from lakehouse.lake import Lake

ABOUT = ("seq", "folded", "step", "batch")
"""What a statement is about, the first that it names: the log, a fold, a step of a replay, a micro-batch."""


def said_at(lake: Lake, name: str, version: int, *, about: str) -> dict[str, Any] | None:
    """What the last commit up to `version` that says anything `about` this said; none if there was none."""
    last = min(version, dict(lake.pins).get(name, version))
    for number, commit in known_commits(lake, name):
        if number <= last and about in commit.said:
            if commit.until is not None and commit.until < last:
                break  # others followed that nobody has carried on
            return {**commit.said, "version": number}
    if version > 0 and is_cleaned(lake, name):  # version 0 makes the table
        raise Forgotten(
            f"What {name} in {lake.path} said at version {version} is no longer known: Delta has removed its commits of that "
            "time, which are beyond the horizon ([retention] horizon). Ask at a later version."
        )
    return None


def carried_on(lake: Lake, name: str, *, anchors: Iterable[int] = ()) -> dict[str, Any]:
    """What a commit of maintenance has to say, so that nothing is forgotten that somebody goes on with.

    Of each epoch the newest statement about each thing, and what was said last until each of the `anchors`. It says too
    `until` which version each was the last word: what lies between those that are carried on is not known then.
    """
    kept: list[dict[str, Any]] = []
    followed: dict[tuple[object, str | None], int] = {}
    left = sorted(anchors)
    for version, commit in known_commits(lake, name):
        if not commit.said:
            continue
        form = (commit.said.get("epoch"), next((each for each in ABOUT if each in commit.said), None))
        if form not in followed or any(each >= version for each in left):
            until = commit.until if commit.until is not None or form not in followed else followed[form] - 1
            kept.append({"version": version, "until": until, "at": commit.at, "said": commit.said})
        followed[form] = version
        left = [each for each in left if each < version]
    return {CARRIED: kept}
