"""Facts about the checks of arguments: good values pass as they are, bad ones are named."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gt2lite._validation import between, matrix, one_of, vector, whole

# Good values come back, as plain Python numbers or float arrays


def test_a_known_name_passes():
    assert one_of("smf", "scalar", iter(("per_input", "scalar"))) == "scalar"


@pytest.mark.parametrize("value", [3, np.int64(3), np.uint8(3)])
def test_whole_numbers_of_any_kind_become_int(value):
    assert type(whole("n_rules", value)) is int
    assert whole("n_rules", value, low=3) == 3


@pytest.mark.parametrize("value", [0.5, np.float32(0.5), np.float64(0.5)])
def test_numbers_of_any_kind_become_float(value):
    assert type(between("coverage", value, 0, 1)) is float
    assert between("coverage", value, 0, 1) == 0.5


@pytest.mark.parametrize("end", [0, 1])
def test_ends_count_only_where_closed(end):
    assert between("alpha", end, 0, 1, closed=True) == end
    with pytest.raises(ValueError, match=r"alpha must be a number in \(0, 1\), got"):
        between("alpha", end, 0, 1)


def test_tables_and_rows_become_float_arrays():
    X = matrix("X", [[1, 2], [3, 4]])
    assert X.dtype == np.float64
    assert X.shape == (2, 2)
    y = vector("y", (1, 2, 3), 3)
    assert y.dtype == np.float64
    np.testing.assert_array_equal(y, [1, 2, 3])


# Bad values: the message names the argument, what it was and what it should be


@pytest.mark.parametrize("value", ["both", "", None, 1, ["scalar"], np.array(["scalar", "x"])])
def test_an_unknown_name_is_an_error(value):
    with pytest.raises(ValueError, match="smf must be one of 'per_input', 'scalar', got"):
        one_of("smf", value, ("per_input", "scalar"))


@pytest.mark.parametrize("value", [0, -1, 2.0, True, "3", None, math.nan])
def test_what_is_no_positive_whole_number_is_an_error(value):
    with pytest.raises(
        ValueError, match=f"epochs must be a whole number of at least 1, got {value!r}"
    ):
        whole("epochs", value)


@pytest.mark.parametrize("value", [-1, 2, math.nan, math.inf, True, "0.5", None, 0.5j])
def test_what_is_no_number_in_range_is_an_error(value):
    with pytest.raises(ValueError, match=r"coverage must be a number in \[0, 1\], got"):
        between("coverage", value, 0, 1, closed=True)


@pytest.mark.parametrize("shape", [(), (3,), (0, 2), (2, 0), (1, 2, 3)])
def test_what_is_no_table_is_an_error(shape):
    with pytest.raises(ValueError, match=r"X must be a table .* got shape \("):
        matrix("X", np.zeros(shape))


@pytest.mark.parametrize(("shape", "length"), [((), None), ((0,), None), ((3, 1), None), ((3,), 4)])
def test_what_is_no_row_is_an_error(shape, length):
    with pytest.raises(ValueError, match=r"y must be a row of .*values, got shape \("):
        vector("y", np.zeros(shape), length)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, None])
def test_what_is_not_finite_is_an_error_that_says_where(bad):
    X = np.zeros((3, 2)).astype(object)
    X[1, 1] = X[2, 0] = bad
    with pytest.raises(ValueError, match=r"^X .* at index \(1, 1\) \(2 .*finite"):
        matrix("X", X)
    with pytest.raises(ValueError, match=r"^y .* at index 1 \(1 .*finite"):
        vector("y", X[:, 1])


@pytest.mark.parametrize("value", [[["a", "b"]], [[1, 2], [3]], [[1, {}]]])
def test_what_cannot_be_numbers_is_an_error_that_names_the_argument(value):
    with pytest.raises((ValueError, TypeError), match="X must"):
        matrix("X", value)
    with pytest.raises((ValueError, TypeError), match="y must"):
        vector("y", value[0] if len(value) == 1 else value)
