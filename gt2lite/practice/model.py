"""The learned state of an estimator: trained systems, the tables they take, their calibration.

`Ensemble` is what training gives, in scaled units: `System`s, whose planes and outputs are averaged
(`MeanPlanes`), and the family of intervals. `Model` adds all that connects it with tables of users:
scales, columns, names, a calibration. All of them are immutable.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gt2lite._threads import one_blas_thread
from gt2lite._validation import Array, IntArray, between, whole
from gt2lite.calibration import IntervalFamily
from gt2lite.datasets import Scaler
from gt2lite.memberships import ALPHA_0
from gt2lite.practice.calibrators import (
    Calibration,
    WeightedCalibrator,
    read_groups,
    read_weights,
)
from gt2lite.practice.families import HeldOut
from gt2lite.practice.margins import MarginFamily, Margins
from gt2lite.practice.tables import Features, n_rows_of
from gt2lite.practice.types import Groups, Levels, Ratio, Settings, Table
from gt2lite.practice.warnings import warn_if_clipped, warn_if_missed
from gt2lite.recipe import Recipe
from gt2lite.system import Params, Planes, fitting_rows, weigh_planes

if TYPE_CHECKING:
    from gt2lite.practice.weights import RuleGroups

INPUTS = ("scaled", "ranks")  # forms of the inputs that a system can learn from
MAX_KNOTS = 101  # quantiles that are stored per input
SPREAD = float(np.sqrt(1 / 12))  # standard deviation of ranks that are uniform on [0, 1]

BACKGROUND = 100
"""Training rows whose mean prediction an explanation by inputs starts from, at most."""


# --------------------------------------------------------------------------------- systems


@dataclass(frozen=True, eq=False)
class Ranks:
    """Ranks of inputs, interpolated between the quantiles of the training rows.

    Attributes:
        knots: (G, M) quantiles, from the smallest to the largest value.

    >>> ranks = Ranks.fit(np.array([[0.0], [1.0], [10.0], [1000.0], [2000.0]]))
    >>> Z = ranks.transform(np.array([[1.0], [505.0], [9999.0]]))
    >>> (100 * (0.5 + SPREAD * Z)).round(9).ravel().tolist()  # in percent
    [25.0, 62.5, 100.0]
    """

    knots: Array

    @classmethod
    def fit(cls, X: Array) -> Ranks:
        """Compute the quantiles of inputs `X` (N, M)."""
        return cls(np.quantile(X, np.linspace(0, 1, min(MAX_KNOTS, max(len(X), 2))), axis=0))

    def transform(self, X: Array) -> Array:
        """Return the ranks (N, M) of inputs, with mean 0 and standard deviation 1 in training.

        A repeated value has its middle rank, so a column that was constant has rank 1/2.
        """
        grid = np.linspace(0, 1, len(self.knots))
        found = np.empty_like(X)
        for x, knots, out in zip(X.T, self.knots.T, found.T, strict=True):
            # equal knots: from the left the highest of their ranks, from the right the lowest
            low = np.interp(x, knots, grid)
            high = 1 - np.interp(-x, -knots[::-1], grid)
            out[:] = (low + high) / 2
            if knots[0] == knots[-1]:
                out[:] = 0.5
        return (found - 0.5) / SPREAD


def input_forms(X: Array, ranks: Ranks) -> dict[str, Array]:
    """Return scaled inputs (N, M) in each form of `INPUTS`."""
    return {"scaled": X, "ranks": ranks.transform(X)}


class System(NamedTuple):
    """A trained system: its parameters, its training, and the form of its inputs."""

    params: Params
    recipe: Recipe
    history: Array  # mean loss of each epoch
    inputs: str = "scaled"  # or "ranks"
    leads: IntArray | None = (
        None  # (P,) training rows on which each rule leads, if they were counted
    )


class MeanPlanes(IntervalFamily):
    """The planes of several systems at the same rows: means of their lower and upper bounds."""

    def __init__(self, members: Sequence[Planes]) -> None:
        self.members = tuple(members)

    def __len__(self) -> int:
        return len(self.members[0].X)

    def ends(self, alphas: Sequence[float] | Array) -> Array:
        """Return the bounds (2, K, N) of the planes `alphas` (K,) or (K, N)."""
        with one_blas_thread():  # once for all
            return reduce(np.add, (one.ends(alphas) for one in self.members)) / len(self.members)

    def output(self, alphas: Sequence[float] | Array) -> Array:
        """Return the output (N,), with each system made of the planes `alphas`."""
        return weigh_planes(self.ends(alphas), np.asarray(alphas, dtype=float))

    @property
    def alpha_min(self) -> float:
        """The lowest plane that all systems have."""
        return max(planes.alpha_min for planes in self.members)

    def parts(self) -> Iterator[tuple[slice, MeanPlanes]]:
        """Yield blocks of rows whose memberships fit into memory: (rows, their planes)."""
        size = fitting_rows(sum(planes.params["c"].size for planes in self.members))
        if len(self) <= size:
            yield slice(0, len(self)), self
            return
        for start in range(0, len(self), size):
            rows = slice(start, min(start + size, len(self)))
            yield rows, MeanPlanes([Planes(p.params, p.X[rows]) for p in self.members])


class WithOutput(IntervalFamily):
    """Planes that compute the output of their systems along with the first question.

    Attributes:
        centre: the output (N,), once intervals were asked for, as that of a `MarginFamily`.
    """

    centre: Array

    def __init__(self, planes: Planes | MeanPlanes, alphas: Array) -> None:
        self.planes, self.alphas = planes, alphas

    def ends(self, alphas: Sequence[float] | Array) -> Array:
        """Return the bounds (2, K, N) of the planes `alphas` (K,) or (K, N)."""
        asked, own = np.asarray(alphas, dtype=float), self.alphas
        n, shape = len(own), (len(own), *asked.shape[1:])
        own = np.broadcast_to(own.reshape(-1, *[1] * (asked.ndim - 1)), shape)
        ends = self.planes.ends(np.concatenate([own, asked]))
        self.centre = weigh_planes(ends[:, :n], self.alphas)
        return ends[:, n:]

    @property
    def alpha_min(self) -> float:
        """The lowest plane of the systems."""
        return self.planes.alpha_min


class Candidate(NamedTuple):
    """A candidate of the selection and its score; `GT2Regressor.chosen_` consists of these."""

    settings: Settings  # those in which it differs from the first candidate
    n_folds: int  # folds on which it was scored
    epochs: int  # length of training with the best score
    score: float  # geometric mean of interval scores, in standard deviations of the target
    kept: bool


@dataclass(frozen=True, eq=False)
class Ensemble:
    """The result of training in scaled units: systems, inputs and family of intervals."""

    systems: tuple[System, ...]
    alphas: Array  # planes that make up the output
    ranks: Ranks | None = None  # None if no system learns from ranks
    margins: Margins | None = None  # None if the intervals are planes
    candidates: tuple[Candidate, ...] = ()  # of the selection, best first
    sides: str = "both"  # or "each", if each bound had better have a rank of its own
    limits: Array | None = None  # (2, M) range of training inputs, to which new ones are clipped
    held_out: HeldOut | None = None  # training rows, predicted by systems that have not seen them

    def __getstate__(self) -> dict[str, object]:
        return vars(self) | {"held_out": None}  # large, and needed only right after training

    @classmethod
    def of(cls, systems: Iterable[System], **rest: Any) -> Ensemble:
        """Return the ensemble of some systems, which share their planes."""
        found = tuple(systems)
        return cls(found, found[0].recipe.planes.alphas, **rest)

    def with_systems(self, systems: Iterable[System]) -> Ensemble:
        """Return the same ensemble with other systems."""
        found = tuple(systems)
        return replace(self, systems=found, alphas=found[0].recipe.planes.alphas, held_out=None)

    def with_margins(self, power: float, X: Array) -> Ensemble:
        """Return the same systems with margins; their usual width is that at `X` (N, M)."""
        lower, upper = self.planes(X)(ALPHA_0)
        usual = float(np.mean(upper - lower)) or 1.0  # all widths may be zero
        return replace(self, margins=Margins(power, usual))

    @property
    def first(self) -> System:
        """The first system."""
        return self.systems[0]

    def pick(self, system: int) -> System:
        """Return one of the systems by its number, counted from 0."""
        return self.systems[whole("system", system, 0, len(self.systems) - 1)]

    def planes(self, X: Array, keep: bool = True) -> Planes | MeanPlanes:
        """Return the planes at scaled inputs `X` (N, M); see `Planes` for `keep`."""
        forms = self._forms(X)
        members = [Planes(system.params, forms[system.inputs], keep) for system in self.systems]
        return members[0] if len(members) == 1 else MeanPlanes(members)

    def family(self, planes: Planes | MeanPlanes) -> Planes | MeanPlanes | MarginFamily:
        """Return the intervals to calibrate: the planes, or margins around the output."""
        return planes if self.margins is None else self.margins.around(planes, self.alphas)

    def inputs(self, X: Array, system: int) -> Array:
        """Return scaled inputs (N, M) in the form that a system learns from."""
        return self._forms(X)[self.systems[system].inputs]

    def _forms(self, X: Array) -> dict[str, Array]:
        """Return scaled inputs (N, M) in all forms, within the range of training if that is set.

        Consequents are linear: far outside that range they would predict almost anything.
        """
        X = X if self.limits is None else np.clip(X, *self.limits)
        return {"scaled": X} if self.ranks is None else input_forms(X, self.ranks)


# ------------------------------------------------------------------------- the whole model


class Fidelity(NamedTuple):
    """How well a small system stands for a large one, see `GT2Regressor.readable`."""

    agreement: float  # R^2 of the predictions
    loss: float  # of interval score at 90%, relative
    n_rows: int  # held-out rows that measured both

    def __str__(self) -> str:
        worse = "worse" if self.loss >= 0 else "better"
        return (
            f"predictions agree with R^2 = {self.agreement:.3f}, the interval score at 90% is "
            f"{abs(self.loss):.1%} {worse} (on {self.n_rows} held-out rows)"
        )


class Reference(NamedTuple):
    """Two numbers for each of Q calibration rows, by which new rows are compared with them."""

    leaders: IntArray  # (Q,) index of the rule of the first system that weighs most
    distances: Array  # (Q,) from the nearest rule, see `gt2lite.practice.weights.rule_distance`


@dataclass(frozen=True, eq=False)
class CalibrationResult:
    """What was learned in calibration."""

    calibrator: Calibration
    rule_groups: RuleGroups | None = None  # if rows are grouped by their leading rule
    rows: IntArray | None = None  # those that `fit_calibrate` did not train on
    split: str | None = None  # a description of that split
    ratio: Ratio | None = None  # computes the weights of new rows
    reference: Reference | None = None  # with calibrations by rank
    reported: set[float] = field(default_factory=set)  # levels that were checked for a miss

    def check_levels(self, coverage: Levels) -> None:
        """Warn, once for each level, if calibration rows miss it by far."""
        for level in map(float, np.ravel(coverage)):
            if level not in self.reported:
                self.reported.add(level)
                warn_if_missed(self.calibrator, level)


@dataclass(frozen=True, eq=False)
class Model:
    """Everything that a `GT2Regressor` has learned, in one object that never changes.

    An estimator that learns replaces its `model_` by another one. That is one assignment: an error
    or Ctrl-C before it leaves the old state.
    """

    ensemble: Ensemble
    scaler: Scaler
    features: Features  # columns of the table
    names: tuple[str, ...]  # of the inputs
    marks: Array  # a hash of each training row
    settings: Settings  # of the estimator when it was fitted
    seen: Array | None = None  # (2, M) values between which rules are described, see `middle`
    background: Array | None = None  # scaled training rows that explanations start from
    calibration: CalibrationResult | None = None
    fidelity: Fidelity | None = None  # of a system that imitates another

    def with_ensemble(self, ensemble: Ensemble) -> Model:
        """Return a model with other systems, which is not calibrated."""
        return replace(self, ensemble=ensemble, calibration=None, fidelity=None)

    def with_split(self, rows: IntArray, words: str) -> Model:
        """Return the calibrated model with a description of the split that calibrated it."""
        return replace(self, calibration=replace(self.calibrated(), rows=rows, split=words))

    def at_row(self, table: Table, ratio: Ratio | None) -> Model:
        """Return the model with its calibration for one row, whose weight `ratio` computes."""
        weights, found = weights_of(table, ratio), self.calibration
        if weights is None or found is None or not isinstance(found.calibrator, WeightedCalibrator):
            return self
        calibrator = found.calibrator.at_weight(float(weights[0]))
        return replace(self, calibration=replace(found, calibrator=calibrator))

    def scale(self, X: Table) -> Array:
        """Return the rows of a table as scaled inputs (N, M)."""
        return self.scaler.transform_X(self.features.inputs(X))

    def planes(self, scaled: Array, keep: bool = False) -> Planes | MeanPlanes:
        """Return the planes at scaled inputs (N, M), with a warning if some were clipped by far."""
        if self.ensemble.limits is not None:
            warn_if_clipped(scaled, self.ensemble.limits, self.names)
        return self.ensemble.planes(scaled, keep)

    def predict(self, inputs: Array) -> Array:
        """Return the prediction (N,) at inputs (N, M), both in units of the data."""
        planes = self.planes(self.scaler.transform_X(inputs))
        return self.scaler.inverse_y(planes.output(self.ensemble.alphas))

    def family(self, inputs: Array) -> Planes | MeanPlanes | MarginFamily:
        """Return the intervals to calibrate, in scaled units, at inputs (N, M) in units of X."""
        return self.ensemble.family(self.ensemble.planes(self.scaler.transform_X(inputs)))

    def family_with_output(self, inputs: Array) -> WithOutput | MarginFamily:
        """Return the same with the output as `centre`, once intervals were asked for."""
        planes = self.ensemble.planes(self.scaler.transform_X(inputs), keep=False)
        if self.ensemble.margins is None:
            return WithOutput(planes, self.ensemble.alphas)
        return self.ensemble.margins.around(planes, self.ensemble.alphas)

    def calibrated(self) -> CalibrationResult:
        """Return the calibration, or raise an error if there is none."""
        if self.calibration is None:
            raise RuntimeError(
                "this estimator is not calibrated: call calibrate(X_cal, y_cal) with rows that "
                "were not trained on, or fit_calibrate(X, y) instead of fit. The uncalibrated "
                f"envelope is predict_interval(X, alpha={ALPHA_0})"
            )
        return self.calibration

    def groups_of(self, scaled: Array, groups: Groups) -> list[str | int] | None:
        """Return the groups of scaled rows: those given, or the leading rules."""
        by_rule = self.calibrated().rule_groups
        if by_rule is None:
            return None if groups is None else read_groups(groups, len(scaled))
        if groups is not None:
            raise ValueError("groups must be None: the calibration is by rules")
        return by_rule.labels(self.ensemble, scaled)


def weights_of(X: Table, ratio: Ratio | None, given: ArrayLike | None = None) -> Array | None:
    """Return the weights (N,) of new rows `X`: those given, or by a function; None without both."""
    if given is None:
        if ratio is None:
            return None
        given = ratio(X)
    read_weights("sample_weight", given, n_rows_of(X))
    return np.asarray(given, dtype=float)


def read_plane(
    alpha: float, coverage: Levels | None, groups: object, sample_weight: object = None
) -> float:
    """Return a plane that is asked for, which excludes a level, groups and weights."""
    if coverage is not None:
        raise ValueError(f"coverage must be None if alpha is given: got {coverage!r} and {alpha!r}")
    if groups is not None:
        raise ValueError("groups cannot be combined with alpha: pass coverage instead")
    if sample_weight is not None:
        raise ValueError("sample_weight cannot be combined with alpha: pass coverage instead")
    return between("alpha", alpha, ALPHA_0, 1, closed=True)


# ------------------------------------------------------------- summaries of training rows


def middle(X: Array) -> Array:
    """Return the values (2, M) between which a rule is described: the middle 95% of scaled rows.

    A column of two values keeps both, however rare one is: scaled, their product is -1.

    >>> X = np.array([[0.0]] * 99 + [[1.0]])
    >>> middle((X - X.mean()) / X.std()).prod().round(9)
    np.float64(-1.0)
    """
    ends = np.stack([X.min(axis=0), X.max(axis=0)])
    some = X[:: max(len(X) // 10_000, 1)]  # quantiles of all rows would copy the table
    inner = np.quantile(some, [0.025, 0.975], axis=0)
    return np.where(two_valued(ends), ends, inner)


def two_valued(ends: Array) -> NDArray[np.bool_]:
    """Return which columns (M,) of mean 0 and variance 1 take no value between their `ends`."""
    return np.isclose(ends[0] * ends[1], -1, rtol=1e-9)


def draw_background(X: Array, seed: object, most: int = BACKGROUND) -> Array:
    """Return at most `most` of the rows `X` (N, M), drawn by the seed if it is a number."""
    rng = np.random.default_rng(seed if isinstance(seed, int) else 0)
    return X[np.sort(rng.permutation(len(X))[:most])]
