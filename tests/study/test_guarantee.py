"""The guarantee put to the test: hand-made coverages, scores and systems with known answers."""

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
from study.guarantee import Groups


def test_methods_are_rows_and_sets_are_columns_in_per_cent() -> None:
    flat, rising = np.array([0.75, 0.75]), np.array([0.5, 1.0])
    redrawn = {"A": {"exact": flat, "search": rising}, "B": {"exact": rising, "search": flat}}
    exact, search = guarantee.by_method(redrawn, level=0.8)
    assert (exact.method, search.method) == ("exact", "search")
    assert exact.mean == {"A": 75.0, "B": 75.0}
    assert exact.error == {"A": 0.0, "B": pytest.approx(25.0)}
    assert exact.below == {"A": 100.0, "B": 50.0}
    assert search.below == {"A": 50.0, "B": 100.0}


def test_coverage_at_the_level_is_not_below_it() -> None:
    assert guarantee.spread(np.array([0.9, 0.9]), level=0.9).below == 0


def test_the_law_of_one_calibration_sample_is_uniform() -> None:
    """With k = 1 of one sample coverage is Beta(1, 1), and 0, 1, 2 of two new ones are alike."""
    found = guarantee.beside_law(np.array([0.0, 0.5, 1.0]), level=0.5, n_cal=1, n_test=2)
    assert (found.redraws, found.n_cal, found.mean, found.law_mean) == (3, 1, 50, 50)
    assert (found.std, found.error) == (pytest.approx(50), pytest.approx(50 / np.sqrt(3)))
    assert found.law_std == pytest.approx(100 * np.sqrt(2 / 3) / 2)  # of 0, 1/2, 1 alike
    assert (found.low, found.high) == (pytest.approx(2.5), pytest.approx(97.5))


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
    assert curve.levels[-1] == n / (n + 1)
    assert curve.levels.size == n + 1 - (n + 1) // 2
    assert (np.diff(curve.widths) >= -1e-12).all()
    assert (np.diff(curve.stages) >= 0).all()
    assert ((curve.stages == 2) == (curve.margins > 0)).all()
    assert curve.stages[-1] == 2


def test_what_is_held_agrees_with_counting(
    conformal: ConformalCalibrator, data: Prepared, params: dict[str, np.ndarray]
) -> None:
    low, high = (guarantee.held(conformal, params, data, level) for level in (0.01, 0.99))
    lower, upper = conformal.intervals(Planes(params, data.X_test), 0.99)
    inside = [lo <= y <= up for lo, y, up in zip(lower, data.y_test, upper, strict=True)]
    assert high.coverage == pytest.approx(100 * sum(inside) / len(inside))
    assert f"{conformal.margin(0.99):.2f} standard deviations" in high.margin
    assert low.margin == "no margin"
    assert low.coverage < high.coverage


def test_planes_beyond_the_envelope_are_compared_with_it(
    conformal: ConformalCalibrator, data: Prepared, params: dict[str, np.ndarray]
) -> None:
    found = guarantee.beyond(conformal, params, data.X_test)
    planes = Planes(params, data.X_test)
    envelope, last = (np.subtract(*planes(a)[::-1]).mean() for a in (0.01, planes.alpha_min))
    n = conformal.n_samples
    assert (found.inputs, found.highest) == (23, 100 * n / (n + 1))
    assert 0 < found.of_range <= 100
    more = 100 * (last / envelope - 1)
    told = "less than 0.001" if more < 0.0005 else f"{more:.3f}" if more < 1 else f"{more:.0f}"
    assert found.wider.replace("\xa0", " ") == f"{told} %"


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


def test_the_most_one_sided_set_is_told_with_both_ways() -> None:
    even = {
        "both": np.array([[0.05, 0.05]] * 4),
        "each": np.array([[0.05, 0.04], [0.07, 0.04]] * 2),
    }
    skewed = {"both": np.array([[0.09, 0.01]] * 4), "each": np.array([[0.05, 0.03]] * 4)}
    found = guarantee.one_sided({"E": even, "S": skewed}, level=0.9)
    assert found.skewed == "S"
    assert (found.both_below, found.both_above) == (pytest.approx(9), pytest.approx(1))
    assert (found.each_below, found.each_above) == (pytest.approx(5), pytest.approx(3))
    assert (found.worst, found.promised) == (pytest.approx(6), pytest.approx(5))
    assert found.error == pytest.approx(100 * np.std([0.05, 0.07] * 2, ddof=1) / 2)


def test_groups_are_counted_by_label() -> None:
    y, groups = np.array([0.0, 0.5, 2.0, 0.1]), np.array([7, 3, 7, 3])
    ends = np.zeros(4), np.array([1.0, 1.0, 1.0, 3.0])
    shares = guarantee.group_shares(y, ends, groups)
    np.testing.assert_array_equal(shares, [1.0, 0.5])  # of group 3, and of group 7
    assert guarantee.group_facts(shares, ends) == Groups(50.0, "1 patient has", 25.0, 1.5)


def test_twins_are_rows_with_the_same_inputs_and_target() -> None:
    rows = np.array([[1.0, 0.0], [1.0, 1.0], [2.0, 0.0], [1.0, -0.0], [1.0, 0.0], [2.0, 5.0]])
    dataset = SimpleNamespace(X=rows[:, :1], y=rows[:, 1])
    split = SimpleNamespace(train=np.array([0, 2]), test=np.array([1, 3, 4, 5]))
    assert guarantee.twins(dataset, split) == 0.5  # the rows 3 and 4


def test_sorted_rows_are_covered_by_what_came_first() -> None:
    """Scores 1 to 10 that rise along the key: what calibrates is smaller than all that is new."""
    numbers = np.arange(1.0, 11.0)
    scores = Scores(np.zeros(10), numbers, np.ones(10), 0.01)
    assert guarantee.in_order(scores, numbers, n_cal=4, level=0.8) == 0
    assert guarantee.in_order(scores, -numbers, n_cal=4, level=0.8) == 1


def test_orders_of_a_real_set(data: Prepared, params: dict[str, np.ndarray]) -> None:
    X, y = np.vstack([data.X_cal, data.X_test]), np.concatenate([data.y_cal, data.y_test])
    scores = critical_scores(Planes(params, X), y)
    found = guarantee.orders(load_dataset("aids"), data, scores, 0.9, np.array([0.88, 0.92]))
    assert (found.name, found.dealt) == ("AIDS", pytest.approx(90))
    assert found.ranked != found.filed
    assert found.twins == 0
