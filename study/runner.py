"""Many tasks: in parallel, stored as they finish, each computed once.

A task says what is asked for and how it is executed; see `study.protocol`,
`study.field.runs` and `study.tuning`. Here is what all of them need: stored
outcomes are not computed again, an interrupted or killed run goes on where it was, and
processes that share a store share the work.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol, TypeVar

import numpy as np

from gt2lite._progress import progress_bar
from gt2lite._validation import Array
from gt2lite._version import __version__
from study.keys import run_key
from study.store import Store

R = TypeVar("R")
Packed = tuple[dict[str, Any], dict[str, Array]]
"""An outcome as a header of plain values and a dict of arrays."""


class Runnable(Protocol[R]):
    """What a task must offer; it must be hashable, and travel to other processes."""

    @property
    def code(self) -> tuple[str, ...]:
        """The modules that execute it, see `study.keys`."""

    @property
    def cost(self) -> float:
        """How long it takes, in any unit: the long ones are begun first."""

    @property
    def label(self) -> str:
        """A few words for the progress bar."""

    def asked(self) -> dict[str, Any]:
        """Return all that distinguishes it from others of its kind, in plain values."""

    def execute(self, get: Get) -> R:
        """Return the outcome; `get` returns that of another task, from the store if it is there."""

    def pack(self, outcome: R) -> Packed:
        """Return the outcome in plain form."""

    def unpack(self, header: dict[str, Any], arrays: dict[str, Array]) -> R:
        """Return the outcome again."""


Get = Callable[[Runnable[Any]], Any]


def key_of(task: Runnable[Any]) -> str:
    """Return the key under which the outcome of a task is stored."""
    return run_key(task.code, {"kind": type(task).__name__, **task.asked()})


def run(
    todo: Iterable[Runnable[R]],
    store: Store | None = None,
    *,
    n_jobs: int = -1,
    progress: bool | None = None,
    what: str = "runs",
) -> list[R]:
    """Execute tasks in parallel and return their outcomes, in the order of the tasks.

    Each outcome is stored as soon as it is there; stored ones are not computed again. An
    interrupted call, or a killed one, goes on where it was when it is repeated. Inside
    ``joblib.parallel_config(backend="dask")`` the same call runs on a Dask cluster.

    Args:
        todo: what to execute.
        store: where outcomes are kept; None keeps them in memory only.
        n_jobs: processes, -1 for one per core. More than one need joblib.
        progress: show a progress bar; None shows one on a terminal if tqdm is installed.
        what: what the bar says is going on.
    """
    todo = list(todo)
    done: dict[Runnable[R], R] = {}
    if store is not None:
        done = {t: found for t in dict.fromkeys(todo) if (found := _load(store, t)) is not None}
    missing = [t for t in dict.fromkeys(todo) if t not in done]
    missing.sort(key=lambda t: t.cost, reverse=True)  # no core is left waiting at the end
    with progress_bar(len(set(todo)), what, "run", done=len(done), show=progress) as step:
        try:
            for t, outcome in _parallel(missing, store, n_jobs):
                if store is not None:
                    _save(store, t, outcome)
                done[t] = outcome
                step(t.label)
        finally:
            if store is not None:
                for t in missing:
                    store.release(key_of(t))
        for t in missing:  # in the hands of another process that shares the store
            if t not in done and store is not None:
                done[t] = _wait_for(store, t)
                step(f"{t.label}, by another process")
    return [done[t] for t in todo]


def provenance() -> dict[str, str]:
    """Return versions, machine and date: what a reader needs to judge where numbers come from."""
    return {
        "gt2lite": __version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
    }


class _Getter:
    """Runs one task through a store, for a task that needs the outcome of another."""

    def __init__(self, store: Store | None) -> None:
        self.store = store

    def __call__(self, task: Runnable[R]) -> R:
        return run([task], self.store, n_jobs=1, progress=False)[0]


def _parallel(
    missing: list[Runnable[R]], store: Store | None, n_jobs: int
) -> Iterator[tuple[Runnable[R], R]]:
    # asked when its turn comes: another process may have been quicker, or be at it
    due = (
        t for t in missing if store is None or (not store.has(key_of(t)) and store.claim(key_of(t)))
    )
    get = _Getter(store)
    if n_jobs == 1 or len(missing) < 2:
        yield from (_executed(t, get) for t in due)
        return
    try:
        import joblib
    except ImportError:
        raise ImportError(
            "n_jobs other than 1 needs joblib, which is not installed: pip install "
            "'gt2lite[parallel]', or pass n_jobs=1"
        ) from None
    pool = joblib.Parallel(
        n_jobs=n_jobs, return_as="generator_unordered", batch_size=1, pre_dispatch="n_jobs"
    )
    yield from pool(joblib.delayed(_executed)(t, get) for t in due)


def _executed(task: Runnable[R], get: Get) -> tuple[Runnable[R], R]:
    return task, task.execute(get)


def _wait_for(store: Store, task: Runnable[R]) -> R:
    """Return an outcome that another process is computing, or compute it if that one dies."""
    key = key_of(task)
    while (found := _load(store, task)) is None:
        if store.claim(key):  # its owner is done, or gone; of several that wait one gets it
            try:
                if not store.has(key):
                    _save(store, task, task.execute(_Getter(store)))
            finally:
                store.release(key)
        else:
            time.sleep(0.2)
    return found


def _load(store: Store, task: Runnable[R]) -> R | None:
    found = store.load(key_of(task))
    return None if found is None else task.unpack(*found)


def _save(store: Store, task: Runnable[R], outcome: R) -> None:
    header, arrays = task.pack(outcome)
    store.save(key_of(task), {**header, "provenance": provenance()}, arrays)
