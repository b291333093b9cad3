"""A verdict on the terminal: what was compared, the differing cells side by side, and the audit; 80 columns suffice."""

from rich.console import Console
from rich.table import Table

from cli.terminal import plain
from reconciliation.verdict import Difference, ResultVerdict, Verdict

SHOWN = 8
_SIGNS = {"agree": "[green]✓ agree[/]", "differ": "[red]✗ differ[/]", "could not compare": "[yellow]? too few[/]"}


def show_verdict(console: Console, verdict: Verdict, *, differences: int = SHOWN) -> None:
    """Print the verdict, with at most so many differing keys of each result."""
    table = Table(
        title=f"{verdict.candidate} against batch",
        title_justify="left",
        header_style="bold",
        box=None,
        padding=(0, 2, 0, 0),
    )
    for name in ("result", "verdict", "settled", "equal", "in flight", "differ", "unexplained"):
        table.add_column(name, justify="left" if name in ("result", "verdict") else "right", no_wrap=True)
    for result in verdict.results:
        share = "-" if result.share_equal is None else f"{_floored(result.share_equal)} %"
        table.add_row(
            f"{result.result}@{result.version}", _SIGNS[result.status], f"{result.compared:,}", share,
            f"{result.open + result.behind:,}", f"{result.differing:,}", f"{result.unexplained:,}",
        )  # fmt: skip
    console.print(table)
    for result in verdict.results:
        for line in (*_remarks(result), *_cells(result, differences)):
            console.print(line, highlight=False, soft_wrap=True)
    console.print(_audit(verdict), highlight=False, soft_wrap=True)


def _floored(share: float) -> str:
    """Two decimals, never rounded up: 100.00 means all."""
    return f"{int(share * 10_000) / 100:.2f}"


def _remarks(result: ResultVerdict) -> list[str]:
    said = [f"{result.result} at log version {result.log_version}"]
    if result.empty:
        said.append("the log gives it no row there, and neither side has one")
    if result.too_few:
        said.append(f"[yellow]{result.compared:,} of its {result.in_question:,} keys are settled and comparable[/]")
    if result.engine_alone is not None and result.compared:
        said.append(f"the engine settled {result.engine_alone / result.compared:.1%} without a repair")
    if result.engine_wrong:
        said.append(f"[red]{result.engine_wrong:,} of its own rows are wrong before any repair[/]")
    if result.beyond_horizon:
        said.append(f"{result.beyond_horizon:,} keys are beyond the horizon and not judged")
    if result.by_cause:
        said.append("causes: " + ", ".join(f"{cause} {count:,}" for cause, count in result.by_cause.items()))
    return ["; ".join(said)]


def _cells(result: ResultVerdict, most: int) -> list[str]:
    lines = [line for one in result.differences[:most] for line in _difference(one, result.candidate)]
    rest = max(result.differing, len(result.differences)) - most  # a verdict that is told again has only some of them
    return [*lines, f"  … and {rest:,} more differing keys"] if most and rest > 0 else lines


def _difference(one: Difference, candidate: str) -> list[str]:
    """One differing key: its cells side by side, then why."""
    key = plain(", ".join(str(part) for part in one.key.values()) or "all")
    lines = [f"  [bold]{key}[/] {one.window_start} … {one.window_end or ''}"]
    if one.batch is None or one.candidate is None:
        there, missing = ("batch", candidate) if one.candidate is None else (candidate, "batch")
        values = one.batch or one.candidate or {}
        cells = ", ".join(f"{name} {value}" for name, value in values.items())
        lines.append(f"    {there} has {plain(cells)}; {missing} has no row")
    for name in one.differing if one.batch and one.candidate else ():
        assert one.batch is not None and one.candidate is not None
        lines.append(f"    {name}: batch {plain(one.batch[name])}, {candidate} {plain(one.candidate[name])}")
    ids = ", ".join(_short(event_id) for event_id in one.event_ids[:3])
    named = f" by {one.events_named} events: {ids}{' …' if one.events_named > 3 else ''}" if one.event_ids else ""
    lines.append(
        f"    [yellow]{', '.join(one.causes)}[/]{plain(named)}{plain(f' ({one.evidence})' if one.evidence else '')}"
    )
    return lines


def _short(event_id: str) -> str:
    return event_id if len(event_id) <= 12 else f"{event_id[:8]}…"


def _audit(verdict: Verdict) -> str:
    audit = verdict.audit
    if audit.unavailable:
        return f"Input audit: not possible, {plain(audit.unavailable)}"
    sign = "[green]✓ balanced[/]" if audit.balanced else "[red]✗ does not balance[/]"
    counted = {name: f"{audit.total(name):,}" for name in ("landed", "accepted", "duplicate", "quarantined")}
    return (
        f"Input audit: {counted['landed']} lines landed = {counted['accepted']} accepted + {counted['duplicate']} duplicate "
        f"+ {counted['quarantined']} quarantined, over {len(audit.buckets)} buckets of event time: {sign}"
    )
