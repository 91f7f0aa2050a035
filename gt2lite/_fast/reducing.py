"""Type reduction of any firings as a primitive of autograd, with a gradient written by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
from autograd.extend import defvjp_argnums, primitive
from numpy.typing import ArrayLike

from gt2lite._fast.switching import Reduction, sort_rules
from gt2lite._validation import Array

_BLOCK_ROWS = 2048  # rows reduced at once: few enough for a cache, enough to be worth a call


def type_reduce(f_lower: ArrayLike, f_upper: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
    """Return both ends of the type-reduced set, see `gt2lite.reduction`, which checks arguments.

    Up to 128 rules the running sums are a matrix product, which is P^2 and yet faster.
    """
    ends = _type_reduce(f_lower, f_upper, y, [])
    return ends[0], ends[1]


@primitive
def _type_reduce(f_lower: Any, f_upper: Any, y: Any, tape: list[Any]) -> Array:
    """Return both ends (2, ...); `tape` keeps what the backward pass needs."""
    arrays = [np.asarray(v, dtype=float) for v in (f_lower, f_upper, y)]
    shape = np.broadcast_shapes(*map(np.shape, arrays))
    rows = [np.broadcast_to(v, shape).reshape(-1, shape[-1]) for v in arrays]  # (B, P) each
    ends = np.empty((2, len(rows[0])))
    reduction = None
    for start in range(0, len(rows[0]), _BLOCK_ROWS):
        part = slice(start, start + _BLOCK_ROWS)
        lo, up, yy = (np.ascontiguousarray(v[part].T) for v in rows)  # (P, block)
        top = up.max(axis=0)
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
