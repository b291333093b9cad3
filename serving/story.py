"""The story of the lake's pipeline, as the API tells it."""

from typing import Any

from transformations.pipeline import Pipeline


def told_story(pipeline: Pipeline) -> dict[str, Any]:
    story = pipeline.story
    key = pipeline.catalogue()[story.charted.result].key
    return {
        "name": story.name,
        "story": story.story,
        "charted": {"result": story.charted.result, "column": story.charted.column, "key": next(iter(key), None)},
        "controlled": list(story.controlled),
        "live": list(story.shown_live),
    }
