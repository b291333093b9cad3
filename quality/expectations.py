"""The rules as expectations of Great Expectations.

Each is evaluated as an aggregate over the checked frame, and Great Expectations computes all aggregates of a frame in one
Spark job. A sample of what is unexpected is read only if there is something. (Its own expectations on columns run a job
each for a sample, whether they fail or not.)
"""

from decimal import Decimal
from typing import Any, ClassVar

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from quality.gx import (
    MetricDomainTypes,
    MetricPartialFunctionTypes,
    SparkDFExecutionEngine,
    TableMetricProvider,
    gx,
    metric_partial,
)
from quality.plain import exact, plain
from quality.rendering import Readable
from quality.rules import HELPER, Columns, Figure, NoRow, Nothing, Rule

SAMPLE = 5
"""Rows that are shown of those that a rule forbids."""


class AggregateOverRows(TableMetricProvider):  # type: ignore[misc]
    """Any SQL aggregate over the rows of a frame."""

    metric_name = "parity.aggregate"
    value_keys = ("measure",)

    @metric_partial(  # type: ignore[untyped-decorator]
        engine=SparkDFExecutionEngine,
        partial_fn_type=MetricPartialFunctionTypes.AGGREGATE_FN,
        domain_type=MetricDomainTypes.TABLE,
    )
    def _spark(
        cls,  # noqa: N805
        execution_engine: SparkDFExecutionEngine,  # noqa: ARG002
        metric_domain_kwargs: dict[str, Any],
        metric_value_kwargs: dict[str, Any],
        metrics: dict[str, Any],  # noqa: ARG002
        runtime_configuration: dict[str, Any],  # noqa: ARG002
    ) -> tuple[Column, dict[str, Any], dict[str, Any]]:
        return F.expr(metric_value_kwargs["measure"]), metric_domain_kwargs, {}


class ExpectNoRowWhere(Readable):
    """No row satisfies a condition."""

    measure: str
    condition: str
    shown: list[str]

    metric_dependencies: ClassVar[tuple[str, ...]] = ("parity.aggregate",)
    success_keys: ClassVar[tuple[str, ...]] = ("measure", "condition", "shown")

    def judged(self, metrics: dict[str, Any], engine: Any) -> tuple[bool, dict[str, Any]]:
        count = int(metrics["parity.aggregate"])
        sample: list[dict[str, Any]] = []
        if count:
            rows: DataFrame = engine.get_domain_records({})
            found = rows.where(self.condition).select(*self.shown).limit(SAMPLE).collect()
            sample = [{name: plain(value) for name, value in row.asDict().items()} for row in found]
        return count == 0, {"observed_value": count, "unexpected": count, "sample": sample}


class ExpectFigureToBeBetween(Readable):
    """A figure over all rows lies between two bounds, both included, or is exactly what it has to be."""

    measure: str
    least: float | None = None
    most: float | None = None
    exact: str | None = None
    unit: str = "number"

    metric_dependencies: ClassVar[tuple[str, ...]] = ("parity.aggregate",)
    success_keys: ClassVar[tuple[str, ...]] = ("measure", "least", "most", "exact", "unit")

    def judged(self, metrics: dict[str, Any], engine: Any) -> tuple[bool, dict[str, Any]]:  # noqa: ARG002
        value = metrics["parity.aggregate"]
        if self.exact is not None:
            found = None if value is None else Decimal(value)
            observed = None if found is None else exact(found)
            return found == Decimal(self.exact), {"observed_value": observed, "unexpected": None, "sample": []}
        met = value is not None
        met = met and (self.least is None or value >= self.least) and (self.most is None or value <= self.most)
        return bool(met), {"observed_value": value, "unexpected": None, "sample": []}


class ExpectColumnsToBe(Readable):
    """The frame has these columns with these types. What begins with `_` was computed for the check."""

    types: dict[str, str]

    metric_dependencies: ClassVar[tuple[str, ...]] = ("table.columns",)
    success_keys: ClassVar[tuple[str, ...]] = ("types",)

    def judged(self, metrics: dict[str, Any], engine: Any) -> tuple[bool, dict[str, Any]]:  # noqa: ARG002
        found = types_of(engine.get_domain_records({}))
        wrong = [
            {"column": name, "declared": self.types.get(name), "found": found.get(name)}
            for name in sorted({*self.types, *found})
            if self.types.get(name) != found.get(name)
        ]
        return not wrong, {"observed_value": len(found), "unexpected": len(wrong), "sample": wrong}


class ExpectNothingFound(Readable):
    """What was found before is nothing."""

    found: list[dict[str, Any]]

    metric_dependencies: ClassVar[tuple[str, ...]] = ("table.columns",)
    success_keys: ClassVar[tuple[str, ...]] = ("found",)

    def judged(self, metrics: dict[str, Any], engine: Any) -> tuple[bool, dict[str, Any]]:  # noqa: ARG002
        count = len(self.found)
        return not count, {"observed_value": count, "unexpected": count, "sample": self.found[:SAMPLE]}


def types_of(rows: DataFrame) -> dict[str, str]:
    """The columns of a frame with their types, as people write them."""
    return {each.name: each.dataType.simpleString() for each in rows.schema if not each.name.startswith(HELPER)}


def expectation(rule: Rule) -> Readable:
    """The rule as an expectation."""
    said = {"rule": rule.name, "says": rule.says}
    if isinstance(rule, NoRow):
        measure = f"count(if({rule.where}, 1, null))"
        return ExpectNoRowWhere(measure=measure, condition=rule.where, shown=list(rule.shows), **said)
    if isinstance(rule, Figure):
        if rule.exact is not None:
            # As a text: Great Expectations makes a float of a decimal, and of a large sum another number.
            exactly = {"measure": f"cast({rule.measure} as string)", "exact": str(rule.exact)}
            return ExpectFigureToBeBetween(unit=rule.unit, **exactly, **said)
        return ExpectFigureToBeBetween(measure=rule.measure, least=rule.least, most=rule.most, unit=rule.unit, **said)
    if isinstance(rule, Nothing):
        return ExpectNothingFound(found=[dict(each) for each in rule.found], **said)
    assert isinstance(rule, Columns)
    return ExpectColumnsToBe(types={each.name: each.dataType.simpleString() for each in rule.schema}, **said)


def suite(name: str, rules: list[Rule]) -> "gx.ExpectationSuite":
    """The suite of a table."""
    return gx.ExpectationSuite(name=name, expectations=[expectation(rule) for rule in rules])
