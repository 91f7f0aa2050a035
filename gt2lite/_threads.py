"""Threads of BLAS: how many of them work on a matrix product."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep BLAS to one thread, so that processes do not fight and sums have one order.

    The matrices of a training step are so small that one thread is also the fastest. Needs
    threadpoolctl (scikit-learn brings it); without it nothing is limited, and results may
    differ in their last bits where BLAS has another number of threads.

    The limit is one of the whole process. Whoever comes first sets it, the last one lifts it, so
    that it holds for all who work at the same time, in several threads of Python.
    """
    _enter()
    try:
        yield
    finally:
        _leave()


_door = threading.Lock()
_inside = 0  # how many are at work
_limits: list[Any] = []  # what the last one has to lift


def _enter() -> None:
    global _inside
    with _door:
        _inside += 1
        if _inside == 1 and (controller := _controller()) is not None:
            _limits.append(controller.limit(limits=1))


def _leave() -> None:
    global _inside
    with _door:
        _inside -= 1
        if _inside == 0:
            while _limits:
                _limits.pop().restore_original_limits()


@functools.cache
def _controller() -> Any:
    """Return what limits the BLAS libraries that are loaded, found once: looking takes a while."""
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return None
    return ThreadpoolController()
