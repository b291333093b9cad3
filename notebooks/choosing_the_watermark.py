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
# # Choosing the watermark
#
# An event can arrive after its window is over. The allowed lateness says how long a window stays open for such events. The
# mark of the log is the greatest event time that has arrived; a window is settled once the mark is the allowed lateness
# beyond its end.
#
# - **A small lateness is eager.** Results settle soon. More events come after that, and each result that they touch is
#   repaired: a reader who relied on it is corrected.
# - **A large lateness is slow.** Few results are repaired. Every result waits that long before it is settled, also those
#   for which nothing was late.
#
# Nothing is lost either way: a repair gives the same answer as batch. The choice is between work and waiting, and the log
# says how much of each. What is counted here is what `parity lateness` counts; docs/lateness.md has the definitions.

# %%
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
import plotly.graph_objects as go
from slides import AGREES, COLOURS, INK, OPEN, chart, lake_path, said, table

from lakehouse.log import newest_version
from lakehouse.session import spark_session
from reconciliation.charts import short
from reconciliation.choice import advice, percent, wait
from reconciliation.lateness import lateness_choice
from reconciliation.series import lateness
from reconciliation.words import count, share
from serving.reader import Reader
from transformations.durations import milliseconds, written

# A window of a minute, one of an hour, sessions, and offers with their clicks.
CHOSEN = ("team_scores", "active_players", "player_sessions", "offer_outcomes")

reader = Reader.of(lake_path())
computed = {name: reader.subjects.computed(name) for name in CHOSEN}
current = computed["team_scores"].settings.lateness.allowed
results, log_version = [each.result for each in computed.values()], newest_version(reader.lake)

# %% [markdown]
# ## How late the events were
#
# Ingestion wrote the mark into each row of the log: the greatest event time that had arrived up to it. So how far behind an
# event came is a property of the log, the same for every reader.

# %%
with TemporaryDirectory(prefix="parity-watermark-") as scratch:
    spark = spark_session(reader.settings.spark, log_file=Path(scratch) / "spark.log")
    buckets = lateness(spark, reader.lake, log_version, current)
    choice = lateness_choice(spark, reader.lake, results, log_version, current)
    spark.stop()

total = sum(bucket.events for bucket in buckets)
beyond = sum(bucket.events for bucket in buckets if bucket.beyond_allowed)
names = [
    "none" if not each.least else f"< {short(each.below)}" if each.below else f"≥ {short(each.least)}"
    for each in buckets
]
bars = go.Bar(
    x=names, y=[100 * each.events / total for each in buckets], text=[share(each.events, total) for each in buckets]
)
bars.update(textposition="outside", cliponaxis=False)
bars.update(marker_color=[COLOURS["legacy"] if each.beyond_allowed else COLOURS["kappa"] for each in buckets])
chart(
    bars,
    title=f"{share(beyond, total)} of the events came {written(current)} or more behind the mark",
    x="behind the mark when it arrived",
    y="share of events",
    xaxis_type="category",
    yaxis_ticksuffix=" %",
).show()
assert total == reader.table("events", "select count(*) as events from {rows}")[0]["events"]

# %% [markdown]
# The orange bars are beyond the allowed lateness of now. Delays of seconds come from a slow connection, delays of minutes
# or hours from phones that were offline. A lateness between two such groups makes every result wait longer and saves few
# repairs.
#
# ## Eager against slow
#
# For each allowed lateness, from zero to the first for which nothing is late:
#
# - **late events**: events that are late for at least one of the results;
# - **repairs**: rows of the results that at least one late event touches;
# - **wait**: from the end of a window until the arrival that settles it, on the clock of arrival.

# %%
told = pd.DataFrame(
    {
        "allowed lateness": written(option.allowed),
        "": " ".join(
            mark for mark, each in (("now", choice.current), ("within budget", choice.recommended)) if each is option
        ),
        "late events": share(option.late_events, choice.events),
        "repairs": option.repaired,
        "of all rows": share(option.repaired, choice.rows),
        "median wait": wait(option.median_wait),
        "p99 wait": wait(option.p99_wait),
        "still open": option.not_settled,
    }
    for option in choice.options
)
said(f"{count(choice.events, 'event')} read by {', '.join(choice.results)}, with {count(choice.rows, 'row')}.")
table(told)

# %% [markdown]
# Waiting longer never makes more work, and never gives an answer sooner.

# %%
for eager, slow in zip(choice.options, choice.options[1:], strict=False):
    assert slow.late_events <= eager.late_events
    assert slow.repaired <= eager.repaired
    assert slow.not_settled >= eager.not_settled
assert choice.recommended.repaired <= choice.budget * choice.rows

# %%
TICKS = {1: "1 s", 10: "10 s", 60: "1 min", 600: "10 min", 3600: "1 h", 21_600: "6 h", 86_400: "1 d"}


def seconds(option: object, name: str) -> float | None:
    """A wait for an axis that has no zero."""
    duration = getattr(option, name)
    return None if duration is None else max(duration.total_seconds(), 1)


allowed = [short(option.allowed) for option in choice.options]
repaired = go.Scatter(x=allowed, y=[100 * each.repaired / choice.rows for each in choice.options], name="rows repaired")
repaired.update(line={"color": COLOURS["legacy"], "width": 3}, fill="tozeroy", fillcolor="rgba(200, 84, 10, .12)")
median, slowest = (
    go.Scatter(x=allowed, y=[seconds(each, name) for each in choice.options], yaxis="y2", name=label, line=line)
    for name, label, line in (
        ("median_wait", "wait until settled, median", {"color": COLOURS["kappa"], "width": 3}),
        ("p99_wait", "99 %", {"color": COLOURS["kappa"], "width": 1.5, "dash": "dot"}),
    )
)
best = choice.recommended
figure = chart(
    repaired,
    median,
    slowest,
    title=f"With {written(best.allowed)}, {share(best.repaired, choice.rows)} of the rows are repaired and half wait "
    f"{wait(best.median_wait)}",
    x="eager        allowed lateness        slow",
    y="rows repaired",
    height=560,
    xaxis={"type": "category", "anchor": "y2"},
    yaxis={"domain": [0.54, 1], "rangemode": "tozero", "ticksuffix": " %"},
    yaxis2={
        "domain": [0, 0.46],
        "type": "log",
        "title": {"text": "wait"},
        "tickvals": list(TICKS),
        "ticktext": list(TICKS.values()),
    },
)
marked = {"now": (choice.current, INK), f"within {percent(choice.budget)}": (best, AGREES)}
for place, (label, (option, colour)) in enumerate(marked.items()):
    at = choice.options.index(option)
    figure.add_shape(
        type="line", x0=at, x1=at, yref="paper", y0=0, y1=1, line={"color": colour, "width": 1.5, "dash": "dash"}
    )
    figure.add_annotation(
        x=at, yref="paper", y=1 - 0.07 * place, text=label, showarrow=False, xanchor="left", font_color=colour
    )
figure.show()

# %%
said(advice(choice))

# %% [markdown]
# ## What each result would need by itself
#
# An hour is touched by any late event within it, a minute only by its own. So few long windows tend to need a
# longer lateness than many short ones, for the same share of repairs.

# %%
needed = pd.DataFrame(
    {
        "result": name,
        "shape": computed[name].result.window.name,
        "rows": rows,
        "repairs now": choice.current.repairs[name],
        "share": share(choice.current.repairs[name], rows),
        f"within {percent(choice.budget)}": written(choice.needed(name).allowed),
    }
    for name, rows in choice.results.items()
)
table(needed)

# %%
enough = [choice.needed(name).allowed for name in choice.results]
dots = go.Scatter(y=list(choice.results), x=[max(each.total_seconds(), 1) for each in enough], mode="markers+text")
dots.update(text=[f"  {written(each)}" for each in enough], textposition="middle right", cliponaxis=False)
dots.update(marker={"color": COLOURS["kappa"], "size": 14})
chart(
    dots,
    title=f"To repair at most {percent(choice.budget)} of its rows, a result needs {written(min(enough))} to "
    f"{written(max(enough))}",
    x="the smallest lateness that is enough",
    height=320,
    xaxis={"type": "log", "tickvals": list(TICKS), "ticktext": list(TICKS.values()), "range": [0, 5]},
    yaxis_autorange="reversed",
).show()

# %% [markdown]
# ## Was that what happened?
#
# The counts above come from the log alone, by Spark. Here the rows that late events touch are counted in SQL, and how many of
# them the stream had to compute again: none for which its engine still held the window, and counted the late event itself.

# %%
served = reader.answer("team_scores", "kappa")
[really] = reader.table(
    served.subject.relations["kappa"],
    """
    select count(*) as revisions,
           count(*) filter (cause = 'late') as repairs,
           count(distinct (team_id, window_start)) as results,
           count(distinct (team_id, window_start)) filter (cause = 'late') as repaired
    from {rows} where epoch = $epoch
    """,
    epoch=served.subject.at.boundary.epoch,
)
size = computed["team_scores"].result.window.size
[late] = reader.table(
    "events",
    """
    with placed as (select team_id, high_water, epoch_ms(event_time) // $size * $size as start from {rows} where kind = $kind)
    select count(distinct (team_id, start)) as touched from placed where start + $size <= epoch_ms(high_water) - $allowed
    """,
    kind="bubbles_popped",
    size=milliseconds(size),
    allowed=milliseconds(current),
)
forecast = choice.current.repairs["team_scores"]
said(
    f"For `team_scores` and {written(current)} late events touch **{forecast:,}** settled rows. The stream computed "
    f"**{really['repaired']:,}** of them again; its engine counted the others."
)
assert served.subject.at.log_version == log_version, "the stream has not read the whole log"
assert late["touched"] == forecast >= really["repaired"]
assert really["results"] == choice.results["team_scores"]

# %% [markdown]
# ## What it costs
#
# A late event that the engine counts costs what any event costs. A repair is one more computation of a row from the log.
# A row can be corrected more than once, if late events come in more than one micro-batch, and each time is one more
# revision in the table. Waiting costs no work: it costs the time until somebody may rely on a result.

# %%
engine = really["revisions"] - really["repairs"]
parts = {"by the engine": (engine, COLOURS["kappa"]), "repairs": (really["repairs"], COLOURS["legacy"])}
bars = [
    go.Bar(orientation="h", y=["revisions"], x=[rows], name=f"{name}: {rows:,}", marker_color=colour)
    for name, (rows, colour) in parts.items()
]
bars.append(
    go.Bar(
        orientation="h", y=["results"], x=[really["results"]], name=f"results: {really['results']:,}", marker_color=OPEN
    )
)
chart(
    *bars,
    title=f"{share(really['repairs'], really['revisions'])} of the revisions of team_scores are repairs",
    x="rows",
    height=280,
    barmode="stack",
).show()

# %% [markdown]
# To change the lateness, set `allowed` under `[lateness]` in `parity.toml`. A lake that a stream has run in keeps the one
# that it was computed with; `parity replay` computes a version with another beside it, and `parity what-if` tries one
# without a trace.

# %%
reader.__exit__(None, None, None)
