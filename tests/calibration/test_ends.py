"""Facts about the end of searches: options are bounded, and so is the work, provably."""

import numpy as np
import pytest

from gt2lite import GT2Regressor
from gt2lite.calibration import SearchCalibrator, TableCalibrator
from gt2lite.memberships import kappa_of
from gt2lite.model_file import StoredRowsWarning

rng = np.random.default_rng(0)


def family(n):
    y = rng.normal(size=n)

    def interval(alpha):
        kappa = np.broadcast_to(kappa_of(alpha), y.shape)
        return -3 * kappa, 3 * kappa

    return interval, y


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("min_step", 5e-324),
        ("min_step", 0.0),
        ("shrink", 1 - 1e-12),
        ("shrink", 0.91),
        ("shrink", 0.0),
        ("step", 1e-9),
        ("step", 1.1),
        ("tolerance", -0.1),
        ("tolerance", float("nan")),
        ("start", 0.0),
    ],
)
def test_an_option_that_would_search_for_ever_is_refused_by_name(option, value):
    with pytest.raises(ValueError, match=option):
        SearchCalibrator(**{option: value})


@pytest.mark.parametrize("step", [1e-6, 1e-9, 5e-324, 0.0, 1.5])
def test_a_table_of_too_many_planes_is_refused(step):
    with pytest.raises(ValueError, match="step"):
        TableCalibrator(step=step)


def test_the_finest_table_has_a_thousand_planes():
    assert TableCalibrator(step=1e-3).fit(*family(120)).n_evaluations <= 1001


def test_no_search_looks_at_more_planes_than_its_bound():
    draws = np.random.default_rng(1)
    most = 0.0
    for _ in range(200):
        search = SearchCalibrator(
            start=draws.uniform(0.01, 1),
            step=10 ** draws.uniform(-6, 0),
            shrink=draws.uniform(0.01, 0.9),
            tolerance=draws.choice([0.0, 1e-9, 0.01]),
            min_step=10 ** draws.uniform(-6, 0),
        ).fit(*family(int(draws.integers(100, 130))))
        before = search.n_evaluations
        search.alpha(draws.uniform(0.05, search.max_coverage))
        most = max(most, (search.n_evaluations - before) / search.most_evaluations())
    assert 0.1 < most <= 1


def test_options_in_a_model_file_are_bounded_too(tmp_path, monkeypatch):
    X = rng.normal(size=(200, 1))
    reg = GT2Regressor(n_rules=2, epochs=30, learning_rate=0.05).fit(X, X[:, 0])
    reg.calibrate(X, X[:, 0], method="search")
    state = reg.calibrator_.get_state

    def never_ending():
        meta, arrays = state()
        meta["options"] |= {"min_step": 5e-324, "shrink": 0.9999999}
        return meta, arrays

    monkeypatch.setattr(reg.calibrator_, "get_state", never_ending)
    with pytest.warns(StoredRowsWarning):
        reg.save(tmp_path / "m.json")
    with pytest.raises(ValueError, match=r"shrink|min_step"):
        GT2Regressor.load(tmp_path / "m.json")
