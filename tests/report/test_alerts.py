"""Alerts: leaks, dependent rows, outliers, and tables about which there is nothing to say."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from messy_tables import easy

from gt2lite.practice.columns import specify
from gt2lite.practice.report import alerts


def amounts(n=300, **values):
    """A table about which there is nothing to say, with `values` that spoil it."""
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(2, n))
    return pd.DataFrame({"x": x, "z": z, "y": np.exp(x + 0.3 * rng.normal(size=n))}).assign(
        **values
    )


def about_values(frame):
    columns, y = specify(frame, np.arange(len(frame)), "y"), frame["y"].to_numpy(float)
    return alerts.find_alerts(frame, y, columns, columns.encode(frame).inputs, y, seed=0)


def about_dependence(frame):
    columns, y = specify(frame, np.arange(len(frame)), "y"), frame["y"].to_numpy(float)
    X = columns.encode(frame).inputs
    return alerts.find_dependence(frame.drop(columns="y"), y, X, columns, 0.9, seed=0)


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (amounts(), None),
        (amounts(leak=lambda f: 100 / f["y"]), "--drop 'leak'"),
        (amounts(leak=lambda f: pd.qcut(f["y"], 20).astype(str)), "--drop 'leak'"),
        (amounts(leak=lambda f: np.where(f["y"] > 1.2, "up", "down")), "in which range .*'leak'"),
        (amounts(leak=lambda f: np.digitize(f["y"], [0.4, 1, 3])), "in which range .*'leak'"),
        (amounts(half=lambda f: np.where(f["x"] + 0.2 * f["z"] > 0, "u", "v")), None),
        (amounts(rare=lambda f: f.index == 7), None),
        (amounts(y=lambda f: f["y"].where(f.index != 7, 99_999)), "99,999 in row 7"),
        (amounts(y=lambda f: f["y"].where(f.index % 5 > 0, 0.0)), "20% .* are 0"),
        (pd.concat([amounts(), amounts().head(9)], ignore_index=True), "9 of 309 rows repeat"),
    ],
)
def test_leaks_outliers_zeros_and_copies_are_alerts(frame, words):
    found = about_values(frame)
    assert len(found) == (words is not None)
    assert words is None or re.search(words, found[0])


# ------------------------------------------------------------------ formulas


def parts(n=400):
    rng = np.random.default_rng(1)
    a, b = rng.poisson(30, n), rng.poisson(120, n) + 1
    c, d = rng.uniform(1, 9, (2, n)).round(2)
    return pd.DataFrame({"a": a, "b": b, "c": c, "d": d})


@pytest.mark.parametrize(
    ("target", "text"),
    [
        (lambda f: f["a"] + f["b"], "'a' + 'b'"),
        (lambda f: ((f["c"] + f["d"]) / 2).round(1), "0.5 'c' + 0.5 'd'"),
        (lambda f: 100 - f["b"] - f["a"], "100 - 'a' - 'b'"),
        (lambda f: 12.5 * f["c"] * f["a"].clip(1), "12.5 * 'a' * 'c'"),
        (lambda f: (f["b"] / f["c"]).round(3), "'b' / 'c'"),
        (lambda f: 1.8 * f["c"] + 32, "32 + 1.8 'c'"),
        (lambda f: ((f["c"] + f["d"]) / 2).astype("f4"), "0.5 'c' + 0.5 'd'"),
        # a row in thirty is wrong, and one in forty has a gap
        (
            lambda f: (f["a"] + f["b"]).where(f.index % 30 > 0, 9_999.0),
            "'a' + 'b'",
        ),
    ],
)
def test_a_target_computed_from_columns_is_an_alert_with_the_formula(target, text):
    frame = parts()
    frame["a"] = frame["a"].clip(1)
    frame["y"] = target(frame).astype(float)
    frame.loc[::40, "d"] = np.nan
    (found,) = [line for line in about_values(frame) if line.startswith("Too good")]
    assert f"the target is {text}, up to rounding" in found
    assert all(f"{name!r}" in found.split("--drop")[1] for name in re.findall("'(.)'", text))


@pytest.mark.parametrize(
    "target",
    [
        lambda f, e: np.sin(f["c"]) * f["d"],  # a function, but no formula of this kind
        lambda f, e: (f["c"] - 5) ** 2 + f["a"] / f["d"],
        lambda f, e: 3.1 * f["c"] - 1.7 * f["d"] + 0.01 * e,  # R2 is 0.99999, with noise
        lambda f, e: f["c"] * f["d"] * np.exp(0.002 * e),
        lambda f, e: (f["a"] + f["b"]) * (1 + 0.01 * e),
    ],
)
def test_honest_targets_almost_without_noise_are_no_alert(target):
    frame = parts()
    frame["y"] = target(frame, np.random.default_rng(2).normal(size=len(frame)))
    assert alerts.find_formula(frame[[*"abcd"]], frame["y"].to_numpy()) is None


def test_a_fit_better_than_measurements_allow_is_an_alert():
    assert alerts.find_perfect(["a", "b"], 0.999) == []
    (found,) = alerts.find_perfect(["a", "b"], 0.9999)
    assert "Too good" in found and "is 1.0% of" in found and "'a' and 'b'" in found


# ------------------------------------------------------------------ groups and order in time


def people(n=80, visits=7, effect=8.0):
    """Repeated visits of persons who differ by more than their age and weight explain."""
    rng = np.random.default_rng(0)
    age, weight, own = rng.integers(20, 75, n), rng.normal(75, 12, n).round(1), rng.normal(size=n)
    order = rng.permutation(n * visits)
    frame = pd.DataFrame({"who": [f"P{i:02d}" for i in range(n)], "age": age, "weight": weight})
    frame = frame.loc[np.repeat(np.arange(n), visits)[order]].reset_index(drop=True)
    dose, noise = rng.uniform(0, 10, (2, n * visits))
    own = effect * np.repeat(own, visits)[order]
    return frame.assign(dose=dose, y=own - dose + noise)


def test_columns_that_are_constant_within_values_show_groups_whatever_their_name():
    for frame, name in ((people(), "who"), (people().drop(columns="who"), "weight")):
        (found,) = about_dependence(frame)
        others = "'age' and 'weight'" if name == "who" else "'age'"
        assert f"{name!r} has" in found and f"agree in {others}." in found
        assert f"--groups {name!r}" in found
        share = int(re.search(r"cover 90% of rows drawn at random cover (\d+)% of", found)[1])
        assert share < 80


@pytest.mark.parametrize(
    "frame",
    [
        people(effect=0.0),  # groups, which lose no coverage
        easy(400)[["x", "z", "y"]].assign(
            f=lambda f: (f["x"] * 8).round(), c=lambda f: f["f"] * 1.8
        ),
        easy(400)[["x", "z", "y"]].assign(
            month=lambda f: np.arange(400) % 12, season=lambda f: f["month"] // 3
        ),
        parts().assign(y=lambda f: f["c"] + np.random.default_rng(0).normal(size=400)),
    ],
)
def test_rows_that_do_not_belong_together_are_no_alert(frame):
    assert about_dependence(frame) == []


def test_values_that_stand_together_in_the_table_show_groups():
    frame = people().sort_values("who", ignore_index=True)[["weight", "dose", "y"]]
    (found,) = about_dependence(frame)
    assert "rows of one value stand together" in found and "--groups 'weight'" in found
    shuffled = frame.sample(frac=1, random_state=0, ignore_index=True)
    assert about_dependence(shuffled) == []
    assert about_dependence(frame.assign(y=frame["dose"])) == []  # they lose no coverage


def test_groups_that_are_alike_in_a_running_number_may_be_times():
    frame = drifting(0.0, 900).assign(month=lambda f: np.arange(900) // 25)
    rng = np.random.default_rng(0)
    frame["adverts"] = rng.permutation(900)[frame["month"]]
    frame["y"] += rng.normal(scale=5, size=36)[frame["month"]]
    (found,) = about_dependence(frame)
    assert re.search(
        "--groups '(adverts|month)', or, if 'month' counts time, --time 'month'", found
    )


def test_a_smooth_function_of_a_column_does_not_show_groups():
    celsius = np.random.default_rng(0).integers(-10, 30, 400)
    frame = pd.DataFrame({"celsius": celsius, "fahrenheit": 32 + 9 * celsius // 5})
    assert alerts.find_groups(frame, specify(frame, np.arange(400))) == {}
    frame["owner"] = np.random.default_rng(1).permutation(50)[celsius + 10]  # not smooth
    assert alerts.find_groups(frame, specify(frame, np.arange(400))) != {}


def test_names_of_identifiers_and_dates_are_alerts_as_well():
    found = about_dependence(easy())
    assert len(found) == 2
    assert "--time 'day'" in found[0] and "--groups 'person_id'" in found[1]


def drifting(slope, n=900):
    rng = np.random.default_rng(4)
    x, z, e = rng.normal(size=(3, n))
    return pd.DataFrame({"x": x, "z": z, "y": 2 * x - z + e + slope * np.arange(n)})


def test_rows_in_the_order_of_time_are_an_alert_without_a_date():
    assert about_dependence(drifting(0.0)) == []
    (found,) = about_dependence(drifting(0.02))
    assert "number the rows in a column for --time" in found and "of the last fifth" in found
    (found,) = about_dependence(drifting(0.02).assign(step=np.arange(900) // 5))
    assert "--time 'step'" in found
    ordered = drifting(0.0).sort_values("y", ignore_index=True)  # by the target: not in time
    assert about_dependence(ordered) == []


def test_the_loss_is_that_of_the_law():
    """New groups have levels of their own, so that only the mean is known of them."""
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(100), 15).astype(object)
    level, noise = 3 * rng.normal(size=100)[labels.astype(int)], rng.normal(size=1500)
    X = pd.DataFrame({"constant": rng.normal(size=100)[labels.astype(int)]})
    found = alerts.measure_loss(X, level + noise, *alerts.new_groups(labels, 0), 0.9, 0)
    # |own level - another person's level| of variance 18, against a width of 1.65 deviations
    assert 0.2 < found.share < 0.5 and found.is_large and found.n_new == 1500


def test_few_groups_are_an_alert():
    labels = np.repeat(np.arange(11), 9).astype(object)
    sets = [np.arange(63), np.arange(63, 81), np.arange(81, 99)]
    (found,) = alerts.find_few_groups(labels, sets)
    assert "Of 11 groups 7 train, 2 calibrate and 2 test" in found
    assert alerts.find_few_groups(np.arange(99).astype(object), [np.arange(33)] * 3) == []
