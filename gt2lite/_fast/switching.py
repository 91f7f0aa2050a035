"""All switch points of a batch at once: the core of type reduction, and its gradient.

`gt2lite.reduction` explains the method and is the public interface; `_fast.planes` builds on this
module. Arrays have K planes, then rules, then the batch, so that every step is one pass over
contiguous memory. The upper end of y is minus the lower end of -y: only lower ends are computed,
in pairs (2, K, B), that of y and that of -y.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from gt2lite._validation import Array, IntArray

MATRIX_SUMS_UP_TO = 128
"""Number of rules up to which one small matrix product is cheaper than a running sum."""

_STRIDE = 4  # rules between two looks whether all ends are found

_CACHE_LINE = 64  # bytes: where vectors of a processor like to start


class Limits(NamedTuple):
    """Where numbers of a precision come too near to underflow, overflow or rounding."""

    safe_product: float  # products of memberships above it keep all their digits
    common_factor: float  # firings may be larger than 1 by the inverse of this
    least_room: float  # 1 - t where t is 1 to the last bit
    lowest_log: float  # keeps differences of logarithms finite where squares overflow
    at_the_end: float  # consequents so near to an end, relative to it, count as equal to it
    tiny: float


LIMITS = {
    np.dtype(float): Limits(1e-200, 1e-40, 2.0**-53, -1e300, 1e-14, 1e-294),
    np.dtype(np.float32): Limits(1e-30, 1e-30, 2.0**-24, -1e30, 1e-6, 1e-34),
}


def cache_line_array(shape: tuple[int, ...], dtype: Any = float) -> Array:
    """Return a new array, of arbitrary content, that starts where a line of the cache does."""
    size = np.dtype(dtype).itemsize * math.prod(shape)
    raw = np.empty(size + _CACHE_LINE, dtype=np.uint8)
    start = -raw.ctypes.data % _CACHE_LINE
    return raw[start : start + size].view(dtype).reshape(shape)


@functools.lru_cache(maxsize=32)
def ones(n: int, dtype: Any = float) -> Array:
    """Return n ones: a sum is cheapest as a product with them."""
    return np.ones(n, dtype)


def sort_rules(y: Array) -> IntArray:
    """Return the flat positions (P, B) that sort the consequents `y` (P, B) of each sample.

    >>> y = np.array([[3.0], [1.0], [2.0]])
    >>> y.take(sort_rules(y))[:, 0]
    array([1., 2., 3.])
    """
    B = y.shape[1]
    positions = y.argsort(axis=0)
    positions *= B
    positions += np.arange(B)
    return positions


class Reduction:
    """The type reduction of K planes for B samples and P rules, in memory that is used again.

    Fill `upper` and `lower`, then call `find_lower_ends` and, for gradients, `pull_back`. What
    they return is good until they are called again. Callers silence the warnings of NumPy:
    0/0 occurs here, and is dealt with.
    """

    def __init__(self, K: int, P: int, B: int, dtype: Any = float) -> None:
        self.K, self.P, self.B = K, P, B
        self._array = functools.partial(cache_line_array, dtype=dtype)
        self._limits = LIMITS[np.dtype(dtype)]
        self.firings = self._array((K, 2, P, B))
        self.upper, self.lower = self.firings[:, 0], self.firings[:, 1]  # (K, P, B)
        self.lower_ends = self._array((2, K, B))  # of y and of -y
        self._lower_ends_by_plane = self.lower_ends.swapaxes(0, 1)

    def find_lower_ends(self, y: Array, positions: IntArray, *, all_fire: bool = False) -> Array:
        """Return the lower ends (2, K, B) of `y` and of `-y`.

        Args:
            y: consequents (P, B).
            positions: what sorts them, see `sort_rules`.
            all_fire: promises that upper firings are positive everywhere, which saves a look.
        """
        rows, weights, moments, terms, sums = self._for_sums
        rows.take(positions, axis=1, out=weights, mode="clip")
        np.multiply(weights, y.take(positions), out=moments)
        _switched_sums(terms, sums)
        W, means = sums  # (K, 2P, B): P candidates for either end
        means /= W
        if not all_fire:
            np.copyto(means, np.inf, where=W <= 0)  # 0/0 must not win
        candidates = means.reshape(self.K, 2, self.P, self.B)
        np.minimum.reduce(candidates, axis=2, out=self._lower_ends_by_plane)
        return self.lower_ends

    def pull_back(
        self,
        g_ends: Array,
        y: Array,
        *,
        plain: tuple[Array, Array, Array] | None = None,
        logs: bool = False,
    ) -> tuple[Array, Array, Array]:
        r"""Return the gradients by firings, by the weights of a plain mean and by consequents.

        With the switch point held, an end ``y_e = sum(w * y) / W`` has

        .. math:: \partial y_e/\partial w_p = (y_p - y_e) / W, \qquad
                  \partial y_e/\partial y_p = w_p / W .

        In a lower end the rules whose consequent lies below it weigh in with their upper firing.
        A consequent *at* the end may take either; it takes the upper one, also where rounding
        has put the end a few units beside it, so that some rule always does.

        Args:
            g_ends: the gradient with respect to lower and upper ends (2, K, B).
            y: consequents and their negatives (2, P, B).
            plain: a mean without any choice, the plane alpha = 1, that is pulled back along with
                the ends: its weights (P, B), its value (B,) and the gradient by it (B,).
            logs: whether gradients are with respect to the logarithms of firings and weights.

        Returns:
            by lower and by upper firings (2, K, P, B), by the weights of the plain mean (P, B), 0
            without one, and by consequents (P, B).
        """
        d, w, share, d_ends, w_ends, below, g_f = self._for_gradients
        np.subtract(y[:, None], self.lower_ends[:, :, None], out=d_ends)
        near = np.abs(self.lower_ends)
        near *= self._limits.at_the_end
        near += self._limits.tiny
        np.subtract(d_ends, near[:, :, None], out=w_ends)
        w_ends *= -np.inf  # inf for consequents below, -inf for those above, nan in between
        np.fmin(w_ends, self.upper, out=w_ends)
        np.fmax(w_ends, self.lower, out=w_ends)
        np.minimum(d_ends, 0.0, out=below)
        if plain is None:
            d[-1], w[-1], share[-1] = 0.0, 1.0, 0.0
        else:
            w[-1], mean, share[-1] = plain
            np.subtract(y[0], mean, out=d[-1])

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
        return g_f, d[-1], np.add.reduce(w, axis=0)

    @functools.cached_property
    def _for_sums(self) -> tuple[Array, ...]:
        K, P, B = self.K, self.P, self.B
        terms = self._array((2, 2 * K, P, B))  # weight and moment; by plane, upper and lower
        sums = self._array((2, K, 2 * P, B))
        rows = self.firings.reshape(2 * K, P * B)
        return rows, *terms, terms.reshape(2, K, 2 * P, B), sums

    @functools.cached_property
    def _for_gradients(self) -> tuple[Array, ...]:
        n, by_end = 2 * self.K + 1, (2, self.K, self.P, self.B)  # all ends and a plain mean
        d, w = (self._array((n, self.P, self.B)) for _ in range(2))
        below, g_f = (self._array(by_end) for _ in range(2))
        share = self._array((n, self.B))
        return d, w, share, d[:-1].reshape(by_end), w[:-1].reshape(by_end), below, g_f


def sweep_ends(terms: Array, base: Array, offsets: Array) -> Array:
    """Return how far the ends (2, K, B) of planes lie below and above their type-1 output.

    An end is a weighted mean in which the rules beyond it have their upper firing and all others
    the lower one. The rules take their upper firing one after another, the outermost first, until
    all that are left lie inside of the mean, in every sample.

    Consequents are given as offsets from the type-1 output. Lower firings are in proportion to
    type-1 firings, so their offsets have the mean 0: what remains are sums of one sign, without
    cancellation.

    Args:
        terms: upper minus lower firings, and these times the offsets (P, 2, K, B).
        base: sums of lower firings (K, B).
        offsets: consequents minus the type-1 output (P, B), rising.
    """
    ends = np.zeros((2, *base.shape))
    sums, mean = np.empty(terms.shape[1:]), np.empty_like(base)
    sides = (np.fmin, np.less_equal, 1), (np.fmax, np.greater_equal, -1)
    for t, (outermost, is_inside, step) in zip(ends, sides, strict=True):
        sums[0], sums[1] = base, 0.0
        for i, (term, offset) in enumerate(zip(terms[::step], offsets[::step], strict=True)):
            if i % _STRIDE == 0 and is_inside(t, offset).all():
                break
            sums += term
            np.divide(sums[1], sums[0], out=mean)
            outermost(t, mean, out=t)  # not 0/0, where no rule fires
    return ends


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
        np.matmul(_switch_matrices(P, terms.dtype), terms, out=sums)
        return
    upper, lower = terms[:, :, :P], terms[:, :, P:]
    first, last = sums[:, :, :P], sums[:, :, P:]
    np.add.accumulate(upper, axis=2, out=first)
    first[:, :, :-1] += np.add.accumulate(lower[:, :, :0:-1], axis=2)[:, :, ::-1]
    last[:] = np.add.accumulate(upper[:, :, ::-1], axis=2)[:, :, ::-1]
    last[:, :, 1:] += np.add.accumulate(lower[:, :, :-1], axis=2)
    np.negative(sums[1, :, P:], out=sums[1, :, P:])


@functools.cache
def _switch_matrices(P: int, dtype: Any = float) -> Array:
    """Return the matrices (2, 1, 2P, 2P) that form all switched sums: of weights, of moments."""
    upto, below = np.tri(P, dtype=dtype), np.tri(P, k=-1, dtype=dtype)
    of_weights = np.block([[upto, 1 - upto], [1 - below, below]])
    of_moments = of_weights.copy()
    of_moments[P:] *= -1
    return np.stack([of_weights, of_moments])[:, None]
