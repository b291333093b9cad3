"""A pipeline whose events have a field of every type."""

from transformations.pipeline import Charted, Story

PIPELINE = Story(
    name="measuring",
    story="Devices measure something.",
    controlled=("measurements",),
    charted=Charted("measurements", "levels"),
)
