"""Redraws of calibration and test sets: scores and systems with known answers."""

from __future__ import annotations

import numpy as np

from gt2lite.calibration import CALIBRATORS, Scores, critical_scores
from gt2lite.memberships import kappa_of
from study.guarantee import redrawn_coverage, redraws


def family(n):
    """N intervals from -kappa to kappa."""
    return lambda alpha: np.broadcast_to([[-1.0], [1.0]], (2, n)) * kappa_of(alpha)


def test_redrawn_coverage_is_what_calibrators_do_with_the_rows():
    y = np.random.default_rng(0).normal(scale=0.6, size=300)
    scores = critical_scores(family(300), y)
    found = redrawn_coverage(scores, 0.8, 120, 150, 5, np.random.default_rng(1))
    assert list(found) == list(CALIBRATORS)
    for i, (cal, test) in enumerate(redraws(300, 120, 150, 5, np.random.default_rng(1))):
        assert len({*cal, *test}) == 120 + 150  # every row at most once
        for method, shares in found.items():
            calibrator = CALIBRATORS[method]().fit(family(120), y[cal])
            lower, upper = calibrator.intervals(family(150), 0.8)
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
