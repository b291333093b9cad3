"""How an expectation is read in Data Docs: its sentence, the condition behind it, and a table of what is unexpected.

Great Expectations puts plain texts into its pages as they are, and only the parameters of a template are escaped. Values
come from events, so they are escaped here.
"""

from html import escape
from typing import Any, ClassVar

from quality.gx import (
    BatchExpectation,
    LegacyDiagnosticRendererType,
    LegacyRendererType,
    RenderedStringTemplateContent,
    RenderedTableContent,
    renderer,
)
from quality.plain import shown


class Readable(BatchExpectation):  # type: ignore[misc]
    """An expectation with a short name, `rule`, and a sentence, what it `says`.

    Great Expectations has a description for that, but would show it instead of all the rest, and without escaping it.
    """

    rule: str
    says: str

    domain_keys: ClassVar[tuple[str, ...]] = ("batch_id",)

    def judged(self, metrics: dict[str, Any], engine: Any) -> tuple[bool, dict[str, Any]]:
        """Whether it is met, and what was found."""
        raise NotImplementedError

    def _validate(
        self,
        metrics: dict[str, Any],
        runtime_configuration: Any = None,  # noqa: ARG002
        execution_engine: Any = None,
    ) -> dict[str, Any]:
        met, found = self.judged(metrics, execution_engine)
        return {"success": met, "result": found}

    @classmethod
    @renderer(renderer_type=LegacyRendererType.PRESCRIPTIVE)  # type: ignore[untyped-decorator]
    def _prescriptive_renderer(cls, configuration: Any = None, **_: Any) -> list[Any]:
        kwargs = configuration.kwargs
        parts = [_templated("$rule", {"rule": kwargs["rule"]}, tag="strong")]
        parts.append(_templated("$says", {"says": kwargs["says"]}, tag="p"))
        behind = kwargs.get("condition") or kwargs.get("measure")
        if behind:
            label = "No row where" if kwargs.get("condition") else "Figure"
            parts.append(_templated(f"{label}: $sql", {"sql": " ".join(behind.split())}, tag="small"))
        return parts

    @classmethod
    @renderer(renderer_type=LegacyDiagnosticRendererType.UNEXPECTED_STATEMENT)  # type: ignore[untyped-decorator]
    def _diagnostic_unexpected_statement_renderer(cls, **_: Any) -> list[Any]:
        return []

    @classmethod
    @renderer(renderer_type=LegacyDiagnosticRendererType.UNEXPECTED_TABLE)  # type: ignore[untyped-decorator]
    def _diagnostic_unexpected_table_renderer(cls, result: Any = None, **_: Any) -> list[Any] | None:
        sample = result.result.get("sample") or []
        if not sample:
            return None
        names = list(sample[0])
        return [
            RenderedTableContent(
                content_block_type="table",
                table=[[escape(_said(row[name])) for name in names] for row in sample],
                header_row=[escape(name) for name in names],
                styling={"body": {"classes": ["sample"]}},
            )
        ]

    @classmethod
    @renderer(renderer_type=LegacyDiagnosticRendererType.OBSERVED_VALUE)  # type: ignore[untyped-decorator]
    def _diagnostic_observed_value_renderer(cls, result: Any = None, **_: Any) -> str:
        return escape(observed(result.expectation_config.kwargs, result.result))


def observed(kwargs: dict[str, Any], result: dict[str, Any]) -> str:
    """What was found, in a few words."""
    if "condition" in kwargs:
        count = result.get("unexpected") or 0
        return "no such row" if not count else f"{count:,} such row{'' if count == 1 else 's'}"
    if "found" in kwargs:
        count = result.get("unexpected") or 0
        return "none" if not count else f"{count:,} such interval{'' if count == 1 else 's'}"
    if "types" in kwargs:
        wrong = result.get("unexpected") or 0
        return "as declared" if not wrong else f"{wrong} column{' differs' if wrong == 1 else 's differ'}"
    return shown(result.get("observed_value"), kwargs.get("unit", "number"))


def _said(value: Any) -> str:
    return "null" if value is None else str(value)


def _templated(template: str, params: dict[str, Any], *, tag: str) -> Any:
    styling: dict[str, Any] = {"default": {"classes": []}}
    return RenderedStringTemplateContent(
        content_block_type="string_template",
        string_template={"template": template, "params": params, "tag": tag, "styling": styling},
    )
