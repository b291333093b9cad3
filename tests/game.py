"""The game as its pipeline declares it, for tests that are about it."""

from lakehouse import arrivals
from lakehouse.control import control_schema
from lakehouse.pipelines import pipeline_at

GAME = pipeline_at("game")
KINDS = GAME.kinds
CONTROLLED = GAME.story.controlled
CONTROL_SCHEMA = control_schema(KINDS)
SCHEMA = arrivals.schema(KINDS)
LOG_COLUMNS = arrivals.columns_of(arrivals.EVENTS, KINDS)

catalogue = GAME.catalogue
