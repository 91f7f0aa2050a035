"""What the tests of the study can see: simulation against known laws."""

from __future__ import annotations

import numpy as np
import pytest

from study.power import power_of_runs, runs_needed

stats = pytest.importorskip("scipy.stats")


def exact(effect, n, threshold):
    """The power of the two-sided t-test of equal variances."""
    degrees, shift = 2 * n - 2, effect * np.sqrt(n / 2)
    t = stats.t.isf(threshold / 2, degrees)
    return stats.nct.sf(t, degrees, shift) + stats.nct.cdf(-t, degrees, shift)


def test_simulated_power_is_about_that_of_the_t_test():
    effect = [0.0, 0.5, 1.0, 1.5]
    found = power_of_runs(effect, 20, 20, 48, 4000, np.random.default_rng(0))
    for i, size in enumerate(effect):
        assert found.one[i] == pytest.approx(exact(size, 20, 0.05), abs=0.02)
        assert found.first[i] == pytest.approx(exact(size, 20, 0.05 / 48), abs=0.02)
    assert (found.effect == effect).all()


def test_what_is_found_four_times_out_of_five_is_read_off_the_curves():
    effect = np.linspace(0, 4, 9)
    found = power_of_runs(effect, 6, 6, 10, 500, np.random.default_rng(1))
    assert np.interp(found.single, effect, found.one) == pytest.approx(0.8)
    assert np.interp(found.many, effect, found.first) == pytest.approx(0.8)
    assert found.many > found.single


@pytest.mark.parametrize(("effect", "n_tests"), [(1.0, 1), (1.0, 48), (2.5, 48), (0.5, 3)])
def test_needed_runs_are_the_fewest(effect, n_tests):
    n = runs_needed(effect, n_tests)
    assert exact(effect, n, 0.05 / n_tests) >= 0.8 > exact(effect, n - 1, 0.05 / n_tests)


def test_more_runs_of_ours_help_only_so_far():
    effect = np.array([0.0, 1.5])
    few, many = (power_of_runs(effect, 5, n, 1, 4000, np.random.default_rng(2)) for n in (5, 50))
    assert many.one[1] > few.one[1] + 0.1
    degrees, shift = 53, 1.5 / np.sqrt(1 / 5 + 1 / 50)
    exact_power = stats.nct.sf(stats.t.isf(0.025, degrees), degrees, shift)
    assert many.one[1] == pytest.approx(exact_power, abs=0.02)
    assert runs_needed(1.5, 1, n_ours=50) < runs_needed(1.5, 1)
