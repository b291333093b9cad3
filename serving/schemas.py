"""What the API answers, for its OpenAPI document."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from serving.pins import Layer


class Schema(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Problem(Schema):
    detail: str = Field(description="What happened, with which value, and what to do")


class Health(Schema):
    status: Literal["ok"]
    log_version: int | None


class StartingPart(Schema):
    name: str
    state: Literal["waiting", "starting", "ready"]
    said: str
    """What it waits for, is doing, or has come to."""
    seconds: float | None
    """Since it began, or what it took; nothing while it waits."""


class Starting(Schema):
    seconds: float | None
    """Since `parity live` was started; nothing if no such command is at work on this lake."""
    parts: list[StartingPart]


class Charted(Schema):
    result: str
    column: str
    key: str | None = Field(description="The column that tells the lines apart; nothing if there is one line alone")


class Pipeline(Schema):
    name: str
    story: str
    charted: Charted = Field(description="What charts and the page show: a result with windows side by side")
    controlled: list[str] = Field(description="The results that the control is judged on")
    live: list[str] = Field(description="The results that `parity live` computes")


class Column(Schema):
    name: str
    type: str
    meaning: str
    compared: bool = Field(description="Whether answers are compared by it; if not, another column speaks for it")
    error: float = Field(description="How far two answers may be apart and be equal, as a share of the greater one")


class LayerStanding(Schema):
    log_version: int = Field(description="The version of the log that the layer has consumed")
    lag_versions: int = Field(description="Commits of the log that it has not")
    lag_events: int = Field(description="Events in these")
    logged_at: str = Field(description="When the version that it has consumed was the newest one")
    age_seconds: float = Field(description="How long ago that is: the age of its freshest result")
    epoch: int | None = None
    engine_rows: int | None = None
    repairs: int | None = None
    recomputed: int | None = None


class Described(Schema):
    name: str
    live_version: int
    meaning: str
    key: list[str]
    pseudonyms: list[str] = Field(
        description="Columns of the key that name a person; sent as pseudonyms unless set otherwise"
    )
    values: list[Column]
    window: dict[str, str]
    layers: dict[str, LayerStanding]


class LogStanding(Schema):
    version: int | None
    events: int
    late: int = Field(description="Events that came more than the allowed lateness behind the mark")
    duplicates: int
    quarantined: int
    high_water: str | None


class Catalogue(Schema):
    log: LogStanding
    results: list[Described]


class Told(Schema):
    """What an answer is of."""

    result: str
    version: int
    layer: Layer
    log_version: int = Field(description="The version of the log that the answer is of")
    versions: dict[str, int] = Field(description="The pinned version of every table that was read")
    settled_before: str = Field(description="Results that end until then are settled")
    cut_off: str | None = Field(None, description="Lambda only: where the speed layer takes over")


class ResultRows(Told):
    next: str | None = Field(description="Cursor of the next page")
    rows: list[dict[str, Any]]


class Settled(Schema):
    log_version: int
    at: str


class History(Told):
    settled: Settled | None = Field(description="Since when it is settled, none if it may still change in time")
    rows: list[dict[str, Any]]


class ResultVerdict(Schema):
    result: str
    version: int
    log_version: int
    status: str
    keys: int
    compared: int
    equal: int
    differing: int
    in_flight: int
    unexplained: int
    by_cause: dict[str, int]


class Verdict(Schema):
    id: str
    at: str
    candidate: str
    policy: str
    status: str
    compared: int
    equal: int
    differing: int
    in_flight: int
    unexplained: int
    audit_balanced: bool | None = Field(description="None where the landing files could not be counted")
    results: list[ResultVerdict]


class Reconciliations(Schema):
    reconciliations: list[Verdict]
    next: str | None


class Difference(Schema):
    result: str
    version: int
    key: dict[str, Any]
    window_start: str
    window_end: str | None
    batch: dict[str, Any] | None
    candidate: dict[str, Any] | None
    differing: list[str]
    causes: list[str]
    event_ids: list[str]
    evidence: str | None


class Reconciliation(Verdict):
    differences: list[Difference]
    next: str | None
