"""Envelopes and ways to calibrate, counted by hand."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from made_up import record

from gt2lite.study.calibrated import envelopes, farthest_search, ways

NO_BREAK = "\N{NO-BREAK SPACE}"


def baseline(dataset, seed, picp, critical):
    task = SimpleNamespace(dataset=dataset, model="baseline", seed=seed)
    own = record(dataset=dataset, model="baseline", level=0.99, picp=picp, seed=seed)
    cut = record(dataset=dataset, model="calibrated", method="search", picp=0.1, seed=seed)
    return SimpleNamespace(task=task, records=[own, cut], critical_alpha=np.array(critical))


def test_an_envelope_is_what_some_plane_covers():
    other = SimpleNamespace(
        task=SimpleNamespace(dataset="pp", model="trained_90"), records=[record(picp=0.0)]
    )
    runs = [
        baseline("pp", 0, 0.98, [0.5, 0.1, 0.2, 0.0]),
        other,
        baseline("pp", 1, 0.96, [0.5, 0.1, 0.2, 0.3]),
    ]
    (found,) = envelopes(runs)
    assert (found.set, found.least, found.short) == ("PP", 75, 1)
    assert (found.test.mean, found.calibration.mean) == (pytest.approx(97), 87.5)


def test_ways_are_of_standard_tables():
    records = [
        record(model="calibrated", method=method, seed=seed, level=level, picp=share,
               **({"step": step, "interpolation": "linear"} if step else {}))
        for level in (0.9, 0.95)
        for seed in (0, 1)
        for method, step, share in (
            ("table", 0.1, 0.8), ("table", 0.05, 0.1), ("search", None, 0.9),
            ("exact", None, level), ("conformal", None, level + 0.01 * seed),
        )
    ]  # fmt: skip
    low, high = ways(records, "picp")
    assert (low.row, high.row) == (f"WW 90{NO_BREAK}%", f"WW 95{NO_BREAK}%")
    assert [side.mean for side in low[1:4]] == pytest.approx([80, 90, 90])
    assert high.exact.mean == pytest.approx(95) and high.conformal.mean == pytest.approx(95.5)
    assert ways(records, "picp", scale=1)[0].search.mean == pytest.approx(0.9)


def test_the_farthest_search_comes_with_its_exact_answer():
    records = [
        record(dataset=name, seed=seed, level=level, model="calibrated", method=method, reached=r)
        for name in ("ww", "pp")
        for seed in (0, 1)
        for level in (0.9, 0.95)
        for method, r in (
            ("search", level - 0.02 if (name, seed, level) == ("pp", 1, 0.95) else level + 0.01),
            ("exact", level),
            ("table", 0.0),
        )
    ]
    worst, exact = farthest_search(records)
    assert (worst.dataset, worst.seed, worst.level, worst.method) == ("pp", 1, 0.95, "search")
    assert exact.cell == ("pp", "calibrated", 0.95, "exact") and exact.seed == 1
