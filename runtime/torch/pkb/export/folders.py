# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The folder that the ranks of one export share, and what becomes of the folders of exports that were killed.

An owner holds a lock on its folder, which the system takes back when the last process that may use it is gone. Whoever gets the lock of another
folder may remove it. A process number would not do: it means nothing in another container, and is given to others.
"""

import contextlib
import fcntl
import os
import shutil
import stat
import tempfile

from .errors import ExportError

PREFIX = "pkb-ranks-"


@contextlib.contextmanager
def shared_folder():
    """A fresh folder that all ranks of a job can reach, in memory where there is enough of it; gone at the end. Removes what dead owners left."""
    path, lock = _make()
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        os.close(lock)


def _make():
    for base in ("/dev/shm", None):
        with contextlib.suppress(OSError):
            sweep(base or tempfile.gettempdir())
        try:
            if base and (not os.access(base, os.W_OK) or shutil.disk_usage(base).free < (1 << 30)):
                continue
            return _make_in(base)
        except OSError:
            continue
    raise ExportError("cannot make a temporary folder; set TMPDIR to a writable one", code=2)


def _make_in(base):
    """(path, descriptor that holds its lock) of a fresh folder."""
    while True:
        path = tempfile.mkdtemp(prefix=PREFIX, dir=base)
        lock = _lock(path)
        if lock is not None:
            return path, lock
        # Somebody who sweeps was faster.


def _lock(path):
    """A descriptor that holds the lock of a folder, or None if another process has it or the folder is gone.

    Where the file system has no locks the descriptor holds none, and nobody gets one.
    """
    try:
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(folder), os.stat(path)):
            return folder
    except (BlockingIOError, FileNotFoundError):
        pass
    except OSError:
        return folder
    os.close(folder)
    return None


def sweep(base):
    """Removes the folders in `base` that belong to this user and to no process. Raises OSError if `base` cannot be read."""
    with os.scandir(base) as entries:
        names = [entry.path for entry in entries if entry.name.startswith(PREFIX)]
    for path in names:
        with contextlib.suppress(OSError):
            status = os.lstat(path)
            if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
                continue
            folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(folder)
