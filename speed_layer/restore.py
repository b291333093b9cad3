"""The restore: a new epoch of a stream that begins where a savepoint was taken.

    parity stream --lake LAKE --from-savepoint NAME

Never the old epoch again: under its transaction id, micro-batches that come a second time would be skipped as retries,
and what they hold would be lost if they are cut differently. A new epoch begins with the savepoint's rows, in one commit,
and with a copy of the savepoint's checkpoint. Then it becomes the live one, and the stream goes on with it as with any
other. A crash before that leaves the rows of an epoch that nobody reads, whose number nobody takes again.
"""

import shutil
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lakehouse.changelogs import Boundary, changelog_name, read_changelog
from lakehouse.commits import commits
from lakehouse.errors import CodeChanged, SavepointRefused
from lakehouse.failpoints import failpoint
from lakehouse.fingerprint import result_fingerprint
from lakehouse.identity import make_epoch_live, unused_epoch
from lakehouse.lake import Lake
from lakehouse.locks import exclusive
from lakehouse.savepoints import SavedStream, Savepoint, saved_checkpoint, savepoint
from lakehouse.settings import Settings
from lakehouse.tables import Transaction, append
from lakehouse.terms import at_log, refuse_other_settings
from transformations.result import Result

COUNTS = ("on_time", "late", "recompute")


def restore(
    spark: SparkSession,
    lake: Lake,
    name: str,
    results: Sequence[Result],
    settings: Settings,
    *,
    trust_code: bool = False,
) -> None:
    """Let the streams of `results` stand where they stood at the savepoint; if one cannot, none is touched."""
    saved = savepoint(lake, name)
    with ExitStack() as held:
        for result in results:
            held.enter_context(exclusive(spark, lake.lock_file(f"stream-{result.id}"), wait=False))
        for result in results:
            _refuse_what_cannot_be(lake, saved, result, settings, trust_code=trust_code)
        for result in results:
            _restore(spark, lake, saved, result)


def _restore(spark: SparkSession, lake: Lake, saved: Savepoint, result: Result) -> None:
    stream = saved.streams[result.id]
    epoch = unused_epoch(lake, result, since=stream.since, history=stream.history, complete=True)
    append(
        spark,
        lake,
        changelog_name(result),
        _rows(spark, lake, result, saved).withColumn("epoch", F.lit(epoch.number).cast("int")),
        # Its last micro-batch: a kill may have left it in the table while the checkpoint has it still to finish. Then it
        # comes again, and is skipped.
        transaction=Transaction(epoch.app_id, stream.batch),
        metadata={**_said(lake, result, stream), "epoch": epoch.number, "restored": saved.name},
    )
    failpoint(spark, "restore.appended", result.name, epoch.number)
    shutil.copytree(saved_checkpoint(lake, saved.name, result), epoch.checkpoint)
    failpoint(spark, "restore.copied", result.name, epoch.number)
    make_epoch_live(lake, result, epoch)


def _rows(spark: SparkSession, lake: Lake, result: Result, saved: Savepoint) -> DataFrame:
    """What the epoch had written at the savepoint: up to its micro-batch, and never by a clock, which can step back."""
    stream = saved.streams[result.id]
    at = Boundary(stream.epoch, stream.batch, stream.log_version, stream.table_version)
    return read_changelog(spark, lake, result, at).where(F.col("epoch") == stream.epoch)


def _said(lake: Lake, result: Result, stream: SavedStream) -> dict[str, Any]:
    """What the commit of the savepoint's last micro-batch says, with the revisions of all before it counted in."""
    own = _commits(lake, result, stream)
    told = {name: value for name, value in own[0].items() if name != "version"}
    return {**told, **{cause: sum(said.get(cause, 0) for said in own) for cause in COUNTS}}


def _commits(lake: Lake, result: Result, stream: SavedStream) -> list[dict[str, Any]]:
    """What the epoch's commits said up to the savepoint, newest first."""
    every = commits(lake, changelog_name(result)) if lake.has(changelog_name(result)) else iter(())
    return [said for said in every if said.get("epoch") == stream.epoch and said["version"] <= stream.table_version]


def _refuse_what_cannot_be(
    lake: Lake, saved: Savepoint, result: Result, settings: Settings, *, trust_code: bool
) -> None:
    if result.id not in saved.streams:
        raise SavepointRefused(
            f"The savepoint {saved.name!r} has no stream of {result.id}. It has: {', '.join(saved.streams)}. Name with "
            "--result what is to start from it."
        )
    stream = saved.streams[result.id]
    own = _commits(lake, result, stream)
    if not lake.result_file(result.id).exists() or not own or own[0]["version"] != stream.table_version:
        raise SavepointRefused(
            f"The rows that {result.id} had at the savepoint {saved.name!r} are gone from {lake.path}: it was retired, or "
            f"its table was made anew. `parity replay --lake {lake.path} --result {result.name}` computes a new version."
        )
    refuse_other_settings(at_log(lake, result), result, settings)
    _refuse_other_code(lake, saved, result, trust_code=trust_code)
    offsets = saved_checkpoint(lake, saved.name, result) / "offsets" / str(stream.batch)
    if not offsets.exists():
        raise SavepointRefused(
            f"The savepoint {saved.name!r} is damaged: {offsets} is missing. Nothing was written; the stream of "
            f"{result.id} stands where it stood. `parity savepoint --lake {lake.path} --remove {saved.name}` removes it."
        )


def _refuse_other_code(lake: Lake, saved: Savepoint, result: Result, *, trust_code: bool) -> None:
    code, now = saved.streams[result.id].code, result_fingerprint(result, lake.pipeline)
    if trust_code or code in (None, now):  # older lakes do not name the code
        return
    raise CodeChanged(
        f"The savepoint {saved.name!r} has {result.id} as other code left it: {code}, which the lake keeps in code/{code}; "
        f"this is {now}. Its state need not follow a change of logic. Nothing was written. `parity replay --lake "
        f"{lake.path} --result {result.name}` computes a new version with this code. If the change leaves the logic "
        "alone, --trust-code starts from it all the same; each row says which code made it."
    )
