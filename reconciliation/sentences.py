"""The verdict in sentences: whether batch is still needed, whether the layers agree, and what the architectures cost."""

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta

from reconciliation.answer import answer
from reconciliation.architectures import Bill
from reconciliation.costs import LayerCost
from reconciliation.prices import beside, cost_of_the_control, expense
from reconciliation.redelivery import Redelivery
from reconciliation.rewritten import Rewritten
from reconciliation.verdict import Audit, AuditBucket, ResultVerdict, Verdict
from reconciliation.words import SIDES, count, listed, number, share, spoken
from transformations.durations import written

NAMED = 4
"""Hours of an audit that are named in a sentence; the chart has all."""


def sentences(
    verdict: Verdict, control: Verdict | None, bill: Bill, costs: Sequence[LayerCost], again: Rewritten | None
) -> list[str]:
    """All of them as plain text, in the order of the report. The control has its own: its cost is no architecture's."""
    if verdict.candidate == "legacy":
        return [of_the_control(verdict, again), agreement(verdict), cost_of_the_control(costs)]
    told = [str(answer(verdict, control, bill)), agreement(verdict), expense(bill), beside(costs)]
    return [each for each in told if each]


def agreement(verdict: Verdict) -> str:
    """Whether the candidate agrees with the batch layer, over which keys, and if not, why not."""
    side, over = SIDES.get(verdict.candidate, verdict.candidate), count(len(verdict.results), "result")
    equal, judged = (sum(getattr(each, name) for each in verdict.results) for name in ("equal", "compared"))
    flight = sum(each.open + each.behind for each in verdict.results)
    waiting = f"; {count(flight, 'key')} in flight {'is' if flight == 1 else 'are'} not judged" if flight else ""
    versions = sorted({each.log_version for each in verdict.results})
    at = f"at log version {listed([str(version) for version in versions])}"
    unaudited = audit_fault(verdict.audit)
    if verdict.alike:
        empty = [each.result for each in verdict.results if each.empty]
        if len(empty) == len(verdict.results):
            said = f"the log gives {listed(empty)} no row there {at}, and neither has one"
        else:
            nothing = f"; the log gives {listed(empty)} no row, and neither has one" if empty else ""
            said = f"they are equal in all {count(judged, 'settled key')} of {over} {at}{nothing}"
        if unaudited:
            return f"Whether the {side} and the batch layer are right is not known: {said}{waiting}, but {unaudited}."
        return f"The {side} and the batch layer agree: {said}{waiting}."
    unknown = f"; {unaudited}" if verdict.audit.unavailable else ""
    if verdict.status == "could not compare":
        few = f"too few keys are settled and comparable {at}: {not_judged(verdict)}"
        why = few if verdict.results else "no result was asked for"
        return f"The {side} and the batch layer could not be compared: {why}{unknown}."
    unjudged = f"; too few keys are settled to judge {not_judged(verdict)}" if verdict.not_judged else ""
    faults = listed(_faults(verdict, judged - equal, judged))
    return f"The {side} and the batch layer differ {at}: {faults}{unjudged}{waiting}{unknown}."


def audit_fault(audit: Audit) -> str | None:
    """Why nobody knows that both layers have all that landed, and have it once; none if the audit balances."""
    if audit.unavailable:
        return f"the input could not be audited: {audit.unavailable}"
    return f"the input audit does not balance in {_hours(audit.unbalanced)}" if audit.unbalanced else None


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
    if verdict.audit.unbalanced:
        faults.append(str(audit_fault(verdict.audit)))
    return faults


def _hours(buckets: Sequence[AuditBucket]) -> str:
    """The hours of event time, the first of them with its numbers: totals alone can hide one line that moved."""
    named = [f"{each.bucket} ({each.landed:,} landed, {each.accounted:,} accounted for)" for each in buckets[:NAMED]]
    more = f", and {len(buckets) - NAMED} more" if len(buckets) > NAMED else ""
    return f"{count(len(buckets), 'hour')}: {', '.join(named)}{more}"


def causes(verdict: Verdict) -> dict[str, int]:
    """How many keys of all results each cause has a part in, most frequent first."""
    counted: Counter[str] = Counter()
    for each in verdict.results:
        counted.update(each.by_cause)
    return dict(counted.most_common())


def of_the_control(control: Verdict, again: Rewritten | None) -> str:
    """Whether the control was caught, and what of that is due to its kill."""
    if control.status == "could not compare":
        return "The control could not be compared, so nothing shows that the comparison can fail."
    differing = sum(each.differing for each in control.results)
    if control.status == "agree":
        return "The control agrees too: these arrivals gave the comparison nothing to catch."
    told = f"The control differs in {count(differing, 'key')}, as it should, and every difference has a cause."
    if control.unexplained:
        told = (
            f"The control differs in {count(differing, 'key')}, {control.unexplained:,} of them unexplained: that is not as it "
            "should be."
        )
    return f"{told} {of_the_kill(again)}" if again else told


def of_the_kill(again: Rewritten) -> str:
    """What the kill of the control added, apart from what processing time and copies cost without it."""
    if not again.arrivals:
        return "It was not killed: no arrival was written again."
    rest = again.differing - again.keys
    return (
        f"Its kill made it write {again.arrivals:,} of {count(again.all_arrivals, 'arrival')} "
        f"({share(again.arrivals, again.all_arrivals)}) again; {count(again.keys, 'key')} "
        f"{'differs' if again.keys == 1 else 'differ'} by that alone. The other {rest:,} would without a kill, by processing "
        "time and copies."
    )


def delayed(found: Redelivery) -> str:
    """What a delay of the same events does to the answers by processing time, and to those by event time."""
    by_processing, by_event = found.processing_time, found.event_time
    at, spike, without = found.spike
    until = found.starts[-1] + found.bucket
    clock = "%H:%M" if until - found.starts[0] < timedelta(days=1) else "%Y-%m-%d %H:%M"
    false = (
        f", with a false spike of {number(spike)} {spoken(found.value)} in the {written(found.bucket).removeprefix('1 ')} from "
        f"{at:{clock}} ({number(without)} without the delay)"
    )
    same = f"all {by_event.keys:,} are identical"
    differ = f"{by_event.differing:,} of {by_event.keys:,} differ too"
    shown = f"{found.starts[0]:{clock}} to {until:{clock}}"
    return (
        f"Held back for {written(found.held_until - found.held_from)} from {found.held_from:%Y-%m-%d %H:%M} UTC, the same "
        f"events give {by_processing.differing:,} of {count(by_processing.keys, 'key')} of {found.result} from {shown} another "
        f"value by processing time{false if spike > without else ''}; by event time {differ if by_event.differing else same}."
    )
