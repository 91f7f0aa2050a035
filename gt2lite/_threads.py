"""A limit on the threads that BLAS uses for a matrix product."""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections.abc import Iterator
from typing import Any

_lock = threading.RLock()  # one that the garbage collector can enter again to end a context
_inside = 0  # contexts of all threads
_limit: Any = None


@contextlib.contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep BLAS to one thread, so that processes do not fight and sums have one order.

    The matrices of a training step are so small that one thread is also the fastest. Needs
    threadpoolctl (scikit-learn brings it); without it nothing is limited, and results may
    differ in their last bits where BLAS has another number of threads.

    The limit holds for the whole process. The first context sets it and the last one lifts it, so
    that it holds as long as any thread of Python is inside one.
    """
    _count(1)
    try:
        yield
    finally:
        _count(-1)


def _count(change: int) -> None:
    global _inside, _limit
    controller = _controller()
    if controller is None:
        return
    with _lock:
        if _inside == 0:
            _limit = controller.limit(limits=1)
        _inside += change
        if _inside == 0:
            _limit.restore_original_limits()


def _renew_lock() -> None:
    global _lock
    _lock = threading.RLock()


# A forked child must not inherit a lock that a thread of its parent holds: none would release it.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


@functools.cache
def _controller() -> Any:
    """Return the controller of the loaded BLAS libraries, made once because that is slow."""
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return None
    return ThreadpoolController()
