"""The index of ids while it grows: what a question and a put cost, the longest pause, memory, disk, CPU.

    python -m benchmarks.index --millions 1,10,100 --folder /var/tmp

Ids are put 100,000 at a time, and before each put 10,000 are looked up, of which 2 % are known. 100 million ids take 2.4 GB
of disk, twice that while the largest runs are merged; the folder is removed at the end. At the end it is opened again: as
after another start of the machine, which reads all of it, and with nothing of it in the page cache.
"""

import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from ingestion.index import IdIndex
from ingestion.index.sorted_ids import Longs

PUT, ASKED, KNOWN = 100_000, 10_000, 200
RECENT = 100  # finds and puts that stand for "now"; the longest pause is among all
MEASURES = ("ids", "runs", "find", "longest (CPU)", "put", "longest (CPU)", "CPU an id", "memory", "disk")
Columns = tuple[Longs, Longs, Longs]
Taken = tuple[float, float]  # wall and CPU; on a busy machine the first waits for others
console = Console(width=120)


class Filling:
    """An index that grows, and what it took since the last look."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.index = IdIndex.open(folder, lake="bench", log=1)
        self._chance = np.random.default_rng(1)
        self._known: list[Columns] = []
        self.finds: list[Taken] = []
        self.puts: list[Taken] = []
        self.memory = 0

    def fill(self, ids: int) -> None:
        """Up to so many ids."""
        while len(self.index) < ids:
            new = self._some(PUT)
            self.finds.append(self.ask())
            begun, cpu = time.perf_counter(), time.process_time()
            self.index.put(*new, seq=len(self.index) + PUT, token="bench")  # noqa: S106
            self.puts.append((time.perf_counter() - begun, time.process_time() - cpu))
            self._known.append((new[0][:KNOWN].copy(), new[1][:KNOWN].copy(), new[2][:KNOWN].copy()))
            self.memory = max(self.memory, private_memory())

    def ask(self) -> Taken:
        """What a find takes. Its answer must be right."""
        high, low, _ = self._some(ASKED - KNOWN)
        nothing = np.empty(0, np.int64)
        old = self._known[self._chance.integers(len(self._known))] if self._known else (nothing, nothing, nothing)
        asked = np.concatenate([old[0], high]), np.concatenate([old[1], low])
        begun, cpu = time.perf_counter(), time.process_time()
        known, content = self.index.find(*asked)
        taken = time.perf_counter() - begun, time.process_time() - cpu
        assert known[: len(old[0])].all() and not known[len(old[0]) :].any()
        assert (content[: len(old[0])] == old[2]).all()
        return taken

    def _some(self, count: int) -> Columns:
        bounds = np.iinfo(np.int64)
        high, low, content = (self._chance.integers(bounds.min, bounds.max, count) for _ in range(3))
        return high, low, content


def private_memory() -> int:
    """Of this process, without the mapped files, which are the page cache's."""
    told = Path("/proc/self/status").read_text().splitlines()
    [line] = [line for line in told if line.startswith("RssAnon:")]
    return int(line.split()[1]) * 1024


def main(
    millions: Annotated[str, typer.Option(help="At how many million ids to look, rising.")] = "1,10,100",
    folder: Annotated[Path | None, typer.Option(help="Where the index may lie while it is measured.")] = None,
) -> None:
    home = Path(tempfile.mkdtemp(prefix="parity-index-", dir=folder))
    try:
        filling = Filling(home)
        table = Table(*MEASURES, title=f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
        for goal in millions.split(","):
            table.add_row(*row(filling, int(float(goal) * 1e6)))
        console.print(table)
        console.print(f"load at the end {os.getloadavg()[0]:.1f}")
        opened_again(filling)
    finally:
        shutil.rmtree(home)


def row(filling: Filling, ids: int) -> tuple[str, ...]:
    had = len(filling.index)
    filling.finds, filling.puts, filling.memory = [], [], 0
    with console.status(f"up to {ids:,} ids …"):
        filling.fill(ids)
    disk = sum(file.stat().st_blocks * 512 for file in filling.folder.iterdir())
    return (
        f"{len(filling.index):,}",
        f"{len(filling.index.places)}",
        *told(filling.finds),
        *told(filling.puts),
        f"{sum(cpu for _, cpu in filling.puts) / (ids - had) * 1e6:.2f} µs",
        f"{filling.memory / 2**20:.0f} MiB",
        f"{disk / 1e9:.2f} GB",
    )


def told(taken: list[Taken]) -> tuple[str, str]:
    longest, longest_cpu = (max(each) * 1e3 for each in zip(*taken, strict=True))
    return f"{np.median([wall for wall, _ in taken[-RECENT:]]) * 1e3:.1f} ms", f"{longest:.0f} ({longest_cpu:.0f}) ms"


def opened_again(filling: Filling) -> None:
    for what, boot in (("with its state as it is", None), ("after another start of the machine", "another")):
        filling.index.close()
        begun, cpu = time.perf_counter(), time.process_time()
        filling.index = IdIndex.open(filling.folder, lake="bench", log=1, boot=boot)
        cpu = time.process_time() - cpu
        assert filling.index.begun_anew is None
        console.print(f"opened {what}: {time.perf_counter() - begun:.2f} s, {cpu:.2f} CPU s", highlight=False)
    filling.index.close()
    for file in filling.folder.iterdir():
        with file.open("rb") as opened:
            os.fsync(opened.fileno())
            os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    filling.index = IdIndex.open(filling.folder, lake="bench", log=1, boot="another")
    told = ", ".join(f"{filling.ask()[0]:.2f}" for _ in range(5))
    console.print(f"the first questions of {ASKED:,} ids with nothing in the page cache: {told} s", highlight=False)


if __name__ == "__main__":
    typer.run(main)
