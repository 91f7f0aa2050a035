"""The planes of a system at any number of rows, chunk by chunk, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gt2lite._fast.planes import Fired, Wide, fire, reduce_planes
from gt2lite._fast.state import quietly
from gt2lite._threads import one_blas_thread
from gt2lite._validation import Array
from gt2lite.parameters import Theta

_CHUNK_ELEMENTS = 2**17  # memberships handled at once: about a megabyte, fits a cache
_CACHE_ELEMENTS = 2**22  # memberships kept between planes: about a hundred megabytes
_TYPE_1 = np.zeros((1, 1))  # the kappa of the plane alpha = 1
_ROUNDING = 64 * np.finfo(float).eps  # relative to the largest consequent


def fitting_rows(n_centres: int) -> int:
    """Return the number of rows whose memberships of `n_centres` centres fit into memory."""
    return max(_CACHE_ELEMENTS // n_centres, 1)


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
        self._kept: dict[int, Fired] = {}
        self._was_asked = False

    @quietly
    def ends(self, kappa: Array) -> Array:
        """Return the ends (2, K, N) of the planes `kappa`: (K, 1), or (K, N) if rows differ."""
        ends = np.empty((2, kappa.shape[0], self._X.shape[0]))
        wide = None
        with one_blas_thread():
            for rows, fired in self._chunks():
                if wide is None or fired.shape[2] != wide.B:
                    wide = Wide(1, *fired.shape)
                k = kappa if kappa.shape[1] == 1 else kappa[:, rows]
                for i in range(len(kappa)):  # one plane at a time: chunks are made for the cache
                    memory = wide if k[i].any() else None
                    ends[:, i : i + 1, rows] = reduce_planes(
                        self._theta, fired, k[i : i + 1], memory
                    )
                ends[:, :, rows] = self._tidied(ends[:, :, rows], fired)
        return nest(ends, kappa)

    def _tidied(self, ends: Array, fired: Fired) -> Array:
        """Return ends (2, K, B) without what rounding alone has put beside their bounds.

        Every end lies between the type-1 output, which all planes contain, and the outermost
        consequent. Far from all data, and where consequents hardly differ, ends come so near
        to a bound that only rounding separates planes, and may swap them. So an end that
        is at a bound to within rounding is put there.
        """
        y = fired.y[0]  # (P, B)
        low, high = y.min(axis=0), y.max(axis=0)
        middle = reduce_planes(self._theta, fired, _TYPE_1, None)[0, 0]
        near = _ROUNDING * np.maximum(np.abs(low), np.abs(high))
        for side, outermost in zip(ends, (low, high), strict=True):
            np.copyto(side, outermost, where=np.abs(side - outermost) <= near)
            np.copyto(side, middle, where=np.abs(side - middle) <= near)
        lower, upper = ends
        return np.stack([np.minimum(lower, middle), np.maximum(upper, middle)])

    def _chunks(self) -> Iterator[tuple[slice, Fired]]:
        N, (P, M) = self._X.shape[0], self._theta.c.shape
        size = max(_CHUNK_ELEMENTS // (P * M), 1)
        keep = self._keep and self._was_asked and N * P * M <= _CACHE_ELEMENTS
        self._was_asked = True
        fired = None
        for start in range(0, N, size):
            rows = slice(start, min(start + size, N))
            if start in self._kept:
                fired = self._kept[start]
            else:
                if fired is None or keep or fired.shape[2] != rows.stop - start:
                    fired = Fired(M, P, rows.stop - start)
                fire(self._theta, self._X[rows].T, fired)
                if keep:
                    self._kept[start] = fired
            yield rows, fired


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
