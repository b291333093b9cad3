"""The commands that make something: deliveries, the log, the results of each layer."""

from typing import Annotated

import typer

from cli.clock import command_clock
from cli.console import notes, numbered, results_from, session_for, settings_from, step, told_errors
from cli.looks import ingested, streamed
from cli.options import (
    ConfigOption,
    ContinuousOption,
    FromOption,
    LakeOption,
    LandingOption,
    LogVersionOption,
    PipelineOption,
    ResultsOption,
    ToOption,
)

UNTIL_STOPPED = ", until Ctrl-C"


def simulate(
    landing: LandingOption,
    events: Annotated[int, typer.Option(min=1, help="Distinct events to make.")] = 100_000,
    seed: Annotated[int, typer.Option(help="Same seed, same bytes.")] = 7,
    senders: Annotated[int, typer.Option(min=1, help="Phones, sensors or whatever sends the events.")] = 200,
    hours: Annotated[float, typer.Option(min=0.1, help="Length of what happens, in event time.")] = 24.0,
    files: Annotated[int, typer.Option(min=1, help="Landing files to cut it into.")] = 48,
    pipeline: PipelineOption = None,
    config: ConfigOption = None,
) -> None:
    """Let a simulated day land: late, twice, out of order, malformed, with wrong clocks."""
    from cli.simulators import simulated

    with told_errors():
        chosen = settings_from(config, pipeline=pipeline).pipeline
        with step(f"Simulate {events:,} events"):
            made = simulated(chosen, landing, events=events, seed=seed, senders=senders, hours=hours, files=files)
        notes.print(
            f"{made.lines:,} lines in {made.files} files: {made.events:,} events, {made.duplicates:,} copies, "
            f"{made.late:,} late, {made.skewed:,} from wrong clocks, {made.quarantined:,} to be rejected",
            highlight=False,
        )


def ingest(
    lake: LakeOption,
    landing: LandingOption,
    files_per_batch: Annotated[
        int | None, typer.Option(min=1, help="Landing files a micro-batch.", metavar="N")
    ] = None,
    continuous: ContinuousOption = False,
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Make a lost or damaged checkpoint anew; the log stays as it is.")
    ] = False,
    pipeline: PipelineOption = None,
    config: ConfigOption = None,
) -> None:
    """Take what has landed into the log; copies and lines that are no events go beside it."""
    from lakehouse.lake import create_lake, is_lake, open_lake
    from lakehouse.landings import landed
    from lakehouse.log import position
    from lakehouse.pipelines import pipeline_at

    with told_errors(lake / "logs" / "spark.log"):
        if is_lake(lake) and pipeline is not None:
            create_lake(
                lake, pipeline_at(pipeline)
            )  # another is refused, and the lake follows one whose folder has moved
        settings = settings_from(config, open_lake(lake) if is_lake(lake) else None, pipeline=pipeline)
        landed(landing)
        made = create_lake(lake, settings.pipeline)
        spark = session_for(made, settings, carrier=True) if settings.ingestion.engine == "spark" else None
        from ingestion.ingest import ingest as take_in

        with step("Ingest" + (UNTIL_STOPPED if continuous else ""), look=None if continuous else ingested(made)):
            take_in(
                spark, made, landing, settings,
                files_per_batch=files_per_batch, continuous=continuous, rebuild=rebuild, clock=command_clock(),
            )  # fmt: skip
        at = position(made)
        notes.print(
            f"Log version {at.version}: {at.seq:,} events, {at.duplicates:,} duplicates, {at.quarantined:,} quarantined",
            highlight=False,
        )


def stream(
    lake: LakeOption,
    result: ResultsOption = None,
    continuous: ContinuousOption = False,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Start a new epoch: compute anew from the log.")] = False,
    run: Annotated[
        str | None,
        typer.Option(
            help="With --rebuild: the run that it belongs to. Its retry goes on with its epoch.", metavar="NAME"
        ),
    ] = None,
    trust_code: Annotated[
        bool, typer.Option("--trust-code", help="Go on although other code began the stream: its logic is the same.")
    ] = False,
    from_savepoint: Annotated[
        str | None, typer.Option(help="Start where this savepoint was taken, in a new epoch.", metavar="NAME")
    ] = None,
    config: ConfigOption = None,
) -> None:
    """Bring the results of the stream up to the log, repairs included."""
    from lakehouse.errors import SavepointRefused
    from lakehouse.lake import open_lake
    from lakehouse.log import newest_version
    from lakehouse.savepoints import savepoint
    from lakehouse.terms import at_log, refuse_other_settings

    with told_errors(lake / "logs" / "spark.log"):
        opened = open_lake(lake)
        settings = settings_from(config, opened)
        if from_savepoint is not None:
            if rebuild:
                raise SavepointRefused(
                    "Say either --rebuild, which begins at the start of the log, or --from-savepoint."
                )
            streams = savepoint(opened, from_savepoint).streams
            result = result or sorted({each.partition("@")[0] for each in streams})
        results = results_from(settings, result, opened)
        newest_version(opened)
        for each in results if from_savepoint is None else ():
            refuse_other_settings(at_log(opened, each), each, settings)
        steps = numbered(2 if from_savepoint is None else 3)
        spark = session_for(opened, settings, step=steps)
        from speed_layer.restore import restore
        from speed_layer.stream import stream as run_stream

        if from_savepoint is not None:
            with steps(f"Restore {from_savepoint}"):
                restore(spark, opened, from_savepoint, results, settings, trust_code=trust_code)
        anew = rebuild or from_savepoint is not None  # what the epoch before has read is not this one's
        look = None if continuous or anew else streamed(opened, results)
        what = ", ".join(each.name for each in results) + (UNTIL_STOPPED if continuous else "")
        with steps(f"Stream {what}", look=look):
            run_stream(
                spark, opened, results, settings,
                continuous=continuous, rebuild=rebuild, run_name=run, trust_code=trust_code, clock=command_clock(),
            )  # fmt: skip


def recompute(
    lake: LakeOption,
    result: ResultsOption = None,
    first: FromOption = None,
    to: ToOption = None,
    log_version: LogVersionOption = None,
    go_back: Annotated[
        bool,
        typer.Option("--go-back", help="Replace rows of a later version of the log by those of an earlier one too."),
    ] = False,
    config: ConfigOption = None,
) -> None:
    """Recompute the batch results, all or an interval, at one version of the log."""
    from lakehouse.batches import Interval
    from lakehouse.lake import open_lake

    with told_errors(lake / "logs" / "spark.log"):
        opened = open_lake(lake)
        settings = settings_from(config, opened)
        results = results_from(settings, result, opened)
        interval = Interval(first, to)
        from batch_layer.recompute import recompute as compute
        from batch_layer.recompute import refuse_any

        refuse_any(opened, results, settings, interval=interval, log_version=log_version, go_back=go_back)
        steps = numbered(1 + len(results))
        spark = session_for(opened, settings, step=steps)
        recomputing = steps.alike(len(results))
        for each in results:
            with recomputing(f"Recompute {each.name}"):
                compute(
                    spark, opened, each, settings,
                    interval=interval, log_version=log_version, go_back=go_back, clock=command_clock(),
                )  # fmt: skip


def legacy(lake: LakeOption, config: ConfigOption = None) -> None:
    """Run the control: processing time, at least once, no de-duplication."""
    from lakehouse.lake import open_lake
    from lakehouse.log import newest_version
    from lakehouse.terms import at_log
    from lakehouse.versions import as_noted

    with told_errors(lake / "logs" / "spark.log"):
        opened = open_lake(lake)
        settings = settings_from(config, opened)
        newest_version(opened)
        declared = results_from(settings, list(opened.pipeline.story.controlled), opened)
        answers = [as_noted(opened, each, settings)[0] for each in declared]
        spark = session_for(opened, settings)
        from speed_layer.legacy import legacy as run_legacy

        with step("Legacy control"):
            asked = [each for each in answers if at_log(opened, each).log == 1]
            run_legacy(spark, opened, settings, answers=asked, clock=command_clock())
