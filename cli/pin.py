"""`parity pin`: what a scheduled run works on, decided once when it starts. Its tasks never ask for "latest" again."""

import json
from datetime import datetime
from typing import Annotated, Any

import typer

from cli.candidates import CandidateOption, judged
from cli.console import answers, results_from, settings_from, told_errors
from cli.options import ConfigOption, FromOption, LakeOption, ResultsOption, ToOption, moment


def pin(
    lake: LakeOption,
    candidate: CandidateOption = None,
    result: ResultsOption = None,
    first: FromOption = None,
    to: ToOption = None,
    day: Annotated[
        datetime | None,
        typer.Option(
            "--day",
            parser=moment,
            metavar="DATE",
            help="For a nightly recompute: the day of event time. Adds what it covers, and which days it may publish.",
        ),
    ] = None,
    took: Annotated[
        bool, typer.Option("--took", help="Add how long a recompute and a rebuild of the results took so far.")
    ] = False,
    config: ConfigOption = None,
) -> None:
    """Print as JSON what a run works on: the newest version of the log, or with --candidate the one that it has reached.

    Results, versions and the interval are checked too. Needs no Spark.
    """
    from lakehouse.batches import Interval
    from lakehouse.lake import open_lake
    from lakehouse.log import newest_version
    from lakehouse.terms import at_log
    from lakehouse.versions import live_number, version_to_replay
    from reconciliation.pins import pin as pinned

    with told_errors():
        opened = open_lake(lake)
        settings = settings_from(config, opened)
        Interval(first, to)
        log_version = newest_version(opened)
        side, names = judged(candidate, result, settings)
        results = results_from(settings, names, opened)
        if candidate is not None:
            log_version = min(pinned(at_log(opened, each), each, side).log_version for each in results)
        found: dict[str, Any] = {
            "log_version": log_version,
            "results": [each.name for each in results],
            "live": {each.name: live_number(opened, each.name) for each in results},
            "to_replay": {each.name: version_to_replay(opened, each).version for each in results},
        }
        if day is not None:
            from cli.nightly import nightly

            found["nightly"] = nightly(opened, results, settings, day, log_version).as_dict()
        if took:
            from lakehouse.lengths import lengths
            from lakehouse.log import position

            found["took"] = lengths(opened, results, arrivals=position(opened, log_version).arrivals)
        answers.out(json.dumps(found), highlight=False)
