r"""Type reduction: from P rules with lower and upper firing to the two ends of an interval.

Each end is a weighted mean of the consequents in which every rule may choose its
weight between its lower and its upper firing; the lower end is the smallest mean
that can be had, the upper end the largest (Eq. 8). With the consequents sorted, the
best choice has one switch point: for the lower end the *smallest* consequents take
the *upper* firing and the rest the lower one; for the upper end it is the other way
round. (The paper prints the same form for both ends: a misprint.)

`type_reduce` evaluates all switch points and takes the best: exact, no iteration, a whole
batch at once. It is a sort and running sums; up to 128 rules the sums are a matrix
product, which is P^2 and yet faster. Beside it stand the two forms that the literature
knows, for teaching and for the tests: `karnik_mendel` (the iteration) and
`enumerate_weights` (all 2^P choices, which is what is meant by exact).
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np
from autograd.extend import defvjp_argnums, primitive
from numpy.typing import ArrayLike

from gt2lite._checks import Array, IntArray

MATRIX_SUMS_UP_TO = 128
"""Number of rules up to which one small matrix product is cheaper than a running sum."""


# consequents so near to an end, relative to it, count as equal to it
_AT_THE_END = 1e-14
_TINY = 1e-294
_CACHE_LINE = 64  # bytes: where vectors of a processor like to start
_BLOCK_ROWS = 2048  # rows reduced at once: few enough for a cache, enough to be worth a call


# The core: K planes, then rules, then the batch, so that every step is one pass over
# contiguous memory. The upper end of y is minus the lower end of -y: the core knows lower
# ends only, in pairs (2, K, B), that of y and that of -y.


def aligned(shape: tuple[int, ...]) -> Array:
    """Return a new array, of arbitrary content, that starts with a line of the cache."""
    size = 8 * math.prod(shape)
    raw = np.empty(size + _CACHE_LINE, dtype=np.uint8)
    start = -raw.ctypes.data % _CACHE_LINE
    return raw[start : start + size].view(float).reshape(shape)


@functools.lru_cache(maxsize=16)
def ones(n: int) -> Array:
    """Return n ones: a sum is cheapest as a product with them."""
    return np.ones(n)


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


class Reduction:
    """The type reduction of K planes for B samples and P rules, in memory that is used again.

    Fill `upper` and `lower`, then call `find_lower_ends` and, for gradients, `pull_back`. What
    they return is good until they are called again. Callers silence the warnings of NumPy:
    0/0 occurs here, and is dealt with.
    """

    def __init__(self, K: int, P: int, B: int) -> None:
        self.K, self.P, self.B = K, P, B
        self.firings = aligned((K, 2, P, B))
        self.upper, self.lower = self.firings[:, 0], self.firings[:, 1]  # (K, P, B)
        self._rows = self.firings.reshape(2 * K, P * B)
        terms = aligned((2, 2 * K, P, B))  # weight and moment; by plane, upper and lower firings
        self._weights, self._moments = terms
        self._terms = terms.reshape(2, K, 2 * P, B)
        self._sums = aligned((2, K, 2 * P, B))
        self._W, self._means = self._sums
        self.lower_ends = aligned((2, K, B))  # of y and of -y
        self._lower_ends_by_plane = self.lower_ends.swapaxes(0, 1)

    def find_lower_ends(self, y: Array, positions: IntArray, *, all_fire: bool = False) -> Array:
        """Return the lower ends (2, K, B) of `y` and of `-y`.

        Args:
            y: consequents (P, B).
            positions: what sorts them, see `sort_rules`.
            all_fire: promises that upper firings are positive everywhere, which saves a look.
        """
        self._rows.take(positions, axis=1, out=self._weights, mode="clip")
        np.multiply(self._weights, y.take(positions), out=self._moments)
        _switched_sums(self._terms, self._sums)
        means = self._means  # (K, 2P, B): P candidates for either end
        means /= self._W
        if not all_fire:
            np.copyto(means, np.inf, where=self._W <= 0)  # 0/0 must not win
        candidates = means.reshape(self.K, 2, self.P, self.B)
        np.minimum.reduce(candidates, axis=2, out=self._lower_ends_by_plane)
        return self.lower_ends

    def pull_back(
        self, g_ends: Array, y: Array, *, plain: PlainMean | None = None, logs: bool = False
    ) -> PulledBack:
        r"""Return the gradients with respect to firings and consequents.

        With the switch point held, an end ``y_e = sum(w * y) / W`` has

        .. math:: \partial y_e/\partial w_p = (y_p - y_e) / W, \qquad
                  \partial y_e/\partial y_p = w_p / W .

        In a lower end the rules whose consequent lies below it weigh in with their upper firing.
        A consequent *at* the end may take either; it takes the upper one, also where rounding
        has put the end a few units beside it, so that some rule always does.

        Args:
            g_ends: the gradient with respect to lower and upper ends (2, K, B).
            y: consequents and their negatives (2, P, B).
            plain: a mean that is pulled back along with the ends.
            logs: whether gradients are with respect to the logarithms of firings and weights.
        """
        d, w, share, d_ends, w_ends, below, g_f = self._for_gradients
        edge = np.abs(self.lower_ends)
        edge *= _AT_THE_END
        edge += _TINY
        edge += self.lower_ends
        np.subtract(y[:, None], edge[:, :, None], out=d_ends)
        np.multiply(d_ends, -np.inf, out=w_ends)  # inf below the edge, -inf above, nan at it
        np.fmin(w_ends, self.upper, out=w_ends)
        np.fmax(w_ends, self.lower, out=w_ends)
        np.minimum(d_ends, 0.0, out=below)
        if plain is None:
            d[-1], w[-1], share[-1] = 0.0, 1.0, 0.0
        else:
            np.subtract(y[0], plain.mean, out=d[-1])
            w[-1], share[-1] = plain.w, plain.g

        W = np.add.reduce(w, axis=1)
        np.divide(g_ends, W[:-1].reshape(g_ends.shape), out=share[:-1].reshape(g_ends.shape))
        share[-1] /= W[-1]
        w *= share[:, None]
        factor = w if logs else share[:, None]
        d *= factor
        below *= factor[:-1].reshape(2, self.K, -1, self.B)
        # d_ends[1] is a distance in -y: the two ends pull in opposite directions
        np.subtract(d_ends[0], d_ends[1], out=g_f[0])  # by both firings
        np.subtract(below[0], below[1], out=g_f[1])
        g_f[0] -= g_f[1]
        return PulledBack(g_f, d[-1], np.add.reduce(w, axis=0))

    @functools.cached_property
    def _for_gradients(self) -> tuple[Array, ...]:
        K, P, B = self.K, self.P, self.B
        n = 2 * K + 1  # all ends and a plain mean
        d, w = aligned((n, P, B)), aligned((n, P, B))
        by_end = (2, K, P, B)
        d_ends, w_ends = d[:-1].reshape(by_end), w[:-1].reshape(by_end)
        return d, w, aligned((n, B)), d_ends, w_ends, aligned(by_end), aligned(by_end)


class PlainMean(NamedTuple):
    """A weighted mean of the same consequents without any choice: the plane alpha = 1."""

    w: Array  # (P, B) weights
    mean: Array  # (B,)
    g: Array  # (B,) the gradient with respect to it


class PulledBack(NamedTuple):
    """Gradients with respect to what the ends are made of."""

    firings: Array  # (2, K, P, B) by lower firings, by upper ones
    plain: Array  # (P, B) by the weights of the plain mean; 0 without one
    y: Array  # (P, B) by the consequents


def _switched_sums(terms: Array, sums: Array) -> None:
    """Put the sums over rules for all switch points, from `terms` (2, K, 2P, B), into `sums`.

    Row j < P of the result is for the lower end: upper firing for ranks 0..j and lower
    for the rest. Row P + j is for the upper end: lower firing for ranks below j and
    upper for the rest, with the moment negated. The two choices left out (all lower) can never
    be the best ones, and are the ones that may have no weight at all.

    Sums are built from terms of one sign, never as total minus prefix: with firings that
    span many orders of magnitude that would cancel to nothing but rounding error.
    """
    P = terms.shape[2] // 2
    if P <= MATRIX_SUMS_UP_TO:
        np.matmul(_switch_matrices(P), terms, out=sums)
        return
    upper, lower = terms[:, :, :P], terms[:, :, P:]
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
    np.negative(sums[1, :, P:], out=sums[1, :, P:])


def _shifted(terms: Array, by: int) -> Array:
    """Return `terms` moved by one along the rules, with 0 where nothing comes in."""
    moved = np.zeros_like(terms)
    if by > 0:
        moved[:, :, 1:] = terms[:, :, :-1]
    else:
        moved[:, :, :-1] = terms[:, :, 1:]
    return moved


@functools.cache
def _switch_matrices(P: int) -> Array:
    """Return the matrices (2, 1, 2P, 2P) that form all switched sums: of weights, of moments."""
    upto, below = np.tri(P), np.tri(P, k=-1)
    of_weights = np.block([[upto, 1 - upto], [1 - below, below]])
    of_moments = of_weights.copy()
    of_moments[P:] *= -1
    return np.stack([of_weights, of_moments])[:, None]


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
    reduction = None
    for start in range(0, len(rows[0]), block):
        part = slice(start, start + block)
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
