"""The charts of the report as Plotly figures, in plain data.

A colour is the name of a CSS variable (`--kappa`): the page puts in its value, for light, dark and paper.
"""

from datetime import datetime, timedelta
from typing import Any

from reconciliation.redelivery import Redelivery
from reconciliation.series import LatenessBucket, LayerSeries
from reconciliation.verdict import Audit, AuditBucket
from reconciliation.words import share, spoken
from transformations.durations import written

Figure = dict[str, Any]
BARS = 120  # more hours than this become days, more days months
FATES = {"accepted": "--accepted", "duplicate": "--duplicate", "quarantined": "--quarantined"}
NAMES = {"batch": "Batch", "kappa": "Stream (Kappa)", "legacy": "Control (legacy)"}
UNITS = {"sec": "s", "min": "min", "hou": "h", "day": "d"}
# Batch is drawn first and broad: where the stream agrees, it runs inside that line.
LINES: dict[str, dict[str, Any]] = {
    "batch": {"color": "--batch-line", "width": 7},
    "kappa": {"color": "--kappa", "width": 2},
    "legacy": {"color": "--legacy", "width": 1.5, "dash": "dot"},
}


def layers_chart(series: LayerSeries) -> Figure:
    """Above, what each layer says; below, its difference to batch. The open part is shaded."""
    starts = [_time(start) for start in series.starts]
    shown = [layer for layer in LINES if layer in series.sums]
    above = [
        {"type": "scatter", "mode": "lines", "x": starts, "y": series.sums[layer], "name": NAMES[layer],
         "legendgroup": layer, "line": LINES[layer]}
        for layer in shown
    ]  # fmt: skip
    below: list[dict[str, Any]] = []
    for layer in reversed(shown[1:]):  # the control's bars lie below the stream's line, which would vanish in them
        drawn = {"type": "bar", "marker": {"color": LINES[layer]["color"]}}
        if layer == "kappa":
            drawn = {"type": "scatter", "mode": "lines", "line": LINES[layer]}
        off = [mine - batch for mine, batch in zip(series.sums[layer], series.sums["batch"], strict=True)]
        below.append(
            {**drawn, "x": starts, "y": off, "name": f"{NAMES[layer]}, difference to batch",
             "legendgroup": layer, "showlegend": False, "yaxis": "y2"}
        )  # fmt: skip
    shade = {
        "type": "rect", "xref": "x", "yref": "paper", "x0": _time(series.settled_before), "x1": _time(series.high_water),
        "y0": 0, "y1": 1, "fillcolor": "--shade", "line": {"width": 0}, "layer": "below",
    }  # fmt: skip
    label = {
        "x": _time(series.settled_before), "xref": "x", "y": 1, "yref": "paper", "xanchor": "right", "yanchor": "bottom",
        "text": "in flight ▸", "showarrow": False, "font": {"size": 11, "color": "--faint"},
    }  # fmt: skip
    return {
        "data": [*above, *below],
        "layout": {
            "height": 470, "hovermode": "x unified", "bargap": 0.1, "shapes": [shade], "annotations": [label],
            "margin": {"l": 58, "r": 12, "t": 52, "b": 34},
            "legend": {"orientation": "h", "x": 0, "y": 1.06, "yanchor": "bottom"},
            "xaxis": {"type": "date", "anchor": "y2"},
            "yaxis": {"domain": [0.38, 1], "title": {"text": f"{spoken(series.value)} per {written(series.bucket)}"}},
            "yaxis2": {"domain": [0, 0.28], "title": {"text": "difference"}, "zeroline": True},
        },
    }  # fmt: skip


def lateness_chart(lateness: list[LatenessBucket]) -> Figure:
    """The share of events by how far behind the mark they arrived; a line where the allowed lateness ends."""
    total = sum(bucket.events for bucket in lateness)
    edge = sum(not bucket.beyond_allowed for bucket in lateness) - 0.5
    bars = {
        "type": "bar", "x": [_behind(bucket) for bucket in lateness],
        "y": [100 * bucket.events / total if total else 0 for bucket in lateness],
        "text": [share(bucket.events, total) for bucket in lateness], "textposition": "outside", "cliponaxis": False,
        "customdata": [bucket.events for bucket in lateness],
        "marker": {"color": ["--late" if bucket.beyond_allowed else "--kappa" for bucket in lateness]},
        "hovertemplate": "%{x} behind: %{customdata:,} events (%{text})<extra></extra>",
    }  # fmt: skip
    line = {
        "type": "line", "xref": "x", "yref": "paper", "x0": edge, "x1": edge, "y0": 0, "y1": 1,
        "line": {"color": "--ink", "width": 1.5, "dash": "dash"},
    }  # fmt: skip
    label = {
        "x": edge, "xref": "x", "y": 1, "yref": "paper", "xanchor": "left", "yanchor": "top", "xshift": 6,
        "text": "beyond the<br>allowed lateness", "align": "left", "showarrow": False, "font": {"color": "--ink"},
    }  # fmt: skip
    return {
        "data": [bars],
        "layout": {
            "height": 340, "shapes": [line], "annotations": [label], "showlegend": False, "bargap": 0.25,
            "margin": {"l": 48, "r": 12, "t": 24, "b": 72},
            "xaxis": {"type": "category", "title": {"text": "behind the high-water mark"}},
            "yaxis": {"ticksuffix": " %", "title": {"text": "share of events"}},
        },
    }  # fmt: skip


def redelivery_chart(found: Redelivery) -> Figure:
    """Above by processing time, below by event time: as received, and inside that line as held back."""
    starts, panels = [_time(start) for start in found.starts], (("processing", "legacy"), ("event", "kappa"))
    data = []
    for place, (clock, colour) in enumerate(panels):
        answers = getattr(found, f"{clock}_time")
        for name, sums, line in (
            ("As received", answers.as_received, LINES["batch"]),
            (f"Held back, by {clock} time", answers.held_back, {"color": f"--{colour}", "width": 2}),
        ):
            data.append(
                {"type": "scatter", "mode": "lines", "x": starts, "y": sums, "name": name, "line": {**line, "shape": "hv"},
                 "showlegend": not place or line is not LINES["batch"], "yaxis": f"y{place + 1}" if place else "y"}
            )  # fmt: skip
    held = {
        "type": "rect", "xref": "x", "yref": "paper", "x0": _time(found.held_from), "x1": _time(found.held_until),
        "y0": 0, "y1": 1, "fillcolor": "--shade", "line": {"width": 0}, "layer": "below",
    }  # fmt: skip
    label = {
        "x": _time(found.held_from), "xref": "x", "y": 1, "yref": "paper", "xanchor": "left", "yanchor": "bottom",
        "text": "held back", "showarrow": False, "font": {"size": 11, "color": "--faint"},
    }  # fmt: skip
    return {
        "data": data,
        "layout": {
            "height": 470, "hovermode": "x unified", "shapes": [held], "annotations": [label],
            "margin": {"l": 58, "r": 12, "t": 52, "b": 34},
            "legend": {"orientation": "h", "x": 0, "y": 1.06, "yanchor": "bottom"},
            "xaxis": {"type": "date", "anchor": "y2"},
            "yaxis": {"domain": [0.55, 1], "title": {"text": f"{spoken(found.value)} by<br>processing time"}},
            "yaxis2": {"domain": [0, 0.45], "matches": "y", "title": {"text": f"{spoken(found.value)} by<br>event time"}},
        },
    }  # fmt: skip


def audit_chart(audit: Audit) -> Figure:
    """What became of the lines of each hour of event time."""
    groups = _hours(audit.buckets)
    data = [
        {
            "type": "bar", "name": fate, "x": list(groups), "marker": {"color": colour},
            "y": [sum(getattr(bucket, fate) for bucket in buckets) for buckets in groups.values()],
        }
        for fate, colour in FATES.items()
    ]  # fmt: skip
    return {
        "data": data,
        "layout": {
            "height": 340, "barmode": "stack", "bargap": 0.15, "hovermode": "x unified",
            "margin": {"l": 52, "r": 12, "t": 40, "b": 90},
            "legend": {"orientation": "h", "x": 0, "y": 1.03, "yanchor": "bottom", "traceorder": "normal"},
            "xaxis": {"type": "category", "tickangle": -45, "nticks": 14}, "yaxis": {"title": {"text": "lines"}},
        },
    }  # fmt: skip


def _hours(buckets: list[AuditBucket]) -> dict[str, list[AuditBucket]]:
    """The buckets by the bar that they belong to; lines of no time, or of one far from any accepted, share one bar."""
    known = [bucket.bucket for bucket in buckets if bucket.accepted or bucket.duplicate]
    first, last = (min(known), max(known)) if known else ("", "")
    inside = [bucket for bucket in buckets if first <= bucket.bucket <= last]
    length = next((n for n in (16, 10, 7) if len({bucket.bucket[:n] for bucket in inside}) <= BARS), 4)
    groups: dict[str, list[AuditBucket]] = {}
    skipped = 5 if length == 16 and first[:4] == last[:4] else 0  # a year that all share says nothing
    for bucket in inside:
        groups.setdefault(bucket.bucket[skipped:length].replace("T", " "), []).append(bucket)
    if outside := [bucket for bucket in buckets if not first <= bucket.bucket <= last]:
        groups["no usable time"] = outside
    return groups


def _behind(bucket: LatenessBucket) -> str:
    if not bucket.least:
        return "0"
    return f"≥ {short(bucket.least)}" if bucket.below is None else f"< {short(bucket.below)}"


def short(duration: timedelta) -> str:
    amount, unit = written(duration).split()
    return f"{amount} {unit if unit.startswith('milli') else UNITS[unit[:3]]}"


def _time(moment: datetime) -> str:
    """Plotly takes times without a zone as they are; all of these are UTC."""
    return f"{moment:%Y-%m-%d %H:%M:%S}"
