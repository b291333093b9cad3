"""`parity results`: the catalogue as its declarations have it. The documentation is this command's output."""

from collections.abc import Iterator
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from cli.console import answers, results_from, settings_from, told_errors
from cli.options import ConfigOption, PipelineOption
from transformations.kind import in_words

if TYPE_CHECKING:
    from transformations.kind import Field, Kind
    from transformations.pipeline import Pipeline
    from transformations.result import Result, Value


class CatalogueFormat(StrEnum):
    text = "text"
    markdown = "markdown"


def results(
    format: Annotated[CatalogueFormat, typer.Option(help="For the terminal or for the documentation.")] = (
        CatalogueFormat.text
    ),
    pipeline: PipelineOption = None,
    config: ConfigOption = None,
) -> None:
    """List the results and the kinds of events, from their declarations."""
    with told_errors():
        settings = settings_from(config, pipeline=pipeline)
        declared = results_from(settings, None)
        if format is CatalogueFormat.markdown:
            answers.out("\n".join(page(declared, settings.pipeline)), highlight=False)
            return
        table = Table(header_style="bold", box=None, padding=(0, 2, 0, 0))
        for name in ("result", "shape", "key", "way"):
            table.add_column(name)
        for each in declared:
            table.add_row(each.name, _shape(each), ", ".join(each.key) or "none", each.way)
        answers.print(table)


def page(declared: "list[Result]", pipeline: "Pipeline") -> Iterator[str]:
    """The page of a pipeline; that of the game is docs/catalogue.md."""
    yield "# The catalogue"
    yield ""
    yield pipeline.story.story
    yield ""
    yield f"Made by `parity results --format markdown` from the declarations of the pipeline `{pipeline.name}`."
    yield ""
    yield from summary(declared)
    yield ""
    yield "`engine`: Spark's own operators, and repairs of what late events touched. `recompute`: what any event touched is"
    yield "computed anew from the log. Times are aligned to 1970-01-01T00:00Z; an event on a boundary is in the later window."
    yield ""
    yield from _shapes(declared)
    for result in declared:
        yield from _declaration(result)
    yield ""
    yield "## Kinds of events"
    yield ""
    yield "| kind | meaning | fields |"
    yield "|---|---|---|"
    yield from (f"| `{kind.name}` | {kind.meaning} | {_fields(kind)} |" for kind in pipeline.kinds)


def summary(declared: "list[Result]") -> Iterator[str]:
    """One line a result."""
    yield "| result | what it is | shape | key | way |"
    yield "|---|---|---|---|---|"
    for each in declared:
        key = ", ".join(f"`{name}`" for name in each.key) or "none"
        yield f"| `{each.name}` | {each.meaning} | {_shape(each)} | {key} | {each.way} |"


def _shapes(declared: "list[Result]") -> Iterator[str]:
    shapes = {result.window.name: type(result.window) for result in declared}
    yield "## Shapes, and what others call them"
    yield ""
    yield "| here | stretch of event time | Spark | Flink | Beam |"
    yield "|---|---|---|---|---|"
    for name, shape in sorted(shapes.items()):
        called = " | ".join(shape.called[system] for system in ("Spark", "Flink", "Beam"))
        yield f"| {name} | {shape.bounds} | {called} |"


def _declaration(result: "Result") -> Iterator[str]:
    yield ""
    yield f"## `{result.name}`"
    yield ""
    yield f"{result.meaning} Reads {', '.join(f'`{kind}`' for kind in result.kinds)}. {_shape(result).capitalize()}."
    if result.present != "true":
        yield f"A row is there while `{result.present}`; it can vanish again."
    yield ""
    yield "| column | type | meaning | compared |"
    yield "|---|---|---|---|"
    yield from (_column(value, _comparison(value)) for value in result.values)
    if result.derived is not None:
        yield from (_column(value, "in the view only") for value in result.derived.values)


def _column(value: "Value", compared: str) -> str:
    return f"| `{value.name}` | {value.type.simpleString()} | {value.meaning} | {compared} |"


def _comparison(value: "Value") -> str:
    if not value.compared:
        return "no, another column speaks for it"
    return f"within {value.error:.1%}" if value.error else "exactly"


def _shape(result: "Result") -> str:
    lengths = ", ".join(f"{name} {length}" for name, length in result.window.parameters.items())
    return f"{result.window.name}, {lengths}" if lengths else result.window.name


def _fields(kind: "Kind") -> str:
    named = (f"`{field.name}` ({', '.join(_said(field))})" for field in kind.fields)
    return ", ".join(named) or "none"


def _said(field: "Field") -> Iterator[str]:
    yield in_words(field.type)
    if not field.required:
        yield "optional"
    if field.personal:
        yield "personal"
