"""What the architectures and the layers cost, in sentences."""

from collections.abc import Sequence

from reconciliation.architectures import Bill
from reconciliation.costs import LayerCost
from reconciliation.words import count, every, listed, number, seconds, share, size


def expense(bill: Bill) -> str:
    """What Lambda and Kappa cost, and when they would cost the same. Where something was not measured, that is said."""
    if bill.missing:
        return f"What Lambda and Kappa cost cannot be compared: {listed(list(bill.missing))}."
    others = len(bill.results) - len(bill.asked)
    apart = f" ({count(others, 'result')} more than were asked for: they ran together and cannot be told apart)"
    of = f"{count(len(bill.results), 'result')}{apart if others else ''}"
    per_run = (
        f"{_cpu(bill.batch)} for {'the' if bill.batch_runs == 1 else 'each'} batch run"
        f"{'' if bill.whole else ', some over an interval only'}"
    )
    if bill.speed is None:
        scheduled = f"Lambda at least {_cpu(bill.batches)}, {per_run}; the old speed layer has not run here and would come on top"
    else:
        scheduled = f"Lambda {_cpu(bill.lambda_)}, {_cpu(bill.speed)} for the old speed layer and {per_run}"
    killed = (
        f" {count(bill.unended, 'run')} without an end {'counts' if bill.unended == 1 else 'count'} as far as known."
    )
    return (
        f"Over the {seconds(bill.covered.total_seconds())} of the log, for {of}, with a batch run {every(bill.every)}: "
        f"Kappa (the stream with its repairs) used {_cpu(bill.kappa)} of CPU, {scheduled}. {_same_at(bill)}"
        f"{killed if bill.unended else ''}"
    )


def _same_at(bill: Bill) -> str:
    if bill.same_at is not None:
        return f"They would cost the same with a batch run every {seconds(bill.same_at.total_seconds())}."
    if bill.speed is None:
        return "At which interval of batch they would cost the same is not known."
    return "At no interval of batch does Lambda cost less: its speed layer alone takes as much as the stream."


def _cpu(value: float | None) -> str:
    assert value is not None
    return f"{number(round(value, 1))} s"


def beside(costs: Sequence[LayerCost]) -> str | None:
    """What the stream keeps against batch; none where one of them has not run in this lake."""
    by_layer = {cost.layer: cost for cost in costs}
    stream, batch = by_layer.get("kappa"), by_layer.get("batch")
    if stream is None or batch is None:
        return None
    return (
        f"Against the batch layer, the stream keeps {_against(stream.storage_bytes, batch.storage_bytes)} on disk "
        f"({size(stream.storage_bytes)} against {size(batch.storage_bytes)})."
    )


def cost_of_the_control(costs: Sequence[LayerCost]) -> str:
    """What the old speed layer takes: its part of Lambda's cost."""
    for cost in costs:
        if cost.layer == "legacy" and cost.cpu_seconds is not None:
            return (
                f"It used {_cpu(cost.cpu_seconds)} of CPU in {count(cost.runs, 'run')} and keeps {size(cost.storage_bytes)}: "
                "that is what Lambda pays for its speed layer."
            )
    return "What it cost is not known: its runs left no note."


def saving(costs: Sequence[LayerCost]) -> str | None:
    """What the lake's runs would have cost without the batch layer; none where that was not measured."""
    needed = {
        cost.layer: cost for cost in costs if cost.layer not in ("legacy", "replays") and cost.cpu_seconds is not None
    }
    if "kappa" not in needed or "batch" not in needed:
        return None
    cpu = sum(cost.cpu_seconds or 0 for cost in needed.values())
    stored = sum(cost.storage_bytes for cost in needed.values())
    batch = needed["batch"]
    counted = (
        "stream, batch and ingestion" if "ingest (shared)" in needed else "stream and batch (ingestion left no note)"
    )
    return (
        f"This lake runs both. Of the cost of {counted}, the batch layer is {share(batch.cpu_seconds or 0, cpu)} of the CPU "
        f"and {share(batch.storage_bytes, stored)} of the storage: that is what removing it would save here, "
        "besides its schedule and its merge."
    )


def _against(one: float, other: float) -> str:
    return "as much" if one == other else "more" if one > other else "less"
