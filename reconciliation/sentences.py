"""The verdict in two sentences: whether the layers agree, and what each of them costs."""

from collections import Counter
from collections.abc import Sequence

from reconciliation.costs import LayerCost
from reconciliation.redelivery import Redelivery
from reconciliation.verdict import ResultVerdict, Verdict
from reconciliation.words import SIDES, count, listed, number, seconds, share, size
from transformations.durations import written


def sentences(verdict: Verdict, costs: Sequence[LayerCost]) -> tuple[str, str]:
    """Both sentences as plain text."""
    return agreement(verdict), expense(costs)


def agreement(verdict: Verdict) -> str:
    """Whether the candidate agrees with the batch layer, over which keys, and if not, why not."""
    side, over = SIDES.get(verdict.candidate, verdict.candidate), count(len(verdict.results), "result")
    equal, judged = (sum(getattr(each, name) for each in verdict.results) for name in ("equal", "compared"))
    flight = sum(each.open + each.behind for each in verdict.results)
    waiting = f"; {count(flight, 'key')} in flight {'is' if flight == 1 else 'are'} not judged" if flight else ""
    versions = sorted({each.log_version for each in verdict.results})
    at = f"at log version {listed([str(version) for version in versions])}"
    if verdict.status == "agree":
        audit = "; the input could not be audited" if verdict.audit.unavailable else ""
        empty = [each.result for each in verdict.results if each.empty]
        if len(empty) == len(verdict.results):
            said = f"the log gives {listed(empty)} no row there {at}, and neither has one"
        else:
            nothing = f"; the log gives {listed(empty)} no row, and neither has one" if empty else ""
            said = f"they are equal in all {count(judged, 'settled key')} of {over} {at}{nothing}"
        return f"The {side} and the batch layer agree: {said}{waiting}{audit}."
    if verdict.status == "could not compare":
        few = f"too few keys are settled and comparable {at}: {not_judged(verdict)}"
        return f"The {side} and the batch layer could not be compared: {few if verdict.results else 'no result was asked for'}."
    unjudged = f"; too few keys are settled to judge {not_judged(verdict)}" if verdict.not_judged else ""
    faults = listed(_faults(verdict, judged - equal, judged))
    return f"The {side} and the batch layer differ {at}: {faults}{unjudged}{waiting}."


def not_judged(verdict: Verdict) -> str:
    """The results that were not judged, each with how many of its keys could have been."""
    return listed([f"{each.result} ({_how_few(each)})" for each in verdict.not_judged])


def _how_few(result: ResultVerdict) -> str:
    if result.in_question:
        return f"{result.compared:,} of {count(result.in_question, 'key')}"
    return "neither side has a row there; batch has not computed it, or the log gives some"


def _faults(verdict: Verdict, differing: int, judged: int) -> list[str]:
    """What makes the verdict "differ"; the keys are only one way."""
    faults = []
    if differing:
        named = ", ".join(f"{cause} {found:,}" for cause, found in causes(verdict).items())
        faults.append(
            f"{differing:,} of {count(judged, 'settled key')} ({share(differing, judged)}) are not equal (by cause: {named})"
        )
    if wrong := sum(each.engine_wrong or 0 for each in verdict.results):
        faults.append(f"{count(wrong, 'row')} of the engine {'was' if wrong == 1 else 'were'} wrong before any repair")
    if not verdict.audit.balanced:
        hours = sum(not bucket.balanced for bucket in verdict.audit.buckets)
        faults.append(f"the input audit does not balance in {count(hours, 'hour')}")
    return faults


def causes(verdict: Verdict) -> dict[str, int]:
    """How many keys of all results each cause has a part in, most frequent first."""
    counted: Counter[str] = Counter()
    for each in verdict.results:
        counted.update(each.by_cause)
    return dict(counted.most_common())


def expense(costs: Sequence[LayerCost]) -> str:
    """What the stream costs against batch, whichever wins. Where one of them has not been measured, that is said."""
    by_layer = {cost.layer: cost for cost in costs}
    stream, batch = by_layer.get("kappa"), by_layer.get("batch")
    if stream is None or batch is None:
        missing = [name for name, cost in (("the stream", stream), ("the batch layer", batch)) if cost is None]
        have = "has" if len(missing) == 1 else "have"
        return f"What the layers cost cannot be compared: {listed(missing)} {have} not run in this lake."
    parts, unmeasured = [], "; the runs left no note of their CPU time"
    if stream.cpu_seconds is not None and batch.cpu_seconds is not None:
        unmeasured = ""
        parts.append(
            f"used {_against(stream.cpu_seconds, batch.cpu_seconds, 'more', 'less')} CPU "
            f"({number(round(stream.cpu_seconds, 1))} s against {number(round(batch.cpu_seconds, 1))} s)"
        )
    parts.append(
        f"keeps {_against(stream.storage_bytes, batch.storage_bytes, 'more', 'less')} on disk "
        f"({size(stream.storage_bytes)} against {size(batch.storage_bytes)})"
    )
    if stream.freshness_seconds is not None and batch.freshness_seconds is not None:
        parts.append(
            f"was {_against(stream.freshness_seconds, batch.freshness_seconds, 'less fresh', 'fresher', 'as fresh')} in this run "
            f"({seconds(stream.freshness_seconds)} behind ingestion against {seconds(batch.freshness_seconds)}, "
            "and a scheduled batch is behind by up to its interval)"
        )
    return f"Against the batch layer, the stream {listed(parts)}{unmeasured}."


def saving(costs: Sequence[LayerCost]) -> str | None:
    """What the lake's runs would have cost without the batch layer; none where that was not measured."""
    needed = {cost.layer: cost for cost in costs if cost.layer != "legacy" and cost.cpu_seconds is not None}
    if "kappa" not in needed or "batch" not in needed:
        return None
    cpu = sum(cost.cpu_seconds or 0 for cost in needed.values())
    stored = sum(cost.storage_bytes for cost in needed.values())
    batch = needed["batch"]
    counted = (
        "stream, batch and ingestion" if "ingest (shared)" in needed else "stream and batch (ingestion left no note)"
    )
    return (
        f"Of the cost of {counted}, the batch layer is {share(batch.cpu_seconds or 0, cpu)} of the CPU "
        f"and {share(batch.storage_bytes, stored)} of the storage: that is what removing it would save here, "
        "besides its schedule and its merge."
    )


def delayed(found: Redelivery) -> str:
    """What a delay of the same events does to the answers by processing time, and to those by event time."""
    by_processing, by_event = found.processing_time, found.event_time
    at, spike, without = found.spike
    false = (
        f", with a false spike of {count(spike, 'bubble')} in the {written(found.bucket).removeprefix('1 ')} from {at:%H:%M} "
        f"({without:,} without the delay)"
    )
    same = f"all {by_event.keys:,} are identical"
    differ = f"{by_event.differing:,} of {by_event.keys:,} differ too"
    shown = f"{found.starts[0]:%H:%M} to {found.starts[-1] + found.bucket:%H:%M}"
    return (
        f"Held back for {written(found.held_until - found.held_from)} from {found.held_from:%Y-%m-%d %H:%M} UTC, the same "
        f"events give {by_processing.differing:,} of {count(by_processing.keys, 'team score')} from {shown} another value "
        f"by processing time{false if spike > without else ''}; by event time {differ if by_event.differing else same}."
    )


def _against(one: float, other: float, greater: str, smaller: str, same: str = "as much") -> str:
    return same if one == other else greater if one > other else smaller
