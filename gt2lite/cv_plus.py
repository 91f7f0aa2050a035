"""CV+: intervals from a data set too small to set rows aside."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from gt2lite import model_file
from gt2lite._progress import progress_bar
from gt2lite._sklearn import Regressor, not_fitted_error
from gt2lite._validation import (
    LARGEST_SEED,
    Array,
    IntArray,
    Names,
    between,
    match_table,
    n_axes,
    read_seed,
    read_table,
    read_target,
    vector,
    whole,
)
from gt2lite.calibration import (
    DEFAULT_COVERAGE,
    CoverageError,
    Cut,
    Scores,
    critical_scores,
    cut_ends,
    plain_fraction,
    rank,
)
from gt2lite.datasets import check_target
from gt2lite.regressor import GT2Regressor, interval_frame
from gt2lite.selection import call_all

AT_ONCE = 2**21
"""How many ends of intervals are held in memory at once."""


class CVPlusRegressor(Regressor):  # type: ignore[misc]
    """Prediction intervals from all rows of a small table: CV+ for nested intervals.

    The rows are dealt into folds. For each fold a system is trained without it, and its rows are
    scored: which plane just covers them? At a new row, each of the N old rows gives the ends
    of that plane, of the system that has not seen it. At the level 1 - a the interval leaves out
    the share a of the lower ends that lie lowest, and the share a of the upper ends that lie
    highest.

    In practice it covers about as often as asked. What is promised is less, `promised(coverage)`:
    at least 1 - 2 a - 2 (1 - 1/K) / (N/K + 1) with K folds, for exchangeable rows. Every choice
    inside training is made again in each fold, as this needs. From about a thousand rows on set
    some of them aside: `GT2Regressor.fit_calibrate` promises the level itself, and trains once.

    Args:
        system: the unfitted `GT2Regressor` to train; None for `GT2Regressor.strong()`.
        n_folds: number K of folds. More folds train on more rows each; fewer promise more. Rows
            that are left over when they are dealt evenly train all systems and are not scored.
        n_jobs: processes that train; None for one, -1 for one a fold. Needs joblib.
        random_state: the seed of the folds.

    Attributes:
        systems_: the trained `GT2Regressor` of each fold.
        fold_: the fold (N,) of each row of `fit`; -1 for a row left over.
        scores_: for each fold the `gt2lite.calibration.Scores` of its rows.
        n_scored_: the number of rows with a score.
        n_features_in_, feature_names_in_: the columns seen in `fit`; names where X had them.

    >>> from gt2lite import GT2Regressor, load_dataset
    >>> from gt2lite.cv_plus import CVPlusRegressor
    >>> data = load_dataset("pp")
    >>> system = GT2Regressor(n_rules=3, epochs=20, learning_rate=0.02)
    >>> reg = CVPlusRegressor(system).fit(data.X[:100], data.y[:100])
    >>> lower, upper = reg.predict_interval(data.X[100:300], coverage=[0.8, 0.9])
    >>> lower.shape, round(reg.promised(0.9), 3)
    ((200, 2), 0.724)
    """

    def __init__(
        self,
        system: GT2Regressor | None = None,
        n_folds: int = 5,
        n_jobs: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.system = system
        self.n_folds = n_folds
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Train a system for each fold of `X` (N, M), an array or data frame, and `y` (N,)."""
        values, names = read_table(X)
        target = read_target(y, len(values), type(self).__name__)
        system = self._system()
        check_target(system.target_transform, target)  # while rows have their own numbers
        n_folds = whole("n_folds", self.n_folds, 2)
        fold = deal(len(values), n_folds, read_seed(self.random_state))
        settings = system.get_params()
        calls = [
            partial(_learn, settings, values, target, fold != k, names) for k in range(n_folds)
        ]
        with progress_bar(n_folds, "training", "fold", show=system.verbose) as done:
            found = list(call_all(calls, self.n_jobs, done))
        self.__dict__.pop("feature_names_in_", None)
        self._keep(fold, [one for one, _ in found], [scores for _, scores in found])
        return self

    def predict(self, X: Any) -> Array:
        """Return the prediction (N,) for inputs `X` (N, M): the mean over the systems."""
        values = self._read(X)
        return np.mean([system.predict(values) for system in self.systems_], axis=0)

    def predict_interval(
        self,
        X: Any,
        coverage: float | Sequence[float] | None = None,
        *,
        as_frame: bool = False,
    ) -> Any:
        """Return the lower and upper ends of prediction intervals, nested from level to level.

        Args:
            X: inputs (N, M).
            coverage: the level (0.9 if None), or several of them; see `promised`.
            as_frame: whether to return a data frame, see `GT2Regressor.predict_interval`.

        Returns:
            Two arrays (N,), or (N, L) for a sequence of L levels.
        """
        values = self._read(X)
        coverage = DEFAULT_COVERAGE if coverage is None else coverage
        ranks = [self._rank(level) for level in _levels(coverage)]
        lower, upper = np.empty((2, len(values), len(ranks)))
        above = np.array(ranks, dtype=int) - 1  # of N ends, the smallest first
        below = self.n_scored_ - 1 - above
        for rows in _stretches(len(values), self.n_scored_):
            ends = np.concatenate(self._ends(values[rows]), axis=1)  # (2, scores, rows)
            ends.sort(axis=1)
            lower[rows], upper[rows] = ends[0, below].T, ends[1, above].T
        if n_axes("coverage", coverage) == 0:
            lower, upper = lower[:, 0], upper[:, 0]
        return interval_frame(X, lower, upper, coverage) if as_frame else (lower, upper)

    def promised(self, coverage: float) -> float:
        """Return the coverage that is sure at a level, for exchangeable rows; 0 for nothing.

        It is an average over tables like this one and over new rows, as for every conformal method.
        """
        self._check_fitted()
        miss = 1 - plain_fraction(between("coverage", coverage, 0, 1))
        n, n_folds = self.n_scored_, len(self.systems_)
        return max(0.0, float(1 - 2 * miss) - 2 * (1 - 1 / n_folds) / (n / n_folds + 1))

    # -------------------------------------------------------------- save and load

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all systems and the scores of their rows to one JSON file at exactly this path."""
        self._check_fitted()
        folds = [
            {"regressor": model_file.pack_regressor(system), "scores": scores.arrays()}
            for system, scores in zip(self.systems_, self.scores_, strict=True)
        ]
        seed = model_file.plain_seed(self.random_state)
        content = {"random_state": seed, "fold": self.fold_, "folds": folds}
        model_file.write(path, "cv plus", content)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return the regressor that `save` wrote to `path`; nothing in the file is executed.

        Raises:
            FileFormatError: the file is damaged, of another kind or of a later version.
        """
        return model_file.load(path, "cv plus", cls._unpack)

    @classmethod
    def _unpack(cls, content: dict[str, Any]) -> Self:
        """Return the regressor that the content of a model file describes."""
        seed, fold, folds = model_file.pick(content, "random_state", "fold", "folds")
        fold, n_folds = vector("fold", fold), whole("n_folds", len(folds), 2)
        seed = None if seed is None else whole("random_state", seed, 0, LARGEST_SEED)
        if not np.isin(fold, np.arange(-1, n_folds)).all():
            raise ValueError("fold must hold the numbers of folds")
        systems, scores = [], []
        for k, one in enumerate(folds):
            regressor, arrays = model_file.pick(one, "regressor", "scores")
            systems.append(model_file.unpack_regressor(GT2Regressor, regressor))
            scores.append(Scores.from_arrays(arrays))
            if len(scores[k]) != np.sum(fold == k):
                raise ValueError(f"fold {k} must have as many scores as rows")
        if len({system.n_features_in_ for system in systems}) != 1:
            raise ValueError("all systems must have the same inputs")
        self = cls(GT2Regressor(**systems[0].get_params()), n_folds, None, seed)
        self._keep(fold.astype(int), systems, scores)
        return self

    # ------------------------------------------------------------------ inside

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "systems_")

    def _keep(
        self, fold: IntArray, systems: Sequence[GT2Regressor], scores: Sequence[Scores]
    ) -> None:
        self.systems_, self.scores_, self.fold_ = tuple(systems), tuple(scores), fold
        self.n_scored_ = sum(map(len, scores))
        first = systems[0]
        self.n_features_in_ = first.n_features_in_
        if hasattr(first, "feature_names_in_"):
            self.feature_names_in_ = first.feature_names_in_

    def _system(self) -> GT2Regressor:
        if self.system is None:
            return GT2Regressor.strong()
        if not isinstance(self.system, GT2Regressor):
            raise TypeError(f"system must be a GT2Regressor or None, got {self.system!r}")
        return self.system

    def _rank(self, level: Any) -> int:
        """Return which of the upper ends, from below, a level asks for."""
        n, level = self.n_scored_, between("coverage", level, 0, 1)
        if (k := rank(level, n + 1)) > n:
            raise CoverageError(
                f"coverage {level} is out of reach: {n} rows were scored, which answer levels up "
                f"to {n / (n + 1):.4f}; use a lower level or more rows"
            )
        return k

    def _ends(self, values: Array) -> list[Array]:
        """Return for each fold the ends (2, scores, N) that its rows give to new ones."""
        found = []
        for system, scores in zip(self.systems_, self.scores_, strict=True):
            learnt = system._fitted()
            family = learnt.family(learnt.planes(system.scaler_.transform_X(values)))
            planes, which = np.unique(scores.alpha, return_inverse=True)
            cuts = [Cut(plane if plane > 0 else math.nan) for plane in planes]
            ends = cut_ends(family, [(cut, cut) for cut in cuts])[:, which]
            ends += np.stack([-scores.margin, scores.margin])[:, :, None]
            found.append(system.scaler_.inverse_bounds(ends))
        return found

    def _read(self, X: Any) -> Array:
        self._check_fitted()
        names = getattr(self, "feature_names_in_", None)
        return match_table(X, self.n_features_in_, names, type(self).__name__)

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise not_fitted_error(type(self).__name__)


def deal(n_rows: int, n_folds: int, seed: Any) -> IntArray:
    """Return the fold (N,) of each row, in folds of equal size; -1 for rows that are left over.

    >>> deal(8, 3, 0)
    array([-1, -1,  1,  2,  2,  0,  0,  1])
    """
    size = n_rows // n_folds
    if size == 0:
        raise ValueError(f"{n_folds=} is more than there are rows, n_samples={n_rows}")
    rng = np.random.default_rng([2, seed] if isinstance(seed, int) else seed)
    fold = np.full(n_rows, -1)
    fold[rng.permutation(n_rows)[: n_folds * size]] = np.repeat(np.arange(n_folds), size)
    return fold


def _learn(
    settings: dict[str, Any], X: Array, y: Array, use: NDArray[np.bool_], names: Names | None
) -> tuple[GT2Regressor, Scores]:
    """Train on some rows, and score the others."""
    system = GT2Regressor(**settings | {"verbose": False}).fit(X[use], y[use])
    if names is not None:
        system.feature_names_in_ = names
    learnt, scaler = system._fitted(), system.scaler_
    family = learnt.family(learnt.planes(scaler.transform_X(X[~use])))
    return system, critical_scores(family, scaler.transform_y(y[~use]))


def _levels(coverage: Any) -> Array:
    return vector("coverage", np.atleast_1d(coverage))


def _stretches(n_rows: int, n_scores: int) -> Iterator[slice]:
    step = max(1, AT_ONCE // (2 * n_scores))
    return (slice(start, start + step) for start in range(0, n_rows, step))
