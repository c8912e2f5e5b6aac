# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Errors that a user of the exporter can meet. Each carries one line: what is wrong and what to do."""


class ExportError(Exception):
    """A refusal. `str(error)` is one message, lower-case start, naming the thing; `code` is the exit status.

    Exit status: 1 the program is refused or wrong, 2 bad input (files, flags, environment), 4 hang or lost rank.
    """

    code = 1

    def __init__(self, message, code=None):
        super().__init__(message)
        if code is not None:
            self.code = code


class InputError(ExportError):
    """Bad command line, missing or unreadable file, wrong environment."""

    code = 2


class HangError(ExportError):
    """A rank died, hung or waits for what no peer will do."""

    code = 4
