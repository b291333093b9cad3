"""Every setting, from `parity.toml` and `PARITY_…` environment variables, with a default for what they leave out."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from inspect import signature
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    ValidationError,
    ValidationInfo,
    create_model,
)
from pydantic_core import PydanticCustomError
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from lakehouse.errors import BadSettings
from lakehouse.lake import Lake, refuse_other_pipeline
from lakehouse.pipelines import DEFAULT, folder_of, pipeline_at
from transformations.durations import parse_duration, written
from transformations.pipeline import Pipeline
from transformations.result import Result
from transformations.windows import Tumbling

PREFIX = "PARITY_"
_INSIDE = "inside"
"""The type of an error that stands for those of a section, which the pipeline decides about."""


def _duration(value: object) -> timedelta:
    if isinstance(value, timedelta):
        return value
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not a duration; write it as text, e.g. '5 minutes'")
    return parse_duration(value)


def _positive(value: timedelta) -> timedelta:
    Tumbling(value)
    return value


def _utc(value: datetime) -> datetime:
    if value.tzinfo is None:
        raise ValueError("a time needs a zone, e.g. 2000-01-01T00:00:00Z")
    return value.astimezone(UTC)


def _takes_late(result: Result) -> bool:
    return result.way == "engine" and result.window.takes_late


Duration = Annotated[timedelta, BeforeValidator(_duration), PlainSerializer(written)]
Size = Annotated[timedelta, BeforeValidator(_duration), AfterValidator(_positive), PlainSerializer(written)]
Moment = Annotated[datetime, AfterValidator(_utc)]
Secret = Annotated[str, Field(pattern=r"^([!-~]{16,})?$")]
SECRETS = ("ingestion.pseudonym_key", "serving.token")


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Lateness(Section):
    allowed: Duration = timedelta(minutes=5)
    policy: Literal["correct", "drop"] = "correct"
    hold: Duration = timedelta(hours=12)
    holds: dict[str, Duration] = {}

    def hold_of(self, result: Result) -> timedelta | None:
        """How long behind the mark the engine holds a window of the result, and counts late rows in it.

        None where the engine gets no late row: where they are dropped, and for shapes of which it is not known exactly what
        Spark drops. A window is held until it is settled at least: only repairs of what is settled are final at once.
        """
        if self.policy == "drop" or not _takes_late(result):
            return None
        return max(self.allowed, self.holds.get(result.name, self.hold))

    @property
    def dropped_after(self) -> timedelta | None:
        """The lateness from which on a row counts for nothing; none under `correct`, where every row counts."""
        return self.allowed if self.policy == "drop" else None


def windows_of(pipeline: Pipeline) -> type[Section]:
    """A section a result, with the durations that its declaration takes."""

    def section(name: str, declare: Callable[..., Result]) -> type[Section]:
        durations: dict[str, Any] = {each.name: (Size, each.default) for each in signature(declare).parameters.values()}
        return create_model(name, __base__=Section, **durations)

    sections = {name: section(name, declare) for name, declare in pipeline.declared.items()}
    fields: dict[str, Any] = {name: (section, section()) for name, section in sections.items()}
    return create_model("Windows", __base__=Section, **fields)


def _pipeline(value: object) -> Pipeline:
    """What the section `[pipeline]` names. Its path is the one setting there."""
    if not isinstance(value, dict) or set(value) - {"path"}:
        raise ValueError("there is one setting here: path, a name or a directory")
    path = value.get("path", DEFAULT)
    if not isinstance(path, str):
        raise ValueError("its path is a text: a name or a directory")
    return pipeline_at(path)


def _named(pipeline: Pipeline) -> dict[str, str]:
    return {"path": pipeline.path}


def _windows(value: Any, info: ValidationInfo) -> dict[str, dict[str, timedelta]]:
    """The durations of the pipeline's results, each with the default of its declaration."""
    if "pipeline" not in info.data:  # what is wrong with it is told already
        return {}
    windows = windows_of(info.data["pipeline"])
    try:
        found = windows.model_validate(value)
    except ValidationError as error:
        raise PydanticCustomError(_INSIDE, "", {"errors": error.errors(), "section": windows}) from None
    return {name: dict(section) for name, section in found}


class ClockTolerances(Section):
    device: Duration = timedelta(seconds=30)
    future: Duration = timedelta(minutes=10)
    floor: Moment = datetime(2000, 1, 1, tzinfo=UTC)


class Reconciliation(Section):
    tolerance: dict[str, Annotated[float, Field(ge=0)]] = {}
    least_settled: Annotated[float, Field(ge=0, le=1)] = 0.1


class Retention(Section):
    horizon: Size = timedelta(days=365)
    revisions: Size = timedelta(days=7)
    reports: Size = timedelta(days=90)


class Ingestion(Section):
    engine: Literal["spark", "embedded"] = "spark"
    files_per_batch: Annotated[int, Field(ge=1)] = 100
    pseudonym_key: Secret = ""


class Stream(Section):
    commits_per_batch: Annotated[int, Field(ge=1)] = 1000
    interval: Duration = timedelta(seconds=1)


class Batch(Section):
    every: Size = timedelta(days=1)


class Quality(Section):
    late: Annotated[float, Field(ge=0, le=1)] = 0.25
    duplicates: Annotated[float, Field(ge=0, le=1)] = 0.1
    quarantined: Annotated[float, Field(ge=0, le=1)] = 0.02
    log_age: Duration = timedelta(days=7)
    result_lag: Duration = timedelta(hours=1)
    batch_lag: Duration = timedelta(hours=28)


class Serving(Section):
    clear_ids: bool = False
    token: Secret = ""


class Spark(Section):
    master: str = "local[*]"
    compiler: Literal["quick", "full"] = "full"
    options: dict[str, str] = {}


class Settings(BaseSettings):
    """The whole of the settings. Unknown keys are refused: a misspelt setting must not be a silent default."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_nested_delimiter="__",
        extra="forbid",
        frozen=True,
        nested_model_default_partial_update=True,
    )

    pipeline: Annotated[Pipeline, PlainValidator(_pipeline), PlainSerializer(_named)] = Field({}, validate_default=True)
    lateness: Lateness = Lateness()
    windows: Annotated[dict[str, dict[str, timedelta]], BeforeValidator(_windows)] = Field({}, validate_default=True)
    clock: ClockTolerances = ClockTolerances()
    reconciliation: Reconciliation = Reconciliation()
    retention: Retention = Retention()
    ingestion: Ingestion = Ingestion()
    stream: Stream = Stream()
    batch: Batch = Batch()
    quality: Quality = Quality()
    serving: Serving = Serving()
    spark: Spark = Spark()

    @property
    def windows_by_result(self) -> dict[str, dict[str, timedelta]]:
        return self.windows


class _File(TomlConfigSettingsSource):
    """A settings file. A directory that it names is relative to it."""

    def __call__(self) -> dict[str, Any]:
        said = super().__call__()
        section = said.get("pipeline")
        if isinstance(section, dict) and isinstance(section.get("path"), str):
            assert isinstance(self.toml_file_path, Path)
            folder = folder_of(section["path"], base=self.toml_file_path.resolve().parent)
            said = {**said, "pipeline": {**section, "path": str(folder)}}
        return said


def load_settings(
    file: Path | None = None, *, tried: Mapping[str, str] | None = None, lake: Lake | None = None
) -> Settings:
    """The settings of `file` (none: the defaults), each overridden by its environment variable, and that by `tried`.

    `tried` names single settings: {"lateness.allowed": "5 minutes"}. For a `lake` its own pipeline counts, and another is
    refused.
    """
    if file is not None and not file.is_file():
        raise BadSettings(f"There is no settings file {file}. Name an existing one with --config, or leave it out.")
    _refuse_unknown_variables()

    class FromFile(Settings):
        @classmethod
        def settings_customise_sources(
            cls,
            settings_cls: type[BaseSettings],
            init_settings: PydanticBaseSettingsSource,
            *_: PydanticBaseSettingsSource,
            **__: PydanticBaseSettingsSource,
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            own = {} if lake is None else {"pipeline": {"path": lake.pipeline.path}}
            return (
                init_settings,
                EnvSettingsSource(settings_cls),
                _File(settings_cls, toml_file=file),
                InitSettingsSource(settings_cls, init_kwargs=own),
            )

    try:
        found = FromFile(**_nested(tried or {}))
    except ValidationError as error:
        complaints = "\n".join(f"  {_complaint(*detail)}" for detail in _details(error.errors(), Settings))
        raise BadSettings(f"The settings cannot be used ({file or 'environment'}):\n{complaints}") from None
    except ValueError as error:  # the file is not TOML, or a variable not what its section needs
        raise BadSettings(f"The settings cannot be read ({file or 'environment'}): {error}") from None
    if lake is not None:
        refuse_other_pipeline(lake, found.pipeline)
    for complaint in _disagreeing(found):
        raise BadSettings(f"The settings cannot be used ({file or 'environment'}):\n  {complaint}")
    return found


def _disagreeing(found: Settings) -> Iterator[str]:
    """What is possible alone, but not beside the rest or in this pipeline."""
    results = {}
    for name, durations in found.windows_by_result.items():
        try:
            results[name] = found.pipeline.declared[name](**durations)
        except ValueError as error:
            yield f"windows.{name}: {error}"
    known = [name for name, result in results.items() if _takes_late(result)]
    for name in found.lateness.holds:
        if name not in known:
            yield f"lateness.holds.{name}: only windows aligned in time are held, those of {', '.join(known)}"


def _nested(tried: Mapping[str, str]) -> dict[str, Any]:
    """{"lateness.allowed": "5 minutes"} as the sections of a settings file."""
    sections: dict[str, Any] = {}
    for name, value in tried.items():
        *above, last = name.split(".")
        inner = sections
        for part in above:
            inner = inner.setdefault(part, {})
        inner[last] = value
    return sections


def _details(errors: Sequence[Any], section: type[BaseModel], above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Each complaint with the sections that it is within, and those of which the innermost one is a part."""
    for detail in errors:
        if detail["type"] == _INSIDE:
            yield from _details(detail["ctx"]["errors"], detail["ctx"]["section"], (*above, *detail["loc"]))
        else:
            yield above, section, detail


def _complaint(above: tuple[Any, ...], section: type[BaseModel], detail: Any) -> str:
    where = ".".join(str(part) for part in (*above, *detail["loc"]))
    if detail["type"] == "extra_forbidden":
        return f"{where}: there is no such setting. {_known(section, detail['loc'])}"
    if where in SECRETS:
        return f"{where}: give 16 or more printable characters without a blank, or none. What was given is not shown."
    said = str(detail["msg"]).removeprefix("Value error, ")
    return f"{where} = {detail['input']!r}: {said}"


def _known(section: type[BaseModel], location: tuple[Any, ...]) -> str:
    for part in location[:-1]:
        inner = section.model_fields[str(part)].annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            section = inner
    return f"Known here: {', '.join(section.model_fields)}."


def _refuse_unknown_variables() -> None:
    known = {name.upper() for name in Settings.model_fields} | {"FAILPOINT"}
    for variable in os.environ:
        if variable.startswith(PREFIX) and variable.removeprefix(PREFIX).split("__")[0].upper() not in known:
            raise BadSettings(
                f"The environment variable {variable} names no setting. "
                f"Known: {', '.join(f'{PREFIX}{name}__…' for name in sorted(known))}"
            )
