"""The index against a dict: whatever is done in whatever order, both know the same ids with the same contents."""

import random
from contextlib import suppress
from pathlib import Path

import pytest
from seeds import chance, rounds
from small_index import (
    Model,
    assert_knows_exactly,
    assert_no_other_files,
    columns,
    draw_new,
    ids_columns,
    make_small,
)

from ingestion.index import Covered, IdIndex, Pending
from ingestion.index.moment import Name

EXAMPLES, STEPS = 6, 60


class Struck(Exception):
    pass


class Compared:
    """An index and its model, and what can be done to both."""

    def __init__(self, folder: Path, chance: random.Random) -> None:
        self.folder, self.chance = folder, chance
        self.model: Model = {}
        self.covered: Covered | None = None
        self.boot = "first"
        self.moments_left: int | None = None
        self.index = self._open()
        assert self.index.begun_anew == "there was none"
        self.merges_under_way = 0

    def put(self) -> None:
        new, covered = self._new(), self._next()
        self.index.put(*columns(new), seq=covered.seq, token=covered.token)
        self._accepted(new, covered)

    def put_nothing(self) -> None:
        covered = self._next()
        self.index.put(*columns({}), seq=covered.seq, token=covered.token)
        self._accepted({}, covered)

    def put_pending(self) -> None:
        pending, added = Pending(self.index), Model()
        for _ in range(self.chance.randrange(5)):
            new = draw_new(self.chance, self.chance.randrange(90), {**self.model, **added})
            pending.add(*columns(new))
            added |= new
            assert len(pending) == len(added)
            assert_knows_exactly(pending, {**self.model, **added}, self.chance)
        assert_knows_exactly(self.index, self.model, self.chance)
        if self.chance.random() < 0.8:
            covered = self._next()
            pending.put(seq=covered.seq, token=covered.token)
            assert not len(pending)
            self._accepted(added, covered)

    def put_that_fails(self) -> None:
        """At any moment: then it has not happened, unless the state was replaced already. This process asks nothing more."""
        new, covered = self._new(), self._next()
        self.moments_left = self.chance.randrange(30)
        try:
            self.index.put(*columns(new), seq=covered.seq, token=covered.token)
        except Struck:
            with pytest.raises(ValueError, match="is closed"):
                self.index.find(*ids_columns([]))
            self.open_and_fail()
            self.reopen()
            if self.index.covered == self.covered:
                return
        finally:
            self.moments_left = None
        self._accepted(new, covered)

    def open_and_fail(self) -> None:
        """While it removes what the failed put has left, if that is so many files."""
        self.moments_left = self.chance.randrange(4)
        with suppress(Struck):
            self._open().close()

    def reopen(self) -> None:
        self.moments_left = None
        self.index.close()
        self.index = self._open()
        assert self.index.begun_anew is None
        assert_no_other_files(self.folder, self.index)

    def start_the_machine_again(self) -> None:
        self.boot = f"{self.chance.random()}"
        self.reopen()

    def clear(self) -> None:
        if self.chance.random() < 0.2:
            self.index.clear()
            self.model, self.covered = {}, None

    def check(self) -> None:
        assert self.index.covered == self.covered and len(self.index) == len(self.model)
        assert_knows_exactly(self.index, self.model, self.chance)
        self.merges_under_way += len(self.index._shelf.merges)

    def _open(self) -> IdIndex:
        return IdIndex.open(self.folder, lake="lake", log=3, boot=self.boot, moment=self._moment)

    def _moment(self, _: Name) -> None:
        if self.moments_left is not None:
            self.moments_left -= 1
            if self.moments_left < 0:
                raise Struck

    def _new(self) -> Model:
        return draw_new(self.chance, self.chance.choice((1, 5, 20, 50, 200)), self.model)

    def _next(self) -> Covered:
        seq = (self.covered.seq if self.covered else 0) + self.chance.randrange(9)
        return Covered(lake="lake", log=3, seq=seq, token=f"{self.chance.random()}")

    def _accepted(self, new: Model, covered: Covered) -> None:
        self.model |= new
        self.covered = covered


@pytest.mark.parametrize("number", [EXAMPLES * each + example for each in rounds() for example in range(EXAMPLES)])
def test_whatever_is_done_the_index_knows_what_a_dict_knows(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_small(monkeypatch)
    drawn = chance("index", number)
    compared = Compared(tmp_path / "index", drawn)
    steps = (
        *(compared.put,) * 5,
        compared.put_nothing,
        *(compared.put_pending,) * 2,
        *(compared.put_that_fails,) * 2,
        compared.reopen,
        compared.start_the_machine_again,
        compared.clear,
    )
    for _ in range(STEPS):
        drawn.choice(steps)()
        compared.check()
    assert compared.merges_under_way, "no merge took more than one put: this example shows nothing of them"
