"""What a verdict is headed with. The stream ought to agree with batch; the control ought not to, so it has its own words."""

from reconciliation.answer import QUESTION, unaudited
from reconciliation.verdict import Verdict

STREAM = {
    "agree": "The layers agree",
    "differ": "The layers differ",
    "could not compare": "The layers could not be compared",
}
CONTROL = {
    "agree": "The control agrees: there was nothing to catch",
    "differ": "The control differs, as it should",
    "could not compare": "The control could not be compared",
}


def question(verdict: Verdict) -> str:
    """What the verdict is an answer to."""
    return "Does the comparison catch a layer that is wrong?" if verdict.candidate == "legacy" else QUESTION


def heading(verdict: Verdict) -> str:
    if verdict.candidate != "legacy":
        fault = unaudited(verdict.audit) if verdict.alike else None
        return f"The layers agree, but {fault}" if fault else STREAM[verdict.status]
    if verdict.status == "differ" and verdict.unexplained:
        return "The control differs, and not every difference has a cause"
    return CONTROL[verdict.status]
