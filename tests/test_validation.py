"""Checks of arguments and data frames: good values pass as they are, bad ones are named."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from gt2lite._validation import (
    between,
    match_table,
    matrix,
    n_axes,
    numbers,
    one_of,
    read_seed,
    read_table,
    read_target,
    vector,
    whole,
)

DAY = datetime.datetime(2024, 1, 1)
TINY = Fraction(1, 10**400)  # above 0, though the nearest float is 0


# --------------------------------------------------------------- single values


HALVES = (0.5, np.float16(0.5), np.float32(0.5), Fraction(1, 2))


@pytest.mark.parametrize(
    ("check", "values", "wanted"),
    [
        (lambda value: whole("n", value, low=3), (3, np.int64(3), np.uint8(3)), 3),
        (lambda value: between("share", value, 1e-6, 1e6), HALVES, 0.5),
        (lambda value: between("alpha", value, 0.1, 1, closed=True), (1, 1.0), 1.0),
        (lambda value: between("alpha", value, 0, 1), (0.3, np.float32(0.3)), 0.3),
        (lambda value: one_of("smf", value, iter(("per_input", "scalar"))), ("scalar",), "scalar"),
    ],
)
def test_good_values_of_any_kind_become_plain_ones(check, values, wanted):
    for value in values:
        assert type(check(value)) is type(wanted) and check(value) == wanted


BAD_NUMBERS = (-1, 2, math.nan, math.inf, True, "0.5", None, 0.5j, TINY, 1 - TINY, np.ones(2) / 2)


@pytest.mark.parametrize(
    ("check", "values"),
    [
        (one_of, ("both", "", None, 1, ["scalar"], np.array(["scalar", "x"]))),
        (whole, (0, -1, 2.0, True, "3", None, math.nan, 10**400)),
        (between, (0, 1, *BAD_NUMBERS)),
        (read_seed, (-1, 1.5, "a", 2**64 + 1, 10**400)),
    ],
)
def test_bad_values_are_named(check, values):
    more = {one_of: [("per_input", "scalar")], between: [0, 1]}.get(check, [])
    for value in values:
        name = "random_state" if check is read_seed else "size"
        with pytest.raises(ValueError, match=f"^{name} must"):
            check(value) if check is read_seed else check(name, value, *more)


def test_a_random_state_of_scikit_learns_kind_is_drawn_from():
    one, same, other = (read_seed(np.random.RandomState(seed)) for seed in (3, 3, 4))
    assert one == same != other
    assert read_seed(np.int64(7)) == 7


# ---------------------------------------------------------------------- arrays


@pytest.mark.parametrize(
    "value",
    [
        np.ma.array([[1.0, 2.0]]),  # nothing masked
        [[Fraction(1, 2), Decimal("0.25")]],
        np.array([[True, False]]),
        np.array([[1, 2]], dtype=np.uint8),
        np.array([[1, 2.5]], dtype=object),
    ],
)
def test_numbers_of_any_kind_are_accepted_in_arrays(value):
    assert numbers("X", value).dtype == float


def test_shapes_are_checked():
    for shape in [(), (3,), (0, 2), (2, 0), (1, 2, 3)]:
        with pytest.raises(ValueError, match=r"X (must be a 2D table|has 0 (sample|feature)\(s\))"):
            matrix("X", np.zeros(shape))
    for shape, length in [((), None), ((0,), None), ((3, 1), None), ((3,), 4), ((3,), 2)]:
        with pytest.raises(ValueError, match=r"y must .* got shape \("):
            vector("y", np.zeros(shape), length)
    for shape in [(2,), (4,), (3, 2), ()]:
        with pytest.raises(ValueError, match="y must be a 1-D array of length 3"):
            read_target(np.zeros(shape), 3)
    with pytest.raises(ValueError, match="coverage must"):
        n_axes("coverage", [0.1, [0.2]])


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, None])
def test_values_that_are_not_finite_are_refused_with_their_index(bad):
    X = np.zeros((3, 2)).astype(object)
    X[1, 1] = X[2, 0] = bad
    with pytest.raises(ValueError, match=r"^X .* at index \(1, 1\) \(2 "):
        matrix("X", X)
    with pytest.raises(ValueError, match=r"^y .* at index 1 \(1 "):
        vector("y", X[:, 1])


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (np.ma.array([[1.0, 2.0]], mask=[[False, True]]), "masked"),
        (np.array([["2024-01-01"]], dtype="datetime64[D]"), "dates"),
        (np.array([[3]], dtype="timedelta64[s]"), "time spans"),
        ([["1.5", "2.5"]], "text"),
        (np.array([[1.5, "2.5"]], dtype=object), r"text \('2.5' at index \(0, 1\)"),
        (np.array([[1.5, b"2.5"]], dtype=object), "text"),
        (np.array([[1.5, DAY]], dtype=object), "dates"),
        (np.array([[1.5, np.timedelta64(3, "s")]], dtype=object), "time spans"),
        (np.zeros((2, 2), dtype=[("a", float)]), "records"),
        ([[10**400, 1.0]], "numbers"),
        ([[1.0, 2.0], [3.0]], "numbers"),
        ([[1.0, {}]], "numbers"),
        ([[1 + 2j]], "real numbers"),
    ],
)
def test_arrays_of_anything_but_numbers_are_refused(value, words):
    with pytest.raises((TypeError, ValueError), match=f"X .*{words}"):
        matrix("X", value)


# ----------------------------------------------------------------- data frames


@pytest.fixture
def pd():
    return pytest.importorskip("pandas")


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (["a", "b"], "text .*'a' in row 0"),
        ([None, 1.0], "1 missing value, the first in row 0"),
        ([1.0, math.inf], "1 infinite value, the first in row 1"),
        ([DAY, DAY], "dates .*2024"),
        ([DAY - DAY, DAY - DAY], "time spans"),
        ([{}, 1], "objects"),
    ],
)
def test_a_column_without_numbers_is_named_with_its_row(pd, column, words):
    frame = pd.DataFrame({"good": [1.0, 2.0], "bad": column})
    with pytest.raises(ValueError, match=f"column 'bad' .*{words}"):
        read_table(frame)
    if not isinstance(column[0], dict):
        with pytest.raises(ValueError, match="y "):
            read_target(frame["bad"], 2)


def test_sparse_and_lazy_tables_are_refused_with_the_way_out():
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(TypeError, match=r"X\.toarray\(\)"):
        read_table(sparse.eye(3).tocsr())
    with pytest.raises(TypeError, match=r"X\.collect\(\)"):
        read_table(type("LazyFrame", (), {})())


class R:
    """A fitted estimator, as far as its columns go."""

    def __init__(self, *columns):
        self.n_features_in_, self.feature_names_in_ = len(columns), np.array(columns, object)


def test_names_that_come_or_go_are_warned_of(pd):
    frame = pd.DataFrame(np.zeros((3, 2)), columns=["a", "b"])
    with pytest.warns(UserWarning, match="X does not have valid feature names, but R was fitted"):
        match_table(frame.to_numpy(), R("a", "b"))
    unnamed = R("a", "b")
    del unnamed.feature_names_in_
    with pytest.warns(UserWarning, match="X has feature names, but R was fitted without"):
        match_table(frame, unnamed)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (["b", "a"], "same order"),
        (["a", "c"], "unseen at fit time:\n- c\n.*now missing:\n- b"),
        ([f"x{i}" for i in range(9)], r"- x4\n- \.\.\."),
        (["a", 3], "Feature names"),
    ],
)
def test_names_that_do_not_match_are_refused(pd, columns, words):
    frame = pd.DataFrame(np.zeros((3, len(columns))), columns=columns)
    with pytest.raises((TypeError, ValueError), match=f"(?s){words}"):
        match_table(frame, R("a", "b"))
