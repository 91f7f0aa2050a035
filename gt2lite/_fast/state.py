"""NumPy's state while the fast path runs: no warnings, a small buffer, nothing left over."""

from __future__ import annotations

import contextvars
import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import numpy as np

Args = ParamSpec("Args")
R = TypeVar("R")

BUFFER = 640
"""Numbers in NumPy's buffer: a row of the paper's recipe, 10 rules and 64 samples."""


class quiet:  # no generator: Ctrl-C may leave it unfinished, and it would finish elsewhere
    """Set NumPy up for the fast path: no warnings, and a small buffer.

    NumPy collects rows that are broadcast in a buffer of 8,192 numbers if they fit, which takes
    longer than to compute with them; rows that are longer than the buffer it takes as they are.

    >>> with quiet():
    ...     np.getbufsize() == BUFFER and np.geterr()["divide"]
    'ignore'
    """

    def __enter__(self) -> None:
        self._errors, self._buffer = np.errstate(all="ignore"), np.getbufsize()
        self._errors.__enter__()
        np.setbufsize(BUFFER)

    def __exit__(self, *error: Any) -> None:
        np.setbufsize(self._buffer)
        self._errors.__exit__(*error)


def apart(function: Callable[Args, R]) -> Callable[Args, R]:
    """Give a function a state of NumPy of its own, which ends with it, however it ends.

    NumPy keeps error handling and buffer size in a context variable. In a copy of the context
    nothing that `quiet` sets can outlive the call, not even if Ctrl-C strikes between two of
    its lines.

    >>> @apart
    ... def careless():
    ...     np.setbufsize(BUFFER)
    >>> before = np.getbufsize()
    >>> careless()
    >>> np.getbufsize() == before
    True
    """

    @functools.wraps(function)
    def run(*args: Args.args, **kwargs: Args.kwargs) -> R:
        return contextvars.copy_context().run(function, *args, **kwargs)

    return run
