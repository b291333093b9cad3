"""The report's own question: is the batch layer still needed? Yes, no, or not shown yet, and why.

| the stream and batch | the control | policy | answer |
|---|---|---|---|
| agree, but the input was not audited, or does not balance | any | any | not shown yet: both may lack the same events |
| differ | any | `drop` | yes: what comes late is in the batch layer's answers only |
| differ | any | `correct` | yes: the stream cannot stand in for it |
| could not be compared | any | any | not shown yet |
| agree, over nothing | any | any | not shown yet |
| agree | did not run, or could not be compared | any | not shown yet: nothing shows that the comparison can fail |
| agree | agrees too | any | not shown yet: there was nothing to catch |
| agree | differs, not all explained | any | not shown yet |
| agree | differs, all explained | `drop` | not shown yet: nothing that came late mattered, the next event may |
| agree | differs, all explained | `correct` | no: the answers are the same; then what it costs decides |

What it costs never turns a yes or a no about right answers around. Where Lambda is the cheaper at the schedule of its
batch layer, the no says so, and for whom keeping batch is right.
"""

from dataclasses import dataclass
from typing import Literal

from reconciliation.architectures import Bill
from reconciliation.verdict import Audit, Verdict
from reconciliation.words import count, every, listed, number

QUESTION = "Is the batch layer still needed?"
Word = Literal["yes", "no", "not shown yet"]


@dataclass(frozen=True)
class Answer:
    word: Word
    why: str

    def __str__(self) -> str:
        return f"{QUESTION} {self.word.capitalize()}: {self.why}."


def answer(verdict: Verdict, control: Verdict | None, bill: Bill) -> Answer:
    """The answer as the table above says, for the results that were judged."""
    if verdict.alike and (fault := unaudited(verdict.audit)):
        return Answer("not shown yet", f"the layers agree, but {fault}, and both may lack the same events")
    if verdict.status == "differ":
        if verdict.policy == "drop":
            return Answer(
                "yes", "keep batch. Under the policy `drop` the stream leaves out what comes late, and batch has it"
            )
        return Answer("yes", "keep batch. The stream has other answers than the batch layer")
    if verdict.status == "could not compare":
        return Answer("not shown yet", "the stream and the batch layer could not be compared")
    if all(each.empty for each in verdict.results):
        return Answer("not shown yet", "there was nothing to compare")
    if unproven := _untested(control):
        return Answer("not shown yet", f"the layers agree, but {unproven}")
    if verdict.policy == "drop":
        return Answer(
            "not shown yet",
            "the layers agree, but under the policy `drop` the next event that comes late is in the answers of batch only",
        )
    return Answer("no", f"the stream alone gives the same answers in {_judged(verdict)}. {_price(bill)}")


def unaudited(audit: Audit) -> str | None:
    """What the audit lacks to prove that both layers have what landed; none if it balances."""
    if audit.unavailable:
        return "the input could not be audited"
    return None if audit.balanced else "the input audit does not balance"


def _untested(control: Verdict | None) -> str | None:
    """Why an agreement proves nothing yet; none if the same comparison has caught the control."""
    if control is None:
        return "no control was judged, so nothing shows that the comparison can fail"
    if control.status == "could not compare":
        return "the control could not be compared, so nothing shows that the comparison can fail"
    if control.status == "agree":
        return "so does the control: these arrivals gave the comparison nothing to catch"
    if control.unexplained:
        return f"{count(control.unexplained, 'difference')} of the control could not be explained"
    return None


def _judged(verdict: Verdict) -> str:
    keys = sum(result.compared for result in verdict.results)
    return f"{'all ' if keys > 1 else ''}{count(keys, 'settled key')} of {count(len(verdict.results), 'result')}"


def _price(bill: Bill) -> str:
    """What the answer is worth, without a full stop at its end."""
    if bill.missing:
        return f"What doing without it saves is not known: {listed(list(bill.missing))}"
    kappa = f"{number(round(bill.kappa or 0, 1))} s of CPU"
    if bill.cheaper == "lambda":
        return (
            f"But Lambda is the cheaper way: with a batch run {every(bill.every)} it takes "
            f"{number(round(bill.lambda_ or 0, 1))} s of CPU, and Kappa {kappa}. Keep batch where answers may be wrong until "
            "the next run"
        )
    if bill.cheaper == "kappa":
        least = "" if bill.speed is not None else "at least "
        total = bill.lambda_ if bill.lambda_ is not None else bill.batches
        return f"Without it, {kappa} do what takes Lambda {least}{number(round(total or 0, 1))} s"
    if bill.lambda_ is None:
        return f"What doing without it saves is not known: the old speed layer has not run here; Kappa takes {kappa}"
    return f"Lambda and Kappa cost the same here, {kappa}"
