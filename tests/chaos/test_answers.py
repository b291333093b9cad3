"""What a layer says otherwise than the witness of chaos is a violation, as of the version of the log that the layer is of."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from accounts import RESULTS, SUBJECT, account_of, game, taken_in, witness_of
from game import catalogue
from tables_by_hand import write_batch, write_stream

from chaos.accounting import Account
from chaos.answers import answers_as_landed, batch_as_witnessed, stream_as_witnessed
from chaos.reader import Question, Sums
from chaos.violation import Violation
from chaos.witness import Witness
from lakehouse.lake import Lake
from lakehouse.log import position

KNOWN = [catalogue()[name] for name in RESULTS]


@pytest.fixture(scope="module")
def landing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    landing = tmp_path_factory.mktemp("witnessed") / "landing"
    game(landing)
    return landing


@pytest.fixture(scope="module")
def lake(landing: Path) -> Lake:
    return taken_in(landing.parent / "lake", landing)


@pytest.fixture(scope="module")
def account(lake: Lake, landing: Path) -> Account:
    return account_of(lake, landing)


def test_of_an_earlier_version_it_knows_what_had_arrived_by_then(lake: Lake, account: Account) -> None:
    witness = witness_of(account.events)
    half = position(lake, 2).arrivals
    assert 0 < half < account.landed
    some = [each for each in account.events if each.arrival <= half]
    assert witness.rows("team_scores", arrivals=half) == witness_of(some).rows("team_scores", arrivals=account.landed)
    assert witness.settled_before(half) == max(each.event.event_time for each in some) - SUBJECT.allowed


@pytest.mark.parametrize("version", [2, 4])
def test_a_batch_layer_is_judged_as_of_its_own_version(
    tmp_path: Path, landing: Path, account: Account, version: int
) -> None:
    lake, witness = taken_in(tmp_path / "lake", landing), witness_of(account.events)
    arrivals = position(lake, version).arrivals
    for result in KNOWN:
        rows = witness.rows(result.name, arrivals=arrivals)
        write_batch(lake, result, witness.columns(result.name), rows, version)
    counted = batch_as_witnessed(lake, KNOWN, witness)
    assert all(counted[name] > 5 for name in RESULTS)


@pytest.mark.parametrize("name", RESULTS)
def test_a_row_that_is_lost_or_old_is_a_violation(tmp_path: Path, landing: Path, account: Account, name: str) -> None:
    lake, witness = taken_in(tmp_path / "lake", landing), witness_of(account.events)
    result, columns = catalogue()[name], witness.columns(name)
    rows = witness.rows(name, arrivals=account.landed)
    write_batch(lake, result, columns, rows[1:], 4)
    with pytest.raises(Violation, match=f"batch of {name} at log version 4 has {len(rows) - 1} rows"):
        batch_as_witnessed(lake, [result], witness)
    old = witness.rows(name, arrivals=position(lake, 3).arrivals)
    assert old != rows
    write_batch(lake, result, columns, old, 4)
    with pytest.raises(Violation, match=f"batch of {name} at log version 4 has {len(old)} rows"):
        batch_as_witnessed(lake, [result], witness)


def test_nothing_is_said_of_what_batch_has_never_computed(lake: Lake, account: Account) -> None:
    assert batch_as_witnessed(lake, KNOWN, witness_of(account.events)) == {}
    assert batch_as_witnessed(lake, [replace(KNOWN[0], version=2)], witness_of(account.events)) == {}


def told(lake: Lake, witness: Witness, name: str, *, lost: int = 0) -> int:
    """Let a stream tell what the witness says at version 4, with window ends as the result has them; returns how many."""
    result, arrivals = catalogue()[name], position(lake, 4).arrivals
    columns, rows = witness.columns(name), witness.rows(name, arrivals=arrivals)[lost:]
    if "window_end" not in columns:
        lasts = sum(result.window.durations.values(), timedelta())
        start, columns = columns.index("window_start"), [*columns, "window_end"]
        rows = [(*row, int(str(row[start])) + lasts // timedelta(milliseconds=1)) for row in rows]
    write_stream(lake, result, columns, rows, 4)
    return len(witness.rows(name, arrivals=arrivals, settled_before=witness.settled_before(arrivals)))


def test_what_the_stream_has_settled_is_what_the_witness_says(tmp_path: Path, landing: Path, account: Account) -> None:
    lake, witness = taken_in(tmp_path / "lake", landing), witness_of(account.events)
    expected = {name: told(lake, witness, name) for name in RESULTS}
    assert stream_as_witnessed(lake, KNOWN, witness) == expected and min(expected.values()) > 5


@pytest.mark.parametrize("name", RESULTS)
def test_a_settled_row_that_the_stream_lacks_is_a_violation(
    tmp_path: Path, landing: Path, account: Account, name: str
) -> None:
    lake, witness = taken_in(tmp_path / "lake", landing), witness_of(account.events)
    told(lake, witness, name, lost=3)
    with pytest.raises(Violation, match=f"stream of {name} at log version 4 has .* rows, the witness"):
        stream_as_witnessed(lake, [catalogue()[name]], witness)


def test_a_stream_of_which_nothing_is_settled_is_a_violation(tmp_path: Path, landing: Path, account: Account) -> None:
    lake = taken_in(tmp_path / "lake", landing)
    first = witness_of(account.events[:1])
    told(lake, first, "team_scores")
    with pytest.raises(Violation, match="no row of the stream of team_scores is settled: nothing was compared"):
        stream_as_witnessed(lake, [KNOWN[0]], witness_of([]))


@pytest.mark.parametrize("wrong", [{}, {"bubbles": 1}, {"events": -1}], ids=["right", "a bubble more", "a pop less"])
def test_an_answer_that_was_given_on_the_way_has_what_had_landed_by_then(
    lake: Lake, account: Account, wrong: dict[str, int]
) -> None:
    seen: dict[tuple[Question, int], Sums] = {(Question(KNOWN[2], "batch"), 3): Sums(1, (("clicked_at", 1),))}
    for version in (1, 2, 4):
        arrivals = position(lake, version).arrivals
        arrived = (each.event.fields for each in account.events if each.arrival <= arrivals)
        pops = [fields["bubbles"] for fields in arrived if "bubbles" in fields]
        values = {"bubbles": sum(pops), "events": len(pops)}
        if version == 2:
            values |= {name: values[name] + more for name, more in wrong.items()}
        seen[Question(KNOWN[0], "kappa"), version] = Sums(9, tuple(values.items()))
    if not wrong:
        assert answers_as_landed(lake, seen, account.events) == 3
        return
    with pytest.raises(Violation, match=rf"team_scores of kappa said {{'{next(iter(wrong))}': .* at log version 2"):
        answers_as_landed(lake, seen, account.events)
