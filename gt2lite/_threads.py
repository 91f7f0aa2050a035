"""A limit on the threads that BLAS uses for a matrix product."""

from __future__ import annotations

import contextlib
import functools
import os
import threading
import weakref
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep BLAS to one thread, so that processes do not fight and sums have one order.

    The matrices of a training step are so small that one thread is also the fastest. Needs
    threadpoolctl (scikit-learn brings it); without it nothing is limited, and results may
    differ in their last bits where BLAS has another number of threads.

    The limit holds for the whole process. The first context sets it and the last one lifts it, so
    that it holds as long as any thread of Python is inside one.
    """
    token = _enter()
    try:
        yield
    finally:
        _leave(token)


class _Token:
    """Stands for one context; it vanishes with the context even if that is never left."""

    def __init__(self) -> None:
        self.thread = threading.get_ident()


# Ctrl-C may leave a context to the garbage collector. It may run while the lock is held (hence a
# lock that can be entered again), and it removes the token of a context that cannot be left.
_lock = threading.RLock()
_inside: weakref.WeakSet[_Token] = weakref.WeakSet()
_limits: list[Any] = []  # lifted by the last context


def _enter() -> _Token:
    token = _Token()
    with _lock:
        if not _inside:
            _lift()  # a limit left over by Ctrl-C
            controller = _controller()
            if controller is not None:
                _limits.append(controller.limit(limits=1))
        _inside.add(token)
    return token


def _leave(token: _Token) -> None:
    with _lock:
        _inside.discard(token)
        if not _inside:
            _lift()


def _lift() -> None:
    while _limits:
        _limits.pop().restore_original_limits()


def _after_fork() -> None:
    """Forget the contexts of threads that a forked child does not have."""
    for token in list(_inside):
        if token.thread != threading.get_ident():
            _inside.discard(token)
    _lock.release()


# A child must not inherit a lock that one of its parent's threads holds: nobody would release it.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_after_fork
    )


@functools.cache
def _controller() -> Any:
    """Return the controller of the loaded BLAS libraries, made once because that is slow."""
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return None
    return ThreadpoolController()
