"""Planes with many inputs: the bounds hold, the rate is that of the theorem, small shares help."""

from __future__ import annotations

import numpy as np
import pytest

from gt2lite.memberships import alpha_of
from gt2lite.system import Planes, sigmoid
from study.saturation import (
    lacking,
    made_up,
    shortfall,
    small_shares,
    summary,
    trial,
)


@pytest.mark.parametrize("n_inputs", [1, 23])
@pytest.mark.parametrize("kappa", [0.05, 1.0])
def test_ends_stay_between_the_bounds_of_the_theorem(n_inputs, kappa):
    least, ends, most = shortfall(*made_up(n_inputs, n_rows=50), kappa)
    assert ends.shape == (2, 50)
    assert (least <= ends * (1 + 1e-9)).all()
    assert (ends <= most * (1 + 1e-9)).all()
    assert least.max() > 0


def test_the_shortfall_is_the_distance_of_the_ends_from_the_outermost_consequents():
    params, X = made_up(3, n_rows=20)
    y = X @ params["a"].T + params["a0"]
    lower, upper = Planes(params, X)(float(alpha_of(0.7)))
    wanted = np.stack([lower - y.min(axis=1), y.max(axis=1) - upper])
    np.testing.assert_allclose(shortfall(params, X, 0.7)[1], wanted, atol=1e-9)


def test_what_is_lacking_falls_geometrically_with_the_inputs():
    """Ten inputs more at kappa = 1 and shares of a half: 2**10 times less, give or take."""
    few, many = (lacking(*made_up(n), [1.0])[0] for n in (20, 30))
    assert 2**8 < few / many < 2**12


def test_with_small_shares_it_hardly_does():
    found = []
    for n in (5, 50):
        params, X = made_up(n)
        small = small_shares(params)
        np.testing.assert_allclose(sigmoid(small["raw_l"]), 1 / (2 * n))
        found.append(lacking(small, X, [1.0])[0])
    assert 0.5 < found[0] / found[1] < 2
    assert found[1] > 0.05


def test_planes_run_together_sooner_with_more_inputs():
    few, many, one = (summary(*made_up(n, n_rows=50)) for n in (10, 40, 1))
    assert (few["inputs"], few["shares"]) == (10, pytest.approx(5))
    assert few["factor"] == pytest.approx(0.5**10)
    assert many["lacking"] < few["lacking"]
    assert many["together"] > few["together"]
    assert np.isnan(one["together"])


def test_a_trial_with_small_shares_leaves_planes_apart():
    usual, small = (trial("aids", 0, small, epochs=1) for small in (False, True))
    assert usual["lacking"] < small["lacking"]
    assert usual["score"] != small["score"]
    assert (usual["start"], small["start"]) == ("usual", "small")
