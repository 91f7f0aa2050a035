"""Several systems as one: their planes and outputs are means over all of them.

The mean of nested intervals is nested, because each of them is, and because rounding keeps the
order of sums. So whatever calibrates the planes of one system calibrates those of several.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from gt2lite._checks import Array
from gt2lite.recipe import Recipe
from gt2lite.system import Params, Planes

R = TypeVar("R")


class System(NamedTuple):
    """A trained system: its parameters, how it was trained, and on which form of the inputs."""

    params: Params
    recipe: Recipe
    history: Array  # mean loss of each epoch
    inputs: str = "scaled"  # or "ranks", see `gt2lite.estimator._ranks`


class MeanPlanes:
    """The planes of several systems at the same rows: means of their ends.

    They go down as far as those of every system.

    Args:
        members: the planes of each system.

    >>> from gt2lite.starts import init_params
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(5, 2))
    >>> members = [Planes(init_params(X, 3, rng), X) for _ in range(2)]
    >>> both, alone = MeanPlanes(members)(0.5)[0], [planes(0.5)[0] for planes in members]
    >>> bool(np.allclose(both, np.mean(alone, axis=0)))
    True
    """

    def __init__(self, members: Sequence[Planes]) -> None:
        self.members = tuple(members)

    def __call__(self, alpha: float | Array) -> tuple[Array, Array]:
        """Return lower and upper ends (N,) of one plane, or of a plane for each row (N,)."""
        lower, upper = self._mean(lambda planes: np.stack(planes(alpha)))
        return lower, upper

    def __len__(self) -> int:
        return len(self.members[0].X)

    def ends(self, alphas: Sequence[float] | Array) -> Array:
        """Return the ends (2, K, N) of the planes `alphas` (K,)."""
        return self._mean(lambda planes: planes.ends(alphas))

    def output(self, alphas: Sequence[float] | Array) -> Array:
        """Return the output (N,), each system being made of the planes `alphas`."""
        return self._mean(lambda planes: planes.output(alphas))

    @property
    def alpha_min(self) -> float:
        """The lowest plane that all systems have."""
        return max(planes.alpha_min for planes in self.members)

    def parts(self) -> Iterator[tuple[slice, MeanPlanes]]:
        """Yield the rows in stretches whose memberships can be kept: (rows, their planes)."""
        fits = min(next(planes.parts())[0].stop for planes in self.members)
        size = max(fits // len(self.members), 1)
        if len(self) <= size:
            yield slice(0, len(self)), self
            return
        for start in range(0, len(self), size):
            rows = slice(start, min(start + size, len(self)))
            yield rows, MeanPlanes([Planes(p.params, p.X[rows]) for p in self.members])

    def _mean(self, ask: Callable[[Planes], Array]) -> Array:
        total = ask(self.members[0])
        for planes in self.members[1:]:
            total = total + ask(planes)
        return total / len(self.members)


def seeds_of(seed: Any, n: int) -> list[Any]:
    """Return the seeds of `n` systems; the first is the one given, where that is a number.

    >>> seeds_of(3, 3)
    [3, [3, 1], [3, 2]]
    """
    if n == 1:
        return [seed]
    if isinstance(seed, int):
        return [seed, *([seed, k] for k in range(1, n))]
    drawn = np.random.default_rng(seed).integers(2**63, size=n)
    return [int(number) for number in drawn]


def call_all(
    todo: Sequence[Callable[[], R]],
    n_jobs: int | None = None,
    done: Callable[[str], object] = lambda told: None,
    found: list[R] | None = None,
) -> list[R]:
    """Return what each of several calls returns, in their order.

    Args:
        todo: the calls, such as trainings.
        n_jobs: None or 1 for one after another; otherwise processes, -1 for one each, but no
            more than four for each core, which share the cores evenly. Needs joblib.
        done: called after each of them.
        found: a list that outcomes are added to as they come, for whoever is interrupted.
    """
    found = [] if found is None else found
    for outcome in _outcomes(todo, n_jobs):
        found.append(outcome)
        done("")
    return found


def _outcomes(todo: Sequence[Callable[[], R]], n_jobs: int | None) -> Iterable[R]:
    if n_jobs in (None, 1) or len(todo) == 1:
        return (call() for call in todo)
    joblib = _import_joblib()
    most = 4 * joblib.cpu_count() if n_jobs == -1 else n_jobs
    pool = joblib.Parallel(n_jobs=min(len(todo), most), return_as="generator", batch_size=1)
    outcomes: Iterable[R] = pool(joblib.delayed(call)() for call in todo)
    return outcomes


def _import_joblib() -> Any:
    try:
        import joblib
    except ImportError:
        raise ImportError(
            "n_jobs other than None and 1 needs joblib, which is not installed: pip install "
            "'gt2lite[parallel]', or leave n_jobs as it is"
        ) from None
    return joblib
