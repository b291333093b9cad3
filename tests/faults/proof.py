"""What has to hold after every fault: nothing lost, nothing doubled, and the layers agree."""

from collections import Counter
from collections.abc import Sequence

from logged import assert_whole
from pyspark.sql import SparkSession

from batch_layer.recompute import recompute
from lakehouse.changelogs import boundaries
from lakehouse.identity import live_epoch
from lakehouse.lake import Lake
from lakehouse.settings import Settings
from reconciliation.reconcile import reconcile
from reconciliation.verdict import Verdict
from transformations.result import Result


def proven(
    spark: SparkSession, lake: Lake, results: Sequence[Result], settings: Settings, *, audited: bool = True
) -> Verdict:
    """The verdict over `results` after a recompute, which has to be a full agreement.

    All settled keys equal, every landed line with one row, no revision twice, each micro-batch committed once.
    Where landing files have changed since they were read, nothing can be `audited`, and the verdict says that it is none.
    """
    for result in results:
        recompute(spark, lake, result, settings)
    verdict = reconcile(spark, lake, list(results), settings)
    assert verdict.alike, [(each.result, each.by_cause) for each in verdict.results]
    assert (verdict.status, verdict.audit.balanced) == (("agree", True) if audited else ("could not compare", None))
    for found in verdict.results:
        assert (found.differing, found.duplicate_revisions, found.behind) == (0, 0, 0), found
        assert found.engine_wrong in (0, None)
    assert all(found.compared > 0 or found.empty for found in verdict.results), verdict.results
    for result in results:
        batches = Counter(each.batch for each in boundaries(lake, result, live_epoch(lake, result)))
        assert set(batches.values()) == {1}, batches
    assert_whole(lake, as_landed=audited)
    return verdict
