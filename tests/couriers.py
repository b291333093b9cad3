"""A pipeline unlike the game: couriers, whose names nobody is told, bring parcels that weigh fractions of a kilogram."""

import json
import random
from collections.abc import Iterator
from pathlib import Path

from deliveries import at

STORY = """
from transformations.pipeline import Charted, Story

PIPELINE = Story(
    name="couriers",
    story="Couriers bring parcels.",
    controlled=("loads",),
    charted=Charted("{charted}", "total_weight"),
    live=("loads", "rounds", "whole_days"),
)
"""
KIND = """
from transformations.kind import Decimal, Field, Kind

KIND = Kind(
    "parcel_brought",
    "A courier brought a parcel.",
    (Field("courier_id", "text", personal=True), Field("weight", Decimal(scale=2))),
)
"""
LOADS = """
from datetime import timedelta

from pyspark.sql import functions as F
from pyspark.sql.types import LongType

from transformations.result import Result, Total, Value
from transformations.sums import exact_sum, sum_type
from transformations.windows import Tumbling


def weighed(parcels, window, alongside):
    return parcels.groupBy(*alongside, {grouped} "window").agg(
        exact_sum("weight", scale=2).alias("total_weight"), F.count(F.lit(1)).alias("parcels")
    )


def {name}(*, size=timedelta({size})):
    return Result(
        name="{name}",
        meaning="What was brought per window.",
        kinds=("parcel_brought",),
        key=({grouped}),
        values=(
            Value("total_weight", sum_type(scale=2), "kilograms brought", total=Total("parcel_brought", "weight")),
            Value("parcels", LongType(), "number of parcels", least=0, total=Total("parcel_brought")),
        ),
        window=Tumbling(size),
        compute=weighed,
    )
"""
ROUNDS = """
from datetime import timedelta

from pyspark.sql import functions as F
from pyspark.sql.types import LongType

from transformations.result import Result, Total, Value
from transformations.sessions import Session


def stops(parcels, window, alongside):
    return parcels.groupBy(*alongside, "courier_id", window.window()).agg(
        F.min("event_time").alias("first_at"), F.max("event_time").alias("last_at"), F.count(F.lit(1)).alias("stops")
    )


def rounds(*, gap=timedelta(seconds=20)):
    return Result(
        name="rounds",
        meaning="The stretches in which a courier brought parcels without a break.",
        kinds=("parcel_brought",),
        key=("courier_id",),
        values=(Value("stops", LongType(), "number of parcels", least=0, total=Total("parcel_brought")),),
        window=Session(gap),
        compute=stops,
    )
"""
NAMES = ("anna", "bert", "carla")
SECONDS = 17 * 60
"""Of event time; more than the page shows of windows of five seconds."""


def courier_pipeline(folder: Path, charted: str = "loads") -> Path:
    """The folder, with the pipeline in it. `loads` has windows of five seconds, `whole_days` of a day and no key."""
    files = {
        "pipeline.py": STORY.replace("{charted}", charted),
        "kinds/parcel_brought.py": KIND,
        "results/rounds.py": ROUNDS,
    }
    for name, grouped, size in (("loads", '"courier_id",', "seconds=5"), ("whole_days", "", "days=1")):
        made = LOADS.replace("{name}", name).replace("{grouped}", grouped).replace("{size}", size)
        files[f"results/{name}.py"] = made
    for file, text in files.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(text)
    return folder


def parcels() -> Iterator[str]:
    """Lines of parcels; some courier's phone delivers seconds after it was brought, in another window."""
    rng = random.Random(7)
    for place in range(SECONDS // 2):
        second = 2 * place + rng.random()
        name, received = rng.choice(NAMES), at(second + rng.choice([0.1, 0.1, 0.1, 7]))
        if 60 < second % 120 < 90:
            continue  # a break, after which another round begins
        event = {"event_id": f"parcel-{place}", "kind": "parcel_brought", "courier_id": name, "occurred_at": at(second)}
        # The token has to be written as it is; a float would lose the last digit of some.
        weight = f"{rng.randrange(5, 4000) / 100:.2f}"
        yield json.dumps({**event, "sent_at": received, "received_at": received})[:-1] + f', "weight": {weight}}}'
