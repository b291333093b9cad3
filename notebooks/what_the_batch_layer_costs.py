# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#       jupytext_version: 1.19.6
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # What the batch layer costs
#
# Both layers give the same answer. Then the question is what each of them costs: CPU, latency, storage. And what one would
# give up without the second.
#
# A log grows for some days here. The stream takes in what is new, in some micro-batches a day; it is started once a day, and
# that is in its cost. The batch layer computes everything again, once at the end of each day. Beside them runs an old speed
# layer, without which Lambda has no answer before the end of the day. Everything is measured while the notebook runs, and
# every sentence with a number is made of what was measured. Another machine, another log or another setting gives other
# numbers, and may give another winner.

# %%
import os
import platform
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import plotly.graph_objects as go
from slides import COLOURS, NAMES, chart, said

from batch_layer.recompute import recompute
from ingestion.ingest import ingest
from lakehouse.lake import Lake, create_lake
from lakehouse.log import newest_version
from lakehouse.runs import runs
from lakehouse.session import spark_session
from lakehouse.settings import load_settings
from reconciliation.architectures import bill
from reconciliation.costs import LayerCost, layer_costs
from reconciliation.prices import beside, expense, saving
from reconciliation.words import count, seconds, share, size
from serving.reader import Reader
from simulator.game import simulate
from speed_layer.legacy import legacy
from speed_layer.stream import stream

# %% [markdown]
# ## How large
#
# The parameters. `EVENTS_A_DAY=200000 make notebooks` measures ten times as much.

# %%
EVENTS_A_DAY = int(os.environ.get("EVENTS_A_DAY", "20000"))
MICRO_BATCHES_A_DAY = int(os.environ.get("MICRO_BATCHES_A_DAY", "4"))
DAYS = int(os.environ.get("DAYS", "3"))
FILES_A_DAY = 4 * MICRO_BATCHES_A_DAY

# %%
tried = {"ingestion.files_per_batch": str(FILES_A_DAY // MICRO_BATCHES_A_DAY), "stream.commits_per_batch": "1"}
settings, at_once = load_settings(tried=tried), load_settings()
result = settings.pipeline.catalogue(settings.windows_by_result)["team_scores"]
scratch = TemporaryDirectory(prefix="parity-costs-")
root = Path(scratch.name)
spark = spark_session(settings.spark, log_file=root / "spark.log")
said(
    f"{count(EVENTS_A_DAY, 'event')} a day for {count(DAYS, 'day')}, `{result.name}`, allowed lateness of "
    f"{seconds(settings.lateness.allowed.total_seconds())}; {os.cpu_count()} cores ({platform.machine()}), Spark's compiler: "
    f"`{settings.spark.compiler}`. The start of Spark is in no number."
)

# %% [markdown]
# ## A first round that does not count
#
# The JVM loads and compiles its classes when they are first used. Whoever comes first would pay for both.


# %%
def brought_up(lake: Lake, landing: Path) -> None:
    """Take in what has landed, and bring all layers up to it."""
    ingest(spark, lake, landing, settings)
    stream(spark, lake, [result], settings)
    legacy(spark, lake, settings)
    recompute(spark, lake, result, settings)


simulate(root / "warm-up-landing", events=1000, files=2)
brought_up(create_lake(root / "warm-up"), root / "warm-up-landing")

# %% [markdown]
# ## Day by day

# %%
delivered, landing, lake = root / "delivered", root / "landing", create_lake(root / "lake")
landing.mkdir()
simulate(delivered, events=DAYS * EVENTS_A_DAY, hours=24 * DAYS, files=DAYS * FILES_A_DAY)
files = sorted(delivered.glob("*.jsonl"))


def costs_of(lake: Lake) -> dict[str, LayerCost]:
    """What the layers have cost up to now."""
    return {cost.layer: cost for cost in layer_costs(spark, lake, [result])}


history: list[dict[str, LayerCost]] = []
for day in range(DAYS):
    for file in files[day * FILES_A_DAY : (day + 1) * FILES_A_DAY]:
        file.rename(landing / file.name)
    brought_up(lake, landing)
    history.append(costs_of(lake))
reckoned = bill(spark, lake, [result], settings, log_version=newest_version(lake))

# %% [markdown]
# What is compared has to be the same answer: of the same version of the log, equal in every settled row.

# %%
with Reader.of(lake.path, settings) as reader:
    kappa, batch = (reader.answer(result.name, layer, settled=True) for layer in ("kappa", "batch"))
    assert kappa.subject.at.log_version == batch.subject.at.log_version
    assert len(kappa.rows)
    assert kappa.frame().equals(batch.frame())
    events = reader.table("events", "select count(*) as events from {rows}")[0]["events"]
    changelog = kappa.subject.relations["kappa"]
    text = "select count(*) as rows, count(*) filter (cause = 'late') as repairs from {rows}"
    [written] = reader.table(changelog, text)
said(f"The layers agree in all {len(kappa.rows):,} settled rows, over {count(events, 'event')}.")

# %% [markdown]
# ## CPU
#
# The stream's CPU depends on what is new, and on the number of its micro-batches: each has a fixed cost. The batch layer's
# depends on how long the whole log is.


# %%
def by_day(layer: str) -> list[float]:
    """The CPU seconds of each day: the runs of a layer add up."""
    sums = [0.0, *(day[layer].cpu_seconds or 0.0 for day in history)]
    return [after - before for before, after in pairwise(sums)]


days = [f"day {day + 1}<br>{(day + 1) * EVENTS_A_DAY:,} events" for day in range(DAYS)]
cpu = {layer: by_day(layer) for layer in ("kappa", "batch")}
bars = [
    go.Bar(
        x=days, y=cpu[layer], name=NAMES[layer], text=[f"{each:.1f} s" for each in cpu[layer]], textposition="outside"
    )
    for layer in cpu
]
for bar, layer in zip(bars, cpu, strict=True):
    bar.update(marker_color=COLOURS[layer], cliponaxis=False)
dearer, cheaper = sorted(cpu, key=lambda layer: cpu[layer][-1], reverse=True)
chart(
    *bars,
    title=f"On day {DAYS}, {NAMES[dearer]} used {cpu[dearer][-1] / cpu[cheaper][-1]:.1f} times the CPU of {NAMES[cheaper]}",
    x=f"{MICRO_BATCHES_A_DAY} micro-batches a day for the stream, 1 recompute a day for batch",
    y="CPU seconds of the day",
    height=440,
).show()
assert min(*cpu["kappa"], *cpu["batch"]) > 0

# %%
growth = {layer: seconds_[-1] / seconds_[0] for layer, seconds_ in cpu.items()}
said(
    f"From day 1 to day {DAYS} the log grew to {DAYS} times its length. A day of the stream then cost "
    f"{growth['kappa']:.2f} times what it cost on day 1, a day of batch {growth['batch']:.2f} times."
)

# %% [markdown]
# ## Latency
#
# An answer of the stream is as old as a micro-batch takes. An answer of batch is as old as its schedule allows, plus the time
# that it takes. A schedule can be made shorter: the batch layer then pays its whole price more often.

# %%
recomputed = [run for run in runs(lake) if run.job == "recompute"][-1]
micro_batch = history[-1]["kappa"].batch_seconds
affordable = cpu["kappa"][-1] / recomputed.cpu_seconds
EVERY = {"1 day": 1, "6 hours": 4, "1 hour": 24, "10 minutes": 144, "1 minute": 1440}
line = go.Scatter(
    x=list(EVERY), y=[times * recomputed.cpu_seconds for times in EVERY.values()], mode="lines+markers+text"
)
line.update(text=[f"{y:,.0f} s" for y in line.y], textposition="top center", cliponaxis=False)
line.update(
    name=f"{NAMES['batch']}: the recompute of day {DAYS}, so often", line={"color": COLOURS["batch"], "width": 3}
)
level = go.Scatter(
    x=list(EVERY), y=[cpu["kappa"][-1]] * len(EVERY), mode="lines", line={"color": COLOURS["kappa"], "width": 3}
)
level.update(name=f"{NAMES['kappa']}: day {DAYS}, with {MICRO_BATCHES_A_DAY} micro-batches")
chart(
    line,
    level,
    title=f"For the CPU of a day of the stream, batch can run {affordable:.1f} times a day",
    x="how old an answer of batch may be",
    y="CPU seconds a day",
    height=440,
    xaxis_type="category",
    yaxis_type="log",
).show()
said(
    f"Measured: a micro-batch took {seconds(micro_batch)} (median), the recompute of day {DAYS} took "
    f"{seconds(recomputed.wall_seconds)}. Worked out: the line, as that recompute times the number of runs a day."
)

# %% [markdown]
# The stream's line is not for free at every freshness either: more micro-batches cost more. What one more of them costs is
# measured below.
#
# ## Storage
#
# The stream keeps every revision, and the state of its open windows in a checkpoint. The batch layer keeps one row a key,
# and no state.

# %%
parts = {
    "Kappa: revisions": ("kappa", "table_bytes", COLOURS["kappa"], 1),
    "Kappa: checkpoint": ("kappa", "checkpoint_bytes", COLOURS["kappa"], 0.45),
    "Batch: rows": ("batch", "table_bytes", COLOURS["batch"], 1),
}
bars = [
    go.Bar(x=days, y=[getattr(day[layer], column) / 1000 for day in history], name=name, offsetgroup=layer)
    for name, (layer, column, _, _) in parts.items()
]
for bar, (_, _, colour, opacity) in zip(bars, parts.values(), strict=True):
    bar.update(marker={"color": colour}, opacity=opacity)
stored = {layer: history[-1][layer].storage_bytes for layer in cpu}
chart(
    *bars,
    title=f"After day {DAYS} the stream keeps {size(stored['kappa'])}, the batch layer {size(stored['batch'])}",
    y="kB on disk",
    height=440,
    barmode="stack",
).show()
assert history[-1]["batch"].checkpoint_bytes == 0

# %% [markdown]
# ## The case for keeping batch
#
# **A backfill.** All of the log, from nothing: after a bug was fixed, or for a new result. The stream does it in one large
# micro-batch, in a new epoch; batch does what it always does.

# %%
stream(spark, lake, [result], at_once, rebuild=True)
recompute(spark, lake, result, at_once)
by_stream, by_batch = runs(lake)[-2:]
assert (by_stream.job, by_batch.job) == ("stream", "recompute")
spent = {"kappa": by_stream.cpu_seconds, "batch": by_batch.cpu_seconds}
bar = go.Bar(orientation="h", y=[NAMES[layer] for layer in spent], x=list(spent.values()))
bar.update(text=[f"{each:.1f} s" for each in spent.values()], textposition="outside", cliponaxis=False)
bar.update(marker_color=[COLOURS[layer] for layer in spent])
chart(
    bar,
    title=f"A backfill of {count(events, 'event')}: the stream used {spent['kappa'] / spent['batch']:.1f} times the CPU of batch",
    x="CPU seconds",
    height=300,
    yaxis_autorange="reversed",
).show()

# %%
micro_batches = DAYS * MICRO_BATCHES_A_DAY
each_more = (sum(cpu["kappa"]) - spent["kappa"]) / (micro_batches - by_stream.batches)
said(
    f"The same log in {micro_batches} micro-batches used {sum(cpu['kappa']):.1f} s, in {by_stream.batches} it used "
    f"{spent['kappa']:.1f} s: **{each_more:.2f} s for each more**. That is the price of freshness."
)

# %% [markdown]
# **Late events.** What a late event touches is computed by the engine first, and once more by the repair. Batch comes when
# the day is over, and computes it once.

# %%
said(
    f"Of the {count(written['rows'], 'revision')} that the stream wrote in these days, {written['repairs']:,} "
    f"({share(written['repairs'], written['rows'])}) are repairs."
)

# %% [markdown]
# **State.** A recompute needs none. It can be started anywhere, at any version of the log, and when it dies nothing is half
# done. The stream has a checkpoint that must not be lost; if it is, the stream has to begin a new epoch, which is the
# backfill from above.

# %%
said(
    f"The checkpoint of the stream had {size(history[-1]['kappa'].checkpoint_bytes)} after day {DAYS}, that of the batch layer "
    f"{size(history[-1]['batch'].checkpoint_bytes)}."
)

# %% [markdown]
# ## The case against it
#
# The batch layer does not answer before the end of the day: whoever wants that runs a speed layer too, and pays for both. So
# the architectures are compared, Lambda at the schedule of its batch layer against Kappa; the price of a batch run is the
# mean of those of these days. Besides CPU, Lambda has a second schedule, and a merge at a cut-off for every reader.

# %%
said(expense(reckoned))
said(beside(list(history[-1].values())) or "")
said(saving(list(history[-1].values())) or "")

# %% [markdown]
# Larger logs, cold and warm processes and a replay in static steps, which is between the two, are measured by `make bench`:
# docs/benchmarks.md.

# %%
spark.stop()
scratch.cleanup()
