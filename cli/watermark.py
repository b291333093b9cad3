"""`parity lateness`: what each allowed lateness would mean, so that one can be chosen. Reads the log alone."""

import json
import re
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from cli.console import answers, results_from, session_for, settings_from, step, told_errors
from cli.options import ConfigOption, Format, FormatOption, LakeOption, ResultsOption

if TYPE_CHECKING:
    from reconciliation.choice import Choice

PERCENT = re.compile(r"(\d+(?:\.\d+)?)\s*%")


def lateness(
    lake: LakeOption,
    repair_budget: Annotated[str, typer.Option(help="Share of results that may need a repair.", metavar="N%")] = "1%",
    result: ResultsOption = None,
    format: FormatOption = Format.text,
    config: ConfigOption = None,
) -> None:
    """Show what each allowed lateness would mean: late events, repairs, and the wait until a result is settled."""
    from lakehouse.lake import open_lake
    from lakehouse.log import newest_version

    with told_errors(lake / "logs" / "spark.log"):
        budget = _budget(repair_budget)
        opened = open_lake(lake)
        settings = settings_from(config, opened)
        results = results_from(settings, result)
        at = newest_version(opened)
        spark = session_for(opened, settings)
        from reconciliation.lateness import lateness_choice

        with step("Read the log"):
            choice = lateness_choice(spark, opened, results, at, settings.lateness.allowed, budget=budget)
        if format is Format.json:
            answers.out(json.dumps(choice.as_dict(), ensure_ascii=False), highlight=False)
        else:
            _show(choice, dropped=settings.lateness.policy == "drop")


def _budget(text: str) -> Fraction:
    from lakehouse.errors import BadSettings

    match = PERCENT.fullmatch(text.strip())
    if match is None or not 0 <= (budget := Fraction(match[1]) / 100) <= 1:
        raise BadSettings(f"--repair-budget {text}: {text!r} is not a share of the results. Write e.g. 1% or 0.5%.")
    return budget


def _show(choice: "Choice", *, dropped: bool) -> None:
    from reconciliation.choice import advice, percent, wait
    from reconciliation.words import count, share
    from transformations.durations import written

    read = f"{count(choice.events, 'event')} read by {count(len(choice.results), 'result')}"
    answers.print(f"Log version {choice.log_version}: {read} with {count(choice.rows, 'row')}", highlight=False)
    table = _table("lateness", "", "late events", "repairs", "", "median wait", "p99 wait", "open")
    for each in choice.options:
        marks = {"now": choice.current, "✓": choice.recommended}
        marked = " ".join(mark for mark, option in marks.items() if option is each)
        table.add_row(
            written(each.allowed),
            marked,
            share(each.late_events, choice.events),
            f"{each.repaired:,}",
            share(each.repaired, choice.rows),
            wait(each.median_wait),
            wait(each.p99_wait),
            f"{each.not_settled:,}",
            style="bold" if marked else "",
        )
    answers.print(table)
    answers.print(f"✓ {advice(choice)}", highlight=False)
    answers.print("A wait is from the end of a window until it is settled; open: not settled by the end of the log.\n")
    each_one = _table("result", "rows", "repairs now", "", f"within {percent(choice.budget)}")
    for name, rows in choice.results.items():
        now = choice.current.repairs[name]
        each_one.add_row(name, f"{rows:,}", f"{now:,}", share(now, rows), written(choice.needed(name).allowed))
    answers.print(each_one)
    for why in dict.fromkeys(choice.left_out.values()):
        names = ", ".join(name for name, reason in choice.left_out.items() if reason == why)
        answers.print(f"Not counted: {names} ({why})", highlight=False)
    if dropped:
        answers.print("The policy is drop: what is called a repair here is a result that lacks its late events.")
    if choice.clock == "ingested_at":
        answers.print("No event says when it was received: the waits go by the time of ingestion.")


def _table(*names: str) -> Table:
    table = Table(header_style="bold", box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for number, name in enumerate(names):
        table.add_column(name, justify="right" if number else "left", no_wrap=True)
    return table
