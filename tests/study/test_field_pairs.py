"""Facts about pairs of contestants: compared seed by seed, by the test for re-splits."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest

from study.field.pairs import paired


def rows_of(values, **more):
    names = {"dataset": "pp", "split": "random", "level": 0.9} | more
    return [
        SimpleNamespace(**names, seed=seed, contestant=name, pinaw=value)
        for name, by_seed in values.items()
        for seed, value in enumerate(by_seed)
    ]


def test_pairs_are_compared_seed_by_seed_in_any_order():
    rows = rows_of({"a": [1.0, 2.0, 3.0, 4.0], "b": [1.1, 2.2, 3.1, 4.2]})
    (found,) = paired(rows[::-1], "a", "b", "pinaw")
    stats = pytest.importorskip("scipy.stats")
    test = stats.ttest_rel([1.0, 2.0, 3.0, 4.0], [1.1, 2.2, 3.1, 4.2])
    assert found.mean == pytest.approx(-0.15) and found.n == 4
    larger = math.sqrt((1 / 4 + 15 / 70) / (1 / 4))  # the error, for re-splits of one table
    assert found.p == pytest.approx(2 * stats.t.sf(abs(test.statistic) / larger, 3))
    low, high = test.confidence_interval(0.95)
    assert found.half == pytest.approx(larger * (high - low) / 2)
    assert found.percent == pytest.approx(100 * -0.15 / 2.65)
    assert found.verdict == "less"
    (back,) = paired(rows, "b", "a", "pinaw")
    assert back.mean == pytest.approx(0.15) and back.verdict == "more"


def test_a_comparison_for_each_data_set_and_level_of_one_split():
    rows = rows_of({"a": [1.0, 2.0], "b": [1.0, 3.0]})
    rows += rows_of({"a": [1.0, 2.0], "b": [2.0, 2.0]}, level=0.95)
    rows += rows_of({"a": [0.0, 0.0], "b": [9.0, 8.0]}, split="by_group")
    found = paired(rows, "a", "b", "pinaw")
    assert [(f.level, f.mean) for f in found] == [(0.9, -0.5), (0.95, -0.5)]
    assert {f.verdict for f in found} == {"undecided"}
    (apart,) = paired(rows, "a", "b", "pinaw", split="by_group")
    assert apart.mean == -8.5


def test_pairs_without_a_partner_are_refused():
    rows = rows_of({"a": [1.0, 2.0, 3.0], "b": [1.0, 2.0]})
    with pytest.raises(ValueError, match=r"same seeds.*\[0, 1, 2\] and \[0, 1\]"):
        paired(rows, "a", "b", "pinaw")
    assert paired(rows, "a", "c", "pinaw") == []  # nothing to compare with


def test_a_metric_that_a_data_set_does_not_have_is_left_out():
    rows = rows_of({"a": [1.0, 2.0], "b": [1.0, 3.0]})
    rows += rows_of({"a": [None, None], "b": [None, None]}, dataset="aids")
    assert [found.dataset for found in paired(rows, "a", "b", "pinaw")] == ["pp"]


def test_undecided_is_what_a_p_value_of_one_in_twenty_says():
    def found(p, mean=1.0):
        return paired(rows_of({"a": [1.0, 2.0], "b": [0.0, 0.5]}), "a", "b", "pinaw")[0]._replace(
            p=p, mean=mean
        )

    assert found(0.0499).verdict == "more" and found(0.0499, -1.0).verdict == "less"
    assert found(0.05).verdict == "undecided"
