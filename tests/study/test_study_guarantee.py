"""The guarantee put to the test: scores and systems with known answers."""

from __future__ import annotations

import numpy as np
import pytest

from gt2lite.calibration import critical_scores
from gt2lite.memberships import kappa_of
from study import guarantee


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
