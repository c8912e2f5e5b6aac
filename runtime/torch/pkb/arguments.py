# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Command lines of the tools that are written in Python."""

import argparse
import reprlib
import sys

MAX_SEED = 2**32 - 1
MAX_TRIALS = 1000
SECONDS = 0.001, 1_000_000  # of a time limit


def check_number(what, value, low, high, whole=True):
    """Raises ValueError if value is not a (whole) number from low to high. NaN, True and text are none."""
    number = isinstance(value, int if whole else (int, float)) and not isinstance(value, bool)
    if not number or not low <= value <= high:
        raise ValueError(f"{what} must be {low} to {high}, got: {reprlib.repr(value)}")


class Parser(argparse.ArgumentParser):
    """An argparse parser that says of a wrong command line what is wrong in one line, without the whole usage."""

    def error(self, message):
        print(f"{self.prog}: error: {message}; see {self.prog} --help", file=sys.stderr)
        sys.exit(2)
