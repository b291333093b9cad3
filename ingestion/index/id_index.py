"""The index of the ids that a log has, in a folder of its own.

    index = IdIndex.open(folder, lake=lake_id, log=1)
    known, content = index.find(high, low)
    index.put(high, low, content, seq=last_seq_of_the_commit, token=token_of_the_commit)     after the log's commit

The caller compares `index.covered` with the log before the first question. Behind the log: it puts the hashes of the later
rows. Ahead of it, or with a token that the log's commit at that seq does not have: it clears the index and puts all rows.

One process at a time, and one thread: the caller holds the lock of ingestion from `open` to `close`. Nothing here locks.

A put makes new files and then replaces the state file, which names them, so a kill at any moment leaves the state before or
after it. Nothing is asked of the disk (fsync took 0.7 ms a put on a fast one, and a merged run of gigabytes would have to
be waited for): after a power loss the files may be torn. So the first opening after a start of the machine reads all of
them and their checks, 2.4 GB for 100 million ids, and an index that is not sound begins anew.
"""

from collections.abc import Iterable
from pathlib import Path

from ingestion.index.boot import UNKNOWN, boot_id
from ingestion.index.covered import Covered
from ingestion.index.moment import Moment, unwatched
from ingestion.index.run import SUFFIX, Run, write_run
from ingestion.index.shelf import Shelf
from ingestion.index.sorted_ids import Bools, Longs, SortedIds, look_up, require_columns
from ingestion.index.state import DRAFT, State, read_state, write_state
from ingestion.index.unusable import Unusable

PIECE = 1 << 20  # ids that are sorted at once: a larger put becomes several runs, and needs no more memory than this
_REMOVED_A_PUT = 256 << 20  # bytes: removing a file of gigabytes that is in memory takes long
_EMPTY = Shelf(runs={}, merges=(), next=1)


class IdIndex:
    def __init__(self, folder: Path, *, lake: str, log: int, boot: str, moment: Moment) -> None:
        """An index that knows nothing yet. Use `open`."""
        self.covered: Covered | None = None
        self.begun_anew: str | None = None
        """Why it was empty when it was opened: there was none, or what was there could not be relied on."""
        self._folder, self._lake, self._log, self._boot, self._moment = folder, lake, log, boot, moment
        self._shelf = _EMPTY
        self._unneeded: list[Path] = []
        self._closed = False

    @classmethod
    def open(
        cls, folder: Path, *, lake: str, log: int, boot: str | None = None, moment: Moment = unwatched
    ) -> "IdIndex":
        """The index in this folder. One that is missing, torn or of another log comes back empty: see `begun_anew`."""
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        index = cls(folder, lake=lake, log=log, boot=boot_id() if boot is None else boot, moment=moment)
        try:
            index._load(read_state(folder))
        except Unusable as reason:
            index.begun_anew = str(reason)
            index.clear()
        index._remove_unnamed()
        return index

    def __len__(self) -> int:
        return sum(map(len, self._shelf.runs.values()))

    @property
    def places(self) -> list[SortedIds]:
        """Where ids are looked up."""
        if self._closed:
            raise ValueError(f"the index in {self._folder} is closed")
        return [run.ids for run in self._shelf.runs.values()]

    def find(self, high: Longs, low: Longs) -> tuple[Bools, Longs]:
        """For each id whether the log has it, and the content hash of those that it has (0 of the others)."""
        return look_up(self.places, high, low)

    def put(self, high: Longs, low: Longs, content: Longs, *, seq: int, token: str) -> None:
        """The log's rows up to `seq`, which the index did not cover yet: their ids, each once, as the log has them.

        Where it raises (a full disk, say), the index is closed, and is found in the state before or after this put when it is
        opened again. After `Unusable` it is found empty.
        """
        require_columns(high, low, content)
        pieces = (slice(start, start + PIECE) for start in range(0, len(low), PIECE))
        self.put_sorted((SortedIds.of(high[each], low[each], content[each]) for each in pieces), seq=seq, token=token)

    def put_sorted(self, parts: Iterable[SortedIds], *, seq: int, token: str) -> None:
        """The same in parts that are in order already, as one put."""
        if self._closed or (self.covered and seq < self.covered.seq):
            raise ValueError(f"the index in {self._folder} is closed, or covers more than seq {seq}: {self.covered}")
        try:
            shelf, count = self._shelf, 0
            for part in parts:
                if len(part):
                    shelf = shelf.with_run(write_run(self._folder / shelf.next_name(), part, self._moment))
                    count += len(part)
            shelf = shelf.tended(self._folder, put=count, moment=self._moment)
            self._become(Covered(lake=self._lake, log=self._log, seq=seq, token=token), shelf)
        except Unusable:
            self.clear()
            self.close()
            raise
        except BaseException:
            # What is on disk may be newer than what is known here, and names of files may be taken.
            self.close()
            raise

    def clear(self) -> None:
        """Forget everything, to be filled again from the log."""
        self._become(None, _EMPTY)
        self._remove_unnamed()

    def close(self) -> None:
        self._closed, self._shelf = True, _EMPTY

    def _become(self, covered: Covered | None, shelf: Shelf) -> None:
        state = State(
            lake=self._lake,
            log=self._log,
            covered=covered,
            runs=tuple(shelf.runs),
            merges=shelf.merges,
            next=shelf.next,
            boot=self._boot,
        )
        write_state(self._folder, state, self._moment)
        unneeded = self._shelf.files() - shelf.files()
        self.covered, self._shelf = covered, shelf
        self._unneeded += [self._folder / name for name in sorted(unneeded)]
        self._remove_unneeded()

    def _load(self, state: State) -> None:
        if (state.lake, state.log) != (self._lake, self._log):
            raise Unusable(
                f"it is of log {state.log} of lake {state.lake}, not of log {self._log} of lake {self._lake}"
            )
        runs = {name: Run.open(self._folder / name) for name in state.runs}
        same_boot = state.boot == self._boot != UNKNOWN
        if not same_boot:
            for run in runs.values():
                run.verify()
        merges = tuple(
            merge if same_boot and merge.has_its_draft(self._folder, runs) else merge.from_the_start()
            for merge in state.merges
        )
        shelf = Shelf(runs=runs, merges=merges, next=state.next)
        if same_boot:
            self.covered, self._shelf = state.covered, shelf
        else:
            self._become(state.covered, shelf)

    def _remove_unneeded(self) -> None:
        removed = 0
        while self._unneeded and removed < _REMOVED_A_PUT:
            file = self._unneeded.pop(0)
            removed += file.stat().st_size if file.exists() else 0
            file.unlink(missing_ok=True)
            self._moment("run.removed")

    def _remove_unnamed(self) -> None:
        """What a killed put left behind, or the files of an index that was given up."""
        self._unneeded.clear()
        for file in self._folder.iterdir():
            if file.name == DRAFT or (file.suffix == SUFFIX and file.name not in self._shelf.files()):
                file.unlink()
                self._moment("run.removed")
