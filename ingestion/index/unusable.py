"""The one error of the index: it cannot be relied on."""


class Unusable(Exception):
    """A file of the index is torn, damaged or of something else. It begins anew, and is filled again from the log."""
