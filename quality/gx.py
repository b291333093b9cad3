"""Great Expectations, imported in one place: it costs a second or two, and it has to be kept from ending the process.

Its import brings `pyspark.sql.connect` along, which calls `sys.exit(0)` if `__main__` has neither a file nor a spec: under
`python -c` and in the workers of pytest-xdist. So `__main__` has a file while it is imported.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def _main_with_a_file() -> Iterator[None]:
    main = sys.modules["__main__"]
    if hasattr(main, "__file__") or getattr(main, "__spec__", None) is not None:
        yield
        return
    main.__file__ = sys.executable
    try:
        yield
    finally:
        del main.__file__


with _main_with_a_file():
    import great_expectations as gx
    from great_expectations.core.metric_domain_types import MetricDomainTypes
    from great_expectations.core.metric_function_types import MetricPartialFunctionTypes
    from great_expectations.core.run_identifier import RunIdentifier
    from great_expectations.data_context.types.resource_identifiers import ValidationResultIdentifier
    from great_expectations.execution_engine import SparkDFExecutionEngine
    from great_expectations.expectations.expectation import BatchExpectation
    from great_expectations.expectations.metrics.metric_provider import metric_partial
    from great_expectations.expectations.metrics.table_metric_provider import TableMetricProvider
    from great_expectations.render import (
        LegacyDiagnosticRendererType,
        LegacyRendererType,
        RenderedStringTemplateContent,
        RenderedTableContent,
    )
    from great_expectations.render.renderer.renderer import renderer
    from great_expectations.render.view import DefaultJinjaPageView

__all__ = [
    "BatchExpectation",
    "DefaultJinjaPageView",
    "LegacyDiagnosticRendererType",
    "LegacyRendererType",
    "MetricDomainTypes",
    "MetricPartialFunctionTypes",
    "RenderedStringTemplateContent",
    "RenderedTableContent",
    "RunIdentifier",
    "SparkDFExecutionEngine",
    "TableMetricProvider",
    "ValidationResultIdentifier",
    "gx",
    "metric_partial",
    "renderer",
]
