"""What the disk refuses, said so that somebody can do something about it.

A writer that cannot write leaves nothing that counts: a commit is one file that is there or not, and a micro-batch that
has not ended is run again. So the answer is the same for all of them: give room, start again.
"""

from py4j.protocol import Py4JJavaError

from lakehouse.errors import StorageRefused

_REFUSALS = {
    "No space left on device": "the disk is full",
    "File too large": "a file may not grow any more (a limit of the process, or a full disk)",
    "Disk quota exceeded": "the quota is used up",
    "Read-only file system": "it is mounted read-only",
    "Permission denied": "this user may not write there",
    # Java does not say why a directory could not be made.
    "DELTA_CANNOT_CREATE_LOG_PATH": "a directory could not be made (the disk is full, read-only, or another user's)",
    "Mkdirs failed to create": "a directory could not be made (the disk is full, read-only, or another user's)",
}


def storage_refusal(error: BaseException) -> StorageRefused | None:
    """The error of a writer as what the disk refused, if it was that; none if it was something else."""
    said = _said(error)
    for sign, meaning in _REFUSALS.items():
        if sign in said:
            line = next(line.strip() for line in said.splitlines() if sign in line)
            return StorageRefused(
                f"The lake could not be written: {meaning}. ({line[-200:]}) What was being written does not count; all that "
                "was committed before is whole. Make room or give the right to write, then run the same command again."
            )
    return None


def _said(error: BaseException) -> str:
    """Everything that the error and its causes say, in both languages."""
    texts = []
    cause: BaseException | None = error
    while cause is not None:
        texts.append(str(cause))  # for an error of the JVM that is its stack trace, causes included
        if isinstance(cause, Py4JJavaError):
            texts.append(str(cause.java_exception.toString()))
        cause = cause.__cause__ or cause.__context__
    return "\n".join(texts)
