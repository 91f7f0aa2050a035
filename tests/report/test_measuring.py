"""What the page tells is measured right: laws, splits, settings."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from messy_tables import easy
from scipy import stats

from gt2lite.report import TableError, fitting, measuring
from gt2lite.report.specifying import specify
from gt2lite.report.splitting import needed, split


@pytest.mark.parametrize(
    ("level", "n_cal", "n_test"), [(0.9, 99, 50), (0.8, 37, 1000), (0.1, 9, 7)]
)
def test_the_range_of_luck_is_that_of_the_beta_binomial_law(level, n_cal, n_test):
    k = fitting.rank(level, n_cal)
    law = stats.betabinom(n_test, k, n_cal + 1 - k)
    expected = law.ppf([0.025, 0.975]) / n_test
    assert measuring.lucky_range(level, n_cal, n_test) == pytest.approx(tuple(expected))


def test_coverage_counts_rows_at_the_ends_as_inside():
    y = np.array([0.0, 1, 2, 3])
    lower, upper = np.zeros((4, 1)), np.full((4, 1), 2.0)
    (row,) = measuring.coverages(y, lower, upper, [0.8], 40)
    assert (row.n_covered, row.share, row.width) == (3, 0.75, 2)
    assert row.verdict == "as promised"
    assert row._replace(low=0.8).verdict == "too low"
    assert row._replace(high=0.7).verdict == "more than promised"


def test_accuracy_of_a_hand_worked_case():
    y, y_hat = np.array([0.0, 2]), np.array([1.0, 1])
    found = measuring.accuracy("mean", y, y_hat, y_hat[:, None], y_hat[:, None] + 1)
    assert (found.rmse, found.mae, found.r2) == (1, 1, 0)
    assert (found.widths, found.coverages) == ([1], [0.5])


def test_importance_finds_the_column_that_matters():
    frame = easy()
    columns = specify(frame[["x", "z", "y"]], np.arange(120), "y")
    X, _ = columns.encode(frame)
    found = measuring.importance(lambda rows: 3 * rows["x"], X, frame["y"].to_numpy(), columns, 0)
    assert [name for name, _ in found] == ["x", "z"]
    assert found[0][1] > 50 and found[1][1] == 0


def test_regions_are_thirds_of_numbers_and_values_of_text():
    parts = {"p": np.arange(9.0), "g": np.array(["a"] * 6 + ["b"] * 3)}
    covered = np.arange(9) < 6
    rows = measuring.regions(parts, covered, np.arange(9.0), 0.9, 99)
    assert [row.n_rows for row in rows] == [3, 3, 3, 6, 3]
    assert [row.share for row in rows] == [1, 1, 0, 1, 0]
    assert rows[-1].width == 7


def test_columns_that_look_like_time_and_groups_are_warned_about():
    frame = easy()
    columns = specify(frame, np.arange(120), "y")
    first, second = measuring.look_alikes(frame, columns, None, None)
    assert "--groups 'person_id'" in first
    assert "--time 'day'" in second
    assert measuring.look_alikes(frame, columns, "person_id", "day") == []


@pytest.mark.parametrize(("n_groups", "n_warnings"), [(11, 1), (95, 1), (100, 0)])
def test_few_groups_are_warned_about(n_groups, n_warnings):
    rows = np.arange(3 * n_groups)
    cuts = [3 * round(0.6 * n_groups), 3 * round(0.8 * n_groups)]
    found = measuring.few_groups(rows // 3, np.split(rows, cuts))
    assert len(found) == n_warnings
    assert all(f"Of {n_groups} groups" in words for words in found)


# Splits


def test_parts_have_no_row_in_common_and_leave_none_out():
    found = split(easy(), (0.9,), 0, None, None)
    assert sorted(np.concatenate(found[:3])) == list(range(120))
    assert [len(part) for part in found[:3]] == [72, 24, 24]


def test_a_split_by_time_trains_on_the_past():
    frame = easy().sample(frac=1, random_state=0)
    found = split(frame, (0.9,), 0, None, "day")
    days = frame["day"].to_numpy()
    assert days[found.train].max() < days[found.calibration].min()
    assert days[found.calibration].max() < days[found.test].min()


def test_groups_stay_together():
    frame = easy()
    found = split(frame, (0.9,), 0, "person_id", None)
    people = [set(frame["person_id"].to_numpy()[part]) for part in found[:3]]
    assert not people[0] & people[1] and not people[1] & people[2] and not people[0] & people[2]
    assert sum(len(part) for part in found[:3]) == 120


def test_large_tables_are_sampled_and_told():
    found = split(pd.DataFrame({"y": np.arange(60_000)}), (0.9,), 0, None, None)
    assert len(found.train) == 5000 and len(found.calibration) == 5000
    assert any("5,000 were drawn" in word for word in found.words)


def test_a_high_level_gets_the_calibration_rows_that_it_needs():
    assert len(split(easy(70), (0.95,), 0, None, None).calibration) >= needed(0.95)


@pytest.mark.parametrize(
    ("frame", "levels", "groups", "time", "said"),
    [
        (easy(40), (0.9,), None, None, "40 rows .* fewer than 60"),
        (easy(100), (0.8, 0.99), None, None, r"99 % needs 99 .* leave .*\(--levels 0.8\)"),
        (easy().assign(g="a"), (0.9,), "g", None, "has 1 groups"),
        (easy().assign(t="a"), (0.9,), None, "t", "neither dates nor numbers"),
        (easy().assign(t=[None, *range(119)]), (0.9,), None, "t", "1 missing"),
    ],
)
def test_what_cannot_be_split_is_refused_with_a_way_out(frame, levels, groups, time, said):
    with pytest.raises(TableError, match=said):
        split(frame, levels, 0, groups, time)
