"""What the faults are tried on: the pipeline of which nothing need be said, and what its `witness.py` says of it."""

from lakehouse.pipelines import DEFAULT, beside, folder_of

_witness = beside(folder_of(DEFAULT), "witness")

FIELDS: dict[str, dict[str, type]] = _witness.FIELDS
"""The kinds of events with their fields. All are required that are not `OPTIONAL`."""
OPTIONAL: tuple[str, ...] = _witness.OPTIONAL
SUMMED_KIND, SUMMED = _witness.SUMMED
"""The kind of which most events are, and the field of it that results add up."""
QUERIES: dict[str, str] = _witness.QUERIES
"""Results with their rows as SQL over the events that are `known`: of each way in which one is told."""
SETTLED: dict[str, str] = _witness.SETTLED
