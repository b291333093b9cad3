"""A small file system for the tables of a lake, so that a full disk is a full disk: every write there fails with ENOSPC.

It is in memory (tmpfs), and in a mount namespace of this process and its children, so nobody else sees it and nothing is left of
it when they are killed. That takes the right to mount: a superuser has it, and others get it by `unshare --map-root-user --mount
parity chaos …`.
"""

import ctypes
import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SIZE = 512 * 1024 * 1024
BALLAST = ".ballast"
BLOCK = 1024 * 1024
_LIBC = ctypes.CDLL(None, use_errno=True)
_NEW_MOUNTS = 0x20000  # CLONE_NEWNS, of Linux
_RECURSIVE, _PRIVATE = 0x4000, 1 << 18  # MS_REC, MS_PRIVATE
_DETACH = 2  # MNT_DETACH


class NotAllowed(Exception):
    """This process may not mount anything."""


class SmallDisk:
    """A directory on a file system of its own."""

    def __init__(self, directory: Path) -> None:
        self._ballast = directory / BALLAST

    def fill(self) -> None:
        """Write until nothing more goes on it, not even a byte."""
        with self._ballast.open("wb", buffering=0) as file:
            for size in (BLOCK, 1):
                try:
                    while True:
                        file.write(bytes(size))
                except OSError as refused:
                    if refused.errno != errno.ENOSPC:
                        raise

    def free(self) -> None:
        self._ballast.unlink(missing_ok=True)


@contextmanager
def small_disk(directory: Path, *, size: int = SIZE) -> Iterator[SmallDisk]:
    """The directory, which is empty, on a small disk. What is on it in the end is kept on the real one."""
    _mount_tmpfs(directory, size)
    disk = SmallDisk(directory)
    try:
        yield disk
    finally:
        disk.free()
        kept = directory.with_name(f"{directory.name}.kept")
        shutil.copytree(directory, kept)
        _called(_LIBC.umount2, os.fsencode(directory), _DETACH)
        directory.rmdir()
        kept.rename(directory)


def _mount_tmpfs(directory: Path, size: int) -> None:
    _called(_LIBC.unshare, _NEW_MOUNTS)
    _called(_LIBC.mount, b"none", b"/", None, _RECURSIVE | _PRIVATE, None)  # what is mounted here stays here
    _called(_LIBC.mount, b"tmpfs", os.fsencode(directory.resolve()), b"tmpfs", 0, f"size={size},mode=700".encode())


def _called(function: "ctypes._FuncPointer", *arguments: object) -> None:
    if function(*arguments) != 0:
        code = ctypes.get_errno()
        if code in (errno.EPERM, errno.EACCES):
            raise NotAllowed(os.strerror(code))
        raise OSError(code, os.strerror(code))
