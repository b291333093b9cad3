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
# # Event time and processing time
#
# Team blue has four phones. 500 bubbles within one minute level the team up. In the minute from 10:00 they pop enough. But
# one of the phones is in the subway: it buffers what its player does and delivers it nine minutes later.
#
# The same events are delivered twice here, into two lakes. Once everybody is online; once that phone is not. Did the team
# level up? It depends on the clock that one asks.
#
# This notebook runs the real ingestion, stream, batch layer and control, in one Spark session and in a temporary directory.

# %%
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pandas as pd
import plotly.graph_objects as go
from slides import BLUE_BAND, COLOURS, FAINT, INK, ORANGE_BAND, chart, said, table

from batch_layer.recompute import recompute
from ingestion.ingest import ingest
from lakehouse.lake import create_lake
from lakehouse.session import spark_session
from lakehouse.settings import load_settings
from pipelines.game.results.level_ups import GOAL
from reconciliation.words import count, listed
from serving.reader import Reader
from speed_layer.legacy import legacy
from speed_layer.stream import stream

TEAM, PLAYERS = "blue", ("alice", "bob", "carol", "dave")
MINUTE = datetime(2026, 3, 1, 10, 0, tzinfo=UTC)
NEXT = MINUTE + timedelta(minutes=1)

# %% [markdown]
# ## What was played
#
# Each player pops every three seconds for four minutes, 7 bubbles at a time in the minute from 10:00 and 3 in the others.
# Nothing here says when an event arrives. What was played is over, and does not change.


# %%
class Pop(NamedTuple):
    event_id: str
    player_id: str
    occurred_at: datetime
    bubbles: int


def played() -> list[Pop]:
    """What the team did, in the order in which it happened."""
    pops = []
    for step in range(80):
        for place, player in enumerate(PLAYERS):
            at = MINUTE + timedelta(minutes=-1, seconds=3 * step + 0.5 * place)
            pops.append(Pop(f"{player}-{step}", player, at, 7 if MINUTE <= at < NEXT else 3))
    return pops


pops = played()
in_the_minute = sum(pop.bubbles for pop in pops if MINUTE <= pop.occurred_at < NEXT)
said(
    f"{count(len(pops), 'pop')}; in the minute from {MINUTE:%H:%M} the team pops **{count(in_the_minute, 'bubble')}**."
)
assert in_the_minute >= GOAL

# %% [markdown]
# ## Two deliveries
#
# An event arrives half a second after it happened. A phone in the subway delivers when it comes out. Alice is down there
# from 10:00:20 and comes out at 10:09.

# %%
DELAY, INTO, OUT = timedelta(seconds=0.5), MINUTE + timedelta(seconds=20), MINUTE + timedelta(minutes=9)


def when_online(pop: Pop) -> datetime:
    """Everybody is online."""
    return pop.occurred_at + DELAY


def when_in_the_subway(pop: Pop) -> datetime:
    """Alice's phone delivers what happened in the subway when it is out again, in order."""
    offline = pop.player_id == "alice" and INTO <= pop.occurred_at < OUT
    return OUT + (pop.occurred_at - INTO) / 100 + DELAY if offline else when_online(pop)


arrivals = pd.DataFrame(pops).assign(received_at=[when_in_the_subway(pop) for pop in pops])
offline = arrivals["received_at"] - arrivals["occurred_at"] > DELAY
dots = [
    go.Scatter(
        x=arrivals["occurred_at"][which], y=arrivals["received_at"][which], mode="markers", name=name, marker=marker
    )
    for name, which, marker in (
        ("online", ~offline, {"color": COLOURS["batch"], "size": 5}),
        ("Alice's phone, in the subway", offline, {"color": COLOURS["legacy"], "size": 7}),
    )
]
delayed = arrivals[offline & arrivals["occurred_at"].between(MINUTE, NEXT, inclusive="left")]["bubbles"].sum()
figure = chart(
    *dots,
    title=f"{count(delayed, 'bubble')} of the minute arrive {round((OUT - INTO).seconds / 60)} minutes late",
    x="event time: when it happened (UTC)",
    y="processing time: when it was received",
    height=460,
)
figure.add_vrect(x0=MINUTE, x1=NEXT, fillcolor=BLUE_BAND, line_width=0, layer="below")
figure.add_hrect(y0=MINUTE, y1=NEXT, fillcolor=ORANGE_BAND, line_width=0, layer="below")
figure.show()
assert in_the_minute - delayed < GOAL, "without the late ones it is no level-up"

# %% [markdown]
# The upright band is the minute by event time, the level band is the minute by processing time. They hold the same events
# only where all dots lie on the diagonal.
#
# ## Into two lakes
#
# What arrived is cut into four landing files, and each becomes a micro-batch. After the last, nothing is open any more: a
# heartbeat moves the mark of the log beyond the allowed lateness. It stands in every file, so that the mark moves as time
# goes by.

# %%
settings = load_settings(tried={"ingestion.files_per_batch": "1", "stream.commits_per_batch": "1"})
declared = settings.pipeline.catalogue(settings.windows_by_result)
results = [declared[name] for name in ("team_scores", "level_ups")]
scratch = TemporaryDirectory(prefix="parity-subway-")
CUTS = [MINUTE + timedelta(seconds=seconds) for seconds in (30, 50, 450, 900)]
spark = spark_session(settings.spark, log_file=Path(scratch.name) / "spark.log")


def line(event_id: str, kind: str, occurred_at: datetime, received_at: datetime, **more: object) -> str:
    """One event in the landing format."""
    times = {"occurred_at": occurred_at, "sent_at": received_at, "received_at": received_at}
    written = {name: f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03d}Z" for name, at in times.items()}
    return json.dumps({"event_id": event_id, "kind": kind, **written, **more})


def landed(landing: Path, received: dict[Pop, datetime]) -> None:
    """Write the arrivals up to each cut into a file, in the order of their reception, and a heartbeat behind them."""
    landing.mkdir()
    since = datetime.min.replace(tzinfo=UTC)
    for number, cut in enumerate(CUTS):
        arrived = sorted((at, pop) for pop, at in received.items() if since <= at < cut)
        lines = [
            line(
                pop.event_id,
                "bubbles_popped",
                pop.occurred_at,
                at,
                player_id=pop.player_id,
                team_id=TEAM,
                bubbles=pop.bubbles,
            )
            for at, pop in arrived
        ]
        lines.append(line(f"heartbeat-{number}", "heartbeat", cut - DELAY, cut))
        draft = landing / f".{number}"
        draft.write_text("\n".join(lines) + "\n")
        draft.rename(landing / f"{number}.jsonl")
        since = cut


def lake_of(name: str, received: dict[Pop, datetime]) -> Reader:
    """A lake with every layer computed from one delivery."""
    landing, lake = Path(scratch.name) / f"{name}-landing", create_lake(Path(scratch.name) / name)
    landed(landing, received)
    ingest(spark, lake, landing, settings)
    stream(spark, lake, results, settings)
    for result in results:
        recompute(spark, lake, result, settings)
    legacy(spark, lake, settings, answers=results)
    return Reader.of(lake.path, settings)


readers = {
    "everybody online": lake_of("online", {pop: when_online(pop) for pop in pops}),
    "one phone in the subway": lake_of("subway", {pop: when_in_the_subway(pop) for pop in pops}),
}
spark.stop()

# %% [markdown]
# The log holds the same events in both lakes. It holds them in another order.

# %%
logs = {
    delivery: [row["event_id"] for row in reader.table("events", "select event_id from {rows} order by seq")]
    for delivery, reader in readers.items()
}
one, other = logs.values()
assert sorted(one) == sorted(other)
assert one != other

# %% [markdown]
# ## By event time
#
# What the stream says of both deliveries, minute by minute.


# %%
def by_minute(layer: str) -> pd.DataFrame:
    """The bubbles of each minute, a column a delivery."""
    answers = {name: reader.answer("team_scores", layer).frame() for name, reader in readers.items()}
    return pd.DataFrame({name: rows.set_index("window_start")["bubbles"] for name, rows in answers.items()})


def level_ups(layer: str) -> dict[str, int]:
    """How often the team levelled up, by delivery."""
    return {name: len(reader.answer("level_ups", layer).rows) for name, reader in readers.items()}


def drawn(layer: str, scores: pd.DataFrame, title: str, clock: str) -> go.Figure:
    """The minutes side by side, one bar a delivery, and the goal."""
    minutes = [f"{start:%H:%M}" for start in scores.index]
    bars = [
        go.Bar(x=minutes, y=scores[name], name=name, marker_color=COLOURS[layer], opacity=opacity)
        for name, opacity in zip(scores, (0.35, 1), strict=True)
    ]
    figure = chart(*bars, title=title, x=f"minute, by {clock} time (UTC)", y="bubbles", xaxis_type="category")
    figure.add_hline(y=GOAL, line={"color": INK, "width": 1.5, "dash": "dash"})
    figure.add_annotation(x=1, xref="paper", y=GOAL, yanchor="bottom", text=f"level-up at {GOAL}", showarrow=False)
    return figure


def verdict(ups: dict[str, int]) -> str:
    """Whether the team levels up, by delivery."""
    yes, no = ([name for name, times in ups.items() if bool(times) is up] for up in (True, False))
    told = [f"levels up with {listed(yes)}"] if yes else []
    return ", ".join([*told, f"not with {listed(no)}"] if no else told)


by_event_time, ups = by_minute("kappa"), level_ups("kappa")
drawn("kappa", by_event_time, f"By event time the team {verdict(ups)}", "event").show()

# %% [markdown]
# The order of arrival makes no difference. Every value of every window is the same, and the stream equals batch.

# %%
for name in ("team_scores", "level_ups"):
    online, subway = (reader.answer(name, "kappa").frame() for reader in readers.values())
    assert online.equals(subway), f"{name} depends on the order of arrival"
    assert online["settled"].all(), f"{name} is still open"
    for reader in readers.values():
        assert reader.answer(name, "kappa").frame().equals(reader.answer(name, "batch").frame())
assert by_event_time.loc[MINUTE].eq(in_the_minute).all()
assert set(ups.values()) == {1}

# %% [markdown]
# ## By processing time
#
# What the control says: the same function, over the same events, by the time when they were received.

# %%
by_processing_time, ups_there = by_minute("legacy").fillna(0).astype(int), level_ups("legacy")
drawn("legacy", by_processing_time, f"By processing time the team {verdict(ups_there)}", "processing").show()
lost = by_processing_time.loc[MINUTE]
said(
    f"With everybody online, the control counts {lost.iloc[0]:,} bubbles in the minute. With one phone in the subway it "
    f"counts {lost.iloc[1]:,}, and the other {lost.iloc[0] - lost.iloc[1]:,} turn up from {OUT:%H:%M} on, when nobody had "
    "played them."
)

# %% [markdown]
# While nobody is delayed, both clocks agree. That is why it takes long to notice. The level-up is lost with the first phone
# that is offline for a minute, and nothing in the answer says so.

# %%
assert by_processing_time["everybody online"].sum() == by_processing_time["one phone in the subway"].sum()
assert lost["everybody online"] == in_the_minute
assert lost["one phone in the subway"] == in_the_minute - delayed
assert list(ups_there.values()) == [1, 0]

# %% [markdown]
# ## How the stream came to its answer
#
# The stream does not wait nine minutes to say something. Each micro-batch appends what it knows, and nothing is ever
# overwritten. So the revisions of the one minute can be read afterwards.


# %%
def revisions(reader: Reader) -> pd.DataFrame:
    """The revisions of the minute, oldest first."""
    rows = reader.history("team_scores", key=[TEAM], window_start=MINUTE).frame()
    told = rows[["bubbles", "events", "players", "cause", "log_version"]]
    received_until = [f"{CUTS[at - 1]:%H:%M:%S}" for at in told["log_version"]]
    return told.assign(revision=rows["part"], received_until=received_until)


histories = {delivery: revisions(reader) for delivery, reader in readers.items()}
for delivery, history in histories.items():
    said(f"**{delivery}**")
    table(history)

# %%
history = histories["one phone in the subway"]
labels = [f"{row.revision}<br>{row.bubbles:,}" for row in history.itertuples()]
bar = go.Bar(x=[f"received until {at}" for at in history["received_until"]], y=history["bubbles"], text=labels)
bar.update(textposition="inside", insidetextanchor="end", textangle=0, marker_color=COLOURS["kappa"], width=0.5)
bar.update(marker_opacity=[1 if row.revision in ("settled", "corrected") else 0.35 for row in history.itertuples()])
before, after = history["bubbles"].iloc[-2:]
figure = chart(
    bar,
    title=f"The minute from {MINUTE:%H:%M} is {before:,} when it settles, and {after:,} when it is corrected",
    y="bubbles",
    height=460,
    yaxis_range=[0, 1.2 * history["bubbles"].max()],
)
figure.add_hline(y=GOAL, line={"color": FAINT, "width": 1.5, "dash": "dash"})
figure.add_annotation(
    x=0, xref="paper", xanchor="left", y=GOAL, yanchor="bottom", text=f"level-up at {GOAL}", showarrow=False
)
figure.show()

# %%
assert list(histories["everybody online"]["revision"]) == ["early", "updated", "settled"]
assert list(history["revision"]) == ["early", "updated", "settled", "corrected"]
assert before < GOAL <= after == in_the_minute

# %% [markdown]
# - **early**: a first answer, while the minute is not over.
# - **updated**: more of its events have come in.
# - **settled**: the mark of the log is the allowed lateness beyond the end of the minute. Most results end here.
# - **corrected**: an event came after that. As long as the stream's engine holds the minute it counts the event itself; later,
#   the minute is computed again from the log, with the same function.
#
# How long to wait before a result counts as settled is a choice. The next notebook, *Choosing the watermark*, is about it.

# %%
for reader in readers.values():
    reader.__exit__(None, None, None)
scratch.cleanup()
