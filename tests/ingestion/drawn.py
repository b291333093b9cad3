"""Landing lines that are drawn: new events, early and late, copies, other contents, phones that are ahead, nonsense."""

import random
from datetime import timedelta

from deliveries import START, at, pop

CLOCK = START + timedelta(hours=2)
"""The clock of ingestion."""


def drawn_line(rng: random.Random, ids: list[str]) -> str:
    """The next line; `ids` are those that have come before, and it is added to them."""
    what = rng.random()
    if what < 0.15:
        return rng.choice(["", "nonsense", "[]", '{"event_id": "no kind"}'])
    if what < 0.35 and ids:
        known = rng.choice(ids)
        return pop(known, float(known.partition("@")[2]), bubbles=rng.choice((1, 1, 1, 2)))
    seconds = rng.choice((rng.uniform(0, 7000), rng.uniform(0, 7000), rng.uniform(7800, 40_000)))
    seconds = round(seconds, 3)
    ids.append(f"{len(ids)}@{seconds}")
    more = {"received_at": at(max(seconds - rng.choice((0, 5000)), 0))} if rng.random() < 0.2 else {}
    return pop(ids[-1], seconds, **more)
