"""Calibration for estimators: sides, groups, reports and stored state.

The methods are those of `gt2lite.calibration`. "table" and "search" are the same classes with
reports and state added. "exact" and "conformal" are one `RankCalibrator`: it may also give each
bound a plane of its own, a `GroupCalibrator` gives each group of samples planes of its own, and a
`WeightedCalibrator` gives samples weights, see `gt2lite.practice.shift`.
"""

from __future__ import annotations

import copy
import math
from abc import abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from itertools import accumulate
from numbers import Integral
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from gt2lite._validation import Array, IntArray, between, numbers, one_of, vector, warn
from gt2lite.calibration import (
    CALIBRATORS,
    FEW_SAMPLES,
    HALVINGS,
    ONE,
    Calibrator,
    CoverageError,
    Cut,
    ExactCalibrator,
    Interval,
    Levels,
    PlainFamily,
    PlaneCalibrator,
    Scores,
    SearchCalibrator,
    SmallCalibrationWarning,
    TableCalibrator,
    cut_ends,
    fewest_ranked,
    find_cut,
    plain_fraction,
    read_levels,
)
from gt2lite.memberships import ALPHA_0, alpha_of, kappa_of

DEFAULT_COVERAGE = 0.9
"""The coverage of `predict_interval` if none is given."""

RANKED = ("exact", "conformal")
"""The methods that calibrate by rank."""

# ---------------------------------------------------------------------------------- sides and tails

Tails = tuple[float, float]
"""The shares of the misses that may lie below and above an interval; they add up to 1."""

Cuts = tuple[Cut, Cut]
"""Where the lower and the upper bound are cut."""

EQUAL_TAILS = (0.5, 0.5)
"""The lower and the upper bound may miss equally often."""

OPEN = Cut(math.nan, math.inf)
"""An infinite bound."""


def read_tails(tails: ArrayLike) -> tuple[Fraction, Fraction]:
    """Return the shares of the misses that may lie below and above, in exact arithmetic.

    >>> read_tails((0.2, 0.8))
    (Fraction(1, 5), Fraction(4, 5))
    """
    shares = [plain_fraction(share) for share in vector("tails", tails).tolist()]
    if len(shares) != 2 or sum(shares) != 1 or min(shares) < 0:
        raise ValueError(
            "tails must be two shares that add up to 1, of the misses below and above, such as "
            f"(0.2, 0.8), got {tails!r}"
        )
    return shares[0], shares[1]


def tails_of(sides: str, tails: Tails | None = None) -> Tails | None:
    """Return the shares of the misses below and above; None for one plane for both bounds.

    >>> tails_of("upper"), tails_of("each"), tails_of("each", (0.2, 0.8)), tails_of("both")
    ((0.0, 1.0), (0.5, 0.5), (0.2, 0.8), None)
    """
    usual = {"both": None, "each": EQUAL_TAILS, "lower": (1.0, 0.0), "upper": (0.0, 1.0)}
    one_of("sides", sides, usual)
    if tails is not None and sides != "each":
        raise ValueError(f"tails must be None unless sides='each', got sides={sides!r}")
    return usual[sides] if tails is None else tails


def fewest_samples(coverage: float, sides: str = "both", tails: Tails | None = None) -> int:
    """Return how many calibration samples a conformal calibration needs to reach a level.

    >>> fewest_samples(0.9), fewest_samples(0.9, "each"), fewest_samples(0.9, "each", (0.2, 0.8))
    (9, 19, 49)
    """
    tails = tails_of(sides, tails)
    share = Fraction(1) if tails is None else min(tail for tail in read_tails(tails) if tail)
    return fewest_ranked(plain_fraction(coverage), share)


def find_cuts(
    scores: Scores, coverage: float, method: str, sides: str = "both", tails: Tails = EQUAL_TAILS
) -> Cuts:
    """Return where the lower and upper bounds are cut for a level, from the scores of Q samples.

    Args:
        scores: where each sample is first covered.
        coverage: the level.
        method: "exact" or "conformal", see `gt2lite.calibration.find_cut`.
        sides: "both" for one cut, with all misses; "each" for one cut for each bound.
        tails: with "each", the shares of the misses below and above. A bound without any is open.
    """
    return cut_sides(scores, sides, tails, lambda one, tail: find_cut(one, coverage, method, tail))


def cut_sides(
    scores: Scores, sides: str, tails: Tails, cut: Callable[[Scores, Fraction], Cut]
) -> Cuts:
    """Return one cut for both bounds, or one for each, given its scores and share of the misses."""
    if sides == "both":
        both = cut(scores, ONE)
        return both, both
    below, above = read_tails(tails)
    return (
        cut(scores.lower, below) if below else OPEN,
        cut(scores.upper, above) if above else OPEN,
    )


# ------------------------------------------------------------------------------------------ weights


def read_weights(name: str, weights: ArrayLike, n: int) -> list[Fraction]:
    """Return `n` weights as exact fractions; floats are fractions, too.

    >>> read_weights("weights", [1, Fraction(1, 3), 0.5], 3)
    [Fraction(1, 1), Fraction(1, 3), Fraction(1, 2)]
    """
    values = numbers(name, weights)
    if values.shape != (n,):
        raise ValueError(f"{name} must be a 1-D array of length {n}, got shape {values.shape}")
    if values.min() < 0:
        raise ValueError(f"{name} must not be negative, got {values.min():g}")
    cells = np.asarray(weights).tolist()
    return [Fraction(cell.item() if isinstance(cell, np.generic) else cell) for cell in cells]


def effective_size(weights: ArrayLike) -> float:
    """Return Kish's effective number of samples, (sum of w)^2 / (sum of w^2); 0 if all w are 0.

    >>> effective_size([1, 1, 1, 1]), effective_size([2, 1, 1, 0])
    (4.0, 2.6666666666666665)
    """
    w = numbers("weights", weights)
    if w.max() <= 0:
        return 0.0
    w = w / w.max()
    return float(w.sum() ** 2 / (w**2).sum())


def weighted_ranks(
    weights: list[Fraction], new_weights: list[Fraction], probability: Fraction
) -> IntArray:
    """Return the ranks (N,) among Q scores that N new samples need, Q + 1 if out of reach.

    A rank is the smallest k such that the first k weights add up to a share of at least
    `probability` of the sum of all Q weights and that of the new sample, in exact arithmetic.

    Args:
        weights: those of the Q samples, in rising order of their scores.
        new_weights: those of the new samples.
        probability: that a new sample is to be covered with.

    >>> one = Fraction(1)
    >>> weighted_ranks([one] * 99, [one], Fraction(9, 10)).tolist()  # as rank(0.9, 99 + 1)
    [90]
    >>> weighted_ranks([one] * 99, [0 * one, 11 * one, 12 * one], Fraction(9, 10)).tolist()
    [90, 99, 100]
    """
    unit = math.lcm(*{w.denominator for w in (*weights, *new_weights)})
    known, new = (
        [w.numerator * (unit // w.denominator) for w in some] for some in (weights, new_weights)
    )
    sums = list(accumulate(known))
    share, whole = probability.numerator, probability.denominator
    return np.array([bisect_left(sums, -(-share * (sums[-1] + w) // whole)) + 1 for w in new])


def weighted_cuts(
    scores: Scores,
    weights: ArrayLike,
    new_weights: ArrayLike,
    coverage: float = DEFAULT_COVERAGE,
    sides: str = "both",
    tails: Tails = EQUAL_TAILS,
    *,
    strict: bool = False,
) -> Cuts:
    """Return where the lower and upper bounds of N new samples are cut, for a level.

    A bound is open if the level is out of reach for a sample, because its own weight is too large
    a share of all; a `SmallCalibrationWarning` reports how many. A `CoverageError` is raised if the
    effective number of calibration samples is smaller than the number that equal weights would
    need.

    Args:
        scores: where each of Q calibration samples is first covered.
        weights: those of the calibration samples (Q,).
        new_weights: those of the new samples (N,).
        coverage: the level.
        sides: "both" for one cut, "each" for one for each bound.
        tails: with "each", the shares of the misses below and above. A bound without any is open.
        strict: whether a level out of reach for a new sample is a `CoverageError` as well.
    """
    phi = plain_fraction(between("coverage", coverage, 0, 1))
    w = read_weights("weights", weights, len(scores))
    new = read_weights("new_weights", new_weights, np.size(np.asarray(new_weights)))
    size = effective_size(weights)
    needed = fewest_samples(coverage, sides, None if sides == "both" else tails)
    if size < needed * (1 - 1e-9):  # equal weights may be rounded
        raise CoverageError(
            f"the weights leave an effective number of {size:.3g} calibration samples, and "
            f"coverage {float(phi):g} needs at least {needed}: use a lower level, or calibration "
            "rows that are more like the new rows"
        )

    def cut(one: Scores, tail: Fraction) -> Cut:
        order = np.argsort(one.position, kind="stable")
        ranks = weighted_ranks([w[i] for i in order], new, 1 - tail * (1 - phi))
        rising = np.append(np.where(one.alpha > 0, one.alpha, np.nan)[order], np.nan)
        found = Cut(rising[ranks - 1], np.append(one.margin[order], np.inf)[ranks - 1])
        if n_open := int((ranks > len(w)).sum()):
            what = f"coverage {float(phi):g} is out of reach for {n_open} of {len(new)} new rows"
            why = "their weights are too large a share of all weights"
            if strict:
                raise CoverageError(f"{what}: {why}")
            warn(f"{what}, whose intervals are infinite: {why}", SmallCalibrationWarning)
        return found

    return cut_sides(scores, sides, tails, cut)


# -------------------------------------------------------------------------------- reports and state

Label = str | int
"""The name or number of a group."""

ByRow = ArrayLike | None
"""A value (N,) for each sample, or none."""

Meta = Mapping[str, Any]  # values of JSON
Arrays = Mapping[str, ArrayLike]


class ReportRow(NamedTuple):
    """Planes, margins and coverage at a level, of a group or of all samples (group None)."""

    group: Label | None
    n_samples: int
    calibrated_on: str  # "all", "group", "pool" of all groups, "weights", or "nothing": too few
    alpha: float | Array  # a number, or (2,) if lower and upper bound have planes of their own
    margin: float | Array  # likewise
    reached: float  # the share of its calibration samples that is covered, by weight if any


class Calibration(Calibrator):
    """A calibrator with reports and stored state: the `calibrator_` of an estimator."""

    sides: str = "both"  # one cut for both bounds, or one for "each"
    tails: Tails = EQUAL_TAILS  # with sides="each"
    by_group: bool = False  # whether each group of samples has planes of its own
    small_groups: str = "raise"  # or "pool", see `GroupCalibrator`
    by_weight: bool = False  # whether samples have weights

    @property
    def kind(self) -> str:
        """The name in a stored state."""
        return self.method

    def fit(self, interval: Interval, y: ArrayLike, groups: ByRow = None) -> Self:
        """Learn the relation of plane and coverage from a calibration set.

        Args:
            interval: the nested intervals of the Q calibration samples.
            y: their targets (Q,).
            groups: the group of each (Q,), by name or number, for a `GroupCalibrator` only.
        """
        _refuse(groups)
        return super().fit(interval, y)

    def intervals(
        self,
        interval: Interval,
        coverage: Levels,
        groups: ByRow = None,
        weights: ByRow = None,
    ) -> tuple[Array, Array]:
        """Return lower and upper bounds (N,) of new samples at a level, or (N, L) for several.

        Args:
            interval: the nested intervals of the N new samples.
            coverage: the level, or L of them.
            groups: the group of each new sample (N,), if the calibration is by groups.
            weights: the weight of each new sample (N,), if the calibration has weights.
        """
        levels, single = read_levels(coverage)
        lower, upper = cut_ends(interval, self.cuts_of_rows(levels, groups, weights))  # (L, N) each
        return (lower[0], upper[0]) if single else (lower.T, upper.T)

    def cuts_of_rows(self, levels: Sequence[float], groups: ByRow, weights: ByRow) -> list[Cuts]:
        """Return where both bounds of new samples are cut for some levels, see `intervals`."""
        self.check_fitted()
        _refuse(groups, weights)
        return [self.cuts(level) for level in levels]

    def alpha(self, coverage: Levels, group: Label | None = None) -> float | Array:
        """Return the plane for a level; NaN if no plane covers enough and there is a `margin`.

        Args:
            coverage: the level, or L of them.
            group: which group, if the calibration is by groups.

        Returns:
            A number, or (L,) for several levels; with planes of their own for lower and upper
            bound (2,) or (2, L).
        """
        return self._part_of_cuts(0, coverage, group)

    def margin(self, coverage: Levels, group: Label | None = None) -> float | Array:
        """Return the margin added to the lowest plane for a level, 0 if a plane covers enough.

        It has the units of the intervals; arguments and shapes are those of `alpha`.
        """
        return self._part_of_cuts(1, coverage, group)

    def _part_of_cuts(self, which: int, coverage: Levels, group: Label | None) -> float | Array:
        levels, single = read_levels(coverage)
        found = [cut[which] for cut in self.cuts_of_group(levels, group)]
        return found[0] if single else np.array(found).T

    def cuts_of_group(self, levels: Sequence[float], group: Label | None = None) -> list[Cut]:
        """Return plane and margin of a group for some levels."""
        _refuse(group)
        return [self.cut(level) for level in levels]

    def sets_of(self, groups: ByRow) -> tuple[list[Scores], int | IntArray]:
        """Return the scores that new rows are compared with, and which of them each row has.

        One set of scores for all rows and the index 0; or one for each group, and indices (N,).
        """
        _refuse(groups)
        return [self.scores], 0

    def report(self, coverage: float) -> list[ReportRow]:
        """Return size, plane, margin and coverage at a level, one row for each group."""
        cut, n = self.cut(coverage), self.n_samples
        return [ReportRow(None, n, "all", cut.alpha, cut.margin, self.reached(coverage))]

    def get_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return all that `restore` needs: values for a JSON header, and arrays."""
        options = {name: getattr(self, name) for name in OPTIONS[self.kind]}
        return {"kind": self.kind, "options": options}, self.scores.arrays()

    @abstractmethod
    def set_state(self, meta: Meta, arrays: Arrays) -> None:
        """Take over what `get_state` returned, in place of `fit`."""


def _refuse(groups: object = None, weights: object = None) -> None:
    if groups is not None:
        raise ValueError("groups must be None, because this calibration is not by groups")
    if weights is not None:
        raise ValueError("sample_weight must be None, because this calibration has no weights")


# ------------------------------------------------------------------------------ the paper's methods


class PlaneCalibration(Calibration, PlaneCalibrator):
    """One of the paper's methods with reports and stored state.

    The state has the critical planes of the samples, which stand for the system and the samples
    after `restore`, and the planes that were evaluated.
    """

    @property
    def scores(self) -> Scores:
        """The critical planes of the samples, down to alpha_0."""
        family = getattr(self, "_family", None)  # none before `fit`
        return family.scores if isinstance(family, ScoreFamily) else super().scores

    def get_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return all that `restore` needs: values for a JSON header, and arrays."""
        meta, arrays = super().get_state()
        return meta, arrays | {"alpha": np.array(self.evaluated)}

    def set_state(self, meta: Meta, arrays: Arrays) -> None:
        """Take over what `get_state` returned, in place of `fit`."""
        scores, planes = Scores.from_arrays(arrays), vector("alpha", arrays["alpha"])
        if planes[0] != ALPHA_0 or not ((planes >= ALPHA_0) & (planes <= 1)).all():
            raise ValueError(f"alpha must hold planes from {ALPHA_0}, the first, to 1")
        self.learn(ScoreFamily(scores), np.zeros(len(scores)))
        for alpha in planes.tolist():
            self.coverage(alpha)


class ScoreFamily(PlainFamily):
    """Intervals that contain 0 where a plane covers the sample, made from the scores of samples."""

    def __init__(self, scores: Scores) -> None:
        self.scores, self.alpha_min = scores, ALPHA_0

    def __call__(self, alpha: float | Array) -> tuple[Array, Array]:
        """Return the intervals of a plane."""
        # scores are known to 2**-40 of kappa: a sample on the edge of the plane is inside
        cut = Cut(alpha_of(kappa_of(alpha) + 2.0 ** (1 - HALVINGS)))
        return np.zeros(len(self.scores)), np.where(self.scores.covered(cut), 0.0, -1.0)


class TableCalibration(PlaneCalibration, TableCalibrator):
    """`gt2lite.calibration.TableCalibrator` with reports and stored state."""


class SearchCalibration(PlaneCalibration, SearchCalibrator):
    """`gt2lite.calibration.SearchCalibrator` with reports and stored state."""


# ------------------------------------------------------------------------------ calibration by rank


@dataclass(eq=False)
class RankCalibrator(Calibration, ExactCalibrator):
    r"""Calibration by rank, with one plane for both bounds or a plane for each.

    With sides="each" and "conformal" a new target lies below the lower bound with probability of
    at most :math:`\tau_1 (1 - \phi)`, and above the upper bound with at most
    :math:`\tau_2 (1 - \phi)`, where the tails :math:`\tau_1 + \tau_2 = 1`. Hence it lies inside
    with at least :math:`\phi`. With tails of (1, 0) all misses lie below: the interval reaches from
    the lower bound to infinity, and the rank is that of one bound for the whole level.

    Every plane contains the plane alpha = 1, the type-1 output, so that the bounds cannot
    cross. That is also where a bound stops: if fewer than :math:`\tau (1 - \phi)` of the targets
    lie beyond the output itself, no bound leaves out as many. That can only increase coverage.

    Args:
        method: "exact" or "conformal".
        sides: "both" or "each".
        tails: with "each", shares of the misses that may lie below and above; they add up to 1.

    >>> y = np.linspace(-1, 0.5, 151)
    >>> def interval(alpha):  # from -kappa to kappa
    ...     return -kappa_of(alpha) * np.ones(151), kappa_of(alpha) * np.ones(151)
    >>> two = RankCalibrator("exact", "each").fit(interval, y)
    >>> kappa_of(two.alpha(0.8)).round(4)  # a tenth is left out on either side
    array([0.85, 0.35])
    >>> two = RankCalibrator("exact", "each", tails=(1, 0)).fit(interval, y)
    >>> lower, upper = two.intervals(interval, 0.8)
    >>> int((y < lower).sum()), float(upper[0])  # a fifth of 151 is left out below, none above
    (30, inf)
    """

    method: str = "conformal"
    sides: str = "both"
    tails: Tails = EQUAL_TAILS

    def __post_init__(self) -> None:
        one_of("method", self.method, RANKED)
        one_of("sides", self.sides, ("both", "each"))
        below, above = read_tails(self.tails)
        self.tails = float(below), float(above)
        if self.sides == "both" and self.tails != EQUAL_TAILS:
            raise ValueError(f"tails must be {EQUAL_TAILS} if sides='both', got {self.tails}")

    @property
    def kind(self) -> str:
        """The name in a stored state."""
        return self.method if self.sides == "both" else "two-sided"

    def cuts(self, coverage: float) -> Cuts:
        """Return where the lower and the upper bound are cut for a level."""
        return find_cuts(self.scores, coverage, self.method, self.sides, self.tails)

    def cut(self, coverage: float) -> Cut:
        """Return plane and margin for a level; (2,) each if the bounds have their own."""
        return self._joined(self.cuts(coverage))

    def _joined(self, cuts: Cuts) -> Cut:
        return cuts[0] if self.sides == "both" else Cut(*np.array(cuts).T)

    def set_state(self, meta: Meta, arrays: Arrays) -> None:
        """Take over what `get_state` returned, in place of `fit`."""
        self.scores = Scores.from_arrays(arrays)


@dataclass(eq=False)
class GroupCalibrator(RankCalibrator):
    """Calibration by rank within groups: each has planes of its own.

    With "conformal" the guarantee holds for each group: a new sample of a group is covered
    with probability of at least the level, if it is exchangeable with the calibration samples
    *of that group*. A group of n samples reaches levels up to n / (n + 1).

    Args:
        method, sides, tails: see `RankCalibrator`.
        small_groups: what to do about a group too small for a level: "raise" an error, or
            "pool": take the planes of all samples together, with a warning, for all levels
            that are asked for at once. These planes keep their levels on average over new
            samples of all groups; for a group that takes them, nothing is guaranteed.

    >>> y = np.append(np.linspace(-1, 1, 201), np.linspace(-0.5, 0.5, 101))
    >>> groups = ["wild"] * 201 + ["calm"] * 101
    >>> def interval(alpha):  # from -kappa to kappa
    ...     return -kappa_of(alpha) * np.ones(302), kappa_of(alpha) * np.ones(302)
    >>> by_group = GroupCalibrator("exact").fit(interval, y, groups)
    >>> [(row.group, row.n_samples, round(row.alpha, 3)) for row in by_group.report(0.9)]
    [('calm', 101, 0.394), ('wild', 201, 0.024)]
    """

    by_group, kind = True, "group"
    small_groups: str = "raise"

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("small_groups", self.small_groups, ("raise", "pool"))

    def fit(self, interval: Interval, y: ArrayLike, groups: ByRow = None) -> Self:
        """Learn from a calibration set with the group of each sample, see `Calibration.fit`."""
        rows = _rows_by_group(read_groups(groups, vector("y", y).size))
        self.learn(interval, y)
        self._rows = rows
        small = [label for label in rows if len(rows[label]) < FEW_SAMPLES]
        if small:
            n = min(map(len, rows.values()))
            warn(
                f"{len(small)} of {len(rows)} groups have fewer than {FEW_SAMPLES} calibration "
                f"samples: {self._named(small)}: coverage is known in steps of 1/{n} = {1 / n:.2g}",
                SmallCalibrationWarning,
            )
        return self

    @property
    def sizes(self) -> dict[Label, int]:
        """The number of calibration samples of each group."""
        self.check_fitted()
        return {label: len(rows) for label, rows in self._rows.items()}

    def cuts_of_rows(self, levels: Sequence[float], groups: ByRow, weights: ByRow) -> list[Cuts]:
        """Return where both bounds of new samples are cut for some levels, by their groups (N,).

        With ``small_groups="pool"`` a group that does not reach all levels takes the planes of the
        pool at all of them: intervals of one call are nested.
        """
        _refuse(weights=weights)
        labels, place = self._places(groups)
        pairs = []
        for cuts in zip(*self._cuts(levels, labels), strict=True):
            table = np.array(cuts)[place]  # (N, 2, 2): bound, alpha or margin
            pairs.append((Cut(*table[:, 0].T), Cut(*table[:, 1].T)))
        return pairs

    def cuts_of_group(self, levels: Sequence[float], group: Label | None = None) -> list[Cut]:
        """Return plane and margin of a group for some levels."""
        labels, _ = self._places(None if group is None else [group])
        return [self._joined(cuts) for cuts in self._cuts(levels, labels)[0]]

    def reached(self, coverage: float) -> float:
        """Raise an error: each group has its own, see `report`."""
        raise ValueError(NO_GROUPS)

    def sets_of(self, groups: ByRow) -> tuple[list[Scores], int | IntArray]:
        """Return the scores of each group that is present, and the place of each row's (N,)."""
        labels, place = self._places(groups)
        return [self.scores.take(self._rows[label]) for label in labels], place

    def report(self, coverage: float) -> list[ReportRow]:
        """Return size, plane, margin and coverage at a level, one row for each group."""
        rows = []
        for label, n in self.sizes.items():
            try:
                (cuts,), source = self._find([coverage], label)
            except CoverageError:
                rows.append(ReportRow(label, n, "nothing", np.nan, np.nan, np.nan))
                continue
            inside = self.scores.take(self._rows[label]).between(*cuts)
            rows.append(ReportRow(label, n, source, *self._joined(cuts), float(inside.mean())))
        return rows

    def get_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return all that `restore` needs: values for a JSON header, and arrays."""
        meta, arrays = super().get_state()
        place = np.empty(self.n_samples)
        for i, rows in enumerate(self._rows.values()):
            place[rows] = i
        return meta | {"labels": list(self._rows)}, arrays | {"group": place}

    def set_state(self, meta: Meta, arrays: Arrays) -> None:
        """Take over what `get_state` returned, in place of `fit`."""
        super().set_state(meta, arrays)
        names = read_groups(meta["labels"])
        places = vector("group", arrays["group"], self.n_samples)
        self._rows = _rows_by_group([names[int(place)] for place in places])

    def _places(self, groups: ByRow) -> tuple[list[Label], IntArray]:
        """Return the groups that are present, each once, and the place (N,) of each row's."""
        self.check_fitted()
        labels = read_groups(groups)
        place = {label: i for i, label in enumerate(dict.fromkeys(labels))}
        if unseen := [repr(label) for label in place if label not in self._rows]:
            raise ValueError(
                f"groups must be among those of the calibration set, got {_few(unseen)}; "
                f"it has {_few(map(repr, self._rows))}"
            )
        return list(place), np.array([place[label] for label in labels])

    def _find(self, levels: Sequence[float], label: Label) -> tuple[list[Cuts], str]:
        """Return where both bounds of a group are cut, and on what that is `calibrated_on`."""
        scores, how = self.scores.take(self._rows[label]), (self.method, self.sides, self.tails)
        try:
            return [find_cuts(scores, level, *how) for level in levels], "group"
        except CoverageError as error:
            if self.small_groups == "raise":
                raise CoverageError(
                    f'group {label!r} is too small: {error}, or set small_groups="pool"'
                ) from None
        return [self.cuts(level) for level in levels], "pool"

    def _cuts(self, levels: Sequence[float], labels: Sequence[Label]) -> list[list[Cuts]]:
        """Return the cuts of groups at levels, and warn if some are those of all samples."""
        found = [self._find(levels, label) for label in labels]
        pooled = [g for g, (_, source) in zip(labels, found, strict=True) if source == "pool"]
        if pooled:
            warn(
                f"too small for coverage {max(levels)}: {self._named(pooled)}. They take the "
                f"planes of all {self.n_samples} calibration samples, which keep their level on "
                "average over all groups and guarantee nothing for these",
                SmallCalibrationWarning,
            )
        return [cuts for cuts, _ in found]

    def _named(self, labels: Sequence[Label]) -> str:
        return _few(f"{label!r} ({len(self._rows[label])} samples)" for label in labels)


@dataclass(eq=False)
class WeightedCalibrator(RankCalibrator):
    """Conformal calibration with weights of the calibration samples, see `weighted_cuts`.

    Each new sample has a cut of its own, by its weight. A new sample without a weight counts with
    `new_weight`, the largest one of the calibration samples: one cut for all, which keeps the
    level if the likelihood ratio is nowhere larger than that.

    Args:
        method: "conformal".
        sides, tails: see `RankCalibrator`.
        weights: those of the Q calibration samples.

    >>> y = np.linspace(-1, 1, 201)
    >>> def interval(alpha):  # from -kappa to kappa
    ...     return -kappa_of(alpha) * np.ones(201), kappa_of(alpha) * np.ones(201)
    >>> inner = WeightedCalibrator(weights=abs(y) <= 0.5).fit(interval, y)
    >>> round(kappa_of(inner.alpha(0.9)), 2), inner.effective_size
    (0.46, 101.0)
    """

    by_weight, kind = True, "weighted"
    weights: ArrayLike = field(default=(), repr=False)
    new_weight: float | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.method != "conformal":
            raise ValueError(f'sample_weight needs method="conformal", got method={self.method!r}')

    @property
    def effective_size(self) -> float:
        """Kish's effective number of calibration samples."""
        return effective_size(self.weights)

    def fit(self, interval: Interval, y: ArrayLike, groups: ByRow = None) -> Self:
        """Learn from a calibration set, see `Calibration.fit`."""
        self._read(self.weights, vector("y", y).size)
        super().fit(interval, y, groups)
        if self.effective_size < FEW_SAMPLES <= self.n_samples:
            warn(
                f"the weights leave an effective number of {self.effective_size:.3g} calibration "
                f"samples, fewer than {FEW_SAMPLES}: coverage varies much from one calibration set "
                "to another",
                SmallCalibrationWarning,
            )
        return self

    def at_weight(self, weight: float) -> Self:
        """Return the same calibration for a new sample of this weight."""
        new = copy.copy(self)
        new.new_weight = weight
        return new

    def cuts(self, coverage: float) -> Cuts:
        """Return where the lower and the upper bound are cut for a level, for `new_weight`."""
        new = np.max(np.asarray(self.weights)) if self.new_weight is None else self.new_weight
        found = self._cuts(coverage, [new], strict=True)
        below, above = (Cut(*(float(np.ravel(value)[0]) for value in cut)) for cut in found)
        return below, above

    def cuts_of_rows(self, levels: Sequence[float], groups: ByRow, weights: ByRow) -> list[Cuts]:
        """Return where both bounds of new samples are cut for some levels, by weights (N,)."""
        if weights is None:
            return super().cuts_of_rows(levels, groups, None)
        self.check_fitted()
        _refuse(groups)
        return [self._cuts(level, weights) for level in levels]

    def reached(self, coverage: float) -> float:
        """Return the share of the calibration set, by weight, that intervals for a level cover."""
        inside = self.scores.between(*self.cuts(coverage))
        return float(np.average(inside, weights=np.asarray(self.weights)))

    def sets_of(self, groups: ByRow) -> tuple[list[Scores], int | IntArray]:
        """Raise an error: distributions would need the weights of new rows."""
        raise ValueError(
            "quantiles and distributions are not available for a calibration with weights: call "
            "predict_interval, or calibrate without sample_weight"
        )

    def report(self, coverage: float) -> list[ReportRow]:
        """Return size, plane, margin and coverage at a level, for `new_weight`."""
        try:
            row = super().report(coverage)[0]
        except CoverageError:
            return [ReportRow(None, self.n_samples, "nothing", np.nan, np.nan, np.nan)]
        return [row._replace(calibrated_on="weights")]

    def get_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return all that `restore` needs: values for a JSON header, and arrays."""
        meta, arrays = super().get_state()
        return meta, arrays | {"weight": np.asarray(self.weights, dtype=float)}

    def set_state(self, meta: Meta, arrays: Arrays) -> None:
        """Take over what `get_state` returned, in place of `fit`."""
        super().set_state(meta, arrays)
        self._read(arrays["weight"], self.n_samples)

    def _read(self, weights: ArrayLike, n: int) -> None:
        read_weights("sample_weight", weights, n)
        self.weights = np.asarray(weights, dtype=float)

    def _cuts(self, coverage: float, new_weights: ArrayLike, strict: bool = False) -> Cuts:
        weights, how = (self.weights, new_weights), (self.sides, self.tails)
        return weighted_cuts(self.scores, *weights, coverage, *how, strict=strict)


NO_GROUPS = "groups are missing: this calibration is by groups, one for each sample"


def read_groups(groups: ByRow, n: int | None = None) -> list[Label]:
    """Return the names or numbers of groups as plain strings and ints, `n` if that is given.

    >>> read_groups(np.array([3, 1])), read_groups(["a", 2.0])
    ([3, 1], ['a', 2])
    """
    if groups is None:
        raise ValueError(NO_GROUPS)
    array = groups if isinstance(groups, np.ndarray) else np.asarray(groups, dtype=object)
    if array.ndim != 1 or array.size == 0 or (n is not None and array.size != n):
        length = "" if n is None else f" of length {n}"
        raise ValueError(f"groups must be a 1-D array{length}, got shape {array.shape}")
    labels = []
    for i, label in enumerate(array.tolist()):
        if isinstance(label, float) and label.is_integer():
            label = int(label)
        if not isinstance(label, (str, Integral)):
            raise ValueError(f"groups must hold names or whole numbers, got {label!r} at index {i}")
        labels.append(label)
    kinds = set(map(type, labels))
    if bool in kinds and not kinds <= {bool, str}:
        raise ValueError("groups must not mix True and False with numbers: True would be group 1")
    return [label if isinstance(label, str) else int(label) for label in labels]


def _rows_by_group(labels: Sequence[Label]) -> dict[Label, IntArray]:
    """Return the rows of each group, numbers first."""
    names = sorted(set(labels), key=lambda label: (isinstance(label, str), label))
    rows: dict[Label, list[int]] = {name: [] for name in names}
    for i, label in enumerate(labels):
        rows[label].append(i)
    return {name: np.array(found) for name, found in rows.items()}


def _few(words: Iterable[str], shown: int = 5) -> str:
    """Return words as a list with commas, cut short if there are many."""
    words = list(words)
    more = f" and {len(words) - shown} more" if len(words) > shown else ""
    return ", ".join(words[:shown]) + more


# ---------------------------------------------------------------------------------- all calibrators

KINDS: dict[str, Callable[..., Calibration]] = {
    "table": TableCalibration,
    "search": SearchCalibration,
    "exact": partial(RankCalibrator, "exact"),
    "conformal": partial(RankCalibrator, "conformal"),
    "two-sided": partial(RankCalibrator, sides="each"),
    "group": GroupCalibrator,
    "weighted": WeightedCalibrator,
}
"""The calibrators by their name in a stored state, which has these of their options:"""

OPTIONS: dict[str, tuple[str, ...]] = {
    "table": ("step", "interpolation"),
    "search": ("start", "step", "shrink", "tolerance", "min_step"),
    "exact": (),
    "conformal": (),
    "two-sided": ("method", "tails"),
    "group": ("method", "sides", "small_groups", "tails"),
    "weighted": ("sides", "tails"),
}


def make_calibrator(
    method: str,
    sides: str,
    grouped: bool,
    options: Mapping[str, Any],
    weights: ArrayLike | None = None,
) -> Calibration:
    """Return the calibrator for the arguments of `GT2Regressor.calibrate`.

    Args:
        method: one of `gt2lite.calibration.CALIBRATORS`.
        sides: "both", "each", "lower" or "upper".
        grouped: whether there are groups.
        options: of the calibrator; `tails` among them with sides="each".
        weights: those of the calibration samples, if they have any.

    >>> make_calibrator("exact", "upper", False, {})
    RankCalibrator(method='exact', sides='each', tails=(0.0, 1.0))
    """
    one_of("method", method, CALIBRATORS)
    options = dict(options)
    tails = tails_of(sides, options.pop("tails", None))
    if weights is not None and (grouped or method != "conformal"):
        got = "groups" if grouped else f"method={method!r}"
        raise ValueError(f'sample_weight needs method="conformal" without groups, got {got}')
    if method not in RANKED:
        if tails is not None or grouped:
            what = "groups" if grouped else f"sides={sides!r}"
            raise ValueError(f'{what} needs method="exact" or "conformal", got method={method!r}')
        return KINDS[method](**options)
    if tails is not None:
        options |= {"sides": "each", "tails": tails}
    if weights is not None:
        return WeightedCalibrator(method, weights=weights, **options)
    return (GroupCalibrator if grouped else RankCalibrator)(method, **options)


def restore(meta: Meta, arrays: Arrays) -> Calibration:
    """Return the calibration that `get_state` described: `meta` are values, `arrays` arrays."""
    kind = one_of("kind", meta["kind"], KINDS)
    try:
        found = KINDS[kind](**meta["options"])
        found.set_state(meta, arrays)
        known, same = found.get_state()
        allowed = meta["options"].keys() <= known["options"].keys()
        if not allowed or meta != known | {"options": meta["options"]}:
            raise ValueError("unknown entries, or labels that do not rise or have no samples")
        if not all(np.array_equal(values, same[name]) for name, values in arrays.items()):
            raise ValueError("its arrays are not those of its options and labels")
    except (IndexError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"not the state of a {kind} calibrator: {error}") from error
    return found
