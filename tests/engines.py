"""Who runs ingestion: settings that ask for an engine."""

from typing import Literal

from lakehouse.settings import Settings

Engine = Literal["spark", "embedded"]


def run_by(engine: Engine, settings: Settings) -> Settings:
    return settings.model_copy(update={"ingestion": settings.ingestion.model_copy(update={"engine": engine})})
