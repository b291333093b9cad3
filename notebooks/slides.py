"""What the notebooks share: the lake that they read, one look for all charts, and sentences below them.

A figure is shown as Plotly's own MIME type. JupyterLab draws it with the extension that plotly brings: nothing is fetched.
"""

import os
from pathlib import Path
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import plotly.io as pio
from IPython.display import HTML, Markdown, display

PROJECT = Path(__file__).resolve().parent.parent
COLOURS = {"kappa": "#0a66b0", "batch": "#8d949c", "lambda": "#7a5195", "legacy": "#c8540a"}
NAMES = {
    "kappa": "Kappa (stream)",
    "batch": "Batch",
    "lambda": "Lambda (batch, then stream)",
    "legacy": "Control (legacy)",
}
AGREES, DIFFERS, OPEN = "#2a9570", "#c8540a", "#b9c4cf"
INK, FAINT, LINE = "#1d2125", "#666d75", "#e4e2dc"
BLUE_BAND, ORANGE_BAND, GREY_BAND = "rgba(10, 102, 176, .10)", "rgba(200, 84, 10, .12)", "rgba(120, 120, 110, .12)"
BROAD = {"color": "#c9cdd3", "width": 7}
"""The line of batch: where another agrees with it, that runs inside."""

pio.renderers["plotly_mimetype"].config = {"displayModeBar": False}
pio.renderers.default = "plotly_mimetype"


def lake_path() -> Path:
    """The lake that `make notebooks LAKE=…` names, or else the demo."""
    path = PROJECT / os.environ.get("LAKE", "demo")
    if not path.exists():
        raise FileNotFoundError(f"There is no lake at {path}. `make demo` makes the one that the notebooks read.")
    return path


def said(text: str) -> None:
    """A sentence with figures that were computed."""
    display(Markdown(text))


def table(rows: pd.DataFrame) -> None:
    """Rows without their numbers, whole numbers with separators."""
    separated = {name: "{:,}".format for name in rows.columns if pd.api.types.is_integer_dtype(rows[name])}
    display(HTML(rows.to_html(index=False, na_rep="-", formatters=separated)))


def chart(*data: Any, title: str, x: str = "", y: str = "", height: int = 420, **layout: Any) -> go.Figure:
    """A chart of the size of a slide. Its title says what it shows."""
    axis = {"gridcolor": LINE, "zerolinecolor": LINE, "linecolor": FAINT, "automargin": True, "separatethousands": True}
    figure = go.Figure(data)
    figure.update_layout(
        template="none",
        title={"text": title, "x": 0, "xref": "container", "pad": {"l": 16}, "font": {"size": 19}},
        font={"family": "system-ui, Segoe UI, Roboto, sans-serif", "size": 14, "color": INK},
        width=1000,
        height=height,
        margin={"l": 80, "r": 30, "t": 100, "b": 64},
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "traceorder": "normal"},
        bargap=0.35,
    )
    figure.update_layout(layout)
    figure.update_xaxes(axis)
    figure.update_yaxes(axis)
    figure.update_layout(xaxis_title_text=x, yaxis_title={"text": y, "standoff": 14})
    return figure
