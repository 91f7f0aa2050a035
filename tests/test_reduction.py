"""Type reduction: exact ends, whatever the input, and their gradient, at kinks too."""

from __future__ import annotations

import math

import autograd.numpy as anp
import numpy as np
import pytest
from autograd import grad
from gradients import check_gradient, one_sided
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gt2lite import reduction
from gt2lite._fast import switching
from gt2lite.reduction import enumerate_weights, karnik_mendel

ENGINE = {"engine": "fast"}
ENGINES = ["matrix products", "running sums", "autograd"]


@pytest.fixture(scope="module", params=ENGINES, autouse=True)
def engine(request):
    """Either engine; the fast one sums in one of two ways, by the number of rules."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(ENGINE, "engine", "autograd" if request.param == "autograd" else "fast")
        if request.param == "running sums":
            patch.setattr(switching, "MATRIX_SUMS_UP_TO", 0)
        yield


def type_reduce(*args):
    return reduction.type_reduce(*args, **ENGINE)


def random_rows(seed, N=60, P=6):
    """Random firings and consequents (N, P)."""
    rng = np.random.default_rng(seed)
    f_upper = rng.uniform(size=(N, P))
    return rng.uniform(size=(N, P)) * f_upper, f_upper, rng.normal(size=(N, P))


def assert_ends(found, expected, y):
    """The ends are equal to 1e-12 of the size of the consequents, and ordered."""
    scale = max(1.0, np.abs(y).max())
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * scale)
    assert (np.asarray(found[0]) <= np.asarray(found[1])).all()


def assert_all_agree(f_lower, f_upper, y):
    """Fast, iterative and 2^P forms agree on every row of (N, P) inputs."""
    fast = np.array(type_reduce(f_lower, f_upper, y))  # (2, N)
    for i, row in enumerate(zip(f_lower, f_upper, y, strict=True)):
        enumerated = enumerate_weights(*row)
        assert_ends(fast[:, i], enumerated, y[i])
        assert_ends(karnik_mendel(*row)[:2], enumerated, y[i])


# The value


def test_ends_by_hand():
    # Sorted, the consequents are -1, 2, 3, 7 with firings [1, 5], [2, 3], [1, 4], [2, 6] (tenths).
    f_lower, f_upper, y = [0.2, 0.1, 0.2, 0.1], [0.3, 0.5, 0.6, 0.4], [2.0, -1.0, 7.0, 3.0]
    # Lower end, upper firing up to the switch and lower firing after it:
    #   after 1: (-5 + 2*2 + 1*3 + 2*7) / (5 + 2 + 1 + 2) = 16/10, and 16/10 < 2: the switch
    #   after 2: (-5 + 3*2 + 1*3 + 2*7) / (5 + 3 + 1 + 2) = 18/11, larger
    # Upper end, lower firing up to the switch and upper firing after it:
    #   after 2: (-1 + 2*2 + 4*3 + 6*7) / (1 + 2 + 4 + 6) = 57/13 = 4.38, above 3
    #   after 3: (-1 + 2*2 + 1*3 + 6*7) / (1 + 2 + 1 + 6) = 48/10, and 3 < 48/10 < 7: the switch
    for reduce in (type_reduce, karnik_mendel, enumerate_weights):
        assert_ends(reduce(f_lower, f_upper, y)[:2], (1.6, 4.8), y)


# Three roads to the same number


# What is done to random firings and consequents; `wide` spans twelve orders of magnitude.
ROWS = {
    "plain": lambda lo, up, y, wide: (lo, up, y),
    "rounded consequents": lambda lo, up, y, wide: (lo, up, y.round()),
    "equal consequents": lambda lo, up, y, wide: (lo, up, np.ones_like(y)),
    "ties everywhere": lambda lo, up, y, wide: (lo.round(1), up.round(1) + 0.1, y.round()),
    "tiny firings": lambda lo, up, y, wide: (1e-300 * lo, 1e-300 * up, y),
    "no lower firings": lambda lo, up, y, wide: (0 * lo, up, y),
    "equal firings": lambda lo, up, y, wide: (up, up, y),
    "some lower firings": lambda lo, up, y, wide: (lo * (wide > 1e-6), up, y),
    "some rules": lambda lo, up, y, wide: (lo * (wide > 1e-6), up * (wide > 1e-6), y.round()),
    "many magnitudes": lambda lo, up, y, wide: (wide * lo, wide * up, 1e6 * y),
    "far below the upper firings": lambda lo, up, y, wide: (1e-12 * lo, wide * up + 1e-12, y),
}


@pytest.mark.parametrize("kind", ROWS)
def test_fast_iterative_and_enumerated_agree(kind):
    for P, N in ((1, 20), (2, 40), (3, 40), (6, 40), (10, 8), (40, 40)):
        wide = 10.0 ** np.random.default_rng(P).uniform(-12, 0, (N, P))
        wide[:, 0] = 1.0  # a rule that fires
        rows = ROWS[kind](*random_rows(P, N=N, P=P), wide)
        if P <= 10:
            assert_all_agree(*rows)
        else:  # too many to enumerate
            iterated = np.array([karnik_mendel(*v)[:2] for v in zip(*rows, strict=True)]).T
            assert_ends(type_reduce(*rows), iterated, rows[2])


def rows_of(firing):
    """Rows of one to eight rules, some tied, at least one of them firing."""
    consequent = st.floats(-10, 10) | st.integers(-2, 2).map(float)
    rule = st.tuples(firing | st.just(0.0), firing | st.just(0.0), consequent)
    rules = st.lists(rule, min_size=1, max_size=8)
    return rules.filter(lambda rules: any(a or b for a, b, _ in rules)).map(
        lambda rules: (
            np.array([min(a, b) for a, b, _ in rules]),
            np.array([max(a, b) for a, b, _ in rules]),
            np.array([y for _, _, y in rules]),
        )
    )


@given(rows_of(st.floats(1e-300, 1)))
@example(([0.0, 0.0], [1.0, 1e-300], [1.0, 0.0]))  # 1 - 1e-300 is 1: the iteration sits there
@settings(deadline=None, derandomize=True, max_examples=60)
def test_fast_is_exact_where_rounding_holds_the_iteration_up(row):
    assert_ends(type_reduce(*row), enumerate_weights(*row), row[2])


@pytest.mark.slow  # to import it takes seconds
def test_an_independent_library_agrees():
    pyit2fls = pytest.importorskip("pyit2fls")
    f_lower, f_upper, y = random_rows(6, N=100, P=8)
    fast = np.array(type_reduce(f_lower, f_upper, y))
    for i in range(len(y)):
        # its rows are [y, y, f_lower, f_upper]: a consequent may be an interval there
        table = np.column_stack([y[i], y[i], f_lower[i], f_upper[i]])
        assert_ends(fast[:, i], pyit2fls.EIASC_algorithm(table), y[i])


def test_small_firings_count_beside_large_ones():
    # Rule 0 fires with 1, the others with 1e-17, and no rule has to fire at all: the upper end is
    # that of rule 2 alone. 1 + 2e-17 is 1 in floating point: total - prefix would leave nothing.
    y = np.array([1.0, 2.0, 3.0, 4.0])
    assert_ends(type_reduce(np.zeros(4), [1.0, 1e-17, 1e-17, 0.0], y), (1, 3), y)


# Invariance and shapes


def test_ends_move_with_the_consequents_and_not_with_a_factor_of_the_firings():
    f_lower, f_upper, y = random_rows(12)
    y_l, y_r = type_reduce(f_lower, f_upper, y)
    assert_ends(type_reduce(f_lower, f_upper, 3 * y + 5), (3 * y_l + 5, 3 * y_r + 5), 3 * y + 5)
    assert_ends(type_reduce(f_lower, f_upper, -y), (-y_r, -y_l), y)
    for factor in (1e-290, 3.7, 1e290):
        factor = factor * np.linspace(1, 2, len(y))[:, None]
        assert_ends(type_reduce(factor * f_lower, factor * f_upper, y), (y_l, y_r), y)


def test_leading_axes_are_kept_and_rows_do_not_know_of_each_other():
    rows = random_rows(13, N=24, P=5)
    flat = np.array(type_reduce(*rows))
    deep = type_reduce(*(v.reshape(2, 3, 4, 5) for v in rows))
    np.testing.assert_array_equal(np.reshape(deep, (2, 24)), flat)
    for i in range(24):
        alone = type_reduce(*(v[i] for v in rows))
        assert np.shape(alone[0]) == ()
        np.testing.assert_allclose(alone, flat[:, i], rtol=0, atol=1e-14)
    empty = [v[:0] for v in rows]
    assert type_reduce(*empty)[0].shape == (0,)
    assert ends_gradient(empty, 0)[2].shape == (0, 5)


@pytest.mark.parametrize(
    ("lower", "upper", "consequents"),
    [
        ((3, 4, 5), (3, 4, 5), (5,)),
        ((5,), (3, 1, 5), (4, 5)),
        ((1, 4, 5), (3, 1, 5), (1, 1, 5)),
    ],
)
def test_arguments_broadcast_and_so_do_their_gradients(lower, upper, consequents):
    rng = np.random.default_rng(14)
    args = (rng.uniform(0, 0.5, lower), rng.uniform(0.5, 1, upper), rng.normal(size=consequents))
    wide = np.broadcast_shapes(lower, upper, consequents)
    full = [np.broadcast_to(v, wide) for v in args]
    np.testing.assert_array_equal(type_reduce(*args), type_reduce(*full))

    weights = rng.normal(size=(2, *wide[:-1]))  # some scalar function of all ends

    def f(*args):
        return anp.sum(weights * anp.array(type_reduce(*args)))

    for i in range(3):
        found = grad(f, i)(*args)
        check_gradient(lambda v, i=i: f(*args[:i], v, *args[i + 1 :]), args[i], found)


# Errors


@pytest.mark.parametrize(
    ("f_lower", "f_upper", "y", "message"),
    [
        ([0, 0], [0, 0], [1, 2], "f_upper must be positive for some rule in every row; row 0"),
        ([[0.1, 0], [0, 0]], [[0.1, 0], [0, 0]], [1, 2], "f_upper must be positive .* row 1"),
        ([0.5, 0.2], [0.4, 0.3], [1, 2], r"f_lower must not exceed f_upper, got 0.5 > 0.4"),
        ([-0.1, 0.2], [0.4, 0.3], [1, 2], "f_lower must not be negative, got -0.1"),
        ([0, 0], [1, math.inf], [1, 2], "f_upper must be finite, got inf"),
        ([0], [1], [1, 2], r"must share their last axis.* f_upper \(1,\), y \(2,\)"),
        (0.1, 0.2, 1.0, "f_lower, f_upper and y must share their last axis"),
        (np.zeros((2, 3)), np.ones((4, 3)), np.ones(3), r"must broadcast .* f_upper \(4, 3\)"),
        (np.zeros((4, 0)), np.zeros((4, 0)), np.zeros((4, 0)), "at least one rule: f_lower"),
    ],
)
def test_bad_input_is_an_error_that_names_the_argument(f_lower, f_upper, y, message):
    with pytest.raises(ValueError, match=message):
        type_reduce(f_lower, f_upper, y)


# The gradient


def ends_gradient(args, end):
    """Gradients of the sum of one end over rows, with respect to all three arguments."""
    return grad(lambda args: anp.sum(type_reduce(*args)[end]))(tuple(args))


@pytest.mark.parametrize("end", [0, 1])
@pytest.mark.parametrize("P", [1, 2, 20])
def test_gradient_of_every_argument(P, end):
    rng = np.random.default_rng(15)
    f_lower = rng.uniform(0.1, 0.5, (4, P))
    args = (f_lower, f_lower + rng.uniform(0.01, 0.5, (4, P)), rng.normal(size=(4, P)))
    gradient = ends_gradient(args, end)
    for i, found in enumerate(gradient):
        check_gradient(
            lambda v, i=i: type_reduce(*args[:i], v, *args[i + 1 :])[end].sum(), args[i], found
        )
    tiny = 1e-290
    scaled = ends_gradient((tiny * args[0], tiny * args[1], args[2]), end)
    for found, unit, expected in zip(scaled, (tiny, tiny, 1), gradient, strict=True):
        np.testing.assert_allclose(found * unit, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("end", [0, 1])
def test_gradient_by_firings_does_not_feel_where_the_zero_of_consequents_is(end):
    rng = np.random.default_rng(8)
    f_lower = rng.uniform(0.1, 0.5, (4, 6))
    f_upper = f_lower + rng.uniform(0.01, 0.5, (4, 6))
    y = rng.integers(-(2**20), 2**20, (4, 6)) / 2.0**20  # so that y + 2^20 is exact
    here, there = (ends_gradient((f_lower, f_upper, y + at), end) for at in (0.0, 2.0**20))
    for one, other in zip(here, there, strict=True):
        np.testing.assert_allclose(other, one, rtol=0, atol=1e-9)


@pytest.mark.parametrize("end", [0, 1])
def test_gradient_by_hand(end):
    # lower end 18/11 with weights (0.6, 0.4, 0.1), upper end 30/11 with (0.2, 0.4, 0.5)
    f_lower, f_upper = np.array([0.2, 0.4, 0.1]), np.array([0.6, 0.8, 0.5])
    y = np.array([1.0, 2.0, 4.0])
    at, takes_upper, w = [
        (18 / 11, np.array([1, 0, 0]), np.array([0.6, 0.4, 0.1])),
        (30 / 11, np.array([0, 0, 1]), np.array([0.2, 0.4, 0.5])),
    ][end]
    g_lower, g_upper, g_y = ends_gradient((f_lower, f_upper, y), end)
    np.testing.assert_allclose(g_upper, takes_upper * (y - at) / 1.1, rtol=0, atol=1e-12)
    np.testing.assert_allclose(g_lower, (1 - takes_upper) * (y - at) / 1.1, rtol=0, atol=1e-12)
    np.testing.assert_allclose(g_y, w / 1.1, rtol=0, atol=1e-12)


def test_gradient_is_finite_where_rules_do_not_fire():
    f_upper = np.array([[0.5, 0.0, 1e-300, 0.2], [0.0, 0.0, 0.0, 1e-300]])
    for end in (0, 1):
        for g in ends_gradient((np.zeros((2, 4)), f_upper, np.array([1.0, 2.0, 3.0, 4.0])), end):
            assert np.isfinite(g).all()


KINKS = {
    # (0 + 1 w + 2*0.3) / (0.3 + w + 0.3) = 1 for any w: rule 1 may fire as it likes
    "lower end on a consequent": ([0.1, 0.2, 0.3], [0.3, 0.6, 0.9], [0.0, 1.0, 2.0]),
    "upper end on a consequent": ([0.3, 0.2, 0.1], [0.9, 0.6, 0.3], [0.0, 1.0, 2.0]),
    "tied away from the ends": ([0.2, 0.1, 0.3], [0.6, 0.5, 0.9], [1.0, 1.0, 2.0]),
    "all consequents tied": ([0.1, 0.2, 0.3], [0.4, 0.6, 0.9], [1.0, 1.0, 1.0]),
    "end on two tied consequents": (
        [0.1, 0.1, 0.2, 0.3],
        [0.3, 0.4, 0.6, 0.9],
        [0.0, 1.0, 1.0, 2.0],
    ),
}


@pytest.mark.parametrize("end", [0, 1])
@pytest.mark.parametrize("kink", KINKS)
def test_gradient_at_a_kink_lies_between_the_one_sided_ones(kink, end):
    args = [np.array(v) for v in KINKS[kink]]
    there_is_a_kink = False
    for i, found in enumerate(ends_gradient(args, end)):

        def f(v, i=i):
            return type_reduce(*args[:i], v, *args[i + 1 :])[end]

        below, above = one_sided(f, args[i])
        assert (np.minimum(below, above) - 1e-6 <= found).all()
        assert (found <= np.maximum(below, above) + 1e-6).all()
        there_is_a_kink |= bool((np.abs(below - above) > 0.01).any())
    kinks = {"upper end on a consequent": [1], "tied away from the ends": []}
    kinks["all consequents tied"] = [0, 1]
    assert there_is_a_kink == (end in kinks.get(kink, [0]))
