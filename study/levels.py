r"""One system for all levels: the level is an input, and drawn at random in training.

One of the ways that calibration competes with: a level as an input is the idea of Tagasovska and
Lopez-Paz (2019), teaching it to both ends of a plane is ours. What the authors of the paper made
of that idea is `study.sqr`. The inputs get one more column, which tells the level
:math:`\phi` of each row.
In training it is drawn anew for every row and epoch from U(0.01, 0.99), and the two ends of
the plane alpha_0 learn the quantiles ``(1 - phi)/2`` and ``(1 + phi)/2`` of whatever was drawn; the
output learns as always. Afterwards the interval at a level is that of the plane alpha_0 with the
level in the column. Nothing nests the intervals of different levels, and nothing
guarantees their coverage.

The column holds :math:`\operatorname{artanh} \phi`, half the logistic quantile of
``(1 + phi)/2``, scaled like any other input: where noise has about that shape the ends of
the interval are straight lines in it, while in phi itself they bend away at the high levels
that matter most. (The first hint came from one run that was judged on test rows of seed 0; the
form was then compared with phi itself by training on the 70 % and judging on the calibration
part, seeds 0 and 1, and covered more of what it should on White Wine and Power Plant.)
"""

from __future__ import annotations

import numpy as np

from gt2lite._validation import Array, between, matrix, vector
from gt2lite.losses import CompiledLoss
from gt2lite.memberships import ALPHA_0
from gt2lite.system import Params, Planes
from gt2lite.training import Recipe, Trained, train

LOWEST, HIGHEST = 0.01, 0.99
"""The levels that are learnt."""

_GRID = np.arctanh(np.linspace(LOWEST, HIGHEST, 1001))
_MEAN, _STD = float(_GRID.mean()), float(_GRID.std())


def with_level(X: Array, coverage: float | Array) -> Array:
    """Return the inputs of a system for all levels (N, M + 1): the level is the last column.

    Args:
        X: scaled inputs (N, M).
        coverage: a level in [0.01, 0.99], or one for each row (N,).
    """
    X = matrix("X", X)
    if np.ndim(coverage) == 0:
        between("coverage", coverage, LOWEST, HIGHEST, closed=True)
        coverage = np.full(len(X), coverage)
    phi = vector("coverage", coverage, len(X))
    return np.column_stack([X, (np.arctanh(phi) - _MEAN) / _STD])


def interval(params: Params, X: Array, coverage: float) -> tuple[Array, Array]:
    """Return lower and upper ends (N,) at a level, of a system that `train_levels` made.

    Args:
        params: the system.
        X: scaled inputs (N, M).
        coverage: the level, in [0.01, 0.99].
    """
    return Planes(params, with_level(X, coverage))(ALPHA_0)


def train_levels(
    X: Array, y: Array, recipe: Recipe | None = None, *, seed: int | np.random.Generator = 0
) -> Trained:
    """Train a system for all levels.

    Args:
        X: scaled inputs (N, M).
        y: scaled targets (N,).
        recipe: how; None for the paper's. Its coverage plays no part, and objectives and ways
            to keep parameters other than the paper's are not on offer.
        seed: a seed or a generator; decides start values, levels and the order of the rows.

    Returns:
        A system with M + 1 inputs, see `with_level`, and the mean loss of each epoch.

    Raises:
        DivergenceError: when the loss is no longer finite.

    >>> X = np.linspace(-1, 1, 200)[:, None]
    >>> y = X[:, 0] + np.random.default_rng(0).normal(size=200)
    >>> params, _ = train_levels(X, y, Recipe(n_rules=3, epochs=30, learning_rate=0.02))
    >>> widths = [np.mean(np.subtract(*interval(params, X, phi)[::-1])) for phi in (0.5, 0.9)]
    >>> bool(widths[0] < widths[1])
    True
    """
    recipe = recipe or Recipe()
    _check(recipe)
    return train(
        X,
        y,
        recipe,
        seed=seed,
        loss=LevelLoss(recipe.planes),
        draw_inputs=lambda X, rng: with_level(X, rng.uniform(LOWEST, HIGHEST, len(X))),
        progress=False,
    )


class LevelLoss(CompiledLoss):
    """The dual loss at the level of each row, which is in the last column of the inputs."""

    def value(self, ends: Array, y: Array, X_t: Array | None = None) -> float:
        """Return the loss of the ends (2, K, B) at `y` (B,), given the inputs (M + 1, B)."""
        self._set_levels(X_t)
        return super().value(ends, y)

    def gradient(self, ends: Array, y: Array, X_t: Array | None = None) -> Array:
        """Return the gradient with respect to the ends (2, K, B)."""
        self._set_levels(X_t)
        return super().gradient(ends, y)

    def _set_levels(self, X_t: Array | None) -> None:
        assert X_t is not None
        phi = np.tanh(_MEAN + _STD * X_t[-1])
        self._lean = np.stack([-phi, phi])[:, None, :] / 2  # (2, 1, B)


def _check(recipe: Recipe) -> None:
    for name, wanted in {"objective": "dual", "keep": "last"}.items():
        if getattr(recipe, name) != wanted:
            raise ValueError(
                f"recipe must have {name}={wanted!r} for all levels at once, "
                f"got {getattr(recipe, name)!r}"
            )
