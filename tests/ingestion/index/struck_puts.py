"""Puts in a process of its own that kills itself at a named moment.

    python struck_puts.py FOLDER FIRST LAST MOMENT NTH      puts FIRST to LAST; killed the NTH time it comes to MOMENT

Says the number of each put once it has returned.
"""

import os
import random
import signal
import sys
from pathlib import Path

import pytest
from small_index import Model, columns, draw_new, make_small

from ingestion.index import IdIndex
from ingestion.index.moment import Name


def ids_of(number: int) -> Model:
    """The ids of put number so and so."""
    drawn = random.Random(number)
    return draw_new(drawn, drawn.choice((3, 20, 60, 150)), {})


def main(folder: Path, first: int, last: int, moment: str, nth: int) -> None:
    left = nth

    def strike(name: Name) -> None:
        nonlocal left
        left -= name == moment
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)

    with pytest.MonkeyPatch.context() as patch:
        make_small(patch)
        index = IdIndex.open(folder, lake="lake", log=1, moment=strike)
        for number in range(first, last + 1):
            index.put(*columns(ids_of(number)), seq=number, token=f"token {number}")
            sys.stdout.write(f"{number}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], int(sys.argv[5]))
