"""Calibrated and directly trained intervals side by side: as they stand, and at equal coverage.

Anyone can make intervals narrow by letting them miss more. Widths are therefore compared where
both families cover the same share of the test part (`study.oracle`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from gt2lite._validation import Array
from gt2lite.calibration import ConformalCalibrator, Interval, rank
from gt2lite.datasets import Prepared
from gt2lite.memberships import ALPHA_0
from gt2lite.metrics import interval_quality, interval_score, picp
from gt2lite.system import Planes
from gt2lite.training import Recipe, train
from study.design import TEST_OVER_TRAIN
from study.oracle import margins_at_coverage, planes_at_coverage
from study.protocol import ProtocolRun, Task
from study.reproduction import row_name
from study.statistics import SIGNIFICANCE, corrected_t, paired_p


class Side(NamedTuple):
    """A system on the test rows, and the plane that it answers with."""

    planes: Planes
    alpha: float

    @property
    def ends(self) -> tuple[Array, Array]:
        """Lower and upper ends (N,)."""
        lower, upper = self.planes(self.alpha)
        return lower, upper

    @property
    def widths(self) -> Array:
        """How wide each interval is (N,)."""
        lower, upper = self.ends
        return upper - lower


class Pair(NamedTuple):
    """The calibrated and the directly trained system of a data set, seed and level."""

    dataset: str
    level: float
    data: Prepared
    calibrated: Side
    trained: Side


def pair(
    runs: Mapping[Task, ProtocolRun], dataset: str, seed: int, level: float, recipe: Recipe
) -> Pair:
    """Return both systems on the test rows; the calibrated one with the plane of the search.

    Args:
        runs: what came of the tasks.
        dataset: its name.
        seed: that of the split and of the trainings.
        level: 0.90 or 0.95.
        recipe: that of the tasks.
    """
    base = Task(dataset, seed, "baseline", recipe=recipe)
    direct = Task(dataset, seed, f"trained_{100 * level:.0f}", recipe=recipe)
    data = base.prepare()
    (alpha,) = (r.alpha for r in runs[base].records if (r.method, r.level) == ("search", level))
    calibrated, trained = (Planes(runs[task].params, data.X_test) for task in (base, direct))
    return Pair(dataset, level, data, Side(calibrated, alpha), Side(trained, ALPHA_0))


def trained_on_fewer(one: Pair, level: float, recipe: Recipe, seed: int) -> Planes:
    """Return a system trained for a level on the rows that the baseline had, on the test rows."""
    asked = replace(recipe, coverage=level)
    trained = train(one.data.X_train, one.data.y_train, asked, seed=seed, progress=False)
    return Planes(trained.params, one.data.X_test)


def widths_at_equal_coverage(y: Array, families: Sequence[Interval], level: float) -> list[float]:
    """Return the mean width of each family where all of them cover the same share of `y`.

    That is the level, or, where one of them cannot reach it, the most that all can reach.

    Args:
        y: targets (N,).
        families: nested intervals of these rows.
        level: the coverage asked for.
    """
    common = min(level, *(picp(y, *family(ALPHA_0)) for family in families))
    moved = (planes_at_coverage(family, y, common) for family in families)
    return [float(np.mean(upper - lower)) for lower, upper in moved]


class Held(NamedTuple):
    """Coverage and width of both systems in a row, in per cent: means over the seeds."""

    row: str
    level: float
    calibrated_picp: float
    trained_picp: float
    calibrated_pinaw: float
    trained_pinaw: float


class Excess(NamedTuple):
    """By how many per cent the calibrated system exceeds the trained one, by seed (seeds,)."""

    row: str
    stand: Array  # width as it stands
    fair: Array  # width at equal coverage
    score: Array  # interval score


def compare_row(pairs: Sequence[Pair]) -> tuple[Held, Excess]:
    """Return how the systems of a row compare.

    Args:
        pairs: one for each seed, of one data set and level.
    """
    found, fair = [], []
    for one in pairs:
        y, sides = one.data.y_test, (one.calibrated, one.trained)
        found.append([interval_quality(y, *side.ends, one.level) for side in sides])
        fair.append(widths_at_equal_coverage(y, [side.planes for side in sides], one.level))
    measured = np.array(found)  # (seeds, sides, 3)
    moved = np.array(fair)  # (seeds, sides)
    dataset, level = pairs[0][:2]
    name = row_name(dataset, level)
    means = 100 * measured.mean(axis=0)  # (sides, 3)
    held = Held(name, level, *(float(x) for x in means[:, :2].T.ravel()))
    ratio = 100 * (measured[:, 0] / measured[:, 1] - 1)  # (seeds, 3)
    return held, Excess(name, ratio[:, 1], 100 * (moved[:, 0] / moved[:, 1] - 1), ratio[:, 2])


class Misses(NamedTuple):
    """How often the calibrated system is the wider one, and where the trained one covers."""

    rows: int
    wider: int
    below: int
    most_below: float  # points
    above: int
    most_above: float


def count_misses(held: Sequence[Held]) -> Misses:
    """Return in how many rows the trained systems miss their level to which side."""
    gaps = [row.trained_picp - 100 * row.level for row in held]
    return Misses(
        rows=len(held),
        wider=sum(row.calibrated_pinaw > row.trained_pinaw for row in held),
        below=sum(gap < 0 for gap in gaps),
        most_below=max(0.0, -min(gaps)),
        above=sum(gap > 0 for gap in gaps),
        most_above=max(0.0, max(gaps)),
    )


class ExcessSummary(NamedTuple):
    """Means over the rows, per cent, and in how many rows calibrated is wider when it is fair."""

    least: float  # as they stand, the row with the least excess
    most: float
    stand: float
    fair: float
    score: float
    wider: int  # rows, at equal coverage
    clear: int  # of them beyond chance, each row for itself, with the variance for re-splits
    alone: int  # the same for these tables alone, by the usual t-test


def summarise(rows: Sequence[Excess]) -> ExcessSummary:
    """Return what the excess is over all rows."""
    stand = [float(row.stand.mean()) for row in rows]
    wider = [row for row in rows if row.fair.mean() > 0]
    return ExcessSummary(
        least=min(stand),
        most=max(stand),
        stand=float(np.mean(stand)),
        fair=float(np.mean([row.fair.mean() for row in rows])),
        score=float(np.mean([row.score.mean() for row in rows])),
        wider=len(wider),
        clear=sum(corrected_t(row.fair, TEST_OVER_TRAIN).p < SIGNIFICANCE for row in wider),
        alone=sum(paired_p(row.fair) < SIGNIFICANCE for row in wider),
    )


class Beside(NamedTuple):
    """Planes and a constant margin around the same output: means over the seeds of a row."""

    row: str
    planes: float  # mean width at equal coverage, in standard deviations of the target
    margin: float
    excess: float  # by how many per cent planes are wider
    planes_score: float  # interval score, both calibrated with the guarantee
    margin_score: float
    score_excess: float  # by how many per cent that of planes is larger


def beside_margin(pairs: Sequence[Pair], alphas: Sequence[float] | Array) -> Beside:
    """Return how the planes of the calibrated system compare with a margin around its output.

    Widths are compared where both cover the level of the test part. For the interval score both
    are calibrated by the conformal rank on the calibration part.

    Args:
        pairs: one for each seed, of one data set and level.
        alphas: planes that make up the output.
    """
    dataset, level = pairs[0][:2]
    found = []
    for one in pairs:
        data, planes = one.data, one.calibrated.planes
        old, output = Planes(planes.params, data.X_cal), planes.output(alphas)
        moved = (
            planes_at_coverage(planes, data.y_test, level),
            margins_at_coverage(output, output, data.y_test, level),
        )
        errors = np.sort(np.abs(data.y_cal - old.output(alphas)))
        margin = errors[rank(level, errors.size + 1) - 1]
        calibrated = (
            ConformalCalibrator().fit(old, data.y_cal).intervals(planes, level),
            (output - margin, output + margin),
        )
        widths = [float((upper - lower).mean()) for lower, upper in moved]
        found.append(
            widths + [interval_score(data.y_test, low, high, level) for low, high in calibrated]
        )
    wide, narrow, score, other = np.mean(found, axis=0)
    return Beside(
        row_name(dataset, level),
        *(float(x) for x in (wide, narrow, 100 * (wide / narrow - 1))),
        *(float(x) for x in (score, other, 100 * (score / other - 1))),
    )


class BesideSummary(NamedTuple):
    """In how many rows a constant margin is narrower and scores better, and by how much."""

    rows: int
    narrower: int  # rows in which the margin is narrower at equal coverage
    better: int  # rows in which its interval score is smaller
    sets: str  # data sets on which it is narrower at every level
    mean: float  # by how many per cent planes are wider, on average over the rows
    score: float  # and by how many their interval score is larger


def summarise_beside(rows: Sequence[Beside]) -> BesideSummary:
    """Return what a constant margin does over all rows."""
    by_set: dict[str, list[bool]] = {}
    for row in rows:
        by_set.setdefault(row.row.split()[0], []).append(row.excess > 0)
    won = [name for name, narrower in by_set.items() if all(narrower)]
    return BesideSummary(
        rows=len(rows),
        narrower=sum(row.excess > 0 for row in rows),
        better=sum(row.score_excess > 0 for row in rows),
        sets=f"{'all' if len(won) == len(by_set) else len(won) or 'none'} of the {len(by_set)}",
        mean=float(np.mean([row.excess for row in rows])),
        score=float(np.mean([row.score_excess for row in rows])),
    )
