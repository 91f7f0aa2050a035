"""NumPy's state while the fast path runs: no warnings, a small buffer, nothing left over."""

from __future__ import annotations

import contextvars
import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import numpy as np

Args = ParamSpec("Args")
R = TypeVar("R")

BUFFER = 640
"""Numbers in NumPy's buffer: a row of the paper's recipe, 10 rules and 64 samples.

NumPy collects rows that are broadcast in a buffer of 8,192 numbers if they fit, which takes
longer than to compute with them; rows that are longer than the buffer it takes as they are.
"""


def quietly(function: Callable[Args, R]) -> Callable[Args, R]:
    """Run a function without NumPy's warnings and with a small buffer.

    NumPy keeps error handling and buffer size in a context variable. In a copy of the context
    nothing that is set here can outlive the call, not even if Ctrl-C strikes between two lines.

    >>> before = np.getbufsize()
    >>> quietly(np.getbufsize)() == BUFFER, quietly(np.geterr)()["divide"]
    (True, 'ignore')
    >>> np.getbufsize() == before
    True
    """

    def run(*args: Args.args, **kwargs: Args.kwargs) -> R:
        np.seterr(all="ignore")
        np.setbufsize(BUFFER)
        return function(*args, **kwargs)

    @functools.wraps(function)
    def run_apart(*args: Args.args, **kwargs: Args.kwargs) -> R:
        return contextvars.copy_context().run(run, *args, **kwargs)

    return run_apart
