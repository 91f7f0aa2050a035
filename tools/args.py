"""Run a command with the words of the variable ARGS after it.

ARGS="-k 'a or b'" python tools/args.py COMMAND ...

So make hands on what a user wrote without a shell that would read it: quotes hold words
together, as in a shell, and nothing else has a meaning.
"""

from __future__ import annotations

import os
import shlex
import sys

try:
    words = shlex.split(os.environ.get("ARGS", ""))
except ValueError as error:
    sys.exit(f"ARGS: {error}")
command = [*sys.argv[1:], *words]
os.execvp(command[0], command)
