"""The commands that answer a fixed bug or a changed window from the log: replay, compare, versions, retire; beside them swap."""

import json
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer
from rich.filesize import decimal
from rich.table import Table

from cli.clock import command_clock
from cli.console import answers, conclude, notes, results_from, session_for, settings_from, step, told_errors
from cli.options import ConfigOption, Format, FormatOption, FromVersionOption, LakeOption
from lakehouse.lake import Lake

if TYPE_CHECKING:
    from lakehouse.settings import Settings
    from transformations.result import Result

OneResultOption = Annotated[str, typer.Option("--result", help="The result by its name.", metavar="NAME")]


class WayName(StrEnum):
    engine = "engine"
    steps = "steps"


def replay(
    lake: LakeOption,
    result: OneResultOption,
    as_version: Annotated[
        int | None, typer.Option(min=1, help="Number of the new version; the next one by default.", metavar="N")
    ] = None,
    from_version: FromVersionOption = None,
    log: Annotated[
        int | None, typer.Option(min=1, help="Which log; others than 1 are made by `parity reingest`.", metavar="N")
    ] = None,
    way: Annotated[
        WayName | None,
        typer.Option(help="The stream from the start (the default), or settled history in static steps."),
    ] = None,
    config: ConfigOption = None,
) -> None:
    """Compute a new version of a result from the log, beside the live one, until it has caught up."""
    from lakehouse.lake import open_lake
    from lakehouse.log import known_version, newest_version
    from lakehouse.terms import at_log
    from lakehouse.versions import is_replaying, version_to_replay

    with told_errors(lake / "logs" / "spark.log"):
        opened = open_lake(lake)
        settings = settings_from(config, opened)
        newest_version(opened)
        [declared] = results_from(settings, [result])
        if as_version is not None and _is_there(opened, replace(declared, version=as_version), settings):
            return
        new = version_to_replay(opened, declared, as_version)
        resumed = is_replaying(opened, new)
        read = at_log(opened, new)
        read = replace(read, log=log or read.log, since=read.since if from_version is None else from_version)
        known_version(read, read.since, option="--from-version")
        spark = session_for(opened, settings)
        from speed_layer.replay import replay as run_replay

        notes.print(f"{'Going on with' if resumed else 'Replaying'} {new.id}", highlight=False)
        with step(f"Events into {new.id}") as told:
            run_replay(
                spark, read, new, settings,
                way=None if way is None else way.value, told=told, clock=command_clock(),
            )  # fmt: skip
        notes.print(
            f"[green]✓[/] {new.id} has caught up. `parity compare --lake {lake} --left {result} --right {new.id}` shows "
            f"what it changes, `parity swap --lake {lake} --result {result} --to {new.version}` makes it live.",
            highlight=False,
            soft_wrap=True,
        )


def _is_there(lake: Lake, asked: "Result", settings: "Settings") -> bool:
    """Whether there is nothing to replay: a retry after the replay has ended finds the version as it was asked for."""
    from lakehouse.terms import at_log, is_computed_so
    from lakehouse.versions import is_replaying

    there = not is_replaying(lake, asked) and is_computed_so(at_log(lake, asked), asked, settings)
    if there:
        notes.print(
            f"[green]✓[/] {asked.id} is there already, computed by this code with these settings. "
            f"`parity stream --lake {lake.path} --result {asked.id}` brings it up to the log.",
            highlight=False,
            soft_wrap=True,
        )
    return there


def compare(
    lake: LakeOption,
    left: Annotated[str, typer.Option(help="A result, or a version of it.", metavar="NAME@N")],
    right: Annotated[str, typer.Option(help="Another version of it.", metavar="NAME@N")],
    format: FormatOption = Format.text,
    config: ConfigOption = None,
) -> None:
    """Compare two versions of a result over all settled keys. Exit code 0 the same, 1 they differ, 2 could not."""
    from lakehouse.lake import open_lake

    with told_errors(lake / "logs" / "spark.log"):
        opened = open_lake(lake)
        settings = settings_from(config, opened)
        one, other = results_from(settings, [left, right], opened)
        from cli.changes import show_comparison
        from reconciliation.versions import refuse_incomparable, versions_compared

        refuse_incomparable(opened, one, other, settings)
        spark = session_for(opened, settings)
        with step(f"Compare {one.id} with {other.id}"):
            found = versions_compared(spark, opened, one, other, settings)
        if format is Format.json:
            answers.out(json.dumps(found.as_dict(), ensure_ascii=False), highlight=False)
        else:
            show_comparison(answers, found)
        conclude(found.status, [found.left, found.right])
    raise typer.Exit(found.exit_code)


def versions(
    lake: LakeOption,
    format: FormatOption = Format.text,
    config: ConfigOption = None,
) -> None:
    """List the versions of every result: which is live, how far each is behind the log, its size. Needs no Spark."""
    from lakehouse.lake import open_lake
    from lakehouse.versions import described

    with told_errors():
        opened = open_lake(lake)
        known = results_from(settings_from(config, opened), None)
        found = [each for result in known for each in described(opened, result.name)]
        if format is Format.json:
            answers.out(json.dumps(found, ensure_ascii=False), highlight=False)
            return
        table = Table(header_style="bold", box=None, padding=(0, 2, 0, 0))
        for name in ("version", "state", "log version", "behind", "size", "code"):
            table.add_column(name, justify="right" if name in ("log version", "behind", "size") else "left")
        for each in found:
            lag = "-" if each["lag_versions"] is None else f"{each['lag_versions']:,} commits"
            at = "-" if each["log_version"] is None else f"{each['log_version']:,}"
            table.add_row(
                f"{each['result']}@{each['version']}",
                f"{each['state']}, by force" if each["forced"] else each["state"],
                at,
                lag,
                decimal(each["bytes"]),
                each["code"] or "-",
            )
        answers.print(table)


def retire(
    lake: LakeOption,
    result: Annotated[str, typer.Option("--result", help="The version to remove.", metavar="NAME@N")],
    config: ConfigOption = None,
) -> None:
    """Remove a version of a result that is not live, with its tables and its checkpoint."""
    from lakehouse.errors import VersionRefused
    from lakehouse.lake import open_lake
    from lakehouse.locks import exclusive
    from lakehouse.versions import refuse_live, remove

    with told_errors(lake / "logs" / "spark.log"):
        opened = open_lake(lake)
        settings = settings_from(config, opened)
        if "@" not in result:
            raise VersionRefused(f"Name the version to remove: --result {result}@N. `parity versions` lists them.")
        [asked] = results_from(settings, [result], opened)
        refuse_live(opened, asked)
        spark = session_for(opened, settings)
        with exclusive(spark, opened.lock_file(f"stream-{asked.id}"), wait=False):
            remove(opened, asked)
        notes.print(f"[green]✓[/] {asked.id} is removed.", highlight=False)
