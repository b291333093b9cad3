"""A place of Spark's session where there must be none: whoever asks for one fails, and says so."""


class NoSpark:
    """No function on purpose: one that is patched in has to be called (patches.py), and this one must not be."""

    def __call__(self, *_: object, **__: object) -> None:
        raise AssertionError("Spark was started")
