"""Strategies of the property tests: data sets, settings of systems, and questions to ask them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st
from planted_system import make

from gt2lite import GT2Regressor
from gt2lite.calibration import CoverageError

PLANES = (1.0, 0.99, 0.7, 0.5, 0.1, 0.05, 0.011, 0.01)  # the narrowest first
ULPS = 64 * np.finfo(float).eps

seeds = st.integers(0, 2**32 - 1)

SETTINGS = st.fixed_dictionaries(
    {
        "n_rules": st.integers(1, 4),
        "epochs": st.integers(1, 3),
        "batch_size": st.sampled_from([3, 16, 64]),
        "learning_rate": st.floats(1e-4, 0.05),
        "coverage": st.floats(0.5, 0.999),
        "objective": st.sampled_from(["dual", "aligned"]),
        "smf": st.sampled_from(["per_input", "scalar"]),
        "keep": st.sampled_from(["last", "best"]),
        "schedule": st.sampled_from(["constant", "cosine"]),
        "weight_decay": st.sampled_from([0.0, 0.1]),
        "averaging": st.sampled_from([0.0, 0.9]),
        "start": st.sampled_from(["per_input", "joint"]),
        "sigma_scale": st.floats(0.05, 10),
        "random_state": st.integers(0, 1000),
        "n_systems": st.sampled_from([1, 1, 2, 3]),
        "margins": st.sampled_from([None, None, 0.0, 0.5, 1.0]),
        "inputs": st.sampled_from(["scaled", "scaled", "ranks"]),
    }
)


def draw_data(seed: int, plain: bool = False) -> tuple[Any, Any]:
    """Return inputs (N, M) and targets (N,); `plain` ones are multiples of 1/8."""
    rng = np.random.default_rng(seed)
    N, M = int(rng.integers(8, 61)), int(rng.integers(1, 5))
    X = rng.normal(size=(N, M))
    y = X[:, 0] + np.sin(2 * X[:, -1]) + 0.3 * rng.normal(size=N)
    if plain:
        return np.round(8 * X) / 8, np.round(8 * y) / 8
    X = X * 10.0 ** rng.uniform(-3, 3, M) + rng.integers(-5, 6, M)
    y = y * 10.0 ** rng.uniform(-3, 3) + rng.integers(-5, 6)
    if rng.random() < 0.2:  # integers, with ties
        y = np.round(y)
        y[0] += 1.0
    return X, y


def draw_extreme_column(rng: np.random.Generator, N: int) -> Any:
    """Return a column (N,) of any size: huge, tiny, mixed, nearly constant, with an outlier."""
    z = rng.normal(size=N)
    how = rng.integers(6)
    with np.errstate(all="ignore"):
        if how == 0:
            low, high = rng.choice([(-306, 307), (290, 308), (-320, -290)])
            x = z * 10.0 ** rng.uniform(low, high)
        elif how == 1:  # a standard deviation that is small beside the mean
            x = (1 + z * 10.0 ** rng.uniform(-17, 0)) * 10.0 ** rng.uniform(-290, 290)
        elif how == 2:
            x = np.sign(z) * 10.0 ** rng.uniform(-307, 299, N)
        elif how == 3:
            x = z * 10.0 ** rng.uniform(-200, 100)
            x[rng.integers(N)] *= 10.0 ** rng.uniform(0, 190)
        elif how == 4:
            x = np.full(N, rng.choice([0.0, -0.0, 5e-324, -1e-310, 1e299, 0.1]))
        else:
            x = np.where(z > 0, 10.0 ** rng.uniform(-299, 299), 0.0)
    return np.where(np.isfinite(x), x, 1e308)


@dataclass
class Question:
    """How a system is calibrated and which levels it is asked for."""

    method: str = "conformal"
    sides: str = "both"
    levels: list[float] = field(default_factory=lambda: [0.3, 0.5])
    groups: Any = None

    @property
    def ranked(self) -> bool:
        return self.method in ("conformal", "exact")


def draw_question(seed: int, n: int) -> Question:
    """Draw a question that `n` calibration rows can answer, if the method can."""
    rng = np.random.default_rng([seed, 1])
    asked = Question(str(rng.choice(["conformal", "conformal", "exact", "search", "table"])))
    smallest = n
    if asked.ranked:
        asked.sides = str(rng.choice(["both", "each"]))
        if n >= 8 and rng.random() < 0.3:
            asked.groups, smallest = np.arange(n) % 2, n // 2
    highest = (smallest - (asked.sides == "each")) / (smallest + 1)
    if highest <= 0:
        asked.sides, highest = "both", smallest / (smallest + 1)
    asked.levels = sorted(float(highest * u) for u in rng.uniform(0.02, 1, rng.integers(1, 5)))
    return asked


@dataclass
class Answer:
    """Predictions, planes and calibrated intervals of some rows."""

    predicted: Any
    planes: list[tuple[Any, Any]]
    levels: tuple[Any, Any] | None  # (N, L), the lowest first; None if out of reach

    @property
    def arrays(self) -> list[Any]:
        return [self.predicted, *(b for pair in self.planes for b in pair), *(self.levels or ())]


def ask(
    X: Any, y: Any, settings: dict[str, Any], asked: Question, new: Any = None
) -> tuple[Answer, GT2Regressor]:
    """Fit, calibrate on the same rows and ask about them, or about the rows `new`."""
    reg = make(**settings).fit(X, y)
    rows, groups = (X, asked.groups) if new is None else (new, None)
    if new is not None and asked.groups is not None:
        groups = np.zeros(len(new), dtype=int)
    planes = [reg.predict_interval(rows, alpha=alpha) for alpha in PLANES]
    answer = Answer(reg.predict(rows), planes, None)
    reg.calibrate(X, y, method=asked.method, sides=asked.sides, groups=asked.groups)
    try:
        answer.levels = reg.predict_interval(rows, coverage=asked.levels, groups=groups)
    except CoverageError:
        if asked.ranked:  # these levels are within reach
            raise
    return answer, reg


def check(answer: Answer, asked: Question, y: Any) -> None:
    """Assert that an answer to a model of the targets `y` is finite, ordered and nested."""
    assert all(np.isfinite(array).all() for array in answer.arrays)
    for lower, upper in [*answer.planes, *([answer.levels] if answer.levels else [])]:
        assert (lower <= upper).all()
    for (lower, upper), (below, above) in zip(answer.planes, answer.planes[1:], strict=False):
        assert (below <= lower).all()
        assert (upper <= above).all()
    lower, upper = answer.planes[-1]
    # answers are mean + std * output, and are rounded as these are, even where they cancel
    room = ULPS * max(np.abs(array).max() for array in (lower, upper, answer.predicted, y))
    assert (lower - room <= answer.predicted).all()
    assert (answer.predicted <= upper + room).all()
    if answer.levels and asked.ranked:
        lower, upper = answer.levels
        assert (np.diff(lower, axis=1) <= 0).all()
        assert (np.diff(upper, axis=1) >= 0).all()


def check_coverage(answer: Answer, asked: Question, y: Any) -> None:
    """Assert that calibration rows are covered as often as each level says."""
    if answer.levels is None or not asked.ranked:
        return
    for j, level in enumerate(asked.levels):
        lower, upper = answer.levels[0][:, j], answer.levels[1][:, j]
        room = ULPS * (np.abs(lower) + np.abs(upper) + np.abs(y).max())
        assert ((lower - room <= y) & (y <= upper + room)).mean() >= level - 1e-9


def check_scale(answer: Answer, y: Any) -> None:
    """Assert that no answer is far outside the range of the targets."""
    low, high = float(y.min()) / 2, float(y.max()) / 2  # halves, so that the range is finite
    span = max(high - low, ULPS * max(abs(low), abs(high)))
    if span > 0 and low < high:
        for array in answer.arrays:
            assert (array / 2 >= low - 1e3 * span).all()
            assert (array / 2 <= high + 1e3 * span).all()
