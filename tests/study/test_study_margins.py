"""Nested families: ranks decide, the oracle covers its level, redraws cover by known laws."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gt2lite.calibration import Scores, critical_scores, rank
from gt2lite.memberships import kappa_of
from gt2lite.metrics import interval_score, picp
from gt2lite.practice.calibrators import CALIBRATORS
from gt2lite.recipe import Recipe
from gt2lite.system import Planes
from gt2lite.training import init_params
from study import margins
from study.guarantee import redrawn_coverage, redraws
from study.margins import around, at_coverage, between, calibrated, planes_at_coverage
from study.protocol import run
from study.results import load

FAMILIES = {
    "constant": lambda y_hat, scale: around(y_hat),
    "scaled": around,
    "quantiles": lambda y_hat, scale: between(y_hat - scale, y_hat + 0.5 * scale),
}


def drawn(n, seed):
    """Return estimates, scales and targets (n,)."""
    rng = np.random.default_rng(seed)
    y_hat, scale = rng.normal(size=n), rng.uniform(0.2, 2, n)
    return y_hat, scale, y_hat + scale * rng.standard_t(4, n)


@pytest.mark.parametrize("kind", FAMILIES)
@pytest.mark.parametrize("level", [0.1, 0.5, 0.95])
def test_a_margin_is_the_smallest_that_covers_its_rank_of_calibration_or_test_rows(kind, level):
    (*about_cal, y_cal), (*about_test, y_test) = drawn(99, seed=1), drawn(200, seed=2)
    cal, test = FAMILIES[kind](*about_cal), FAMILIES[kind](*about_test)
    conformal, oracle = calibrated(cal, test, y_cal, level), at_coverage(test, y_test, level)
    assert picp(y_test, *oracle) == rank(level, 200) / 200
    for (lower, upper), family, y, k in (
        (conformal, cal, y_cal, rank(level, 100)),
        (oracle, test, y_test, rank(level, 200)),
    ):
        assert (lower <= upper).all()
        t = np.median((upper - test.upper) / test.scale)  # of nearly all rows the same
        assert_allclose((lower, upper), test.at(t), atol=1e-9)
        counts = [picp(y, *family.at(t + more)) * len(y) for more in (-1e-6, 1e-9)]
        assert round(counts[0]) < round(counts[1]) == k


def test_rounding_never_takes_a_target_from_the_oracle():
    for seed in range(50):  # a bound plus the distance to a target may round to less than it
        y_hat, scale, y = drawn(30, seed)
        for level in (0.3, 0.5, 0.9):
            found = at_coverage(around(y_hat, scale), y, level)
            assert picp(y, *found) >= rank(level, 30) / 30


def band(y, width=1.0):
    """The plane alpha reaches from -kappa to kappa, times `width`."""
    return lambda alpha: width * kappa_of(alpha) * np.stack([-np.ones(y.shape), np.ones(y.shape)])


@pytest.mark.parametrize(("level", "width"), [(0.01, 0.02), (0.905, 1.82), (0.995, 4.0)])
def test_the_oracle_of_planes_with_a_known_answer(level, width):
    y = np.append(np.linspace(0.01, 0.99, 99), 2.0)  # the last is beyond all planes
    for unit in (1.0, 1.5):  # how planes are spread does not matter
        found = planes_at_coverage(band(y, unit), y, level)
        assert margins.mean_width(found) == pytest.approx(width)


# ------------------------------------------------------- calibrated against directly trained


@pytest.mark.parametrize(("other", "width"), [(2.5, 1.8), (0.5, 1.0)])  # reaches the level, or half
def test_widths_are_compared_at_the_level_or_the_most_that_both_cover(other, width):
    y = np.linspace(-1, 1, 201)
    found = margins.widths_at_equal_coverage(y, [band(y, 1.0), band(y, other)], 0.9)
    assert found == pytest.approx([width, width], abs=0.02)


def test_planes_and_a_constant_margin_by_hand():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(280, 2)), rng.normal(size=280)
    params = init_params(X, 3, rng) | {"a0": np.array([-1.0, 0.0, 2.0])}
    data = SimpleNamespace(X_cal=X[:120], y_cal=y[:120], X_test=X[120:], y_test=y[120:])
    planes, alphas = Planes(params, data.X_test), Recipe().planes.alphas
    found = margins.compare_pair(margins.Pair(0.75, data, planes, planes, 0.01))
    for name in ("picp", "width"):  # the same system twice
        assert found[f"{name}_calibrated"] == found[f"{name}_trained"]
    output = planes.output(alphas)
    assert found["margin_width"] == pytest.approx(2 * np.sort(np.abs(data.y_test - output))[119])
    errors = np.sort(np.abs(data.y_cal - Planes(params, data.X_cal).output(alphas)))
    d = errors[90]  # rank 91: at least 0.75 of 121
    score = interval_score(data.y_test, output - d, output + d, 0.75)
    assert found["margin_score"] == pytest.approx(score)


def test_a_pair_is_the_search_against_the_lowest_plane_and_makes_a_stored_row():
    short = Recipe(n_rules=2, epochs=4, learning_rate=0.02)
    baseline, direct = (run("aids", 3, m, recipe=short) for m in ("baseline", "trained_95"))
    found = margins.compare_pair(margins.pair("aids", 3, 0.95, baseline, direct))
    searched = baseline.records.query("method == 'search' and level == 0.95")
    for name, record in {"calibrated": searched, "trained": direct.records}.items():
        assert found[f"pinaw_{name}"] == pytest.approx(record.pinaw.item())
    assert ["dataset", "seed", "level", *found] == list(load("widths"))


# ---------------------------------------------------------------- redrawn calibration and test sets


def test_redrawn_coverage_is_what_calibrators_do_with_the_rows():
    y = np.random.default_rng(0).normal(scale=0.6, size=300)
    scores = critical_scores(band(y), y)
    found = redrawn_coverage(scores, 0.8, 120, 150, 5, np.random.default_rng(1))
    assert list(found) == list(CALIBRATORS)
    for i, (cal, test) in enumerate(redraws(300, 120, 150, 5, np.random.default_rng(1))):
        assert len({*cal, *test}) == 120 + 150  # every row at most once
        for method, shares in found.items():
            calibrator = CALIBRATORS[method]().fit(band(y[cal]), y[cal])
            lower, upper = calibrator.intervals(band(y[test]), 0.8)
            assert shares[i] == np.mean((lower <= y[test]) & (y[test] <= upper))


def test_a_sample_is_covered_by_the_very_plane_of_its_score():
    # The plane 0.3 covers all of them and 0.4 half: 99.9 % is asked of a plane just above 0.3. Were
    # a sample outside its own plane, 0.2 and 0.3 would stand there instead, and all be covered.
    scores = Scores(np.repeat([0.3, 0.7], 150), np.zeros(300), np.ones(300), 0.01)
    found = redrawn_coverage(scores, 0.999, 100, 100, 5, np.random.default_rng(0), ("table",))
    assert (found["table"] < 0.7).all()


def test_where_no_plane_reaches_the_level_the_methods_of_the_paper_end_at_the_widest():
    alpha = np.repeat([0.5, 0.0], 100)
    scores = Scores(alpha, np.where(alpha > 0, 0.0, 1.0), np.ones(200), 0.01)
    found = redrawn_coverage(scores, 0.9, 100, 100, 20, np.random.default_rng(0))
    assert max(found["table"].max(), found["search"].max()) < 0.7
    assert found["exact"].min() == found["conformal"].min() == 1  # the margin covers all
