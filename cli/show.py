"""`parity show`: the rows of a result as one layer answers them, by the reader that the API uses. It needs no JVM.

One answer does: that of the control for a result that it has not written down. Spark computes it from the arrivals.
"""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.console import session_for, settings_from, step, told_errors
from cli.options import ConfigOption, FromOption, LakeOption, ToOption

if TYPE_CHECKING:
    from lakehouse.settings import Settings
    from serving.queries import Asked
    from serving.reader import Answer, Reader
    from transformations.result import Result

TABLE_ROWS = 20
"""How many rows a table has unless told otherwise. A machine gets all."""


class LayerName(StrEnum):
    kappa = "kappa"
    batch = "batch"
    legacy = "legacy"
    lambda_ = "lambda"


class RowFormat(StrEnum):
    table = "table"
    csv = "csv"
    jsonl = "jsonl"


def show(
    result: Annotated[str, typer.Argument(help="The result by its name, or a version of it.", metavar="RESULT")],
    lake: LakeOption,
    layer: Annotated[LayerName, typer.Option(help="Whose answer.")] = LayerName.kappa,
    key: Annotated[
        list[str] | None,
        typer.Option(help="Only rows with this value of a key's column; may be repeated.", metavar="COLUMN=VALUE"),
    ] = None,
    first: FromOption = None,
    to: ToOption = None,
    settled_only: Annotated[bool, typer.Option("--settled-only", help="Leave out what may still change.")] = False,
    log_version: Annotated[
        int | None,
        typer.Option(min=0, help="The answer at this version of the log; the newest by default.", metavar="V"),
    ] = None,
    sort: Annotated[
        list[str] | None,
        typer.Option(
            help="Sort by these columns, `-` before one: from the greatest down. By window and key by default.",
            metavar="[-]COLUMN,…",
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=0, help="At most so many rows; 0: all.", show_default="20 in a table", metavar="N")
    ] = None,
    format: Annotated[RowFormat, typer.Option(help="For people or for machines.")] = RowFormat.table,
    config: ConfigOption = None,
) -> None:
    """Show the rows of a result as one layer answers them. Needs no Spark."""
    from lakehouse.batches import Interval
    from lakehouse.lake import open_lake

    with told_errors(lake / "logs" / "spark.log"):
        opened = open_lake(lake)
        settings = settings_from(config, opened)
        Interval(first, to)
        from serving.queries import Asked
        from serving.reader import Reader

        with Reader(opened, _in_clear(settings)) as reader:
            declared = reader.subjects.computed(result).result
            asked = Asked(
                first=first,
                end=to,
                named=_named(declared, key or []),
                settled=True if settled_only else None,
                order=_order(declared, sort or []),
            )
            answer = _answer(reader, result, layer, asked, log_version=log_version)
        from cli.row_table import print_table
        from cli.rows import print_csv, print_jsonl

        # What is settled was asked for by an option, and is no column of the result.
        rows = answer.rows.drop_columns(["settled"])
        wanted = TABLE_ROWS if limit is None and format is RowFormat.table else limit or len(rows)
        if format is RowFormat.jsonl:
            print_jsonl(rows.slice(0, wanted))
        elif format is RowFormat.csv:
            print_csv(rows.slice(0, wanted))
        else:
            print_table(answer.subject, rows.slice(0, wanted), of=len(rows))


def _answer(reader: "Reader", name: str, layer: LayerName, asked: "Asked", *, log_version: int | None) -> "Answer":
    from serving.control import control_rows, control_subject, is_written_down

    computed = reader.subjects.computed(name)
    if layer is not LayerName.legacy or is_written_down(computed):
        return reader.rows(reader.subjects.subject(name, layer.value, log_version=log_version), asked)
    subject = control_subject(computed, log_version)
    spark = session_for(computed.lake, reader.settings)
    known = " and ".join(computed.lake.pipeline.story.controlled)
    with step(f"Compute legacy {computed.result.id} from the arrivals: the control writes down {known} alone"):
        return reader.rows_of(subject, control_rows(spark, subject), asked)


def _in_clear(settings: "Settings") -> "Settings":
    """Who may type commands on the lake may read its files: ids stay as they are. Pseudonyms are for what is sent."""
    return settings.model_copy(update={"serving": settings.serving.model_copy(update={"clear_ids": True})})


def _named(result: "Result", given: list[str]) -> tuple[tuple[str, Any], ...]:
    """The columns of the key that were asked for, each with its value."""
    from lakehouse.errors import ParityError
    from serving.parameters import key_value

    found: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if name not in result.key:
            known = f"It has: {', '.join(result.key)}." if result.key else "It has none: there is one row a window."
            raise ParityError(f"--key {text}: {name!r} is no column of the key of {result.name}. {known}")
        if not equals:
            raise ParityError(f"--key {text}: there is no value. Write e.g. {name}=blue.")
        if name in found:
            raise ParityError(f"--key {text}: {name} has a value already. Name each column once.")
        found[name] = key_value(result, name, value)
    return tuple(found.items())


def _order(result: "Result", given: list[str]) -> tuple[tuple[str, bool], ...]:
    """The columns to sort by, each with whether the greatest comes first."""
    from lakehouse.errors import ParityError
    from serving.queries import shown_columns

    known = shown_columns(result)
    found = []
    for text in (part.strip() for each in given for part in each.split(",")):
        name = text.removeprefix("-")
        if name not in known:
            raise ParityError(f"--sort {text}: {result.name} has no column {name!r}. There are: {', '.join(known)}.")
        found.append((name, text.startswith("-")))
    return tuple(found)
