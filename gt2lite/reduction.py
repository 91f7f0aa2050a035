r"""Type reduction: from P rules with lower and upper firing to the two ends of an interval.

Each end is a weighted mean of the consequents in which every rule may choose its
weight between its lower and its upper firing; the lower end is the smallest mean
that can be had, the upper end the largest (Eq. 8). With the consequents sorted, the
best choice has one switch point: for the lower end the *smallest* consequents take
the *upper* firing and the rest the lower one; for the upper end it is the other way
round. (The paper prints the same form for both ends: a misprint.)

`type_reduce` evaluates all switch points and takes the best: exact, no iteration, a whole
batch at once (`_fast.switching` does the work). It is a sort and running sums; up to 128 rules
the sums are a matrix product, which is P^2 and yet faster. Beside it stand the two forms
that the literature knows, for teaching and for the tests: `karnik_mendel` (the iteration)
and `enumerate_weights` (all 2^P choices, the definition).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from autograd.extend import defvjp_argnums, primitive
from numpy.typing import ArrayLike

from gt2lite._fast.switching import Reduction, sort_rules
from gt2lite._validation import Array

_BLOCK_ROWS = 2048  # rows reduced at once: few enough for a cache, enough to be worth a call


def type_reduce(f_lower: ArrayLike, f_upper: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
    """Return the exact ends of the type-reduced set, Eq. (8).

    Differentiable by autograd in all three arguments.

    Args:
        f_lower: lower firing strengths (..., P), not negative.
        f_upper: upper firing strengths (..., P), at least `f_lower`.
        y: consequents (..., P), in any order. The three broadcast against each other.

    Returns:
        `y_l` and `y_r`, each of shape (...).

    Raises:
        ValueError: where shapes, order or signs are wrong, or where no rule fires in a row.

    >>> y_l, y_r = type_reduce([0.2, 0.4, 0.1], [0.6, 0.8, 0.5], [1.0, 2.0, 4.0])
    >>> y_l.round(12), y_r.round(12)  # (0.6 + 0.4*2 + 0.1*4) / 1.1, (0.2 + 0.4*2 + 0.5*4) / 1.1
    (np.float64(1.636363636364), np.float64(2.727272727273))
    """
    ends = _type_reduce(f_lower, f_upper, y, [])
    return ends[0], ends[1]


@primitive
def _type_reduce(f_lower: Any, f_upper: Any, y: Any, tape: list[Any]) -> Array:
    """Return both ends (2, ...); `tape` keeps what the backward pass needs."""
    arrays = [np.asarray(v, dtype=float) for v in (f_lower, f_upper, y)]
    shape = _check(*arrays)
    rows = [np.broadcast_to(v, shape).reshape(-1, shape[-1]) for v in arrays]  # (B, P) each
    ends = np.empty((2, len(rows[0])))
    reduction = None
    for start in range(0, len(rows[0]), _BLOCK_ROWS):
        part = slice(start, start + _BLOCK_ROWS)
        lo, up, yy = (np.ascontiguousarray(v[part].T) for v in rows)  # (P, block)
        top = up.max(axis=0)
        if not (top > 0).all():
            row = start + int(np.argmin(top > 0))
            raise ValueError(
                f"f_upper must be positive for some rule in every row; row {row} is all 0"
            )
        if reduction is None or yy.shape[1] != reduction.B:
            reduction = Reduction(1, *yy.shape)
        np.divide(up, top, out=reduction.upper[0])  # a common factor does not matter
        np.divide(lo, top, out=reduction.lower[0])
        with np.errstate(all="ignore"):
            found = reduction.find_lower_ends(yy, sort_rules(yy))
        ends[0, part], ends[1, part] = found[0, 0], -found[1, 0]
        tape.append((part, top, yy, reduction.firings.copy(), found.copy()))
    return ends.reshape(2, *shape[:-1])


def _type_reduce_vjp(argnums: Any, ans: Any, args: Any, kwargs: Any) -> Any:
    shape = np.broadcast_shapes(*map(np.shape, args[:3]))

    def vjp(g: Array) -> tuple[Array, ...]:
        g = g.reshape(2, 1, -1)
        grads = np.empty((3, g.shape[2], shape[-1]))  # (3, B, P)
        for part, top, y, firings, lower_ends in args[3]:
            reduction = Reduction(1, *y.shape)
            reduction.firings[:], reduction.lower_ends[:] = firings, lower_ends
            with np.errstate(all="ignore"):
                g_f, _, g_y = reduction.pull_back(g[:, :, part], np.stack([y, -y]))
            grads[:2, part] = (g_f[:, 0] / top).swapaxes(1, 2)
            grads[2, part] = g_y.T
        return tuple(_unbroadcast(grads[i].reshape(shape), np.shape(args[i])) for i in argnums)

    return vjp


defvjp_argnums(_type_reduce, _type_reduce_vjp)


def nest(ends: Array, kappa: Array) -> Array:
    """Return the ends (2, K, N) of planes with no end inside that of a narrower plane.

    In exact arithmetic nothing changes; where ends differ by rounding alone, it puts them in order.

    Args:
        ends: lower and upper ends, changed in place.
        kappa: how wide the planes are: (K, 1), or (K, N) where that varies by row.

    >>> nest(np.array([[[1.0], [1.1]], [[2.0], [1.9]]]), np.array([[0.1], [0.2]]))[:, :, 0]
    array([[1., 1.],
           [2., 2.]])
    """
    if len(kappa) > 1:
        order = np.argsort(kappa, axis=0, kind="stable")  # the narrowest first
        for side, outermost in zip(ends, (np.minimum, np.maximum), strict=True):
            found = outermost.accumulate(np.take_along_axis(side, order, axis=0), axis=0)
            np.put_along_axis(side, order, found, axis=0)
    return ends


def _unbroadcast(g: Array, shape: tuple[int, ...]) -> Array:
    """Sum `g` over the axes along which an argument of `shape` was repeated."""
    g = g.sum(axis=tuple(range(g.ndim - len(shape))))
    axes = tuple(i for i, n in enumerate(shape) if n == 1 and g.shape[i] != 1)
    return np.asarray(g.sum(axis=axes, keepdims=True))


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
        shape = np.broadcast_shapes(*shapes)
    except ValueError:
        raise ValueError(f"f_lower, f_upper and y must broadcast together: {named}") from None
    for name, v in arrays.items():
        if not np.isfinite(v).all():
            raise ValueError(f"{name} must be finite, got {v[~np.isfinite(v)][0]}")
    if (f_lower < 0).any():
        raise ValueError(f"f_lower must not be negative, got {f_lower.min()}")
    if (f_lower > f_upper).any():
        lo, up = np.broadcast_arrays(f_lower, f_upper)
        worst = np.argmax(lo - up)
        raise ValueError(
            f"f_lower must not exceed f_upper, got {lo.flat[worst]} > {up.flat[worst]}"
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
    lo, up, yy = (np.asarray(v, dtype=float) for v in (f_lower, f_upper, y))
    order = np.argsort(yy)
    lo, up, yy = lo[order], up[order], yy[order]
    ends, iterations = [], 0
    for sign, small, large in ((1, up, lo), (-1, lo, up)):  # firing of small and large consequents
        w = (lo + up) / 2
        mean = w @ yy / w.sum()
        for _ in range(max_iterations):
            iterations += 1
            # the rule at the mean itself takes its upper firing, for either end
            w = np.where(yy <= mean if sign > 0 else yy < mean, small, large)
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
    lo, up, yy = (np.asarray(v, dtype=float) for v in (f_lower, f_upper, y))
    P = yy.size
    choose_upper = (np.arange(2**P)[:, None] >> np.arange(P)) & 1 == 1  # (2^P, P)
    w = np.where(choose_upper, up, lo)
    fires = w.sum(axis=1) > 0
    means = (w[fires] @ yy) / w[fires].sum(axis=1)
    return float(means.min()), float(means.max())
