"""What a choice inside training looks at: courses of training, and rows that judge them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from gt2lite._checks import Array
from gt2lite.calibration import rank
from gt2lite.calibration.margins import POWERS, Margins
from gt2lite.memberships import alpha_of
from gt2lite.metrics import interval_score
from gt2lite.recipe import Recipe
from gt2lite.system import Params, Planes
from gt2lite.training import train

LEVELS = (0.9, 0.95)
"""The coverages whose interval scores decide."""

PATIENCE = 3
"""Moments in a row without a better score, after which a course ends."""

GRID = np.asarray(alpha_of(np.linspace(0, 1, 9)))
"""Planes at which intervals are known; in between they are interpolated."""


class Seen(NamedTuple):
    """Intervals and outputs of rows that training has not seen, and their targets."""

    ends: Array  # (2, G, n) of the planes from alpha = 1 to alpha_0
    output: Array  # (n,)
    y: Array  # (n,)

    @classmethod
    def at(cls, params: Params, X: Array, y: Array, alphas: Array) -> Seen:
        """Return what a system says of inputs `X` (n, M) with targets `y` (n,)."""
        planes = Planes(params, X)
        return cls(planes.ends(GRID), planes.output(alphas), y)

    @classmethod
    def joined(cls, parts: Sequence[Seen]) -> Seen:
        """Return rows one after another: those of several folds."""
        ends, outputs, targets = zip(*parts, strict=True)
        return cls(np.concatenate(ends, axis=2), np.concatenate(outputs), np.concatenate(targets))

    @classmethod
    def mean(cls, members: Sequence[Seen]) -> Seen:
        """Return what several systems say of the same rows together."""
        ends, outputs, targets = zip(*members, strict=True)
        return cls(np.mean(ends, axis=0), np.mean(outputs, axis=0), targets[0])


class Quality(NamedTuple):
    """How good the intervals of a family are at their best."""

    score: float  # geometric mean of the interval scores at `LEVELS`
    margins: Margins | None  # None for the planes themselves


def quality(seen: Seen, power: float | None = None) -> Quality:
    """Return how good planes are, or the best family of margins around their output.

    Each level gets the interval that just covers its share of these very rows, so that only
    shape and accuracy count, and not how well the trained coverage was met.

    Args:
        seen: rows that training has not seen.
        power: that of the margins, where it is not to be chosen.
    """
    return min(_families(seen, power), key=lambda found: found.score)


def _families(seen: Seen, power: float | None) -> Iterator[Quality]:
    y = seen.y
    if power is None:
        radius = _radius(seen.ends, y)
        yield Quality(_score(y, radius, lambda r: _interval(seen.ends, r)), None)
    width = seen.ends[1, -1] - seen.ends[0, -1]
    usual = float(np.mean(width)) or 1.0  # planes may have no width at all
    for tried in POWERS if power is None else (power,):
        margins = Margins(tried, usual)
        centre, half = seen.output, margins.given(seen.output, width).half
        radius = np.abs(y - centre) / half
        score = _score(y, radius, partial(_symmetric, centre, half))
        yield Quality(score, margins)


def _score(y: Array, radius: Array, interval: Callable[[float], tuple[Array, Array]]) -> float:
    """Return the score of nested intervals, each level by the one that just covers its share.

    Args:
        y: targets (n,).
        radius: how far out in its family each row is first covered (n,).
        interval: the ends (n,) of the member that lies so far out.
    """
    needed = np.sort(radius)
    found = []
    for level in LEVELS:
        lower, upper = interval(float(needed[rank(level, y.size) - 1]))
        found.append(interval_score(y, lower, upper, level))
    return math.exp(np.mean(np.log(np.maximum(found, np.finfo(float).tiny))))


def _symmetric(centre: Array, half: Array, radius: float) -> tuple[Array, Array]:
    return centre - radius * half, centre + radius * half


def _radius(ends: Array, y: Array) -> Array:
    """Return how far out in its family each row is first covered (n,).

    Counted in planes of the grid, from 0; beyond the last one in units of the target.
    """
    missing = np.maximum(ends[0] - y, y - ends[1])  # (G, n), falls to 0 and below
    last = len(missing) - 1
    inside = missing <= 0
    first = np.argmax(inside, axis=0)
    before = np.maximum(first - 1, 0)
    rows = np.arange(y.size)
    short, over = missing[before, rows], -missing[first, rows]
    way = np.where(short + over > 0, short + over, 1.0)
    part = np.where(first > 0, short / way, 0.0)
    return np.where(inside.any(axis=0), before + part, last + np.maximum(missing[last], 0))


def _interval(ends: Array, radius: float) -> tuple[Array, Array]:
    """Return the ends (n,) of the member of a family that lies so far out."""
    last = ends.shape[1] - 1
    if radius >= last:
        return ends[0, last] - (radius - last), ends[1, last] + (radius - last)
    g = int(radius)
    lower, upper = ends[:, g] + (radius - g) * (ends[:, g + 1] - ends[:, g])
    return lower, upper


class Moment(NamedTuple):
    """A system on its way through training."""

    epoch: int
    params: Params
    history: Array  # mean loss of each epoch until then
    seen: Seen


@dataclass(frozen=True, eq=False)
class Course:
    """One training of which several moments are kept; it travels to other processes.

    Attributes:
        X: scaled inputs (N, M) to learn from.
        y: scaled targets (N,).
        X_judge: inputs that judge.
        y_judge: their targets.
        recipe: how to train.
        epochs: the moments, rising.
        seed: that of the training.
    """

    X: Array
    y: Array
    X_judge: Array
    y_judge: Array
    recipe: Recipe
    epochs: tuple[int, ...]
    seed: Any

    def __call__(self) -> list[Moment]:
        """Train until the judging rows have seen no gain for some moments, and return all."""
        found: list[Moment] = []
        history: list[float] = []
        scores: list[float] = []
        alphas = self.recipe.planes.alphas

        def look(epoch: int, loss: float, params: Params) -> bool:
            history.append(loss)
            if epoch not in self.epochs:
                return False
            kept = {name: value.copy() for name, value in params.items()}
            seen = Seen.at(kept, self.X_judge, self.y_judge, alphas)
            found.append(Moment(epoch, kept, np.array(history), seen))
            scores.append(quality(seen).score)
            return len(scores) - 1 - int(np.argmin(scores)) >= PATIENCE

        train(self.X, self.y, self.recipe, seed=self.seed, callback=look, progress=False)
        return found
