"""Facts told of the field: they are those of the rows, and read well at every value."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from study.field import findings
from study.field.tables import title, values_of
from study.stored import rows_of

ROWS = rows_of("field.csv")


def test_ranges_are_those_of_means_over_the_seeds():
    values = {"a": {"ww": np.array([1.0, 3.0]), "pp": np.array([6.0])}}
    values["b"] = {"ww": np.array([4.0]), "pp": np.array([2.0])}
    assert findings.range_of(values, ["a", "b"], ["ww"], 10) == (20.0, 40.0)
    assert findings.ratio_range(values, "a", "b") == (0.5, 3.0)


def test_costs_are_means_over_data_sets_and_a_tiny_one_is_not_called_zero():
    found = findings.costs(ROWS, 0.9)
    first = values_of(ROWS, "first_seconds")["gb_cqr"]
    cost = found["gb_cqr"]
    assert cost.first == pytest.approx(np.mean([v.mean() for v in first.values()]))
    assert cost.ten_levels == pytest.approx(cost.first + 9 * cost.further)
    assert 0 < cost.unnested < 100 and cost.further_told == f"{cost.further:.3f}"
    assert "<" in found["paper"].further_told


def test_patients_apart_are_those_of_the_other_split():
    rows = findings.apart_rows(ROWS, 0.9)
    mine = [r for r in ROWS if (r.contestant, r.dataset, r.level) == ("gb_cqr", "pm", 0.9)]
    apart = [r for r in mine if r.split == "by_group"]
    row = next(row for row in rows if row.name == title("gb_cqr"))
    assert row.rmse_apart == pytest.approx(np.mean([r.rmse for r in apart]))
    assert row.picp_apart == pytest.approx(100 * np.mean([r.picp for r in apart]))
    assert (row.low, row.high) == (
        100 * min(r.picp for r in apart),
        100 * max(r.picp for r in apart),
    )
    assert row.width == pytest.approx(100 * np.mean([r.pinaw for r in mine if r not in apart]))
    errors = sorted(row.rmse_apart for row in rows)
    assert findings.apart_facts(rows, errors[-1]).beyond == "none"
    last = max(error for error in errors if error < errors[-1])  # several may share an estimate
    assert findings.apart_facts(rows, last).beyond == str(errors.count(errors[-1]))
    assert findings.apart_facts(rows, 0.0).beyond == "all"
    assert findings.apart_facts(rows, 0.0).best == errors[0]


def test_the_mean_of_the_training_part_has_an_error_of_about_one_deviation():
    found = findings.ignorant_errors([0])
    assert found["random"] == pytest.approx(1, abs=0.05) and 0.5 < found["by_group"] < 1.5


def test_runs_are_compared_with_what_is_stored_of_them():
    (row,) = [r for r in ROWS if (r.dataset, r.split, r.seed, r.contestant, r.level)
              == ("pp", "random", 1, "paper", 0.9)]  # fmt: skip
    assert findings.live_facts([SimpleNamespace(records=[row])], ROWS) == (3, 0.0)
    off = SimpleNamespace(**{**vars(row), "rmse": 1.5 * row.rmse})
    found = findings.live_facts([SimpleNamespace(records=[off])], ROWS)
    assert found.off == pytest.approx(50)


def test_who_is_wider_than_the_range_is_told_at_every_number():
    def told(*values):
        pairs = zip(("paper", "gb_cqr"), values, strict=True)
        return findings.wider_than_range({n: {"aids": np.array([v])} for n, v in pairs}, "aids")

    assert told(1.0, 1.0).startswith("none has intervals") and ":" not in told(1.0, 1.0)
    assert told(1.1, 1.0).endswith(f": {title('paper')}") and told(1.1, 1.0).startswith("1 has")
    assert told(1.1, 1.2).startswith("2 have")


def test_an_interval_may_hold_one_label_or_both():
    lower, upper = np.array([0.0, 0.5, -1.0, 0.2]), np.array([0.5, 1.0, 2.0, 0.8])
    assert findings.single_share(lower, upper) == 50
