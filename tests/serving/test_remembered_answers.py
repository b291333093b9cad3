"""What is remembered takes no more memory than its bound, however short the answers are."""

import gc
import tracemalloc

import pytest

from serving.remembered import Body, Remembered

BOUND = 2**20


def answer(number: int, length: int) -> Body:
    """A body with headers as the API makes them; every text is one of its own."""
    content = (f"{number:08d}" * (length // 8 + 1))[:length].encode()
    versions = f'{{"kappa_team_scores@1":{number},"events":{number}}}'
    return Body(content, "application/json", {"ETag": f'"{number:032x}"', "Parity-Versions": versions})


def question(number: int) -> bytes:
    return number.to_bytes(32)


@pytest.mark.parametrize("length", [99, 1_000, 50_000])
def test_the_bound_is_one_of_memory_and_not_of_bodies(length: int) -> None:
    """Twice as many as fit: old ones go, and what is held stays below the bound, and is not far below."""
    remembered, number = Remembered(BOUND), 0
    gc.collect()
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    while number < 2 * BOUND // length:
        remembered.keep(question(number), answer(number, length))
        number += 1
    gc.collect()
    held = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert 0.6 * BOUND < held <= BOUND, f"{held / BOUND:.2f} of the bound"
    assert remembered.get(question(number - 1)) == answer(number - 1, length) and remembered.get(question(0)) is None
