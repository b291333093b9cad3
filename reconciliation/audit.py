"""The input audit: landed = accepted + duplicate + quarantined, for every hour of event time.

What landed is counted from the landing files by this module, which shares no code with ingestion: Python's own JSON and
its own reading of times. A line whose time cannot be read counts under "unreadable", on both sides; so does one that is nested
deeper than the landing format allows, because how deep Python reads depends on who calls it. A lake without names has
not the bytes of a quarantined line; its hour is then read where the quarantine says that it stands, in the landing file.
"""

import codecs
import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lakehouse.arrivals import DUPLICATE, EVENT
from lakehouse.lake import Lake
from lakehouse.landings import manifests
from lakehouse.log import arrivals_at, position, waiting
from lakehouse.nameless import is_nameless, is_withheld
from reconciliation.verdict import Audit, AuditBucket

UNREADABLE = "unreadable"
_QUOTE, _ESCAPE = b'"\\'
LEVELS = 100
"""As docs/landing-format.md says. Ingestion has its own number, and they have to agree."""


def audited(spark: SparkSession, lake: Lake, log_version: int) -> Audit:
    """The audit of everything that ingestion had read when the log had this version."""
    last = position(lake, log_version).batch
    files = [landing for number, manifest in manifests(lake) if number <= last for landing in manifest]
    changed = [landing.name for landing in files if not _as_it_was(landing.path, landing.modified_ns, landing.size)]
    if changed:
        why = f"{len(changed)} of {len(files)} landing files are gone or have changed since, e.g. {changed[0]}"
        return Audit(files=len(files), buckets=[], reasons={}, unavailable=why)
    landed = sum((landed_in(Path(landing.path)) for landing in files), Counter[str]())
    accepted, duplicate = _counted(arrivals_at(spark, lake, log_version, whole=True))
    rejected = waiting(spark, lake, log_version)
    quarantined, reasons = Counter[str](), Counter[str]()
    for row in rejected.select("reason", F.when(~is_withheld(lake), F.col("raw")).alias("raw")).toLocalIterator():
        reasons[row.reason] += 1
        if row.raw is not None:
            quarantined[bucket(bytes(row.raw))] += 1
    if is_nameless(lake):
        quarantined += _in_landing_files(lake, rejected.where(is_withheld(lake)))
    names = sorted({*landed, *accepted, *duplicate, *quarantined})
    buckets = [AuditBucket(name, landed[name], accepted[name], duplicate[name], quarantined[name]) for name in names]
    return Audit(files=len(files), buckets=buckets, reasons=dict(reasons.most_common()))


def landed_in(file: Path) -> Counter[str]:
    """The lines of a landing file by hour; the last line may lack its line feed, and a byte order mark is no content."""
    return Counter(bucket(line) for line in _lines_of(file))


def _lines_of(file: Path) -> list[bytes]:
    content = file.read_bytes().removeprefix(codecs.BOM_UTF8)
    lines = content.split(b"\n")
    return lines if lines[-1] else lines[:-1]


def _in_landing_files(lake: Lake, withheld: DataFrame) -> Counter[str]:
    """Withheld lines by hour, each read at its place in its landing file."""
    paths = {(number, landing.name): Path(landing.path) for number, manifest in manifests(lake) for landing in manifest}
    numbers = withheld.groupBy("batch", "file").agg(F.collect_list("line").alias("lines")).toLocalIterator()
    hours = Counter[str]()
    for row in numbers:
        lines = _lines_of(paths[row.batch, row.file])
        hours.update(bucket(lines[number - 1]) for number in row.lines)
    return hours


def bucket(line: bytes) -> str:
    """The hour in which the line says that it occurred."""
    if _too_deep(line):
        return UNREADABLE
    try:
        said = json.loads(line.decode("utf-8"))["occurred_at"]
        moment = datetime.fromisoformat(said)
        # Not strftime: its years before 1000 have fewer than four digits.
        return f"{moment.astimezone(UTC).isoformat()[:13]}:00Z" if moment.tzinfo else UNREADABLE
    except (ValueError, KeyError, TypeError, OverflowError):
        return UNREADABLE


def _too_deep(line: bytes) -> bool:
    if line.count(b"[") + line.count(b"{") <= LEVELS:
        return False
    depth, within, escaped = 0, False, False
    for sign in line:
        if within:
            within, escaped = escaped or sign != _QUOTE, not escaped and sign == _ESCAPE
        elif sign == _QUOTE:
            within = True
        elif sign in b"[{":
            depth += 1
            if depth > LEVELS:
                return True
        elif sign in b"]}":
            depth -= 1
    return False


def _counted(arrivals: DataFrame) -> tuple[Counter[str], Counter[str]]:
    """The events, and the copies of events, by hour."""
    hour = F.date_format("occurred_at", "yyyy-MM-dd'T'HH:00'Z'").alias("hour")
    counted = arrivals.where(F.col("fate").isin(EVENT, DUPLICATE)).groupBy("fate", hour).count().collect()
    events, copies = (
        Counter({row.hour: int(row["count"]) for row in counted if row.fate == fate}) for fate in (EVENT, DUPLICATE)
    )
    return events, copies


def _as_it_was(path: str, modified_ns: int, size: int) -> bool:
    file = Path(path)
    if not file.is_file():
        return False
    status = file.stat()
    return (status.st_mtime_ns, status.st_size) == (modified_ns, size)
