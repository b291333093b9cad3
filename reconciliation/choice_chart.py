"""The chart of the choice: eager on the left, with many repairs; slow on the right, with long waits."""

from typing import Any

from reconciliation.charts import Figure, short
from reconciliation.choice import Choice, Option, percent, wait
from reconciliation.words import share

TICKS = {1: "1 s", 10: "10 s", 60: "1 min", 600: "10 min", 3600: "1 h", 21_600: "6 h", 86_400: "1 d", 604_800: "7 d"}
LEAST = 1.0  # seconds: a logarithmic axis has no zero


def choice_chart(choice: Choice) -> Figure:
    """The share of results that are repaired, which falls, and the wait until one is settled, which rises."""
    names = [short(option.allowed) for option in choice.options]
    repaired = {
        "type": "scatter", "mode": "lines+markers", "name": "repaired results", "x": names,
        "y": [100 * option.repaired / choice.rows for option in choice.options],
        "customdata": [
            f"{option.repaired:,} ({share(option.repaired, choice.rows)}); {share(option.late_events, choice.events)} "
            "of events late"
            for option in choice.options
        ],
        "hovertemplate": "%{customdata}", "fill": "tozeroy", "fillcolor": "--unsure-soft",
        "line": {"color": "--late", "width": 2.5}, "marker": {"size": 7, "color": "--late"},
    }  # fmt: skip
    median, p99 = ([getattr(option, name) for option in choice.options] for name in ("median_wait", "p99_wait"))
    lines = [
        {
            "type": "scatter", "mode": "lines+markers", "name": f"wait until settled, {name}", "x": names, "yaxis": "y2",
            "y": [None if each is None else max(each.total_seconds(), LEAST) for each in waits],
            "customdata": [wait(each) for each in waits], "hovertemplate": "%{customdata}",
            "line": {"color": "--kappa", "width": width, "dash": dash}, "marker": {"size": size, "color": "--kappa"},
        }
        for name, waits, width, dash, size in (("median", median, 2.5, "solid", 7), ("99 %", p99, 1.5, "dot", 4))
    ]  # fmt: skip
    longest = max((each.total_seconds() for each in p99 if each is not None), default=LEAST)
    ticks = {at: name for at, name in TICKS.items() if at <= 3 * longest}
    return {
        "data": [repaired, *lines],
        "layout": {
            "height": 400, "hovermode": "x unified", **_marks(choice),
            "margin": {"l": 52, "r": 64, "t": 70, "b": 60},
            "legend": {"orientation": "h", "x": 0, "y": 1.1, "yanchor": "bottom"},
            "xaxis": {"type": "category", "title": {"text": "◂ eager      allowed lateness      slow ▸"}},
            "yaxis": {"ticksuffix": " %", "title": {"text": "repaired results"}, "rangemode": "tozero"},
            "yaxis2": {
                "type": "log", "overlaying": "y", "side": "right", "showgrid": False,
                "title": {"text": "wait until settled"}, "tickvals": list(ticks), "ticktext": list(ticks.values()),
            },
        },
    }  # fmt: skip


def _marks(choice: Choice) -> Figure:
    """A line for the current lateness and one for the smallest that keeps to the budget; one where they are the same."""
    marked: list[tuple[Option, str, str]] = [(choice.recommended, f"within {percent(choice.budget)}", "--ok")]
    if choice.recommended is choice.current:
        marked = [(choice.current, f"now, within {percent(choice.budget)}", "--ok")]
    else:
        marked.append((choice.current, "now", "--ink"))
    shapes: list[dict[str, Any]] = []
    labels: list[dict[str, Any]] = []
    for option, text, colour in marked:
        at = choice.options.index(option)
        shapes.append(
            {"type": "line", "xref": "x", "yref": "paper", "x0": at, "x1": at, "y0": 0, "y1": 1,
             "line": {"color": colour, "width": 1.5, "dash": "dash"}}
        )  # fmt: skip
        labels.append(
            {"x": at, "xref": "x", "y": 1, "yref": "paper", "yanchor": "bottom", "text": text, "showarrow": False,
             "font": {"color": colour}}
        )  # fmt: skip
    return {"shapes": shapes, "annotations": labels}
