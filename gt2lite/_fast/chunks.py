"""The planes of a system at any number of rows, chunk by chunk, in bounded memory."""

from __future__ import annotations

import functools
import itertools
import threading
from collections.abc import Iterator

import numpy as np

from gt2lite._fast.planes import Fired, Wide, fire, middle_of, widen
from gt2lite._fast.state import quietly
from gt2lite._fast.switching import cache_line_array, ones, sort_rules, sweep_ends
from gt2lite._threads import one_blas_thread
from gt2lite._validation import Array
from gt2lite.parameters import Theta

_CHUNK_ELEMENTS = 2**18  # memberships handled at once: two megabytes, fit a cache
_CACHE_ELEMENTS = 2**22  # memberships kept between planes: about a hundred megabytes
_PLANES = 8  # planes whose ends are looked for at once
_ROUNDING = 64 * np.finfo(float).eps  # relative to the largest consequent


def fitting_rows(n_centres: int) -> int:
    """Return the number of rows whose memberships of `n_centres` centres fit into memory."""
    return max(_CACHE_ELEMENTS // n_centres, 1)


class Chunk:
    """What some rows do to the rules, the same for all planes, with consequents in rising order."""

    def __init__(self, theta: Theta, X: Array, fired: Fired) -> None:
        fire(theta, X.T, fired)
        y = fired.y[0]  # (P, B)
        self.fired = fired
        middle = middle_of(fired)
        self.positions = sort_rules(y)
        self.offsets = y.take(self.positions, out=fired.y[1], mode="clip")
        self.bounds = low, high = self.offsets[[0, -1]]
        self.near = _ROUNDING * np.maximum(-low, high)
        self.middle = np.clip(middle, low, high)  # rounding may leave these bounds
        self.offsets -= self.middle

    def ends(self, theta: Theta, kappa: Array, wide: Wide) -> Array:
        """Return the ends (2, K, B) of the planes `kappa` (K, 1) or (K, B)."""
        ends = np.empty((2, len(kappa), wide.B))
        ends[:] = self.middle
        have_width = np.flatnonzero(kappa.any(axis=1))
        for start in range(0, len(have_width), _PLANES):
            planes = have_width[start : start + _PLANES]
            terms, base = _memory.terms(wide.P, len(planes), wide.B)
            for i, k in enumerate(planes):  # one at a time: chunks are made for the cache
                widen(theta, self.fired, kappa[k : k + 1], wide)
                lower, upper = wide.lower[0], wide.upper[0]
                np.dot(ones(wide.P), lower, out=base[i])
                upper -= lower
                terms[:, 0, i] = upper.take(self.positions, out=lower, mode="clip")
            np.multiply(terms[:, 0], self.offsets[:, None], out=terms[:, 1])
            offsets = sweep_ends(terms, base, self.offsets)
            for side, offset, outermost in zip(ends, offsets, self.bounds, strict=True):
                side[planes] = self._tidied(offset, outermost)
        return ends

    def _tidied(self, offset: Array, outermost: Array) -> Array:
        """Return an end without what rounding alone has put beside the outermost consequent.

        Far from all data, and where consequents hardly differ, ends come so near to it that only
        rounding separates planes, and may swap them. So an end at that bound to within rounding is
        put there.
        """
        end = self.middle + offset
        return np.where(np.abs(end - outermost) <= self.near, outermost, end)


class _Memory(threading.local):
    """Memory of a thread for the last shapes (M, P, B): to allocate takes as long as to fill."""

    def __init__(self) -> None:
        self.fired = functools.lru_cache(maxsize=2)(functools.partial(Fired, has_z=False))
        self.wide = functools.lru_cache(maxsize=2)(functools.partial(Wide, 1))
        self.terms = functools.lru_cache(maxsize=2)(_terms)


def _terms(P: int, K: int, B: int) -> tuple[Array, Array]:
    """Return memory for the terms of `sweep_ends` and for sums of lower firings."""
    return cache_line_array((P, 2, K, B)), cache_line_array((K, B))


_memory = _Memory()


class ChunkedPlanes:
    """The ends of planes at the rows of `X` (N, M).

    Memberships do not depend on the plane: one question about many planes computes them once,
    chunk by chunk. From the second question on they are kept, where they fit into a modest
    amount of memory; for more rows they are recomputed, so that memory stays bounded. (Not
    from the first one on, because to allocate memory takes longer than to fill it.)

    Args:
        theta: the system.
        X: scaled inputs (N, M).
        keep: False never keeps memberships, for a few questions at most.
    """

    def __init__(self, theta: Theta, X: Array, keep: bool) -> None:
        self._theta, self._X, self._keep = theta, X, keep
        self._kept: dict[int, Chunk] = {}
        self._was_asked = False

    @quietly
    def ends(self, kappa: Array) -> Array:
        """Return the ends (2, K, N) of the planes `kappa`: (K, 1), or (K, N) if rows differ."""
        ends = np.empty((2, len(kappa), len(self._X)))
        with one_blas_thread():
            for rows, chunk, wide in self._chunks():
                n = rows.stop - rows.start
                own = kappa
                if kappa.shape[1] > 1:
                    own = np.pad(kappa[:, rows], ((0, 0), (0, wide.B - n)), "edge")
                ends[:, :, rows] = chunk.ends(self._theta, own, wide)[:, :, :n]
        return nest(ends, kappa)

    def _chunks(self) -> Iterator[tuple[slice, Chunk, Wide]]:
        """Yield chunks of one size, the last of which may be filled up with its last row."""
        N, (P, M) = len(self._X), self._theta.c.shape
        B = -(-N // -(-N * P * M // _CHUNK_ELEMENTS))
        keep = self._keep and self._was_asked and N * P * M <= _CACHE_ELEMENTS
        self._was_asked = True
        wide = _memory.wide(M, P, B)
        for start in range(0, N, B):
            rows = slice(start, min(start + B, N))
            chunk = self._kept.get(start)
            if chunk is None:
                X = self._X[rows]
                if len(X) < B:
                    X = X[np.minimum(np.arange(B), len(X) - 1)]
                fired = Fired(M, P, B, has_z=False) if keep else _memory.fired(M, P, B)
                chunk = Chunk(self._theta, X, fired)
                if keep:
                    self._kept[start] = chunk
            yield rows, chunk, wide


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
    if len(kappa) == 1:
        return ends
    order = np.argsort(kappa, axis=0, kind="stable")  # the narrowest first
    for side, outermost in zip(ends, (np.minimum, np.maximum), strict=True):
        if order.shape[1] == 1:
            for narrow, wide in itertools.pairwise(order[:, 0]):
                outermost(side[wide], side[narrow], out=side[wide])
        else:
            found = outermost.accumulate(np.take_along_axis(side, order, axis=0), axis=0)
            np.put_along_axis(side, order, found, axis=0)
    return ends
