# Part of the pkb project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Command lines of the tools that are written in Python."""

import argparse
import sys


class Parser(argparse.ArgumentParser):
    """An argparse parser that says of a wrong command line what is wrong in one line, without the whole usage."""

    def error(self, message):
        print(f"{self.prog}: error: {message}; see {self.prog} --help", file=sys.stderr)
        sys.exit(2)
