"""Threads of BLAS: how many of them work on a matrix product."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep BLAS to one thread, so that processes do not fight and sums have one order.

    The matrices of a training step are so small that one thread is also the fastest. Needs
    threadpoolctl (scikit-learn brings it); without it nothing is limited, and results may
    differ in their last bits where BLAS has another number of threads.
    """
    controller = _controller()
    if controller is None:
        yield
        return
    with controller.limit(limits=1):
        yield


@functools.cache
def _controller() -> Any:
    """Return what limits the BLAS libraries that are loaded, found once: looking takes a while."""
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return None
    return ThreadpoolController()
