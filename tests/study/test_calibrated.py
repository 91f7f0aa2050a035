"""Envelopes and ways to calibrate, counted by hand."""

from __future__ import annotations

import pytest
from made_up import record

from study.calibrated import envelopes, farthest_search, ways

NO_BREAK = "\N{NO-BREAK SPACE}"


def test_an_envelope_is_too_small_where_the_exact_plane_lies_below_it():
    records = [record(dataset="pp", model="baseline", level=0.99, picp=p, seed=s)
               for s, p in enumerate((0.98, 0.96))]  # fmt: skip
    records += [
        record(dataset="pp", model="calibrated", method=method, level=level, seed=seed, alpha=alpha)
        for method, floor in (("exact", 0.0), ("search", 0.01))
        for level, planes in ((0.9, (0.5, 0.01)), (0.95, (0.1, floor)))
        for seed, alpha in enumerate(planes)
    ]
    (found,) = envelopes(records)
    assert (found.set, found.runs, found.short_90, found.short_95) == ("PP", 2, 0, 1)
    assert found.test.mean == pytest.approx(97)


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
