r"""Type reduction: from P rules with lower and upper firing to the two ends of an interval.

Each end is a weighted mean of the consequents in which every rule may choose its
weight between its lower and its upper firing; the lower end is the smallest mean
that can be had, the upper end the largest (Eq. 8). With the consequents sorted, the
best choice has one switch point: for the lower end the *smallest* consequents take
the *upper* firing and the rest the lower one; for the upper end it is the other way
round. (The paper prints the same form for both ends: a misprint.)

`type_reduce` evaluates all switch points from running sums and takes the best: exact,
no iteration, a whole batch at once, P log P. Beside it stand the two forms
that the literature knows, for teaching and for the tests: `karnik_mendel` (the
iteration) and `enumerate_weights` (all 2^P choices, which is what is meant by exact).
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from autograd.extend import defvjp_argnums, primitive
from numpy.typing import ArrayLike

from gt2lite._checks import Array, BoolArray, IntArray

MATRIX_SUMS_UP_TO = 16
"""Number of rules up to which one small matrix product is cheaper than a running sum."""


# consequents so near to an end, relative to it, count as equal to it
_AT_THE_END = np.array([1e-14, -1e-14])[:, None, None]
_TINY = 1e-280
_BLOCK_ROWS = 2048  # rows reduced at once: few enough for a cache, enough to be worth a call


# The core: K planes, then rules, then the batch, so that every step is one pass over
# contiguous memory.


def sort_rules(y: Array) -> IntArray:
    """Return the flat positions (P, B) that sort the consequents `y` (P, B) of each sample.

    >>> y = np.array([[3.0], [1.0], [2.0]])
    >>> y.take(sort_rules(y))[:, 0]
    array([1., 2., 3.])
    """
    B = y.shape[1]
    positions = y.argsort(axis=0)
    positions *= B
    positions += _columns(B)
    return positions


@functools.lru_cache(maxsize=16)
def _columns(B: int) -> IntArray:
    return np.arange(B)


def find_ends(
    f_lower: Array, f_upper: Array, y: Array, positions: IntArray, *, all_fire: bool = False
) -> Array:
    """Return both ends (2, K, B) for firings (K, P, B) and consequents `y` (P, B).

    Callers silence the warnings of NumPy: 0/0 occurs here, and is dealt with.

    Args:
        f_lower: lower firing strengths.
        f_upper: upper ones.
        y: consequents.
        positions: what sorts them, see `sort_rules`.
        all_fire: promises that `f_upper` is positive everywhere, which saves a look.
    """
    K, P, B = f_upper.shape
    terms = np.empty((2, K, 2, P, B))  # weight and moment; upper and lower firings
    f_upper.reshape(K, -1).take(positions, axis=1, out=terms[0, :, 0], mode="clip")
    f_lower.reshape(K, -1).take(positions, axis=1, out=terms[0, :, 1], mode="clip")
    np.multiply(terms[0], y.take(positions), out=terms[1])

    W, moment = _switched_sums(terms.reshape(2, K, 2 * P, B))  # (K, 2P, B): P for either end
    moment /= W
    below, above = moment[:, :P], moment[:, P:]
    if not all_fire:  # 0/0 must not win
        np.copyto(below, np.inf, where=W[:, :P] <= 0)
        np.copyto(above, -np.inf, where=W[:, P:] <= 0)
    ends = np.empty((2, K, B))
    np.minimum.reduce(below, axis=1, out=ends[0])
    np.maximum.reduce(above, axis=1, out=ends[1])
    return ends


def _switched_sums(terms: Array) -> Array:
    """Return the sums over rules for all switch points, from `terms` (2, K, 2P, B).

    Row j < P of the result is for the lower end: upper firing for ranks 0..j and lower
    for the rest. Row P + j is for the upper end: lower firing for ranks below j and
    upper for the rest. The two choices left out (all lower) can never be the best ones,
    and are the ones that may have no weight at all.

    Sums are built from terms of one sign, never as total minus prefix: with firings that
    span many orders of magnitude that would cancel to nothing but rounding error.
    """
    P = terms.shape[2] // 2
    if P <= MATRIX_SUMS_UP_TO:
        return _switch_matrix(P) @ terms
    upper, lower = terms[:, :, :P], terms[:, :, P:]
    sums = np.empty_like(terms)
    for rows, small, large in (
        (sums[:, :, :P], upper, _shifted(lower, -1)),
        (sums[:, :, P:], _shifted(lower, 1), upper),
    ):
        # rows[j] = small[0] + ... + small[j] + large[j] + ... + large[P - 1]
        rows[:, :, 0] = small[:, :, 0]
        for j in range(1, P):
            np.add(rows[:, :, j - 1], small[:, :, j], out=rows[:, :, j])
        run = np.zeros_like(rows[:, :, 0])
        for j in range(P - 1, -1, -1):
            run += large[:, :, j]
            rows[:, :, j] += run
    return sums


def _shifted(terms: Array, by: int) -> Array:
    """Return `terms` moved by one along the rules, with 0 where nothing comes in."""
    moved = np.zeros_like(terms)
    if by > 0:
        moved[:, :, 1:] = terms[:, :, :-1]
    else:
        moved[:, :, :-1] = terms[:, :, 1:]
    return moved


@functools.cache
def _switch_matrix(P: int) -> Array:
    """Return the matrix (2P, 2P) of zeros and ones that forms all switched sums."""
    upto, below = np.tri(P), np.tri(P, k=-1)
    return np.block([[upto, 1 - upto], [1 - below, below]])


def takes_upper(y: Array, ends: Array) -> BoolArray:
    """Return which rules weigh in the ends (2, K, B) with their upper firing: (2, K, P, B).

    In the lower end those whose consequent lies below it, in the upper end those above. A
    consequent *at* an end may take either firing; it takes the upper one, also where
    rounding has put the end a few units beside it, so that some rule always does.
    """
    limit = np.maximum(np.abs(ends), _TINY)
    limit *= _AT_THE_END
    limit += ends
    chosen = np.empty((*ends.shape[:2], *y.shape), dtype=bool)
    np.less_equal(y, limit[0][:, None], out=chosen[0])
    np.greater_equal(y, limit[1][:, None], out=chosen[1])
    return chosen


def pull_back(
    g_ends: Array, f_lower: Array, f_upper: Array, y: Array, ends: Array, *, logs: bool = False
) -> tuple[Array, Array]:
    r"""Return the gradients with respect to the firings (2, K, P, B) and `y` (P, B).

    Those of the firings, lower ones first, are with respect to their logarithms if `logs` says so.
    With the switch point held, an end ``y_e = sum(w * y) / W`` has

    .. math:: \partial y_e/\partial w_p = (y_p - y_e) / W, \qquad
              \partial y_e/\partial y_p = w_p / W .
    """
    chosen = takes_upper(y, ends)  # (2, K, P, B)
    w = np.where(chosen, f_upper, f_lower)
    share = (g_ends / np.add.reduce(w, axis=2))[:, :, None]  # (2, K, 1, B)
    w *= share
    g = y - ends[:, :, None]
    g *= w if logs else share
    g_f = np.empty_like(g)
    np.add(g[0], g[1], out=g_f[0])
    g *= chosen
    np.add(g[0], g[1], out=g_f[1])
    g_f[0] -= g_f[1]
    return g_f, np.add.reduce(w.reshape(-1, *y.shape), axis=0)


# The public face: rules last, any leading axes, checked, differentiable.


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
    shape = _common_shape(arrays)
    _check_firings(*arrays)
    P = shape[-1]
    rows = [np.broadcast_to(v, shape).reshape(-1, P) for v in arrays]  # (B, P) each
    ends = np.empty((2, len(rows[0])))
    block = _BLOCK_ROWS
    for start in range(0, len(rows[0]), block):
        part = slice(start, start + block)
        lo, up, yy = (np.ascontiguousarray(v[part].T) for v in rows)  # (P, block)
        top = up.max(axis=0)
        if not (top > 0).all():
            row = start + int(np.argmin(top > 0))
            raise ValueError(
                f"f_upper must be positive for some rule in every row; row {row} is all 0"
            )
        lo, up = (lo / top)[None], (up / top)[None]  # the ends do not depend on a common factor
        with np.errstate(all="ignore"):
            found = find_ends(lo, up, yy, sort_rules(yy))
        ends[:, part] = found[:, 0]
        tape.append((part, top, (lo, up, yy, found)))
    return ends.reshape(2, *shape[:-1])


def _type_reduce_vjp(argnums: Any, ans: Any, args: Any, kwargs: Any) -> Any:
    shape = np.broadcast_shapes(*map(np.shape, args[:3]))

    def vjp(g: Array) -> tuple[Array, ...]:
        g = g.reshape(2, 1, -1)
        grads = np.empty((3, g.shape[2], shape[-1]))  # (3, B, P)
        for part, top, saved in args[3]:
            g_f, g_y = pull_back(g[:, :, part], *saved)
            grads[:2, part] = (g_f[:, 0] / top).swapaxes(1, 2)
            grads[2, part] = g_y.T
        return tuple(_unbroadcast(grads[i].reshape(shape), np.shape(args[i])) for i in argnums)

    return vjp


defvjp_argnums(_type_reduce, _type_reduce_vjp)


def _unbroadcast(g: Array, shape: tuple[int, ...]) -> Array:
    """Sum `g` over the axes along which an argument of `shape` was repeated."""
    g = g.sum(axis=tuple(range(g.ndim - len(shape))))
    axes = tuple(i for i, n in enumerate(shape) if n == 1 and g.shape[i] != 1)
    return np.asarray(g.sum(axis=axes, keepdims=True))


def _common_shape(arrays: list[Array]) -> tuple[int, ...]:
    shapes = [v.shape for v in arrays]
    named = "f_lower {}, f_upper {}, y {}".format(*shapes)
    if any(v.ndim == 0 for v in arrays) or len({v.shape[-1] for v in arrays}) != 1:
        raise ValueError(f"f_lower, f_upper and y must share their last axis, the rules: {named}")
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError:
        raise ValueError(f"f_lower, f_upper and y must broadcast together: {named}") from None
    if shape[-1] == 0:
        raise ValueError(f"there must be at least one rule, got {named}")
    return shape


def _check_firings(f_lower: Array, f_upper: Array, y: Array) -> None:
    for name, v in (("f_lower", f_lower), ("f_upper", f_upper), ("y", y)):
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


# The references: one row at a time, as the textbooks have it.


def karnik_mendel(
    f_lower: ArrayLike, f_upper: ArrayLike, y: ArrayLike, max_iterations: int = 1000
) -> tuple[float, float, int]:
    """Return the two ends of one row by the iterative Karnik-Mendel algorithm.

    Start from the mean firing; put the switch where the present mean lies among the
    sorted consequents; recompute the mean; stop when it no longer moves. Exact but for
    rounding: where firings are more than 1e16 apart it may stop too early.

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
