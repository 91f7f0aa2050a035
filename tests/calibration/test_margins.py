"""Facts about margins that follow the width of the envelope, to a power."""

import numpy as np
import pytest

from gt2lite.calibration import (
    FLOOR,
    POWERS,
    ConformalCalibrator,
    MarginFamily,
    Margins,
    critical_scores,
)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


class Envelope:
    """An envelope with the widths given, and an output of its own."""

    def __init__(self, width):
        self.width, self.asked = np.asarray(width, dtype=float), 0

    def __call__(self, alpha):
        self.asked += 1
        return -self.width / 4, 3 * self.width / 4

    def output(self, alphas):
        return np.arange(self.width.size, dtype=float)


def test_half_the_width_is_that_of_the_envelope_at_power_one():
    lower, upper = Margins(1.0, usual=2.0).around(Envelope([1.0, 2.0, 8.0]), [1.0])(0.01)
    np.testing.assert_allclose(upper - lower, [1.0, 2.0, 8.0])
    np.testing.assert_allclose((lower + upper) / 2, [0.0, 1.0, 2.0])


def test_at_power_zero_all_rows_have_the_usual_width_and_nobody_asks_for_theirs():
    envelope = Envelope([1.0, 2.0, 8.0])
    lower, upper = Margins(0.0, usual=2.0).around(envelope, [1.0])(0.01)
    np.testing.assert_allclose(upper - lower, 2.0)
    assert envelope.asked == 0


@pytest.mark.parametrize("power", POWERS)
def test_between_them_the_width_is_a_power(power):
    lower, upper = Margins(power, usual=2.0).around(Envelope([1.0, 8.0]), [1.0])(0.01)
    np.testing.assert_allclose(upper - lower, 2 * np.array([0.5, 4.0]) ** power)


def test_a_width_of_nothing_counts_as_a_share_of_the_usual_one():
    lower, upper = Margins(1.0, usual=2.0).around(Envelope([0.0, 2.0]), [1.0])(0.01)
    np.testing.assert_allclose(upper - lower, [FLOOR * 2, 2.0])


@pytest.mark.parametrize("power", POWERS)
def test_members_are_nested_down_to_the_smallest_plane(power, rng):
    family = Margins(power, usual=0.3).around(Envelope(rng.exponential(size=50)), [1.0])
    alphas = np.concatenate([[1.0], np.geomspace(1, family.alpha_min, 60)[1:]])
    lower, upper = family.ends(alphas)
    assert (np.diff(lower, axis=0) <= 0).all() and (np.diff(upper, axis=0) >= 0).all()
    np.testing.assert_array_equal(lower[7], family(alphas[7])[0])
    np.testing.assert_array_equal(lower[0], upper[0])


def test_scores_are_the_residuals_in_units_of_the_half_width(rng):
    centre, half, y = rng.normal(size=40), rng.exponential(size=40) + 0.1, rng.normal(size=40)
    scores = critical_scores(MarginFamily(centre, half), y)
    kappa = np.sqrt(np.log(scores.alpha) / np.log(0.01))
    np.testing.assert_allclose(kappa, np.abs(y - centre) / half, rtol=1e-9, atol=1e-9)


def test_conformal_margins_have_the_textbook_rank(rng):
    centre, half, y = rng.normal(size=99), rng.exponential(size=99) + 0.1, rng.normal(size=99)
    calibrator = ConformalCalibrator()
    with pytest.warns(UserWarning, match="only 99"):
        calibrator.fit(MarginFamily(centre, half), y)
    lower, upper = calibrator.intervals(MarginFamily(np.zeros(1), np.ones(1)), 0.9)
    wanted = np.sort(np.abs(y - centre) / half)[89]  # ceil(100 * 0.9) = 90th smallest
    np.testing.assert_allclose([-lower[0], upper[0]], wanted, rtol=1e-9)
