# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files that a tool was asked to write: whole, or not at all (as runtime/lib/OutputFile.h does for the tools in C++)."""

import contextlib
import errno
import os
import stat
import sys
import tempfile


def _is_special(path):
    """Whether it is a device, a pipe or a socket, which a rename would replace by a file."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def _beside(path):
    """(handle, name) of a fresh file in the folder where `path` ends after all links."""
    return tempfile.mkstemp(prefix=".pkb-", dir=os.path.dirname(os.path.realpath(path)))


def check_writable(path):
    """Raises OSError if nothing can be written to `path`. Leaves what is there as it is."""
    if os.path.isdir(path):
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
    if _is_special(path):  # opening a pipe would wait for its reader
        if not os.access(path, os.W_OK):
            raise OSError(errno.EACCES, os.strerror(errno.EACCES))
        return
    handle, part = _beside(path)
    os.close(handle)
    os.unlink(part)


@contextlib.contextmanager
def whole_file(path):
    """A binary file to write into. A regular file is written beside its place and renamed at the end; a device or pipe is written straight.

    What raises within, or when the bytes go out, leaves the old file. Raises OSError.
    """
    if _is_special(path):
        with open(path, "wb") as file:
            yield file
        return
    if os.path.isdir(path):
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
    handle, part = _beside(path)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(part, 0o666 & ~mask)
        os.replace(part, os.path.realpath(path))
    except BaseException:
        os.unlink(part)
        raise


def print_out(text):
    """A line on standard output, at once. Raises OSError that names it."""
    try:
        print(text, flush=True)
    except OSError as error:
        # The interpreter writes what is left again at its end: that must not fail, too.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise OSError(error.errno, error.strerror, "standard output") from error


def why_not(error):
    """An OSError in one line: the file, if it has one, and what the system says."""
    return f"{error.filename}: {error.strerror}" if error.filename else error.strerror or str(error)
