# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Call sites: which line of the user's code is running. The user's code is what is neither torch, Python nor pkb."""

import linecache
import os
import re
import sys
import sysconfig

_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep  # the package pkb
_FOREIGN = tuple(
    os.path.realpath(p) + os.sep
    for p in {sysconfig.get_paths()["stdlib"], sysconfig.get_paths()["purelib"], sysconfig.get_paths()["platlib"]}
)
_known = {}


def is_user_file(path):
    """Is a source file the user's own?"""
    answer = _known.get(path)
    if answer is None:
        inside = path.startswith((*_FOREIGN, _OURS, "<"))
        answer = _known[path] = not inside and not os.path.realpath(path).startswith((*_FOREIGN, _OURS))
    return answer


def current():
    """(path, line, function) of the innermost frame of the user's code, or None."""
    frame = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if is_user_file(code.co_filename):
            return code.co_filename, frame.f_lineno, code.co_name
        frame = frame.f_back
    return None


def callers(most=8):
    """(path, line, function) of the frames of the user's code that led to `current`, innermost first, without it: at most `most`.

    The stack ends where the exporter calls the user's function.
    """
    frame, found = sys._getframe(1), []
    while frame is not None and len(found) <= most:
        code = frame.f_code
        if is_user_file(code.co_filename):
            found.append((code.co_filename, frame.f_lineno, code.co_name))
        elif found and code.co_filename.startswith(_OURS):
            break
        frame = frame.f_back
    return tuple(found[1:])


def text(site):
    """"FILE:LINE" of what `current` gave."""
    return f"{site[0]}:{site[1]}" if site else "no line of the user's code"


def source_line(path, line):
    return linecache.getline(path, line).strip()


def user_frame_of_traceback(trace):
    """"FILE:LINE" of the innermost frame of the user's code in a traceback, or None."""
    found = None
    while trace is not None:
        if is_user_file(trace.tb_frame.f_code.co_filename):
            found = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
        trace = trace.tb_next
    return found


def user_frame_of_dump(dump):
    """"FILE:LINE" of the innermost frame of the user's code in a faulthandler dump, or None."""
    for path, line in re.findall(r'File "(.*?)", line (\d+)', dump):
        if is_user_file(path) and os.path.exists(path):
            return f"{path}:{line}"
    return None
