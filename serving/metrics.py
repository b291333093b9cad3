"""How everything stands in Prometheus' text format. Nothing is counted here: the lake says it all, read when asked."""

from collections.abc import Iterator
from typing import Any

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_1_0_0, generate_latest
from prometheus_client.registry import Collector

from lakehouse.lake import Lake
from lakehouse.progress import progress
from serving.reader import Reader
from serving.standing import Standing
from serving.verdicts import newest_verdicts

REVISIONS = {"engine_rows": "on_time", "repairs": "late", "recomputed": "recompute"}


def metrics(lake: Lake, standing: Standing, reader: Reader) -> tuple[bytes, str]:
    """What a scrape gets, and its type."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Lake(lake, standing, reader))
    return generate_latest(registry), CONTENT_TYPE_PLAIN_1_0_0


class _Lake(Collector):
    def __init__(self, lake: Lake, standing: Standing, reader: Reader) -> None:
        self._lake = lake
        self._standing = standing
        self._reader = reader

    def collect(self) -> Iterator[Metric]:
        now = self._standing.now()
        yield from self._log(now["log"])
        yield from self._layers(now["results"])
        yield from self._verdicts()
        yield from self._batches()

    def _log(self, log: dict[str, int]) -> Iterator[Metric]:
        for name, meaning in (
            ("events", "Events in the log"),
            ("late", "Events that came more than the allowed lateness behind the high-water mark"),
            ("duplicates", "Copies of events that the log had"),
            ("quarantined", "Lines that are no event"),
        ):
            yield CounterMetricFamily(f"parity_{name}", meaning, value=log[name])

    def _layers(self, results: list[dict[str, Any]]) -> Iterator[Metric]:
        meanings = {
            "lag_versions": ("parity_lag_commits", "Commits of the log that a layer has not consumed"),
            "lag_events": ("parity_lag_events", "Events in these"),
            "age_seconds": ("parity_age_seconds", "Age of a layer's freshest result"),
        }
        gauges = {name: GaugeMetricFamily(*said, labels=("layer", "result")) for name, said in meanings.items()}
        told = "Rows that the stream has written; late ones are repairs"
        revisions = CounterMetricFamily("parity_revisions", told, labels=("result", "cause"))
        for result in results:
            for layer, standing in result["layers"].items():
                for name, family in gauges.items():
                    family.add_metric((layer, result["name"]), standing[name])
                for name, cause in REVISIONS.items():
                    if name in standing:
                        revisions.add_metric((result["name"], cause), standing[name])
        yield from (*gauges.values(), revisions)

    def _verdicts(self) -> Iterator[Metric]:
        labels = ("candidate", "result")
        families = {
            name: GaugeMetricFamily(f"parity_{name}_keys", meaning, labels=labels)
            for name, meaning in (
                ("equal", "Settled keys that are equal in the last reconciliation"),
                ("differing", "Settled keys that differ in the last reconciliation"),
                ("unexplained", "Differing keys without a cause in the last reconciliation"),
            )
        }
        for row in newest_verdicts(self._reader):
            for name, family in families.items():
                family.add_metric((row["candidate"], row["result"]), row[name])
        yield from families.values()

    def _batches(self) -> Iterator[Metric]:
        taken = HistogramMetricFamily("parity_micro_batch_seconds", "What the micro-batches took", labels=("query",))
        for each in progress(self._lake):
            buckets = [*each.buckets.items(), ("+Inf", each.batches)]
            taken.add_metric((each.query,), buckets, each.seconds)
        yield taken
