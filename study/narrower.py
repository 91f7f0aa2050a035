"""Whether planes that learn levels of their own are narrower: the aligned objective compared.

The runs are those of the field, paired seed by seed (`study.field.pairs`). Here is what
is told of the pairs: in per cent, and in words that fit whatever they come to.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from gt2lite._validation import Array
from gt2lite.datasets import Prepared
from gt2lite.losses import Objective
from gt2lite.memberships import ALPHA_0
from gt2lite.metrics import picp
from gt2lite.system import Planes
from gt2lite.training import Recipe
from study.field.fuzzy import trained_system
from study.field.pairs import Paired, paired
from study.field.records import FieldRecord
from study.field.setting import Setting
from study.pages import NO_BREAK, compared, count, p_value
from study.runner import Runnable, run
from study.store import Store
from study.widths import Beside, Pair, Side, beside_margin


class PlaneLevel(NamedTuple):
    """A plane, and the level in per cent that it learns."""

    level: float
    kappa: float
    alpha: float


class Compared(NamedTuple):
    """A data set at a level: differences in per cent, each with its p-value."""

    row: str
    width: float  # at equal coverage
    p_width: str
    score: float
    p_score: str
    rmse: float
    p_rmse: str


class Widths(NamedTuple):
    """Widths at equal coverage, one contestant against another, over data sets and levels."""

    mean: float  # per cent by which they are wider on average
    mean_words: str
    best: float  # the same in the row where it is least
    best_words: str
    best_set: str
    least_words: str  # and where it is most
    less: str  # in how many rows they are narrower
    less_clear: str  # beyond chance
    more_clear: str  # wider beyond chance


class Verdict(NamedTuple):
    """What the tests say of one contestant against another, row by row."""

    verdict: str  # on widths
    score_less: str  # in how many rows the interval score is smaller beyond chance
    rmse_more: str
    rmse_less: str


def plane_levels(objective: Objective) -> list[PlaneLevel]:
    """Return the planes of an objective that learn a level, the widest first."""
    found = zip(objective.levels, objective.kappa, objective.alphas, strict=False)
    return [PlaneLevel(100 * float(phi), float(kappa), float(alpha)) for phi, kappa, alpha in found]


def compare(rows: Sequence[FieldRecord], a: str, b: str) -> list[Compared]:
    """Return by how many per cent `a` exceeds `b` in width, score and RMSE, row by row."""
    parts = (paired(rows, a, b, metric) for metric in ("equal_pinaw", "interval_score", "rmse"))
    return [
        Compared(
            f"{width.dataset.upper()} {100 * width.level:.0f}{NO_BREAK}%",
            width.percent,
            p_value(width.p),
            score.percent,
            p_value(score.p),
            rmse.percent,
            p_value(rmse.p),
        )
        for width, score, rmse in zip(*parts, strict=True)
    ]


def widths(rows: Sequence[FieldRecord], a: str, b: str) -> Widths:
    """Return how the widths of `a` at equal coverage compare with those of `b`."""
    pairs = paired(rows, a, b, "equal_pinaw")
    best, least = (choose(pairs, key=lambda pair: pair.percent) for choose in (min, max))
    mean = float(np.mean([pair.percent for pair in pairs]))
    return Widths(
        mean,
        _wider(mean),
        best.percent,
        _wider(best.percent),
        best.dataset.upper(),
        _wider(least.percent),
        _of(sum(pair.mean < 0 for pair in pairs), len(pairs)),
        _tested(pairs, "less"),
        _tested(pairs, "more"),
    )


def judge(rows: Sequence[FieldRecord], a: str, b: str) -> Verdict:
    """Return whether `a` is narrower than `b` on every row, and what becomes of score and RMSE."""
    pairs = paired(rows, a, b, "equal_pinaw")
    everywhere = all(pair.mean < 0 for pair in pairs)
    rmse = paired(rows, a, b, "rmse")
    return Verdict(
        f"{'narrower' if everywhere else 'not narrower'} in every case",
        _tested(paired(rows, a, b, "interval_score"), "less"),
        _tested(rmse, "more"),
        _tested(rmse, "less"),
    )


def trained_planes(
    recipe: Recipe, setting: Setting, store: Store | None = None
) -> tuple[Planes, Prepared]:
    """Return a system at the rows of the test part, and the parts of the data.

    Args:
        recipe: of the system; it is trained where the store does not have it.
        setting: the split.
        store: where trained systems are kept.
    """

    def get(task: Runnable[object]) -> object:
        return run([task], store, n_jobs=1, progress=False)[0]

    data = setting.prepare()
    return Planes(trained_system(recipe, setting, get).params, data.X_test), data


def covered_by_planes(
    recipe: Recipe, settings: Iterable[Setting], alphas: Array, store: Store | None = None
) -> Array:
    """Return what planes cover of the test part before any calibration (K,), mean over settings.

    Args:
        recipe: of the system.
        settings: the splits.
        alphas: the planes (K,).
        store: where trained systems are kept.
    """
    covered = []
    for setting in settings:
        planes, data = trained_planes(recipe, setting, store)
        ends = planes.ends(alphas)  # (2, K, N)
        covered.append([picp(data.y_test, *ends[:, k]) for k in range(len(alphas))])
    return np.asarray(np.mean(covered, axis=0))


def relative_widths(
    recipe: Recipe, settings: Iterable[Setting], alphas: Array, store: Store | None = None
) -> Array:
    """Return the mean width of planes in units of that of the envelope (K,), mean over settings.

    Where the ends moved in proportion to the memberships, this would be kappa.
    """
    found = []
    for setting in settings:
        planes, _ = trained_planes(recipe, setting, store)
        lower, upper = planes.ends(np.append(alphas, ALPHA_0))
        widths = (upper - lower).mean(axis=1)
        found.append(widths[:-1] / widths[-1])
    return np.asarray(np.mean(found, axis=0))


def beside_constant(
    recipe: Recipe, settings: Sequence[Setting], level: float, store: Store | None = None
) -> Beside:
    """Return how the planes of systems compare with a constant margin around their output.

    Args:
        recipe: of the systems.
        settings: the splits, all of one data set.
        level: the coverage asked for.
        store: where trained systems are kept.
    """
    pairs = []
    for setting in settings:
        planes, data = trained_planes(recipe, setting, store)
        side = Side(planes, ALPHA_0)
        pairs.append(Pair(setting.dataset, level, data, side, side))
    return beside_margin(pairs, recipe.planes.alphas)


def _wider(percent: float) -> str:
    return compared(percent, "narrower", "wider")


def _tested(pairs: Sequence[Paired], verdict: str) -> str:
    return count(sum(pair.verdict == verdict for pair in pairs), "case", "cases")


def _of(n: int, rows: int) -> str:
    """Return how many of some rows, in words that fit.

    >>> [_of(n, 8) for n in (0, 3, 8)]
    ['none of the 8 cases', '3 of the 8 cases', 'all 8 cases']
    """
    if n == rows:
        return f"all {rows} cases"
    return f"{n or 'none'} of the {rows} cases"
