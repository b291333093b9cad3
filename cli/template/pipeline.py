"""Doors that are opened: what the pipeline is about, and which of its results stand for the others."""

from transformations.pipeline import Charted, Story

PIPELINE = Story(
    name="doors",
    story="Doors that are opened, and how often.",
    controlled=("openings",),  # the results on which the control is judged, which has to differ
    charted=Charted("openings", "times"),  # what charts and the live page show
)
