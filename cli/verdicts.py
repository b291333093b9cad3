"""A verdict on the terminal: a table of what was compared, the differing cells side by side, and the audit."""

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from reconciliation.verdict import Difference, Verdict

SHOWN = 8
_SIGNS = {
    "agree": "[green]✓ agree[/]",
    "differ": "[red]✗ differ[/]",
    "could not compare": "[yellow]? could not compare[/]",
}


def show_verdict(console: Console, verdict: Verdict) -> None:
    console.print(_summary(verdict))
    for result in verdict.results:
        if result.differences:
            console.print(_differences(result.result, result.candidate, result.differences))
    audit = verdict.audit
    if audit.unavailable:
        console.print(f"Input audit: not possible, {escape(audit.unavailable)}")
    else:
        sign = "[green]✓ balanced[/]" if audit.balanced else "[red]✗ does not balance[/]"
        console.print(
            f"Input audit: {audit.total('landed'):,} lines landed = {audit.total('accepted'):,} accepted "
            f"+ {audit.total('duplicate'):,} duplicate + {audit.total('quarantined'):,} quarantined, "
            f"in each of {len(audit.buckets)} hours {sign}",
            highlight=False,
        )


def _summary(verdict: Verdict) -> Table:
    table = Table(title=f"{verdict.candidate} against batch", title_justify="left", header_style="bold")
    for name in (
        "result",
        "verdict",
        "log version",
        "settled keys",
        "equal",
        "in flight",
        "differ",
        "unexplained",
        "causes",
    ):
        table.add_column(name, justify="right" if name in _NUMBERS else "left", overflow="fold")
    for result in verdict.results:
        share = "" if result.share_equal is None else f" ({result.share_equal:.2%})"
        causes = ", ".join(f"{cause} {count:,}" for cause, count in result.by_cause.items())
        if result.engine_wrong:
            causes = f"{causes} engine rows wrong before repair: {result.engine_wrong:,}".strip()
        if result.engine_alone is not None and result.compared:
            causes = causes or f"engine alone settled {result.engine_alone / result.compared:.1%}"
        table.add_row(
            f"{result.result}@{result.version}", _SIGNS[result.status], str(result.log_version), f"{result.compared:,}",
            f"{result.equal:,}{share}", f"{result.open + result.behind:,}", f"{result.differing:,}",
            f"{result.unexplained:,}", causes or "-",
        )  # fmt: skip
    return table


_NUMBERS = ("log version", "settled keys", "equal", "in flight", "differ", "unexplained")


def _differences(name: str, candidate: str, differences: list[Difference]) -> Table:
    more = f", {SHOWN} of {len(differences):,}" if len(differences) > SHOWN else ""
    table = Table(title=f"{name}: differing cells{more}", title_justify="left", header_style="bold")
    for column in ("key", "window", "column", "batch", candidate, "causes", "events"):
        table.add_column(column, overflow="fold")
    for difference in differences[:SHOWN]:
        first = True
        for cell in difference.differing or ("-",):
            named = ", ".join(difference.event_ids[:2]) + (" …" if difference.events_named > 2 else "")
            table.add_row(
                escape(", ".join(difference.key.values())) if first else "",
                difference.window_start.removesuffix(":00.000Z") + "Z" if first else "",
                cell, _cell(difference.batch, cell), _cell(difference.candidate, cell),
                ", ".join(difference.causes) if first else "",
                escape(named or difference.evidence or "") if first else "",
            )  # fmt: skip
            first = False
    return table


def _cell(values: dict[str, object] | None, name: str) -> str:
    return "[dim]no row[/]" if values is None else escape(str(values.get(name, "")))
