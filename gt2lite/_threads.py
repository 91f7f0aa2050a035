"""Threads of BLAS: how many of them work on a matrix product."""

from __future__ import annotations

import contextlib
import functools
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

    The limit is one of the whole process. Whoever comes first sets it, the last one lifts it, so
    that it holds for all who work at the same time, in several threads of Python.
    """
    token = _enter()
    try:
        yield
    finally:
        _leave(token)


class _Token:
    """One who is at work, for as long as somebody knows of it."""


# Ctrl-C may leave a context to the garbage collector: it may come while the door is shut, and
# it takes the token of one who cannot leave any more.
_door = threading.RLock()
_inside: weakref.WeakSet[_Token] = weakref.WeakSet()
_limits: list[Any] = []  # what the last one has to lift


def _enter() -> _Token:
    token = _Token()
    with _door:
        if not _inside:
            _lift()  # what Ctrl-C has left
            controller = _controller()
            if controller is not None:
                _limits.append(controller.limit(limits=1))
        _inside.add(token)
    return token


def _leave(token: _Token) -> None:
    with _door:
        _inside.discard(token)
        if not _inside:
            _lift()


def _lift() -> None:
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
