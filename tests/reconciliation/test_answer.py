"""Is the batch layer still needed? Every case of the table in `reconciliation/answer.py`, and what it costs."""

from dataclasses import replace
from datetime import timedelta

import pytest
from made_verdict import made_verdict as verdict

from reconciliation.answer import answer
from reconciliation.architectures import Bill
from reconciliation.headings import heading, question
from reconciliation.rewritten import Rewritten
from reconciliation.sentences import of_the_control, of_the_kill, sentences
from reconciliation.verdict import Audit, AuditBucket, Verdict

DAY = timedelta(days=1)


GONE = Audit(1, [], {}, unavailable="1 of 1 landing files are gone")
LOST = Audit(1, [AuditBucket("2026-03-01T10:00Z", landed=2, accepted=1, duplicate=0, quarantined=0)], {})
EMPTY = replace(
    verdict(compared=0), results=[replace(verdict(compared=0).results[0], keys=0, too_few=False, empty=True)]
)
CAUGHT = verdict(candidate="legacy", differing=40)
CHEAPER = Bill(("team_scores@1",), ("team_scores@1",), DAY, DAY, stream=20, speed=10, batch=30)
DEARER = replace(CHEAPER, stream=100)
UNKNOWN = replace(CHEAPER, stream=None, missing=("the stream has noted no run of team_scores@1",))
NO_SPEED = replace(DEARER, speed=None)
SAME = replace(CHEAPER, stream=40)


@pytest.mark.parametrize(
    ("judged", "control", "bill", "word", "why"),
    [
        (verdict(differing=1), CAUGHT, CHEAPER, "yes", "keep batch. The stream has other answers"),
        (verdict(differing=1), None, UNKNOWN, "yes", "keep batch"),
        (verdict(differing=1, policy="drop"), CAUGHT, CHEAPER, "yes", "leaves out what comes late"),
        (verdict(compared=0), CAUGHT, CHEAPER, "not shown yet", "could not be compared"),
        (EMPTY, CAUGHT, CHEAPER, "not shown yet", "nothing to compare"),
        (replace(verdict(), audit=GONE), CAUGHT, CHEAPER, "not shown yet", "agree, but the input could not be audited"),
        (replace(verdict(), audit=LOST), CAUGHT, CHEAPER, "not shown yet", "agree, but the input audit does not balance"),
        (replace(verdict(differing=1), audit=LOST), CAUGHT, CHEAPER, "yes", "keep batch. The stream has other answers"),
        (replace(verdict(compared=0), audit=GONE), CAUGHT, CHEAPER, "not shown yet", "could not be compared"),
        (verdict(), None, CHEAPER, "not shown yet", "no control was judged"),
        (verdict(), verdict(candidate="legacy", compared=0), CHEAPER, "not shown yet", "control could not be compared"),
        (verdict(), verdict(candidate="legacy"), CHEAPER, "not shown yet", "nothing to catch"),
        (verdict(), verdict(candidate="legacy", differing=40, unexplained=2), CHEAPER, "not shown yet", "2 differences"),
        (verdict(policy="drop"), CAUGHT, CHEAPER, "not shown yet", "under the policy `drop` the next event"),
        (verdict(), CAUGHT, CHEAPER, "no", "20 s of CPU do what takes Lambda 40 s"),
        (verdict(), CAUGHT, DEARER, "no", "But Lambda is the cheaper way: with a batch run every day it takes 40 s"),
        (verdict(), CAUGHT, SAME, "no", "cost the same here, 40 s"),
        (verdict(), CAUGHT, UNKNOWN, "no", "not known: the stream has noted no run of team_scores@1"),
        (verdict(), CAUGHT, NO_SPEED, "no", "the old speed layer has not run here"),
        (verdict(), CAUGHT, replace(CHEAPER, speed=None), "no", "takes Lambda at least 30 s"),
    ],
)  # fmt: skip
def test_every_case_has_its_answer(judged: Verdict, control: Verdict | None, bill: Bill, word: str, why: str) -> None:
    found = answer(judged, control, bill)
    assert (found.word, why in found.why) == (word, True), found
    assert str(found).startswith(f"Is the batch layer still needed? {word.capitalize()}: ") and str(found).endswith(".")


@pytest.mark.parametrize("bill", [CHEAPER, DEARER, UNKNOWN, NO_SPEED, SAME])
@pytest.mark.parametrize("policy", ["correct", "drop"])
def test_no_cost_turns_a_difference_into_a_no(bill: Bill, policy: str) -> None:
    assert answer(verdict(differing=3, policy=policy), CAUGHT, bill).word == "yes"


def test_the_control_is_asked_another_question_and_told_as_what_it_is() -> None:
    again = Rewritten(arrivals=10, all_arrivals=1000, keys=4, differing=40)
    told = sentences(CAUGHT, None, CHEAPER, [], again)
    assert "batch layer still needed" not in question(CAUGHT) and heading(CAUGHT) == "The control differs, as it should"
    assert told[0].startswith("The control differs in 40 keys, as it should")
    assert not [each for each in told if "Kappa" in each or "still needed" in each]


@pytest.mark.parametrize(
    ("judged", "headed"),
    [
        (verdict(candidate="legacy"), "The control agrees: there was nothing to catch"),
        (verdict(candidate="legacy", compared=0), "The control could not be compared"),
        (verdict(candidate="legacy", differing=4, unexplained=1), "The control differs, and not every difference has a cause"),
        (verdict(differing=4), "The layers differ"),
        (verdict(), "The layers agree"),
    ],
)  # fmt: skip
def test_a_verdict_is_headed_by_who_was_judged(judged: Verdict, headed: str) -> None:
    assert heading(judged) == headed


def test_what_the_kill_added_is_told_apart_from_the_rest() -> None:
    said = of_the_kill(Rewritten(arrivals=427, all_arrivals=20_463, keys=59, differing=1_964))
    assert "write 427 of 20,463 arrivals (2.1 %) again; 59 keys differ by that alone" in said
    assert "The other 1,905 would without a kill" in said
    assert "was not killed" in of_the_kill(Rewritten(0, 20_463, 0, 1_905))
    assert "not as it should be" in of_the_control(verdict(candidate="legacy", differing=4, unexplained=1), None)
