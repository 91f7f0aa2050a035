"""The guarantee put to the test: scores and systems with known answers."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from gt2lite.calibration import ConformalCalibrator, Scores, critical_scores
from gt2lite.datasets import Prepared, load_dataset, prepare
from gt2lite.memberships import kappa_of
from gt2lite.system import Planes
from gt2lite.training import Recipe, train
from study import guarantee


@pytest.fixture(scope="module")
def data() -> Prepared:
    """Return the prepared parts of the smallest data set."""
    return prepare(load_dataset("aids"), seed=0)


@pytest.fixture(scope="module")
def params(data: Prepared) -> dict[str, np.ndarray]:
    """Return a system of three rules, trained for a moment."""
    recipe = Recipe(epochs=5, learning_rate=0.05, n_rules=3)
    return train(data.X_train, data.y_train, recipe, seed=0, progress=False).params


@pytest.fixture(scope="module")
def conformal(data: Prepared, params: dict[str, np.ndarray]) -> ConformalCalibrator:
    """Return its calibration."""
    return ConformalCalibrator().fit(Planes(params, data.X_cal), data.y_cal)


def test_widths_rise_with_the_level_and_end_in_the_margin(
    conformal: ConformalCalibrator, data: Prepared, params: dict[str, np.ndarray]
) -> None:
    curve = guarantee.width_curve(conformal, Planes(params, data.X_test))
    n = conformal.n_samples
    assert curve.level.iloc[-1] == n / (n + 1)
    assert len(curve) == n + 1 - (n + 1) // 2
    assert (np.diff(curve.width) >= -1e-12).all()
    assert (np.diff(curve.stage) >= 0).all()
    assert ((curve.stage == 2) == (curve.margin > 0)).all()
    assert curve.stage.iloc[-1] == 2


def test_sides_are_counted_apart() -> None:
    """Of ten targets above the intervals and one below, one plane misses above, two do not."""
    y = np.concatenate([np.linspace(0, 2, 190), np.linspace(-0.5, 0, 10)])

    def interval(alpha: float | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        kappa = np.broadcast_to(kappa_of(alpha), y.shape)
        return -kappa, kappa

    scores = critical_scores(interval, y)
    rng = np.random.default_rng(0)
    both = guarantee.missed(scores, 100, 0.8, "both", 20, rng).mean(axis=0)
    each = guarantee.missed(scores, 100, 0.8, "each", 20, rng).mean(axis=0)
    assert both.shape == (2,)
    assert both[0] == 0  # no target is as far below as one in five is above
    assert both[1] == pytest.approx(0.2, abs=0.03)
    assert each[1] == pytest.approx(0.1, abs=0.03)


def test_duplicates_are_rows_with_the_same_inputs_and_target() -> None:
    rows = np.array([[1.0, 0.0], [1.0, 1.0], [2.0, 0.0], [1.0, -0.0], [1.0, 0.0], [2.0, 5.0]])
    dataset = SimpleNamespace(X=rows[:, :1], y=rows[:, 1])
    split = SimpleNamespace(train=np.array([0, 2]), test=np.array([1, 3, 4, 5]))
    assert guarantee.duplicates(dataset, split) == 0.5  # the rows 3 and 4


def test_sorted_rows_are_covered_by_what_came_first() -> None:
    """Scores 1 to 10 that rise along the key: what calibrates is smaller than all that is new."""
    numbers = np.arange(1.0, 11.0)
    scores = Scores(np.zeros(10), numbers, np.ones(10), 0.01)
    assert guarantee.in_order(scores, numbers, n_cal=4, level=0.8) == 0
    assert guarantee.in_order(scores, -numbers, n_cal=4, level=0.8) == 1
