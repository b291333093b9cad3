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
# # Comparing the layers
#
# One question, four answers: what did each team score in each minute?
#
# - **Kappa** is what the stream says. Late events have repaired it.
# - **Batch** is computed from the whole log, after the fact. It is what the others are measured against.
# - **Lambda** is batch up to a cut-off and the stream behind it: two tables, merged for every reader.
# - **The control** is a speed layer as it used to be built: processing time, at least once. It has to fail. A comparison
#   that nothing can fail proves nothing.
#
# Nothing here starts Spark. All answers come through `serving.reader.Reader`, each of one pinned version of its tables.

# %%
import json
from datetime import datetime

import pandas as pd
import plotly.graph_objects as go
from slides import AGREES, BLUE_BAND, BROAD, COLOURS, DIFFERS, NAMES, OPEN, ORANGE_BAND, chart, lake_path, said, table

from reconciliation.words import count, listed, share
from serving.reader import Reader

reader = Reader.of(lake_path())
RESULT, VALUE, KEY = "team_scores", "bubbles", ["team_id", "window_start", "window_end"]

# %% [markdown]
# ## The four answers

# %%
answers = {layer: reader.answer(RESULT, layer) for layer in ("kappa", "batch", "lambda", "legacy")}
table(
    pd.DataFrame(
        {
            "layer": NAMES[layer],
            "rows": len(answer.rows),
            "bubbles": answer.frame()[VALUE].sum(),
            "log version": answer.subject.at.log_version,
            "settled before": f"{answer.subject.at.settled_before:%Y-%m-%d %H:%M:%S}",
        }
        for layer, answer in answers.items()
    )
)

# %% [markdown]
# All four speak of the same version of the log, or it would be no comparison. A window is settled once the mark of the log
# (the greatest event time that has arrived) is the allowed lateness beyond its end. What is not settled is in flight: more
# events are expected, and nobody has promised an answer yet.

# %%
assert len({answer.subject.at.log_version for answer in answers.values()}) == 1, "the layers have read different logs"
settled_before = answers["batch"].subject.at.settled_before

# %% [markdown]
# ## Difference them
#
# A full outer join over all keys, so that a row which one side does not have at all is a difference too. Two rows are equal
# if they are equal in every column.

# %%
VALUES = [name for name in answers["batch"].subject.result.value_names if name in answers["batch"].rows.column_names]


def differenced(layer: str) -> pd.DataFrame:
    """Every key of a layer and of batch, with the values of both, and whether it is settled and equal."""
    sides = (answers[each].frame()[KEY + VALUES] for each in (layer, "batch"))
    keys = pd.merge(*sides, on=KEY, how="outer", suffixes=("", "_batch"), indicator="found")
    equal = keys["found"].eq("both")
    for value in VALUES:
        equal &= keys[value].eq(keys[f"{value}_batch"])
    return keys.assign(equal=equal, settled=keys["window_end"] <= settled_before)


differences = {layer: differenced(layer) for layer in answers if layer != "batch"}
counted = pd.DataFrame(
    {
        "layer": NAMES[layer],
        "settled, equal": (keys.settled & keys.equal).sum(),
        "settled, differing": (keys.settled & ~keys.equal).sum(),
        "in flight, equal": (~keys.settled & keys.equal).sum(),
        "in flight, differing": (~keys.settled & ~keys.equal).sum(),
    }
    for layer, keys in differences.items()
)
table(counted)

# %% [markdown]
# **The claim.** Kappa equals batch in every settled row, and so does Lambda, which is made of both. **The control** does not.

# %%
for layer in ("kappa", "lambda"):
    settled = differences[layer].query("settled")
    assert len(settled) and settled["equal"].all(), f"{layer} differs from batch in a settled row"

control = differences["legacy"].query("settled")
assert not control["equal"].all(), "the control agrees with batch: this comparison cannot fail, so it proves nothing"

# %%
of_settled = {layer: keys.query("settled")["equal"] for layer, keys in differences.items()}
parts = {
    ("equal", AGREES): [equal.sum() for equal in of_settled.values()],
    ("differing", DIFFERS): [(~equal).sum() for equal in of_settled.values()],
    ("in flight, not judged", OPEN): [(~keys.settled).sum() for keys in differences.values()],
}
bars = [
    go.Bar(orientation="h", name=name, y=[NAMES[layer] for layer in differences], x=counts, marker_color=colour)
    for (name, colour), counts in parts.items()
]
of_control = share(of_settled["legacy"].sum(), len(of_settled["legacy"]))
chart(
    *bars,
    title=f"Kappa equals batch in all {of_settled['kappa'].sum():,} settled rows, the control in {of_control}",
    x="rows: a team and a minute",
    height=340,
    barmode="stack",
    yaxis_autorange="reversed",
).show()

# %% [markdown]
# ## Where the control is wrong
#
# Above, the bubbles of all teams; below, what each layer says more or less than batch. The bars of the control come in
# pairs where events are moved from the time when they happened to the time when they arrived, and stand alone where they
# were counted twice.


# %%
def by_time(layer: str) -> pd.Series:
    """The bubbles of all teams over event time, in about a hundred steps."""
    rows = answers[layer].frame()
    return rows.groupby(rows["window_start"].dt.floor(STEP))[VALUE].sum()


reach = answers["batch"].frame()["window_start"]
STEP = max((reach.max() - reach.min()) / 100, pd.Timedelta(minutes=1)).ceil("5min")
sums = pd.DataFrame({layer: by_time(layer) for layer in ("batch", "kappa", "legacy")}).fillna(0)
inside = sums.loc[: reach.max()].astype(int)
more = inside.sub(inside["batch"], axis=0)
above = [
    go.Scatter(x=inside.index, y=inside["batch"], name=NAMES["batch"], line=BROAD),
    go.Scatter(x=inside.index, y=inside["kappa"], name=NAMES["kappa"], line_color=COLOURS["kappa"]),
]
below = [
    go.Bar(
        x=more.index, y=more["legacy"], name="Control, difference to batch", marker_color=COLOURS["legacy"], yaxis="y2"
    ),
    go.Scatter(x=more.index, y=more["kappa"], showlegend=False, line_color=COLOURS["kappa"], yaxis="y2"),
]
chart(
    *above,
    *below,
    title=f"The control is off by up to {more['legacy'].abs().max():,} bubbles in {STEP.seconds // 60} minutes, "
    f"the stream by {more['kappa'].abs().max():,}",
    x="event time (UTC)",
    y=VALUE,
    height=520,
    bargap=0,
    xaxis_anchor="y2",
    yaxis={"domain": [0.42, 1], "rangemode": "tozero"},
    yaxis2={"domain": [0, 0.32], "title": {"text": "difference to batch"}},
).show()

# %% [markdown]
# An event that nobody noted the reception of, the control puts at the time of its ingestion. That can be months later, and
# is not in the chart.

# %%
outside = sums["legacy"].sum().astype(int) - inside["legacy"].sum()
said(f"Not in the chart: {count(outside, 'bubble')} of the control, after its end.")

# %% [markdown]
# ## What the reconciliation said about it
#
# `parity reconcile` has made the same comparison with Spark and kept it in the lake: a row a result in `reconciliations`, a
# row a differing key in `differences`. Its counts have to be those from above.

# %%
verdicts = reader.table(
    "reconciliations",
    'select * from {rows} where result = $result qualify row_number() over (partition by candidate order by "at" desc) = 1',
    result=RESULT,
)
verdict = {row["candidate"]: row for row in verdicts}
table(pd.DataFrame(verdicts)[["candidate", "status", "compared", "equal", "differing", "in_flight", "unexplained"]])

assert verdict["kappa"]["differing"] == 0
assert verdict["legacy"]["differing"] == (~control["equal"]).sum()
assert verdict["legacy"]["compared"] == len(control)

# %% [markdown]
# A difference alone is not worth much. The reconciliation also names the cause, and a cause is earned: the cell is computed
# again with the named events removed, doubled or moved, and has to give exactly what the control says.

# %%
explained = reader.table(
    "differences",
    "select * from {rows} where id = $id and result = $result",
    id=verdict["legacy"]["id"],
    result=RESULT,
)
causes = pd.Series([" and ".join(row["causes"]) for row in explained]).value_counts()
bar = go.Bar(orientation="h", x=causes, y=causes.index, text=[f"{each:,}" for each in causes], textposition="outside")
bar.update(marker_color=COLOURS["legacy"], cliponaxis=False)
unexplained = verdict["legacy"]["unexplained"]
chart(
    bar,
    title=f"Of the {len(explained):,} differences of the control, {unexplained or 'none'} {'is' if unexplained < 2 else 'are'} "
    "unexplained",
    x="differing rows",
    height=300,
    yaxis_autorange="reversed",
).show()
assert unexplained == 0
assert len(explained) == verdict["legacy"]["differing"]

# %% [markdown]
# ## Down to the events
#
# One of these cells, with few events and as many causes as there are.

# %%
FEW = 5


def off_by(row: dict) -> int:
    """What the control counts more than batch; a side that has no row counts nothing."""
    mine, batch = ((json.loads(row[side]) or {}).get(VALUE, 0) for side in ("candidate", "batch"))
    return mine - batch


cell = max(
    (row for row in explained if off_by(row) and len(row["event_ids"]) <= FEW),
    key=lambda row: (len(row["causes"]), abs(off_by(row)), row["window_start"], row["key"]),
)
team = json.loads(cell["key"])["team_id"]
start, end = (datetime.fromisoformat(cell[name]) for name in ("window_start", "window_end"))
said(
    f"Team **{team}**, the minute from **{start:%H:%M}**: the control counts **{off_by(cell):+,} bubbles** against batch. "
    f"Named cause: **{listed(cell['causes'])}**. Named events: {len(cell['event_ids'])}."
)

# %% [markdown]
# The log knows when each of these events happened and when it was received. The table of the control knows how often it
# wrote each of them, and at which time it put it.

# %%
events = pd.DataFrame(
    reader.table(
        "events",
        "select event_id, bubbles, event_time, received_at from {rows} where list_contains($ids, event_id)",
        ids=cell["event_ids"],
    )
)
arrivals = pd.DataFrame(
    reader.table(
        "legacy_arrivals",
        "select event_id, processing_time from {rows} where list_contains($ids, event_id)",
        ids=cell["event_ids"],
    )
)
counted_there = arrivals[arrivals["processing_time"].between(start, end, inclusive="left")].groupby("event_id").size()
events["by batch"] = events["event_time"].between(start, end, inclusive="left").astype(int)
events["by the control"] = events["event_id"].map(counted_there).fillna(0).astype(int)
events["effect"] = events["bubbles"] * (events["by the control"] - events["by batch"])
shown = events.sort_values("event_time").assign(
    event_id=events["event_id"].str[:8],
    event_time=events["event_time"].dt.strftime("%H:%M:%S"),
    received_at=events["received_at"].dt.strftime("%H:%M:%S"),
)
table(shown.rename(columns={"by batch": "counted by batch", "by the control": "counted by the control"}))

# %% [markdown]
# The effects of these events add up to the difference. Nothing else is in it.

# %%
assert events["effect"].sum() == off_by(cell)
said(f"{' '.join(f'{each:+,}' for each in events['effect'] if each)} = **{off_by(cell):+,}**")

# %% [markdown]
# The same as a picture. Batch counts what lies in the upright band, by the time when it happened. The control counts what
# lies in the level band, by the time when it was processed. An event on the line arrived at once; the further above it, the
# later.

# %%
drawn = arrivals.merge(events[["event_id", "bubbles", "event_time"]], on="event_id")
times = drawn.groupby(["event_time", "processing_time", "bubbles"]).size().reset_index(name="times")
labels = [f"{each.times} x {each.bubbles}" for each in times.itertuples()]
edges = [min(start, times["event_time"].min()), max(end, times["processing_time"].max())]
dots = go.Scatter(x=times["event_time"], y=times["processing_time"], text=labels, mode="markers+text")
dots.update(
    name="how often the control has the bubbles of an event",
    textposition=["top center", "bottom center"] * len(times),
    marker_color=COLOURS["legacy"],
)
dots.update(marker_size=12, cliponaxis=False)
diagonal = go.Scatter(
    x=edges, y=edges, mode="lines", name="arrived at once", line={"color": COLOURS["batch"], "dash": "dot"}
)
by_batch, by_control = (int((events["bubbles"] * events[side]).sum()) for side in ("by batch", "by the control"))
figure = chart(
    diagonal,
    dots,
    title=f"Of these events, batch counts {count(by_batch, 'bubble')} in the minute, the control {by_control:,}",
    x="event time: when it happened (UTC)",
    y="processing time: when it was received",
    height=540,
)
figure.add_vrect(x0=start, x1=end, fillcolor=BLUE_BAND, line_width=0, layer="below")
figure.add_hrect(y0=start, y1=end, fillcolor=ORANGE_BAND, line_width=0, layer="below")
figure.show()

# %% [markdown]
# Neither fault can be mended by a reader: from the table of the control nobody can tell when an event happened, or that
# two rows are one event. The log can, and Kappa is computed from it.

# %%
reader.__exit__(None, None, None)
