"""Many tasks: in parallel, stored as they finish, each computed once.

What a task is, how it is executed and what is kept of it, its own module says
(`gt2lite.study.protocol`, `gt2lite.study.field.runs`). Here is what all of them need: stored outcomes are
not computed again, an interrupted or killed run goes on where it was, and processes
that share a store share the work.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from gt2lite._checks import Array
from gt2lite._progress import progress_bar
from gt2lite.study.store import Store


class Runnable(Hashable, Protocol):
    """What a task must tell."""

    @property
    def key(self) -> str:
        """The key under which the outcome is stored, see `gt2lite.study.store.Store.key`."""

    @property
    def cost(self) -> float:
        """How long it takes, in any unit: the long ones are begun first."""

    @property
    def label(self) -> str:
        """A few words for the progress bar."""


T = TypeVar("T", bound=Runnable)
R = TypeVar("R")


class Work(NamedTuple, Generic[T, R]):
    """What is done with tasks of one kind.

    Attributes:
        execute: turns a task into its outcome; must travel to other processes.
        pack: the outcome as a header of plain values and a dict of arrays.
        unpack: the outcome again, from its task and these two.
    """

    execute: Callable[[T], R]
    pack: Callable[[R], tuple[dict[str, Any], dict[str, Array]]]
    unpack: Callable[[T, dict[str, Any], dict[str, Array]], R]


def run(
    todo: Iterable[T],
    work: Work[T, R],
    store: Store | None = None,
    *,
    n_jobs: int = -1,
    progress: bool | None = None,
) -> list[R]:
    """Execute tasks in parallel and return their outcomes, in the order of the tasks.

    Each outcome is stored as soon as it is there; stored ones are not computed again. An
    interrupted call, or a killed one, goes on where it was when it is repeated. Inside
    ``joblib.parallel_config(backend="dask")`` the same call runs on a Dask cluster.

    Args:
        todo: what to execute.
        work: how.
        store: where outcomes are kept; None keeps them in memory only.
        n_jobs: processes, -1 for one per core. More than one need joblib.
        progress: show a progress bar; None shows one on a terminal if tqdm is installed.
    """
    todo = list(todo)
    done: dict[T, R] = {}
    if store is not None:
        done = {t: found for t in todo if (found := _load(store, work, t)) is not None}
    missing = [t for t in dict.fromkeys(todo) if t not in done]
    missing.sort(key=lambda t: t.cost, reverse=True)  # no core is left waiting at the end
    with progress_bar(len(set(todo)), "protocol", "run", done=len(done), show=progress) as step:
        try:
            for t, outcome in _parallel(missing, work, store, n_jobs):
                if store is not None:
                    store.save(t.key, *work.pack(outcome))
                done[t] = outcome
                step(t.label)
        finally:
            if store is not None:
                for t in missing:
                    store.release(t.key)
        for t in missing:  # in the hands of another process that shares the store
            if t not in done and store is not None:
                done[t] = _wait_for(store, work, t)
                step(f"{t.label}, by another process")
    return [done[t] for t in todo]


@contextlib.contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep BLAS to one thread, so that processes do not fight and sums have one order."""
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        yield
        return
    with threadpool_limits(1):
        yield


def _parallel(
    missing: list[T], work: Work[T, R], store: Store | None, n_jobs: int
) -> Iterator[tuple[T, R]]:
    # asked when its turn comes: another process may have been quicker, or be at it
    due = (t for t in missing if store is None or (not store.has(t.key) and store.claim(t.key)))
    if n_jobs == 1 or len(missing) < 2:
        yield from ((t, work.execute(t)) for t in due)
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
    yield from pool(joblib.delayed(_with_its_task)(work.execute, t) for t in due)


def _with_its_task(execute: Callable[[T], R], task: T) -> tuple[T, R]:
    return task, execute(task)


def _wait_for(store: Store, work: Work[T, R], task: T) -> R:
    """Return an outcome that another process is computing, or compute it if that one dies."""
    while (found := _load(store, work, task)) is None:
        if store.claim(task.key):  # its owner is done, or gone; of several that wait one gets it
            try:
                if not store.has(task.key):
                    store.save(task.key, *work.pack(work.execute(task)))
            finally:
                store.release(task.key)
        else:
            time.sleep(0.2)
    return found


def _load(store: Store, work: Work[T, R], task: T) -> R | None:
    found = store.load(task.key)
    return None if found is None else work.unpack(task, *found)
