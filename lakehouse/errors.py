"""What can go wrong for a user: each error says what happened, with which value, and what to do."""


class ParityError(Exception):
    """A user's mistake or a state that cannot be guessed; shown as one message, never as a stack trace."""


class BadSettings(ParityError):
    """The settings file or an environment variable says something that is not possible."""


class BadPipeline(ParityError):
    """A folder is no pipeline, or declares something that is not possible."""


class NoPipeline(BadPipeline):
    """There is no pipeline where one is said to be."""


class PipelineChanged(ParityError):
    """A lake is of another pipeline than the one that is named."""


class NotALake(ParityError):
    """A directory is not a lake, or not yet."""


class UnknownResult(ParityError):
    """A result that the catalogue does not have."""


class SettingsChanged(ParityError):
    """A lake was written with other settings than those given now."""


class CodeChanged(ParityError):
    """A stream was begun by other code than the one that is to go on with it."""


class UnknownVersion(ParityError):
    """A version that a result does not have in the lake."""


class VersionRefused(ParityError):
    """Something that cannot be done to this version of a result: it exists, it is live, or it has not caught up."""


class UnknownSavepoint(ParityError):
    """A savepoint that the lake does not have."""


class SavepointRefused(ParityError):
    """A savepoint that cannot be taken, or that a stream cannot start from."""


class CheckpointLost(ParityError):
    """A stream's checkpoint is gone while its table is not."""


class LogCannotGrow(ParityError):
    """The kinds of events are declared otherwise than the rows that the log has of them."""


class LogCompacted(ParityError):
    """A stream would begin at a commit of the log whose files a vacuum has removed."""


class PositionForgotten(ParityError):
    """The log has events, and none of its commits says where it stands."""


class AlreadyRunning(ParityError):
    """Another process holds the lock of the same writer."""


class StaleEpoch(ParityError):
    """This process belongs to an epoch that is no longer the live one."""


class EngineDroppedRows(ParityError):
    """The engine dropped rows by its watermark, which the design rules out."""


class NothingToCompare(ParityError):
    """A comparison cannot be made: something that it needs has not been computed."""


class Forgotten(NothingToCompare):
    """Something is asked of a time beyond the horizon, of which Delta keeps no commits."""


class GoesBack(ParityError):
    """A recompute would replace rows of a later version of the log by those of an earlier one."""


class NotValidated(ParityError):
    """A validation cannot be made: a table that is not there, or an expectation that could not be evaluated."""


class TornCommit(ParityError):
    """A commit of a table is not whole: something else than Parity has damaged it."""


class SparkEnded(ParityError):
    """The JVM that computes for this process is gone: it was killed, or ran out of memory."""


class StorageRefused(ParityError):
    """The disk is full, read-only, or not this user's to write to."""


class StreamFailed(ParityError):
    """A streaming query ended with an error of its own."""
