"""`parity demo`: the whole story in one command, with a crash in the middle.

Simulate, ingest, stream with a SIGKILL after the sink's commit and before Spark's commit log, restart, repair,
recompute in batch, the control through the same kill, reconcile both, the verdict and the report.

The first hour lands in files of its own, each a micro-batch, and the kill is in the second of them: what the control writes
again is one small micro-batch, as it would be of a speed layer that keeps running. The rest of the day comes in one.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from cli.console import answers, for_child, notes, numbered, results_from, session_for, settings_from, told_errors
from cli.fresh import fresh
from cli.looks import streamed
from cli.options import ConfigOption, PipelineOption, ResultsOption
from lakehouse.errors import ParityError
from lakehouse.lake import Lake

KILLED_BATCH = 1
FILES, FIRST_FILES = 48, KILLED_BATCH + 1
# A commit of the log is a micro-batch in the processes that are killed. Elsewhere a micro-batch takes all that there is.
CUT = {"PARITY_STREAM__COMMITS_PER_BATCH": "1"}
BESIDE_RECOMPUTE = 10
"""The steps of the demo, but for those that recompute a result."""
# HotSpot's second compiler would take more of the machine than it gives back to a process that is killed after seconds.
SHORT_LIVED = f"{os.environ.get('JDK_JAVA_OPTIONS', '')} -XX:TieredStopAtLevel=1".strip()


def demo(
    lake: Annotated[
        Path, typer.Option(help="Directory of the demo; a demo that is there is cleared.", metavar="DIR")
    ] = Path("demo"),
    events: Annotated[int, typer.Option(min=1000, help="Distinct events of the simulated day.")] = 20_000,
    result: ResultsOption = None,
    pipeline: PipelineOption = None,
    config: ConfigOption = None,
) -> None:
    """Run everything once, with crashes, and print the verdict."""
    from cli.simulators import simulated, simulator_of

    with told_errors(lake / "logs" / "spark.log"):
        begun = time.monotonic()
        settings = settings_from(config, pipeline=pipeline)
        simulator_of(settings.pipeline)
        results = results_from(settings, result)
        killed = [each.name for each in results if each.name in settings.pipeline.story.killed] or [results[0].name]
        names = [option for name in killed for option in ("--result", name)]
        made = fresh(lake, settings.pipeline, command="demo")
        landing, coming = made.path / "landing", made.path / "coming"
        step = numbered(BESIDE_RECOMPUTE + len(results))
        with step(f"Simulate a day: {events:,} events"):
            simulated(settings.pipeline, coming, events=events, files=FILES)
        spark = session_for(made, settings, step=step)
        from batch_layer.recompute import recompute
        from ingestion.ingest import ingest
        from reconciliation.history import keep
        from reconciliation.pins import controlled
        from reconciliation.reconcile import reconcile
        from reconciliation.report import write_report
        from speed_layer.legacy import legacy
        from speed_layer.stream import stream

        with step("Ingest what lands: two small files, then the rest of the day"):
            for files in (FIRST_FILES, FILES):
                _land(coming, landing, files)
                ingest(spark, made, landing, settings, files_per_batch=1 if files == FIRST_FILES else FILES)
            coming.rmdir()
        with step(f"Stream, and SIGKILL it in micro-batch {KILLED_BATCH}, after its own commit"):
            _killed(made, f"stream.appended:{killed[0]}:{KILLED_BATCH}", "stream", *names, config=config)
        with step("Stream again from the checkpoint", look=streamed(made, results)):
            stream(spark, made, results, settings)
        recomputing = step.alike(len(results))
        for each in results:
            with recomputing(f"Recompute {each.name} in batch"):
                recompute(spark, made, each, settings)
        with step("The legacy control, killed at the same place"):
            _killed(made, f"legacy.appended:arrivals:{KILLED_BATCH}", "legacy", config=config)
        with step("The legacy control again"):
            legacy(spark, made, settings, answers=controlled(made, results))
        with step("Reconcile the stream with batch"):
            verdict = reconcile(spark, made, results, settings)
        with step("Reconcile the control with batch"):
            control = reconcile(spark, made, controlled(made, results), settings, candidate="legacy")
        report = made.path / "report.html"
        with step("Write the report"):
            for each_verdict in (verdict, control):
                keep(spark, made, each_verdict, settings)
            page = write_report(spark, made, results, settings, verdict, control=control, file=report)
        from cli.verdicts import show_verdict
        from reconciliation.sentences import of_the_control

        show_verdict(answers, verdict)
        show_verdict(answers, control, differences=2)
        for sentence in (*page.sentences, of_the_control(control, page.again)):
            answers.print(sentence, highlight=False, soft_wrap=True)
        shown = Path(os.path.relpath(report))
        answers.print(f"Report: {shown}", highlight=False, soft_wrap=True)
        notes.print(f"[dim]{time.monotonic() - begun:.0f} s in all[/]", highlight=False)
    as_it_should = verdict.status == "agree" and control.status == "differ" and not control.unexplained
    raise typer.Exit(0 if as_it_should else 1)


def _land(coming: Path, landing: Path, files: int) -> None:
    """Let as many of the next files land, whole and with the times that they have."""
    landing.mkdir(exist_ok=True)
    for file in sorted(coming.glob("*.jsonl"))[:files]:
        file.rename(landing / file.name)


def _killed(lake: Lake, failpoint: str, *command: str, config: Path | None) -> None:
    """Run a command in a process of its own that dies at the failpoint, and make sure that it did."""
    given = ["--config", str(config)] if config else []
    # A session of its own: a Ctrl-C reaches the demo, which ends the child itself.
    child = subprocess.Popen(
        [sys.executable, "-m", "cli.main", *command, "--lake", str(lake.path), *given],
        env={**for_child(lake), **CUT, "PARITY_FAILPOINT": failpoint, "JDK_JAVA_OPTIONS": SHORT_LIVED},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        _, said = child.communicate()
    except BaseException:
        os.killpg(child.pid, signal.SIGKILL)
        raise
    if child.returncode != -signal.SIGKILL:
        raise ParityError(
            f"`parity {command[0]}` should have been killed at {failpoint}, but ended with exit code {child.returncode}: "
            f"{said.decode(errors='replace').strip() or 'it said nothing'}"
        )
