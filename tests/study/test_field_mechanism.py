"""Data of known noise: the true quantiles cover what they should, and nothing scores better."""

from __future__ import annotations

import numpy as np
import pytest

from gt2lite.metrics import interval_score, picp
from study.field.mechanism import SPREADS, best_intervals, compare, draw


@pytest.mark.parametrize("law", SPREADS)
def test_the_best_intervals_cover_the_level_everywhere_and_have_the_smallest_score(law):
    sample = draw(law, 40_000, np.random.default_rng(0))
    for level in (0.90, 0.95):
        lower, upper = best_intervals(sample, law, level)
        for half in (sample.X[:, 1] < 0, sample.X[:, 1] >= 0):
            assert picp(sample.y[half], lower[half], upper[half]) == pytest.approx(level, abs=0.01)
        best = interval_score(sample.y, lower, upper, level)
        for stretch in (0.9, 1.1):
            reach = stretch * (upper - lower) / 2
            other = interval_score(sample.y, sample.mean - reach, sample.mean + reach, level)
            assert other > best


def test_only_two_laws_have_noise_that_changes():
    rng = np.random.default_rng(0)
    varies = {law: bool(np.ptp(draw(law, 50, rng).spread) > 0) for law in SPREADS}
    assert varies == {"constant": False, "linear": True, "two regimes": True, "heavy tails": False}


def test_an_unknown_law_gets_the_known_ones():
    with pytest.raises(ValueError, match="two regimes"):
        draw("pink", 10, np.random.default_rng(0))


def test_scores_are_multiples_of_the_best_one():
    found = compare("two regimes", n_train=120, n_cal=100, n_test=300, seeds=[0], epochs=30)
    assert min(found[1:4]) > 0.95  # below 1 only by the luck of 300 rows
    assert -1 <= float(found.correlation) <= 1
    assert compare("constant", n_train=60, n_cal=100, seeds=[0], epochs=1).correlation == ""
