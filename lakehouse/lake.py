"""The lake: one directory with the log, the tables of each result, the checkpoints and the locks.

LAKE/parity.json                  what makes the directory a lake, and the pipeline that it is of
LAKE/tables/arrivals              every landed line and what became of it; the events among them are the log
LAKE/tables/kappa_door_counts@1   the stream's changelog; batch_…, legacy_arrivals, reconciliations, …
LAKE/landings/00000007.json       which landing files came in micro-batch 7, in order of arrival
LAKE/savepoints/monday.json       where every stream stood; beside it copies of their checkpoints
LAKE/quality/docs/index.html      what `parity quality` found; beside it the runs as JSON
LAKE/progress/ingest.json         what the micro-batches of each query took
LAKE/reports/<run>.html           what a named reconciliation found; LAKE/decisions, what people decided about it
LAKE/cache/ids                    which ids the log has: made from the log, and made anew if it is lost
LAKE/checkpoints/…  LAKE/results/…  LAKE/locks/…  LAKE/code/…
"""

import json
import os
import secrets
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from lakehouse.errors import NoPipeline, NotALake, PipelineChanged
from lakehouse.pipelines import DEFAULT, default_pipeline, pipeline_at
from transformations.pipeline import Pipeline

MARKER = "parity.json"
FORMAT = 3
"""3 since all landed lines are rows of one table."""


@dataclass(frozen=True)
class Lake:
    """A directory that is known to be a lake; `open_lake` and `create_lake` make sure."""

    path: Path
    log: int = 1
    """Which of its logs is read; `parity reingest` makes others beside the first."""
    since: int = 0
    """The first version of the log that counts."""
    pins: tuple[tuple[str, int], ...] = ()
    """The newest version of each of these tables that counts, for a reader whose answer is to be of one moment."""

    def table(self, name: str) -> str:
        """The path of a table, as Spark takes it."""
        return str(self.path / "tables" / name)

    def of_log(self, table: str) -> str:
        """The name of a table of the log: `arrivals`, or `arrivals@2` in the second log."""
        return table if self.log == 1 else f"{table}@{self.log}"

    def has(self, name: str) -> bool:
        """Whether the table has a commit; a directory alone is what a crash while making it leaves behind."""
        log = self.path / "tables" / name / "_delta_log"
        return (log / f"{0:020d}.json").exists() or any(log.glob("*.json"))

    def tables(self) -> list[str]:
        return sorted(each.name for each in (self.path / "tables").iterdir() if self.has(each.name))

    def checkpoint(self, name: str) -> Path:
        return self.path / "checkpoints" / name

    def lock_file(self, name: str) -> Path:
        return self.path / "locks" / f"{name}.lock"

    def result_file(self, name: str) -> Path:
        """The note of a version, what it is computed with; or of a result, which version is live."""
        return self.path / "results" / f"{name}.json"

    def code(self, fingerprint: str) -> Path:
        """The source of the transformations that rows with this fingerprint were made by."""
        return self.path / "code" / fingerprint

    @cached_property
    def pipeline(self) -> Pipeline:
        """What the lake is of, as it noted when it was made."""
        noted = noted_pipeline(self.path)
        try:
            return pipeline_at(noted["path"])
        except NoPipeline:
            raise NoPipeline(
                f"{self.path} is a lake of the pipeline {noted['name']}, which is not in {noted['path']} any more. Put it back, "
                f"or name its folder once: `parity ingest --lake {self.path} --landing DIR --pipeline FOLDER`."
            ) from None

    @property
    def ids(self) -> Path:
        """The index of the ids that the log has: a cache, which is nobody's truth."""
        return self.path / "cache" / self.of_log("ids")

    @property
    def landings(self) -> Path:
        return self.path / "landings"

    @property
    def log_file(self) -> Path:
        return self.path / "logs" / "spark.log"


@dataclass(frozen=True)
class Marker:
    """What makes a directory a lake: an id that no other lake has, and the key of the hashes in it.

    With the key of its own, nobody can make two events of one hash for a lake whose files cannot be read.
    """

    id: str
    hash_key: bytes


def marker(lake: Lake) -> Marker:
    said = json.loads((lake.path / MARKER).read_text())
    return Marker(said["id"], bytes.fromhex(said["hash_key"]))


def is_lake(path: Path) -> bool:
    return (path / MARKER).is_file()


def open_lake(path: Path) -> Lake:
    """The lake at `path`, which has to be one."""
    if not path.exists():
        raise NotALake(f"There is no lake at {path}. `parity ingest --lake {path} --landing DIR` makes one.")
    try:
        found = json.loads((path / MARKER).read_text())["format"]
    except FileNotFoundError:
        raise NotALake(
            f"{path} is not a lake: it has no {MARKER}. Name the directory that `parity ingest` made."
        ) from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise NotALake(f"{path} is not a lake: its {MARKER} cannot be read ({error}).") from None
    if found != FORMAT:
        raise NotALake(
            f"{path} is a lake of format {found!r}; this Parity reads format {FORMAT}. Use the Parity that made it, or "
            "ingest the landing files into a new lake."
        )
    return Lake(path.resolve())


def create_lake(path: Path, pipeline: Pipeline | None = None) -> Lake:
    """The lake at `path`, made if the directory is empty or not there; a directory of something else is left alone.

    A lake that is made notes its pipeline (none: the default one). One that is there keeps its own, and another is refused.
    """
    if path.exists() and not path.is_dir():
        raise NotALake(f"{path} is a file; a lake is a directory.")
    if not (path / MARKER).exists():
        if path.exists() and any(path.iterdir()):
            raise NotALake(
                f"{path} is not empty and not a lake, so nothing is written into it. Name a new or empty directory."
            )
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        own = {"id": secrets.token_hex(8), "hash_key": secrets.token_hex(16)}
        write_json(path / MARKER, {"format": FORMAT, "pipeline": _note(pipeline or default_pipeline()), **own})
    for part in ("tables", "checkpoints", "results", "locks", "code", "logs", "landings"):
        (path / part).mkdir(mode=0o700, exist_ok=True)
    made = open_lake(path)
    if pipeline is None:
        return made
    if _has_moved(made, pipeline):
        said = json.loads((path / MARKER).read_text())
        write_json(path / MARKER, {**said, "pipeline": _note(pipeline)})
    refuse_other_pipeline(made, pipeline)
    return made


def _note(pipeline: Pipeline) -> dict[str, str]:
    return {"name": pipeline.name, "path": pipeline.path}


def noted_pipeline(path: Path) -> dict[str, str]:
    """What the lake at a path notes of its pipeline, its `name` and its `path`; older lakes note none."""
    noted: dict[str, str] = json.loads((path / MARKER).read_text()).get("pipeline", {"name": DEFAULT, "path": DEFAULT})
    return noted


def _has_moved(lake: Lake, pipeline: Pipeline) -> bool:
    """Whether the lake's pipeline is not where it was, and one of its name is named."""
    noted = noted_pipeline(lake.path)
    try:
        pipeline_at(noted["path"])
    except NoPipeline:
        return noted["name"] == pipeline.name
    return False


def refuse_other_pipeline(lake: Lake, pipeline: Pipeline) -> None:
    """Refuse a pipeline that is not the lake's own."""
    own = lake.pipeline
    if pipeline.folder != own.folder:
        raise PipelineChanged(
            f"{lake.path} is a lake of the pipeline {own.path}, and {pipeline.path} is named. Nothing was written. Leave it out "
            "(--pipeline, PARITY_PIPELINE__PATH and [pipeline] in the settings), or name another lake."
        )


def write_json(file: Path, content: dict[str, Any]) -> None:
    """Write the file as a whole or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_name(f".{file.name}.{os.getpid()}")
    draft.write_text(json.dumps(content, indent=2, sort_keys=True) + "\n")
    draft.replace(file)
