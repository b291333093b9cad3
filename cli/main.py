"""The `parity` command: one job a command, idempotent, with an honest exit code.

0 done, or the layers agree; 1 they differ; 2 it could not be done, the message says why; 3 an unexpected error.
"""

import os

import typer

from cli import (
    chaos,
    compare,
    decide,
    declared,
    demonstrate,
    init,
    jobs,
    live,
    maintain,
    pin,
    quality,
    relog,
    reprocess,
    savepoints,
    serve,
    show,
    status,
    swap,
    watermark,
    what_if,
)
from cli.console import told_errors

app = typer.Typer(
    name="parity",
    help="Lambda and Kappa side by side on one event log, with the evidence whether the batch layer is still needed.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("simulate")(jobs.simulate)
app.command("ingest")(jobs.ingest)
app.command("stream")(jobs.stream)
app.command("recompute")(jobs.recompute)
app.command("legacy")(jobs.legacy)
app.command("reconcile")(compare.reconcile)
app.command("quality")(quality.quality)
app.command("pin")(pin.pin)
app.command("decide")(decide.decide)
app.command("show")(show.show)
app.command("status")(status.status)
app.command("serve")(serve.serve)
app.command("results")(declared.results)
app.command("lateness")(watermark.lateness)
app.command("replay")(reprocess.replay)
app.command("compare")(reprocess.compare)
app.command("swap")(swap.swap)
app.command("versions")(reprocess.versions)
app.command("retire")(reprocess.retire)
app.command("what-if")(what_if.what_if)
app.command("requeue")(relog.requeue)
app.command("reingest")(relog.reingest)
app.command("savepoint")(savepoints.savepoint)
app.command("maintain")(maintain.maintain)
app.command("init")(init.init)
app.command("demo")(demonstrate.demo)
app.command("live")(live.live)
app.command("chaos")(chaos.chaos)


def run() -> None:
    os.umask(0o077)  # whatever the caller's is: what Parity makes is its owner's only
    with told_errors():  # also for what goes wrong before a command has begun, e.g. a package that cannot be loaded
        app()


if __name__ == "__main__":
    run()
