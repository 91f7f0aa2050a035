r"""Type reduction: from P rules with lower and upper firing to the two ends of an interval.

Each end is a weighted mean of the consequents in which every rule may choose its
weight between its lower and its upper firing; the lower end is the smallest mean
that can be had, the upper end the largest (Eq. 8). With the consequents sorted, the
best choice has one switch point: for the lower end the *smallest* consequents take
the *upper* firing and the rest the lower one; for the upper end it is the other way
round. (The paper prints the same form for both ends: a misprint.)

`try_switch_points` evaluates all switch points by a sort and running sums and takes the best:
exact, no iteration, a whole batch at once. `type_reduce` is the public function around it, with
checks and two engines. Beside it stand the two forms that the literature knows, for teaching and
for the tests: `karnik_mendel` (the iteration) and `enumerate_weights` (all 2^P choices, the
definition).
"""

from __future__ import annotations

from collections.abc import Callable

import autograd.numpy as np
import numpy as onp
from autograd.extend import defvjp, primitive
from autograd.tracer import getval
from numpy.typing import ArrayLike

from gt2lite._fast.reducing import type_reduce as fast_type_reduce
from gt2lite._validation import Array, IntArray, one_of

ENGINES = ("fast", "autograd")
"""Ways to compute the same: `gt2lite._fast`, or the formulas under automatic differentiation."""


def try_switch_points(f_lower: Array, f_upper: Array, y: Array) -> tuple[Array, Array]:
    r"""Return both ends (N,) of N rows: the best of all switch points, by plain formulas.

    Let the consequents rise. For the lower end the switch point k gives the rules up to k their
    upper firing and the others their lower one, and the mean is

    .. math:: \frac{\sum_{p \le k} \overline f_p y_p + \sum_{p > k} \underline f_p y_p}
        {\sum_{p \le k} \overline f_p + \sum_{p > k} \underline f_p} .

    For the upper end lower and upper firings change places. All running sums of a row are one
    product with a triangle of ones. Their terms have one sign, so that nothing cancels, even if
    firings span many orders of magnitude.

    Args:
        f_lower: lower firing strengths (N, P).
        f_upper: upper firing strengths (N, P), some of them positive in every row.
        y: consequents (N, P), in any order.
    """
    order = onp.argsort(getval(y), axis=1)  # (N, P)
    lower, upper, y = (in_order(x, order) for x in (f_lower, f_upper, y))
    up_to = onp.triu(onp.ones(order.shape[1:] * 2))  # (P, P), column k has the rules up to k
    before = onp.triu(up_to, 1)  # and here those before k: all rules may take the upper firing
    y_l = np.min(_means(upper, lower, y, up_to, onp.inf), axis=1)
    y_r = np.max(_means(lower, upper, y, before, -onp.inf), axis=1)
    return y_l, y_r


def _means(first: Array, others: Array, y: Array, chosen: Array, empty: float) -> Array:
    """Return the means (N, P), in column k with `first` for the rules `chosen` in column k.

    A choice without any weight has the mean `empty`, which cannot win.
    """
    weight = np.dot(first, chosen) + np.dot(others, 1 - chosen)
    moment = np.dot(first * y, chosen) + np.dot(others * y, 1 - chosen)
    fires = getval(weight) > 0
    return np.where(fires, moment / np.where(fires, weight, 1.0), empty)


@primitive
def in_order(x: Array, order: IntArray) -> Array:
    """Return the values of each row of `x` (N, P) in an order (N, P)."""
    return onp.take_along_axis(x, order, axis=1)


def _put_back(ans: Array, x: Array, order: IntArray) -> Callable[[Array], Array]:
    """Return the gradient of `in_order`, which autograd lacks: every value goes back."""
    return lambda g: onp.take_along_axis(g, onp.argsort(order, axis=1), axis=1)


defvjp(in_order, _put_back, argnums=[0])


def type_reduce(
    f_lower: ArrayLike, f_upper: ArrayLike, y: ArrayLike, *, engine: str = "fast"
) -> tuple[Array, Array]:
    """Return the exact ends of the type-reduced set, Eq. (8).

    Differentiable by autograd in all three arguments.

    Args:
        f_lower: lower firing strengths (..., P), not negative.
        f_upper: upper firing strengths (..., P), at least `f_lower`.
        y: consequents (..., P), in any order. The three broadcast against each other.
        engine: "fast", with a gradient written by hand, or "autograd": `try_switch_points`.

    Returns:
        `y_l` and `y_r`, each of shape (...).

    Raises:
        ValueError: where shapes, order or signs are wrong, or where no rule fires in a row.

    >>> y_l, y_r = type_reduce([0.2, 0.4, 0.1], [0.6, 0.8, 0.5], [1.0, 2.0, 4.0])
    >>> y_l.round(12), y_r.round(12)  # (0.6 + 0.4*2 + 0.1*4) / 1.1, (0.2 + 0.4*2 + 0.5*4) / 1.1
    (np.float64(1.636363636364), np.float64(2.727272727273))
    """
    one_of("engine", engine, ENGINES)
    shape = _check(*(onp.asarray(getval(v), dtype=float) for v in (f_lower, f_upper, y)))
    if engine == "fast":
        return fast_type_reduce(f_lower, f_upper, y)
    lower, upper, consequents = (  # (N, P) each
        np.reshape(np.array(v) * onp.ones(shape), (-1, shape[-1])) for v in (f_lower, f_upper, y)
    )
    top = onp.max(getval(upper), axis=1, keepdims=True)  # a common factor does not matter
    y_l, y_r = try_switch_points(lower / top, upper / top, consequents)
    return np.reshape(y_l, shape[:-1]), np.reshape(y_r, shape[:-1])


def _check(f_lower: Array, f_upper: Array, y: Array) -> tuple[int, ...]:
    """Return the shape to which firings and consequents broadcast, or raise a `ValueError`."""
    arrays = {"f_lower": f_lower, "f_upper": f_upper, "y": y}
    shapes = [v.shape for v in arrays.values()]
    named = ", ".join(f"{name} {v.shape}" for name, v in arrays.items())
    if len({shape[-1:] for shape in shapes}) != 1 or shapes[0][-1:] in ((), (0,)):
        raise ValueError(
            f"f_lower, f_upper and y must share their last axis, at least one rule: {named}"
        )
    try:
        shape = onp.broadcast_shapes(*shapes)
    except ValueError:
        raise ValueError(f"f_lower, f_upper and y must broadcast together: {named}") from None
    for name, v in arrays.items():
        if not onp.isfinite(v).all():
            raise ValueError(f"{name} must be finite, got {v[~onp.isfinite(v)][0]}")
    if (f_lower < 0).any():
        raise ValueError(f"f_lower must not be negative, got {f_lower.min()}")
    if (f_lower > f_upper).any():
        lo, up = onp.broadcast_arrays(f_lower, f_upper)
        worst = onp.argmax(lo - up)
        raise ValueError(
            f"f_lower must not exceed f_upper, got {lo.flat[worst]} > {up.flat[worst]}"
        )
    fires = (onp.broadcast_to(f_upper, shape) > 0).any(axis=-1).ravel()
    if not fires.all():
        raise ValueError(
            "f_upper must be positive for some rule in every row; "
            f"row {int(onp.argmin(fires))} is all 0"
        )
    return shape


# The references: one row at a time, as the textbooks have it.


def karnik_mendel(
    f_lower: ArrayLike, f_upper: ArrayLike, y: ArrayLike, max_iterations: int = 1000
) -> tuple[float, float, int]:
    """Return the two ends of one row by the iterative Karnik-Mendel algorithm.

    Start from the mean firing; put the switch where the present mean lies among the
    sorted consequents; recompute the mean; stop when it no longer moves. Exact except
    for rounding: where firings are more than 1e16 apart it may stop too early.

    Args:
        f_lower: lower firing strengths (P,).
        f_upper: upper firing strengths (P,).
        y: consequents (P,).
        max_iterations: a guard; the algorithm needs at most P steps for each end.

    Returns:
        `y_l`, `y_r` and the number of iterations that both took together.

    >>> y_l, y_r, iterations = karnik_mendel([0.2, 0.4, 0.1], [0.6, 0.8, 0.5], [1.0, 2.0, 4.0])
    >>> round(y_l, 12), round(y_r, 12)
    (1.636363636364, 2.727272727273)
    """
    lo, up, yy = (onp.asarray(v, dtype=float) for v in (f_lower, f_upper, y))
    order = onp.argsort(yy)
    lo, up, yy = lo[order], up[order], yy[order]
    ends, iterations = [], 0
    for sign, small, large in ((1, up, lo), (-1, lo, up)):  # firing of small and large consequents
        w = (lo + up) / 2
        mean = w @ yy / w.sum()
        for _ in range(max_iterations):
            iterations += 1
            # the rule at the mean itself takes its upper firing, for either end
            w = onp.where(yy <= mean if sign > 0 else yy < mean, small, large)
            before, mean = mean, w @ yy / w.sum() if w.any() else mean
            if sign * (before - mean) <= 0:
                mean = before
                break
        ends.append(float(mean))
    return ends[0], ends[1], iterations


def enumerate_weights(f_lower: ArrayLike, f_upper: ArrayLike, y: ArrayLike) -> tuple[float, float]:
    """Return the two ends of one row by trying all 2^P choices of lower and upper firing.

    This is the definition, and the form that limits others to some ten rules.

    >>> y_l, y_r = enumerate_weights([0.2, 0.4, 0.1], [0.6, 0.8, 0.5], [1.0, 2.0, 4.0])
    >>> round(y_l, 12), round(y_r, 12)
    (1.636363636364, 2.727272727273)
    """
    lo, up, yy = (onp.asarray(v, dtype=float) for v in (f_lower, f_upper, y))
    P = yy.size
    choose_upper = (onp.arange(2**P)[:, None] >> onp.arange(P)) & 1 == 1  # (2^P, P)
    w = onp.where(choose_upper, up, lo)
    fires = w.sum(axis=1) > 0
    means = (w[fires] @ yy) / w[fires].sum(axis=1)
    return float(means.min()), float(means.max())
