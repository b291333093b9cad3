"""What ends a run of faults: something that must never be, or something that should have happened and did not."""

from lakehouse.errors import ParityError


class Violation(ParityError):
    """A promise was broken. The lake is kept as it was found."""
