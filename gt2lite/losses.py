r"""Losses: accuracy of the output plus quality of the intervals.

The paper's *dual* loss (Eqs. 10 to 14) has a term for the output, log cosh of its error, and one
for the widest plane alpha_0, the pinball losses that make its two ends the quantiles
``(1 - phi)/2`` and ``(1 + phi)/2``. The *aligned* loss has the second for every plane, each
with a coverage of its own. Both are one formula with different planes and levels: an
`Objective`.
"""

from __future__ import annotations

from statistics import NormalDist
from typing import NamedTuple

import autograd.numpy as np
import numpy as onp

from gt2lite._validation import Array, between, one_of, vector
from gt2lite.memberships import ALPHA_0, alpha_of, kappa_of
from gt2lite.system import weigh_planes

OBJECTIVES = ("dual", "aligned")

DUAL_ALPHAS = (ALPHA_0, 0.5, 1.0)
ALIGNED_LEVELS = (0.95, 0.90, 0.50)  # below that of alpha_0


class Objective(NamedTuple):
    """Which planes a system has, and which coverage each of them is to learn."""

    alphas: Array  # (K,) rising; all of them weigh in the output
    kappa: Array  # (K,) falling
    levels: Array  # (K',) coverages that the first K' planes learn


def make_objective(
    name: str = "dual", coverage: float = 0.99, alphas: tuple[float, ...] | None = None
) -> Objective:
    """Return the planes and levels of an objective.

    Args:
        name: "dual" (the paper's) or "aligned", in which every plane below alpha = 1
            learns the coverage that a normal distribution would give it,
            ``kappa = z((1 + phi) / 2) / z((1 + coverage) / 2)``.
        coverage: what alpha_0 learns, in (0, 1).
        alphas: planes, 0.01 among them; None for the objective's own.

    >>> make_objective("dual", 0.9).levels
    array([0.9])
    >>> make_objective("aligned").alphas.round(4)
    array([0.01  , 0.0695, 0.1529, 0.7292, 1.    ])
    """
    one_of("objective", name, OBJECTIVES)
    coverage = between("coverage", coverage, 0, 1)
    if (1 + coverage) / 2 == 1:
        raise ValueError(f"coverage must be below 1 by more than rounding, got {coverage!r}")
    z_0 = _z(coverage)
    if alphas is not None:
        planes = onp.unique(vector("alphas", alphas))
        if planes[0] != ALPHA_0 or planes[-1] > 1:
            raise ValueError(
                f"alphas must lie in [{ALPHA_0}, 1] with {ALPHA_0} among them, got {alphas!r}"
            )
    elif name == "dual":
        planes = onp.array(DUAL_ALPHAS)
    else:
        below = [_z(level) / z_0 for level in ALIGNED_LEVELS if level < coverage]
        planes = onp.concatenate([[ALPHA_0], alpha_of(onp.array(below)), [1.0]])
    kappa = onp.asarray(kappa_of(planes))
    learning = kappa[kappa > 0] if name == "aligned" else kappa[:1]
    levels = onp.array([2 * NormalDist().cdf(k * z_0) - 1 for k in learning])
    levels[0] = coverage  # exactly
    return Objective(planes, kappa, levels)


def _z(coverage: float) -> float:
    return NormalDist().inv_cdf((1 + coverage) / 2)


def log_cosh(error: Array) -> Array:
    """Return log(cosh(error)), Eq. (11), without overflow.

    >>> float(log_cosh(onp.array(0.0))), float(log_cosh(onp.array(1000.0)).round(6))
    (0.0, 999.306853)
    """
    size = np.abs(error)
    return size + np.log1p(np.exp(-2 * size)) - onp.log(2)


def pinball(error: Array, tau: float | Array) -> Array:
    """Return the pinball loss of ``error = y - quantile`` at level `tau`, Eqs. (13) and (14).

    >>> pinball(onp.array([1.0, -1.0]), 0.9).round(12)
    array([0.9, 0.1])
    """
    return np.maximum(tau * error, (tau - 1) * error)


def loss(ends: Array, y: Array, objective: Objective) -> Array:
    """Return the loss of the ends (2, K, N) at the targets `y` (N,), Eq. (10)."""
    total = np.mean(log_cosh(y - weigh_planes(ends, objective.alphas)))
    for k, level in enumerate(objective.levels):
        total = total + np.mean(pinball(y - ends[0, k], (1 - level) / 2))
        total = total + np.mean(pinball(y - ends[1, k], (1 + level) / 2))
    return total
