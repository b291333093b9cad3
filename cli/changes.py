"""A comparison of two versions on the terminal: what differs in how they were made, how many rows change, samples."""

from rich.console import Console

from cli.terminal import plain
from reconciliation.changes import Change, VersionComparison

SHOWN = 8


def show_comparison(console: Console, found: VersionComparison, *, samples: int = SHOWN) -> None:
    """Print the comparison, with at most so many changed rows."""
    lines = [
        f"{found.left} at log version {found.left_log_version} against {found.right} at {found.right_log_version}",
        *(f"  {name}: {was or 'nothing'} → {now or 'nothing'}" for name, (was, now) in found.settings.items()),
        *_codes(found),
        *([] if found.after is None else [f"  only windows that start after {found.after}"]),
        f"{found.equal:,} settled keys are equal, {found.differing:,} differ, {found.only_left:,} are only in "
        f"{found.left}, {found.only_right:,} only in {found.right}; {found.open:,} in flight are not judged",
        *(
            f"  {value.name}: {value.rows:,} rows"
            + ("" if value.sum is None else f", {value.sum:+,g} in all, at most {value.greatest:,g} in one")
            for value in found.values
        ),
        *(line for one in found.samples[:samples] for line in _change(one, found)),
    ]
    if found.changed > samples:
        lines.append(f"  … and {found.changed - samples:,} more changed keys")
    for line in lines:
        console.print(line, highlight=False, soft_wrap=True)


def _codes(found: VersionComparison) -> list[str]:
    if found.left_code == found.right_code:
        return []
    return [f"  code: {', '.join(found.left_code) or 'none'} → {', '.join(found.right_code) or 'none'}"]


def _change(one: Change, found: VersionComparison) -> list[str]:
    key = plain(", ".join(str(part) for part in one.key.values()) or "all")
    lines = [f"  [bold]{key}[/] {one.window_start} … {one.window_end or ''}"]
    if one.left is None or one.right is None:
        there = found.left if one.right is None else found.right
        cells = ", ".join(f"{name} {value}" for name, value in (one.left or one.right or {}).items())
        return [*lines, f"    only in {there}: {plain(cells)}"]
    for name in one.differing:
        lines.append(f"    {name}: {plain(one.left[name])} → {plain(one.right[name])}")
    return lines
