"""A failing log shrinks to what makes it fail: predicates instead of streams, so that hundreds of tries cost nothing."""

from collections import Counter
from collections.abc import Callable
from itertools import chain

import pytest
from logs import Arrival, Log, marks
from seeds import chance
from shrinking import shrunk
from worlds import ALLOWED, generated

NEVER = lambda: False  # noqa: E731


def late_and_tied(log: Log) -> bool:
    """A late pop in the last but one commit or later, and two events of one player at one instant."""
    late = any(a.event_time < mark and a.kind == "bubbles_popped" and n > 1 for n, a, mark in marks(log))
    tied = Counter((a.player, a.millis) for a in chain(*log) if a.kind != "heartbeat")
    return late and max(tied.values(), default=0) > 1


def one_pop(log: Log) -> bool:
    return any(a.kind == "bubbles_popped" for a in chain(*log))


@pytest.mark.parametrize("number", range(20))
def test_what_is_left_breaks_the_law_and_nothing_of_it_can_go(number: int) -> None:
    log = generated(chance("shrinking", number), ALLOWED[1])
    assert late_and_tied(log)
    small = shrunk(log, late_and_tied, expired=NEVER)
    assert late_and_tied(small) and len(list(chain(*small))) <= 4
    for commit, place in [(c, p) for c, each in enumerate(small) for p in range(len(each))]:
        less = [each[:p] + each[p + 1 :] if c == commit else each for c, each in enumerate(small) for p in [place]]
        assert not late_and_tied(less), f"{small[commit][place]} could go"


def test_commits_without_arrivals_go_if_they_may() -> None:
    log = generated(chance("shrinking"), ALLOWED[1])
    [commit] = shrunk(log, one_pop, expired=NEVER)
    assert len(commit) == 1
    needs_four = shrunk(log, lambda each: one_pop(each) and len(each) == len(log), expired=NEVER)
    assert len(needs_four) == len(log) and len(list(chain(*needs_four))) == 1


def test_it_ends_with_its_time_and_has_a_log_that_breaks_the_law() -> None:
    tries = Counter[str]()

    def breaks(log: Log) -> bool:
        tries["made"] += 1
        return late_and_tied(log)

    log = generated(chance("shrinking"), ALLOWED[1])
    found = shrunk(log, breaks, expired=lambda: tries["made"] >= 5)
    assert tries["made"] <= 6 and late_and_tied(found)
    assert len(list(chain(*found))) < len(list(chain(*log)))


def test_a_single_arrival_is_left_as_it_is() -> None:
    log: Log = [[], [Arrival("a", 0)]]
    always: Callable[[Log], bool] = one_pop
    assert shrunk(log, always, expired=NEVER) == [[Arrival("a", 0)]]
