"""Properties of the estimator on data of any size and type: sound answers or errors by name."""

from __future__ import annotations

import copy
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from cases import (
    SETTINGS,
    ask,
    check,
    check_coverage,
    check_scale,
    draw_data,
    draw_extreme_column,
    draw_question,
    seeds,
)
from hypothesis import given
from hypothesis import strategies as st

from gt2lite import GT2Regressor
from gt2lite.datasets import LARGEST, LEAST_SPREAD

pytestmark = pytest.mark.filterwarnings("ignore")  # small data sets warn, rightly


@given(seeds, SETTINGS, st.integers(-985, 985), st.integers(-985, 985))
def test_answers_are_sound_and_units_of_a_power_of_two_change_no_digit(seed, settings, a, b):
    X, y = draw_data(seed)
    asked = draw_question(seed, len(y))
    plain, _ = ask(X, y, settings, asked)
    check(plain, asked, y)
    check_coverage(plain, asked, y)
    check_scale(plain, y)
    odd, _ = ask(np.ldexp(X, a), np.ldexp(y, b), settings, asked)
    for ours, wanted in zip(odd.arrays, plain.arrays, strict=True):
        np.testing.assert_array_equal(ours, np.ldexp(wanted, b))


def is_within(x, room):
    """Return whether a column is within the documented bounds, with some room to spare."""
    top = np.abs(x).max()
    if x.min() == x.max() or top > LARGEST / room:
        return bool(top <= LARGEST / room)
    exponent = np.frexp(top)[1]
    return bool(np.ldexp(np.ldexp(x, -exponent).std(), exponent) > LEAST_SPREAD * room)


@given(seeds, SETTINGS)
def test_extreme_numbers_are_answered_in_scale_or_refused_by_name(tmp_path_factory, seed, settings):
    rng = np.random.default_rng(seed)
    N, M = int(rng.integers(8, 61)), int(rng.integers(1, 5))
    columns = [draw_extreme_column(rng, N) for _ in range(M + 1)]
    X, y = np.stack(columns[:-1], axis=1), columns[-1]
    asked = draw_question(seed, N)
    try:
        answer, reg = ask(X, y, settings, asked)
    except ValueError as error:
        within = all(is_within(x, 10.0) for x in columns[:-1]) and is_within(y, 1e10)
        if within or not (" of X " in str(error) or str(error).startswith("y ")):
            raise
        return
    check(answer, asked, y)
    check_scale(answer, y)
    check_coverage(answer, asked, y)
    path = tmp_path_factory.mktemp("model") / "model.json"
    reg.save(path)
    np.testing.assert_array_equal(GT2Regressor.load(path).predict(X), answer.predicted)


@given(seeds, SETTINGS, st.floats(0, 160))
def test_far_rows_are_answered_or_refused_by_name(seed, settings, power):
    X, y = draw_data(seed)
    asked = draw_question(seed, len(y))
    new = 10.0**power * np.random.default_rng([seed, 2]).normal(size=(20, X.shape[1]))
    try:
        answer, _ = ask(X, y, settings, asked, new)
    except ValueError as error:
        scale = X.std(axis=0)
        away = np.abs(new) / np.where(scale > 0, scale, 1.0)  # the limit is 1e150
        if "X" not in str(error) or away.max() < 1e149:
            raise
        return
    check(answer, asked, y)


@given(seeds, SETTINGS, st.integers(0, 4))
def test_degenerate_data_are_answered(seed, settings, how):
    X, y = draw_data(seed)
    rng = np.random.default_rng([seed, 3])
    if how == 0:
        X, y = X[:1], y[:1]
    elif how == 1:
        X[:, 0] = rng.choice([0.0, 0.1, -1e200, 1e-200, 3.0])
    elif how == 2:
        rows = rng.integers(0, 2, len(y))
        X, y = X[rows], y[rows]
    elif how == 3:
        y = np.full(len(y), float(rng.choice([0.0, 0.1, 1e200, -7.0])))
    else:
        X = np.repeat(X[:1], len(y), axis=0)
    asked = draw_question(seed, len(y))
    answer, _ = ask(X, y, settings, asked)
    check(answer, asked, y)
    check_coverage(answer, asked, y)
    check_scale(answer, y)


def frame(values):
    pd = pytest.importorskip("pandas")
    return pd.Series(values) if values.ndim == 1 else pd.DataFrame(values).add_prefix("x")


RETYPED = [
    lambda v: v.tolist(),
    lambda v: np.repeat(v, 2, axis=0)[::2],
    np.asfortranarray,
    lambda v: np.ma.array(v, mask=np.zeros(v.shape, dtype=bool)),
    *(lambda v, kind=kind: v.astype(kind) for kind in (">f8", np.longdouble, object)),
    *(np.vectorize(kind, otypes=[object]) for kind in (Fraction, Decimal)),
    lambda v: frame(v).convert_dtypes(),
]


@given(seeds, SETTINGS, st.sampled_from(RETYPED), st.sampled_from(RETYPED))
def test_another_type_or_layout_gives_the_same_bits_and_is_not_changed(seed, settings, of_X, of_y):
    X, y = draw_data(seed, plain=True)
    asked = draw_question(seed, len(y))
    other_X, other_y = of_X(X), of_y(y)
    before = copy.deepcopy((other_X, other_y))
    wanted, _ = ask(X, y, settings, asked)
    found, _ = ask(other_X, other_y, settings, asked)
    for ours, theirs in zip(found.arrays, wanted.arrays, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert repr(before) == repr((other_X, other_y))
