"""Which start of the machine this is.

Within one, whatever was written is read back as it was written, whichever process was killed. After another, files may
be torn, because the index asks the disk for nothing (no fsync): it is verified in full then, once.
"""

from pathlib import Path

UNKNOWN = ""


def boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return UNKNOWN
