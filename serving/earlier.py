"""Which versions of which tables a layer had when it stood at an earlier version of the log.

A layer has an answer at the versions of the log at which one of its runs has ended, and at no others: what it would have said
in between, nobody has computed. Who asks for that is told which versions there are.
"""

from collections.abc import Sequence

from lakehouse.arrivals import ARRIVALS
from lakehouse.batches import batch_name, coverage
from lakehouse.changelogs import boundary, changelog_name, served_boundaries
from lakehouse.commits import commits
from lakehouse.control import legacy_name
from lakehouse.errors import NothingToCompare
from lakehouse.lake import Lake
from lakehouse.log import known_version
from serving.pins import Layer
from transformations.result import Result

Pins = tuple[tuple[str, int], ...]
TOLD = 10
"""How many of the versions that there are an error names."""


def tables_at(lake: Lake, result: Result, layer: Layer, log_version: int) -> Pins:
    """The version of every table that the answer of a layer at this version of the log needs; the log comes last."""
    known_version(lake, log_version, option="--log-version")
    log = (lake.of_log(ARRIVALS), log_version)
    if layer == "legacy":
        return (legacy_name(result), control_at(lake, result, legacy_name(result), log_version)), log
    batch = () if layer == "kappa" else ((batch_name(result), _batch_at(lake, result, layer, log_version)),)
    stream = () if layer == "batch" else ((changelog_name(result), _stream_at(lake, result, log_version)),)
    return *stream, *batch, log


def control_at(lake: Lake, result: Result, table: str, log_version: int) -> int:
    """The version of a table of the control that it had when it stood there: of its arrivals, or of a written answer."""
    told = list(commits(lake, table)) if lake.has(table) else []
    for said in told:
        if said["log_version"] == log_version:
            return int(said["version"])
    raise _unknown(f"The control of {result.id}", log_version, [said["log_version"] for said in told], "legacy")


def _stream_at(lake: Lake, result: Result, log_version: int) -> int:
    known = [each.log_version for each in served_boundaries(lake, result, log_version)]
    if known and log_version not in known:
        raise _unknown(f"The stream of {result.id}", log_version, known, "stream")
    return boundary(lake, result, log_version).table_version


def _batch_at(lake: Lake, result: Result, layer: Layer, log_version: int) -> int:
    """The Lambda view takes from batch what it had by then; the batch layer's own answer has to be of that version."""
    runs = coverage(lake, result, until=log_version)
    if runs and (layer == "lambda" or runs[0].log_version == log_version):
        return runs[0].table_version
    name = batch_name(result)
    told = (said for said in commits(lake, name) if "covered" in said) if lake.has(name) else ()
    known = [said["covered"][0]["log_version"] for said in told]
    raise _unknown(f"The batch layer of {result.id}", log_version, known, "recompute")


def _unknown(who: str, log_version: int, known: Sequence[int], command: str) -> NothingToCompare:
    if not known:
        return NothingToCompare(f"{who} has no answer yet. Run `parity {command}` first.")
    there = sorted(set(known), reverse=True)
    more = ", …" if len(there) > TOLD else ""
    return NothingToCompare(
        f"{who} has no answer at log version {log_version}: none of its runs ended there. It has answers at "
        f"{', '.join(map(str, there[:TOLD]))}{more}."
    )
