"""The report: one HTML page that opens without a network, for the person who pays for the batch layer.

    parity reconcile --lake LAKE --report FILE.html     a single page, with the charts' script of 5 MB inside
    parity reconcile --lake LAKE --run NAME             a page in the lake, with that script once beside all of them

Three steps: gather everything as plain data (the only one that needs Spark), render it, and write the file as a whole.
Ids come from events and may contain markup: the template escapes all that it prints.
"""

import os
import re
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain, islice, zip_longest
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from plotly.offline import get_plotlyjs, get_plotlyjs_version
from pyspark.sql import SparkSession

from lakehouse.lake import Lake
from lakehouse.reports import shared_script
from lakehouse.settings import Settings
from reconciliation import words
from reconciliation.answer import Answer, answer
from reconciliation.architectures import Bill, bill
from reconciliation.charts import NAMES, Figure, audit_chart, lateness_chart, layers_chart, redelivery_chart
from reconciliation.choice import Choice, advice
from reconciliation.choice_chart import choice_chart
from reconciliation.conditions import conditions
from reconciliation.costs import LayerCost, layer_costs
from reconciliation.headings import heading, question
from reconciliation.lateness import charted_choice
from reconciliation.prices import saving
from reconciliation.reconcile import SIDE_BY_SIDE
from reconciliation.redelivery import Redelivery, redelivery
from reconciliation.rewritten import Rewritten, rewritten
from reconciliation.sentences import causes, delayed, of_the_kill, sentences
from reconciliation.series import Series, series
from reconciliation.verdict import Difference, Verdict
from transformations.result import Result

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z")
SHOWN = 50  # differing keys of a verdict that the page lists


@dataclass(frozen=True)
class Report:
    """All that the page shows."""

    verdict: Verdict
    control: Verdict | None
    costs: list[LayerCost]
    bill: Bill
    again: Rewritten | None
    series: Series
    choice: Choice | None
    redelivery: Redelivery | None
    meanings: dict[str, str]
    conditions: dict[str, str]

    @property
    def sentences(self) -> list[str]:
        """What the command line tells too."""
        return sentences(self.verdict, self.control, self.bill, self.costs, self.again)

    @property
    def answer(self) -> Answer | None:
        """The answer to the question of the page; the control is not asked it."""
        return None if self.verdict.candidate == "legacy" else answer(self.verdict, self.control, self.bill)


def write_report(
    spark: SparkSession,
    lake: Lake,
    results: Sequence[Result],
    settings: Settings,
    verdict: Verdict,
    *,
    control: Verdict | None,
    file: Path | None = None,
    kept: Path | None = None,
) -> Report:
    """Write the page, each file as a whole or not at all: `file` for itself alone, `kept` beside others."""
    report = gathered(spark, lake, results, settings, verdict, control=control)
    if file is not None:
        _write(file, rendered(report))
    if kept is not None:
        script = shared_script(kept.parent, "plotly", get_plotlyjs_version(), get_plotlyjs())
        _write(kept, rendered(report, script=script.name))
    return report


def _write(file: Path, page: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_name(f".{file.name}.{os.getpid()}")
    draft.write_text(page, encoding="utf-8")
    draft.replace(file)


def gathered(
    spark: SparkSession,
    lake: Lake,
    results: Sequence[Result],
    settings: Settings,
    verdict: Verdict,
    *,
    control: Verdict | None,
) -> Report:
    log_version = max(each.log_version for each in verdict.results)
    charted_result = lake.pipeline.story.charted.result
    scores = next((result for result in results if result.name == charted_result), None)
    caught = verdict if verdict.candidate == "legacy" else control
    allowed = settings.lateness.allowed
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        costs = pool.submit(layer_costs, spark, lake, results)
        again = pool.submit(rewritten, spark, lake, results, caught) if caught else None
        redelivered = pool.submit(redelivery, spark, lake, scores, log_version, settings.lateness) if scores else None
        choice = pool.submit(charted_choice, spark, lake, results, log_version, allowed)
        charted = pool.submit(series, spark, lake, results, log_version, allowed)
        return Report(
            verdict=verdict,
            control=control,
            costs=costs.result(),
            bill=bill(spark, lake, results, settings, log_version=log_version),
            again=again.result() if again else None,
            series=charted.result(),
            choice=choice.result(),
            redelivery=redelivered.result() if redelivered else None,
            meanings={result.name: result.meaning for result in results},
            conditions=conditions(spark, lake, results, settings, verdict),
        )


def rendered(report: Report, *, script: str | None = None) -> str:
    """The page. Plotly's own script is part of it, so that the charts need no network, or the file `script` beside it."""
    environment = Environment(
        loader=PackageLoader("reconciliation", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    helpers = ("count", "listed", "moment", "number", "seconds", "share", "size", "spoken")
    environment.filters |= {name: getattr(words, name) for name in helpers}
    environment.filters |= {"cell": _cell, "window": _window}
    environment.globals |= {name: getattr(words, name) for name in ("number", "seconds", "size")}
    of_control = report.verdict.candidate == "legacy"
    shown_costs = [cost for cost in report.costs if not of_control or cost.layer not in ("kappa", "replays")]
    costs = {cost.layer: cost for cost in shown_costs}
    return environment.get_template("report.html.j2").render(
        report=report,
        verdict=report.verdict,
        control=report.control,
        controls={each.result: each for each in report.control.results} if report.control else {},
        heading=heading(report.verdict),
        question=question(report.verdict),
        of_the_kill=of_the_kill,
        of_control=of_control,
        costs=shown_costs,
        saving=None if report.bill.missing else saving(shown_costs),
        stream_cost=costs.get("kappa"),
        batch_cost=costs.get("batch"),
        figures=_figures(report),
        layer_names={**NAMES, "replays": "Replays", "ingest (shared)": "Ingestion (shared)"},
        sides=words.SIDES,
        advice=advice,
        causes=causes,
        delayed=delayed,
        combinations=combinations,
        shown=shown,
        script=script,
        plotly=Markup("" if script else get_plotlyjs()),  # a file of the installed package, not of the lake
    )


def combinations(differences: Sequence[Difference]) -> dict[str, int]:
    """The differing keys by the causes they have together, so that each key counts once; most frequent first."""
    counted = Counter(" + ".join(sorted(difference.causes)) for difference in differences)
    return dict(counted.most_common())


def shown(differences: Sequence[Difference], results: int) -> list[Difference]:
    """The differences that the page lists: its share of `SHOWN` for each result, some of every combination of causes."""
    groups: dict[str, list[Difference]] = {}
    for difference in differences:
        groups.setdefault(" + ".join(sorted(difference.causes)), []).append(difference)
    in_turn = (each for each in chain.from_iterable(zip_longest(*groups.values())) if each is not None)
    return list(islice(in_turn, max(SHOWN // max(results, 1), 1)))


def _figures(report: Report) -> dict[str, Figure]:
    figures = {}
    if report.series.layers is not None:
        figures["layers"] = layers_chart(report.series.layers)
    if any(bucket.events for bucket in report.series.lateness):
        figures["lateness"] = lateness_chart(report.series.lateness)
    if report.choice is not None:
        figures["choice"] = choice_chart(report.choice)
    if report.redelivery is not None:
        figures["redelivery"] = redelivery_chart(report.redelivery)
    if report.verdict.audit.buckets:
        figures["audit"] = audit_chart(report.verdict.audit)
    return figures


def _cell(value: object) -> str:
    """A value of a result; times are kept as ISO text."""
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    text = "null" if value is None else str(value)
    return text.removesuffix("Z").replace("T", " ") if TIME.fullmatch(text) else text


def _window(difference: Difference) -> str:
    """The window in UTC, to the minute where it has no seconds; what has no end is since ever."""
    if difference.window_end is None:
        return "over everything"
    start, end = (
        text.removesuffix("Z").removesuffix(".000").removesuffix(":00").replace("T", " ")
        for text in (difference.window_start, difference.window_end)
    )
    same_day = start[:10] == end[:10]
    return f"{start} to {end[11:] if same_day else end}"
