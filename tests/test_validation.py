"""Checks of arguments and data frames: good values pass as they are, bad ones are named."""

from __future__ import annotations

import datetime
import math
from collections import UserString
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from gt2lite._validation import between, matrix, n_axes, numbers, one_of, read_seed, vector, whole
from gt2lite.practice.tables import Features, read_table, read_target

DAY = datetime.datetime(2024, 1, 1)
TINY = Fraction(1, 10**400)  # above 0, though the nearest float is 0
HALVES = (0.5, np.float16(0.5), np.float32(0.5), Fraction(1, 2))
BAD_NUMBERS = (-1, 2, math.nan, math.inf, True, "0.5", None, 0.5j, TINY, 1 - TINY, np.ones(2) / 2)


@pytest.mark.parametrize(
    ("check", "values", "wanted"),
    [
        (lambda value: whole("n", value, low=3), (3, np.int64(3), np.uint8(3)), 3),
        (lambda value: between("share", value, 1e-6, 1e6), HALVES, 0.5),
        (lambda value: between("alpha", value, 0.1, 1, closed=True), (1, 1.0), 1.0),
        (lambda value: between("alpha", value, 0, 1), (0.3, np.float32(0.3)), 0.3),
        (lambda value: one_of("smf", value, iter(("per_input", "scalar"))), ("scalar",), "scalar"),
        (read_seed, (7, np.int64(7)), 7),
    ],
)
def test_good_values_of_any_kind_become_plain_ones(check, values, wanted):
    for value in values:
        assert type(check(value)) is type(wanted) and check(value) == wanted


@pytest.mark.parametrize(
    ("check", "values"),
    [
        (lambda v: one_of("n", v, ["a", "b"]), ("c", "", None, 1, ["a"], np.array(["a", "b"]))),
        (lambda v: whole("n", v), (0, -1, 2.0, True, "3", None, math.nan, 10**400)),
        (lambda v: between("n", v, 0, 1), (0, 1, *BAD_NUMBERS)),
        (read_seed, (-1, 1.5, "a", 2**64 + 1, 10**400)),
    ],
)
def test_bad_values_are_named(check, values):
    for value in values:
        with pytest.raises(ValueError, match=r"^(n|random_state) must"):
            check(value)


def test_a_random_state_of_scikit_learns_kind_is_drawn_from():
    one, same, other = (read_seed(np.random.RandomState(seed)) for seed in (3, 3, 4))
    assert one == same != other


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


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ([math.nan, None], "2 missing"),
        ([math.inf, -math.inf, 10**400, Decimal("1e400")], "4 infinite"),
        (["2.5"], "text .'2.5'"),
        ([b"2.5"], "text"),
        ([bytearray(b"5")], "text"),
        ([UserString("5")], "text"),
        ([DAY], "dates .2024"),
        ([np.datetime64("2024-01-01")], "dates"),
        ([DAY - DAY], "time spans"),
        ([np.timedelta64(3, "s")], "time spans"),
        ([1 + 2j], "complex numbers"),
        ([np.complex128(1j)], "complex numbers"),
        ([{}], "objects"),
        ([print], "objects"),
    ],
)
def test_a_bad_cell_is_reported_with_its_place_in_arrays_targets_and_frames(bad, words):
    cells = np.zeros((6, 2)).astype(object)
    cells[1 : 1 + len(bad), 1] = bad
    errors = (TypeError, ValueError)
    with pytest.raises(errors, match=f"^X .*{words}.* in row 1, column 1"):
        matrix("X", cells)
    with pytest.raises(errors, match=f"^y .*{words}.* in row 1"):
        read_target(cells[:, 1], 6)
    pd = pytest.importorskip("pandas")
    with pytest.raises(errors, match=f"column 'bad' .*{words}.* in row 1"):
        read_table(pd.DataFrame({"good": cells[:, 0], "bad": cells[:, 1]}))


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (np.ma.array([[1.0, 2.0]], mask=[[False, True]]), "masked"),
        (np.array([["2024-01-01"]], dtype="datetime64[D]"), "dates"),
        (np.array([[3]], dtype="timedelta64[s]"), "time spans"),
        ([["1.5", "2.5"]], "text"),
        (np.zeros((2, 2), dtype=[("a", float)]), "objects"),
        (np.array([[np.inf]], dtype=np.float32), "infinite"),
        ([[1.0, 2.0], [3.0]], "numbers"),
        ([[1 + 2j]], "Complex"),
        (np.ma.masked_all((2, 2)), "masked"),
        *((odd, "") for odd in (None, "1 2 3", {"a": [1.0]}, iter([1.0]), 3.0, [])),
    ],
)
def test_arrays_of_anything_but_numbers_are_refused(value, words):
    with pytest.raises((TypeError, ValueError), match=f"X .*{words}"):
        matrix("X", value)


# ----------------------------------------------------------------- data frames


def test_sparse_and_lazy_tables_are_refused_with_the_way_out():
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(TypeError, match=r"X\.toarray\(\)"):
        read_table(sparse.eye(3).tocsr())
    with pytest.raises(TypeError, match=r"X\.collect\(\)"):
        read_table(type("LazyFrame", (), {})())


TWO = Features(2, np.array(["a", "b"], object), owner="R")


def test_names_that_come_or_go_are_warned_of():
    frame = pytest.importorskip("pandas").DataFrame(np.zeros((3, 2)), columns=["a", "b"])
    with pytest.warns(UserWarning, match="X does not have valid feature names, but R was fitted"):
        TWO.match(frame.to_numpy())
    with pytest.warns(UserWarning, match="X has feature names, but Unnamed was fitted without"):
        Features(2, owner="Unnamed").match(frame)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (["b", "a"], "same order"),
        (["a", "c"], "unseen at fit time:\n- c\n.*now missing:\n- b"),
        ([f"x{i}" for i in range(9)], r"- x4\n- \.\.\."),
        (["a", 3], "Feature names"),
    ],
)
def test_names_that_do_not_match_are_refused(columns, words):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(np.zeros((3, len(columns))), columns=columns)
    with pytest.raises((TypeError, ValueError), match=f"(?s){words}"):
        TWO.match(frame)
