"""Which versions of which tables an answer is of, layer by layer. Found in the commits alone, with Spark or without it.

Kappa is one table. Lambda is two and a cut-off: what the batch layer had settled when it last ran, and the speed layer
for everything after it. The merge is the price of the second layer, paid by every reader.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, get_args

from lakehouse.batches import Coverage, computed
from lakehouse.changelogs import Boundary, boundary, mark, settled_before
from lakehouse.control import answer_boundary, control_boundary
from lakehouse.errors import NothingToCompare
from lakehouse.lake import Lake
from lakehouse.settings import Settings
from lakehouse.terms import at_log
from serving.stretches import Stretch, contiguous, settled_stretches, settled_throughout
from transformations.result import Result

Layer = Literal["kappa", "batch", "legacy", "lambda"]
LAYERS: tuple[Layer, ...] = get_args(Layer)


@dataclass(frozen=True)
class Pinned:
    """What an answer is of. Everything that is asked about it later is asked of the same versions."""

    layer: Layer
    log_version: int
    settled_before: datetime
    """Results that end until then are settled in it."""
    boundary: Boundary | None = None
    covered: tuple[Coverage, ...] = ()
    cut_off: datetime | None = None
    """Where the speed layer takes over, in the Lambda view."""
    stretches: tuple[Stretch, ...] = ()
    """What the batch layer answers for, and until when it is settled there; in the Lambda view not beyond the cut-off."""


def pinned(
    lake: Lake,
    result: Result,
    settings: Settings,
    *,
    layer: Layer,
    computes: bool = False,
    log_version: int | None = None,
) -> Pinned:
    """The newest answer of a layer in a lake that may itself be pinned; `settings` are the result's own.

    Who `computes` has Spark and makes the control's answer from its arrivals. Others read the one that it wrote down. With
    `log_version` the stream's answer is the one at that version: pins alone cannot name it while an epoch catches up.
    """
    lake, allowed = at_log(lake, result), settings.lateness.allowed
    if layer == "legacy":
        version = (control_boundary(lake) if computes else answer_boundary(lake, result)).log_version
        return Pinned(layer, version, settled_before(mark(lake, version), allowed))
    covered = () if layer == "kappa" else tuple(computed(lake, result))
    found = settled_stretches(covered, allowed)
    if layer == "batch":
        version = covered[0].log_version
        before = settled_throughout(result, found) if found else settled_before(mark(lake, version), allowed)
        return Pinned(layer, version, before, covered=covered, stretches=tuple(found))
    at = boundary(lake, result, log_version)
    before = settled_before(mark(lake, at.log_version), allowed, at)
    if layer == "kappa":
        return Pinned(layer, at.log_version, before, at)
    until = cut_off(result, covered, settings)
    behind = (replace(each, settled_before=min(each.settled_before, until)) for each in contiguous(found))
    return Pinned(layer, at.log_version, before, at, covered, until, tuple(behind))


def cut_off(result: Result, runs: Sequence[Coverage], settings: Settings) -> datetime:
    """The end of what the batch layer has settled without a gap: behind it the speed layer answers.

    Each stretch between the ends of the intervals counts as it was computed last; the first that the batch layer has not
    computed, or not settled up to its end, is where the cut-off lies.
    """
    reached: datetime | None = None
    for each in contiguous(settled_stretches(runs, settings.lateness.allowed)):
        ends = each.settled_before if each.end is None else min(each.end, each.settled_before)
        reached = ends if reached is None else max(reached, ends)
    if reached is None:
        raise NothingToCompare(
            f"The batch layer of {result.id} has no contiguous result yet. Run `parity recompute` without --from first."
        )
    return reached
