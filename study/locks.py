"""Claims by lock: a file that a process holds until it gives it up, or ends.

The system keeps the lock, not the file: what the file contains, how old it is and who wrote it
does not matter, so an empty, damaged, future or foreign one blocks nobody. A killed process
loses its locks at once, a stopped one keeps them, and of several that ask at once one wins.

Where the system or the file system has no locks, every process gets what it asks for: work
may then be done twice, which costs time and nothing else.
"""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

if sys.platform != "win32":
    import fcntl

_TRIES = 100

_held: dict[tuple[int, str], int] = {}
"""The open files of this process, by process and path: a forked child holds none of them."""


def take(path: Path) -> bool:
    """Lock a file, which is made where it does not exist; False where another process holds it.

    A file that this process holds already it may take again.
    """
    if sys.platform == "win32" or holds(path):
        return True
    for _ in range(_TRIES):
        try:
            handle = _open(path)
        except IsADirectoryError:
            return True  # nothing that could be locked
        if not _lock(handle):
            os.close(handle)
            return False
        if _is_at(handle, path):
            _held[_name(path)] = handle
            return True
        os.close(handle)  # its last holder has removed it meanwhile
    return True  # a file system on which no file is the same twice


def holds(path: Path) -> bool:
    """Return whether this process holds a file."""
    return _name(path) in _held


def give_up(path: Path) -> None:
    """Remove a file that this process holds, and unlock it."""
    handle = _held.pop(_name(path), None)
    if handle is None or sys.platform == "win32":
        return
    with contextlib.suppress(OSError):  # that it remains does no harm
        if _is_at(handle, path):
            path.unlink()
    with contextlib.suppress(OSError):
        fcntl.flock(handle, fcntl.LOCK_UN)  # also for a forked child, which may live on
    os.close(handle)


def remove_if_free(path: Path) -> None:
    """Remove a file that no process holds."""
    if not holds(path) and take(path):
        give_up(path)


def _open(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except PermissionError:
        if not path.exists():
            raise
        return os.open(path, os.O_RDONLY)  # another user's: enough to see whether it is held


def _lock(handle: int) -> bool:
    if sys.platform != "win32":
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # there are no locks on this file system
            pass
    return True


def _is_at(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


def _name(path: Path) -> tuple[int, str]:
    return os.getpid(), os.path.abspath(path)
