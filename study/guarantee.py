"""The guarantee put to the test: what calibrated intervals cover, whom, and how far they reach.

`study.statistics` deals calibration and test parts anew; here is what follows from the
coverages that this gives, and from one calibrated system: how coverage spreads beside its law,
what is missed on either side and in each group, and what lies past the envelope. Shares that
are returned for telling are in per cent.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from gt2lite._validation import Array
from gt2lite.calibration import ConformalCalibrator, Scores, covers, find_cuts, rank
from gt2lite.datasets import Dataset, Prepared, Split
from gt2lite.memberships import ALPHA_0
from gt2lite.system import Params, Planes
from study.pages import NO_BREAK, count, percent
from study.statistics import redraws

# ------------------------------------------------------------------------------ over redraws


class Spread(NamedTuple):
    """Coverages over redraws: their mean, its standard error, the share below the level."""

    mean: float
    error: float
    below: float


class MethodRow(NamedTuple):
    """The spread of a method on each data set, in per cent."""

    method: str
    mean: dict[str, float]
    error: dict[str, float]
    below: dict[str, float]


class Law(NamedTuple):
    """Coverages over redraws beside what the theorem says of them, in per cent."""

    redraws: int
    n_cal: int
    mean: float
    error: float
    std: float
    law_mean: float
    law_std: float
    low: float  # with 95 of 100 calibration sets the coverage itself lies between
    high: float


def spread(coverages: Array, level: float) -> Spread:
    """Return mean, standard error and share below the level of coverages (R,).

    >>> found = spread(np.array([0.75, 0.75, 1.0, 1.0]), level=0.9)
    >>> found.mean, round(found.error, 4), found.below  # 0.1443 / sqrt(4)
    (0.875, 0.0722, 0.5)
    """
    error = coverages.std(ddof=1) / math.sqrt(coverages.size)
    return Spread(float(coverages.mean()), float(error), float((coverages < level).mean()))


def by_method(redrawn: Mapping[str, Mapping[str, Array]], level: float) -> list[MethodRow]:
    """Return a row for each method, from its coverages by data set and method."""
    methods = next(iter(redrawn.values()))
    rows = []
    for method in methods:
        found = {name: spread(by[method], level) for name, by in redrawn.items()}
        columns = (
            {name: 100 * getattr(one, field) for name, one in found.items()}
            for field in Spread._fields
        )
        rows.append(MethodRow(method, *columns))
    return rows


def beside_law(coverages: Array, level: float, n_cal: int, n_test: int) -> Law:
    """Return what conformal calibration covered of test parts, beside its Beta-binomial law."""
    from scipy.stats import beta, betabinom

    k = rank(level, n_cal + 1)
    seen = spread(coverages, level)
    low, high = beta.ppf([0.025, 0.975], k, n_cal + 1 - k)
    return Law(
        redraws=coverages.size,
        n_cal=n_cal,
        mean=100 * seen.mean,
        error=100 * seen.error,
        std=100 * float(coverages.std(ddof=1)),
        law_mean=100 * k / (n_cal + 1),
        law_std=100 * float(betabinom(n_test, k, n_cal + 1 - k).std()) / n_test,
        low=100 * float(low),
        high=100 * float(high),
    )


# ------------------------------------------------------------------------- past the envelope


class WidthCurve(NamedTuple):
    """Mean widths at all ranks from the middle on; stages are 0 trained, 1 beyond, 2 margin."""

    levels: Array
    widths: Array
    stages: Array
    margins: Array


class Beyond(NamedTuple):
    """What planes beyond the envelope are worth on a test part."""

    inputs: int
    highest: float  # the highest level that has an answer, in per cent
    wider: str  # by how many per cent the last plane is wider than the envelope
    of_range: float  # the width of the envelope, in per cent of the range of the consequents


class Held(NamedTuple):
    """What intervals at a level cover of a test part, in per cent, and the margin they need."""

    coverage: float
    margin: str


def width_curve(calibrator: ConformalCalibrator, planes: Planes) -> WidthCurve:
    """Return how wide the intervals of a test part get as the level rises."""
    n = calibrator.n_samples
    levels = np.arange((n + 1) // 2, n + 1) / (n + 1)
    lower, upper = calibrator.intervals(planes, levels)
    alpha = np.nan_to_num(calibrator.alpha(levels))  # 0 where there is no plane
    stages = np.where(alpha >= ALPHA_0, 0, np.where(alpha > 0, 1, 2))
    widths = (upper - lower).mean(axis=0)
    return WidthCurve(levels, widths, stages, np.asarray(calibrator.margin(levels)))


def beyond(calibrator: ConformalCalibrator, params: Params, X: Array) -> Beyond:
    """Return how far planes reach past the envelope at the rows X (N, M)."""
    planes, n = Planes(params, X), calibrator.n_samples
    envelope, last = (_mean_width(planes, alpha) for alpha in (ALPHA_0, planes.alpha_min))
    consequents = X @ params["a"].T + params["a0"]  # (N, P)
    return Beyond(
        inputs=X.shape[1],
        highest=100 * n / (n + 1),
        wider=_small(100 * (last / envelope - 1)),
        of_range=100 * envelope / float(np.ptp(consequents, axis=1).mean()),
    )


def held(calibrator: ConformalCalibrator, params: Params, data: Prepared, level: float) -> Held:
    """Return what a level comes to on the test part."""
    lower, upper = calibrator.intervals(Planes(params, data.X_test), level)
    margin = float(calibrator.margin(level))
    words = "no margin"
    if margin > 0:
        words = f"a margin of {margin:.2f} standard deviations of the target on either side"
    return Held(100 * float(covers(data.y_test, lower, upper).mean()), words)


def _mean_width(planes: Planes, alpha: float) -> float:
    lower, upper = planes(alpha)
    return float((upper - lower).mean())


def _small(value: float) -> str:
    """Return a number of per cent with the digits that it needs, down to a thousandth."""
    if value < 0.0005:
        return f"less than 0.001{NO_BREAK}%"
    return percent(value, 0 if value >= 1 else 3)


# --------------------------------------------------------------------------- sides and groups


class Sides(NamedTuple):
    """Targets missed below and above, in per cent: of the most one-sided set, and at worst."""

    skewed: str  # the set whose sides differ most with one plane for both
    both_below: float
    both_above: float
    each_below: float
    each_above: float
    worst: float  # the largest mean of a side of any set, with a plane for each
    error: float  # the largest standard error of such a mean
    promised: float


class Groups(NamedTuple):
    """What is covered of each group, in per cent, and how wide the intervals are."""

    least: float
    full: str  # how many patients are covered completely
    spread: float
    width: float


def missed(
    scores: Scores, n_cal: int, level: float, sides: str, times: int, rng: np.random.Generator
) -> Array:
    """Return the shares below and above their conformal intervals over redraws (times, 2).

    Args:
        scores: those of all rows of the pool; what is not drawn for calibration is the test part.
        n_cal: rows for calibration.
        level: the coverage asked for.
        sides: "both" or "each", see `gt2lite.calibration.SIDES`.
        times: redraws.
        rng: the source of the draws.
    """
    found = []
    for seen, new in redraws(len(scores), n_cal, len(scores) - n_cal, times, rng):
        low, high = find_cuts(scores.take(seen), level, "conformal", sides)
        kept = scores.lower.take(new).covered(low), scores.upper.take(new).covered(high)
        found.append([1 - end.mean() for end in kept])
    return np.array(found)


def one_sided(tails: Mapping[str, Mapping[str, Array]], level: float) -> Sides:
    """Return what both ways to calibrate miss on either side, from `missed` by set and way."""
    means = {
        name: {way: found.mean(axis=0) for way, found in by.items()} for name, by in tails.items()
    }
    skewed = max(means, key=lambda name: abs(float(np.subtract(*means[name]["both"]))))
    each = np.stack([by["each"] for by in tails.values()])  # (sets, redraws, 2)
    (both_below, both_above), (each_below, each_above) = (
        100 * means[skewed][way] for way in ("both", "each")
    )
    return Sides(
        skewed=skewed,
        both_below=float(both_below),
        both_above=float(both_above),
        each_below=float(each_below),
        each_above=float(each_above),
        worst=100 * float(each.mean(axis=1).max()),
        error=100 * float(each.std(axis=1, ddof=1).max() / math.sqrt(each.shape[1])),
        promised=100 * (1 - level) / 2,
    )


def group_shares(y: Array, ends: tuple[Array, Array], groups: Array) -> Array:
    """Return the share of each group (G,) that lies between the ends, in order of its label."""
    inside = covers(y, *ends)
    return np.array([inside[groups == group].mean() for group in np.unique(groups)])


def group_facts(shares: Array, ends: tuple[Array, Array]) -> Groups:
    """Return the least covered group and the spread over groups, from their shares (G,)."""
    lower, upper = ends
    return Groups(
        least=100 * float(shares.min()),
        full=count(int((shares == 1).sum()), "patient has", "patients have"),
        spread=100 * float(shares.std()),
        width=float((upper - lower).mean()),
    )


# ---------------------------------------------------------------------------- exchangeability


class Order(NamedTuple):
    """A data set: twins among its rows, and coverage by the order of the rows, in per cent."""

    name: str
    twins: float  # test rows that stand in the training part too, inputs and target alike
    dealt: float  # coverage where calibration and test rows are dealt at random
    filed: float  # where the first rows of the file calibrate and the others are new
    ranked: float  # where the rows are sorted by their target


def twins(dataset: Dataset, split: Split) -> float:
    """Return the share of test rows of which the training part has a copy, target included."""
    rows = np.column_stack([dataset.X, dataset.y]) + 0.0  # no minus before 0
    known = {row.tobytes() for row in rows[split.train]}
    return float(np.mean([row.tobytes() in known for row in rows[split.test]]))


def in_order(scores: Scores, key: Array, n_cal: int, level: float) -> float:
    """Return what is covered of the last rows if the first `n_cal`, sorted by `key`, calibrate."""
    rows = np.argsort(key, kind="stable")
    cut, _ = find_cuts(scores.take(rows[:n_cal]), level, "conformal")
    return float(scores.take(rows[n_cal:]).covered(cut).mean())


def orders(dataset: Dataset, data: Prepared, scores: Scores, level: float, dealt: Array) -> Order:
    """Return what the order of the rows does to coverage.

    Args:
        dataset: the rows in the order of their file.
        data: its parts.
        scores: those of the calibration part, followed by those of the test part.
        level: the coverage asked for.
        dealt: coverages over redraws (R,).
    """
    n_cal = data.y_cal.size
    place = np.concatenate([data.split.calibration, data.split.test])
    target = np.concatenate([data.y_cal, data.y_test])
    return Order(
        dataset.name.upper(),
        100 * twins(dataset, data.split),
        100 * float(dealt.mean()),
        100 * in_order(scores, place, n_cal, level),
        100 * in_order(scores, target, n_cal, level),
    )
