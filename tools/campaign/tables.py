"""Tables to hand in: ordinary, extreme, degenerate, in other types, and no tables at all."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from gt2lite._validation import Array
from gt2lite.datasets import LARGEST, LEAST_SPREAD

Rng = np.random.Generator


def draw(rng: Rng, plain: bool = False) -> tuple[Array, Array]:
    """Return an ordinary table and a target; `plain` ones need no more than three digits."""
    N, M = int(rng.integers(8, 61)), int(rng.integers(1, 5))
    X = rng.normal(size=(N, M))
    y = X[:, 0] + np.sin(2 * X[:, -1]) + 0.3 * rng.normal(size=N)
    if plain:
        return np.round(8 * X) / 8, np.round(8 * y) / 8
    X = X * 10.0 ** rng.uniform(-3, 3, M) + rng.integers(-5, 6, M)
    y = y * 10.0 ** rng.uniform(-3, 3) + rng.integers(-5, 6)
    if rng.random() < 0.2:  # targets that are whole numbers, with ties
        y = np.round(y)
    if np.ptp(y) == 0:
        y[0] += 1.0
    return X, y


# ----------------------------------------------------------------------- extremes


def draw_extreme(rng: Rng) -> tuple[Array, Array, bool]:
    """Return columns of any size, and whether all of them are within the promised bounds."""
    N, M = int(rng.integers(8, 61)), int(rng.integers(1, 5))
    columns = [_extreme_column(rng, N) for _ in range(M + 1)]
    X, y = np.stack(columns[:-1], axis=1), columns[-1]
    return X, y, all(_within(column, 10.0) for column in columns[:-1]) and _within(y, 1e10)


def _extreme_column(rng: Rng, N: int) -> Array:
    z = rng.normal(size=N)
    how = rng.integers(6)
    with np.errstate(all="ignore"):
        if how == 0:  # one size
            low, high = rng.choice([(-306, 307), (290, 308), (-320, -290)])
            x = z * 10.0 ** rng.uniform(low, high)
        elif how == 1:  # a spread that is small beside the mean, down to rounding
            x = (1 + z * 10.0 ** rng.uniform(-17, 0)) * 10.0 ** rng.uniform(-290, 290)
        elif how == 2:  # all sizes in one column
            x = np.sign(z) * 10.0 ** rng.uniform(-307, 299, N)
        elif how == 3:  # one outlier
            x = z * 10.0 ** rng.uniform(-200, 100)
            x[rng.integers(N)] *= 10.0 ** rng.uniform(0, 190)
        elif how == 4:  # a constant, the smallest of numbers among them
            x = np.full(N, rng.choice([0.0, -0.0, 5e-324, -1e-310, 1e299, 0.1]))
        else:  # two values
            x = np.where(z > 0, 10.0 ** rng.uniform(-299, 299), 0.0)
    return np.where(np.isfinite(x), x, 1e308)


def _within(x: Array, room: float) -> bool:
    """Return whether numbers are within the bounds, with some room to spare."""
    top = np.abs(x).max()
    if x.min() == x.max() or top > LARGEST / room:
        return bool(top <= LARGEST / room)
    exponent = np.frexp(top)[1]
    return bool(np.ldexp(np.ldexp(x, -exponent).std(), exponent) > LEAST_SPREAD * room)


def draw_degenerate(rng: Rng) -> tuple[Array, Array]:
    """Return a table with one row, constant columns, few different rows or a constant target."""
    X, y = draw(rng)
    how = rng.integers(5)
    if how == 0:
        return X[:1], y[:1]
    if how == 1:
        X[:, rng.integers(X.shape[1])] = rng.choice([0.0, 0.1, -1e200, 1e-200, 3.0])
    elif how == 2:
        rows = rng.integers(0, 2, len(y))
        X, y = X[rows], y[rows]
    elif how == 3:
        y = np.full(len(y), float(rng.choice([0.0, 0.1, 1e200, -7.0])))
    else:
        X = np.repeat(X[:1], len(y), axis=0)
    return X, y


# -------------------------------------------------------------------------- types


def retyped(rng: Rng, X: Array, y: Array) -> tuple[Array, Array, Any, Any]:
    """Return a table and a target as plain arrays, and the same numbers as something else."""
    how_X, how_y = _TABLES[rng.integers(len(_TABLES))], _TARGETS[rng.integers(len(_TARGETS))]
    X, other_X = how_X(X)
    y, other_y = how_y(y)
    return X, y, other_X, other_y


def _exactly(make: Callable[[Array], Any]) -> Callable[[Array], tuple[Array, Any]]:
    return lambda values: (values, make(values))


def _as_dtype(dtype: Any) -> Callable[[Array], tuple[Array, Any]]:
    def make(values: Array) -> tuple[Array, Any]:
        with np.errstate(all="ignore"):
            other = np.abs(values).astype(dtype)
        return other.astype(float), other

    return make


def _read_only(values: Array) -> Array:
    values = values.copy()
    values.flags.writeable = False
    return values


def _objects(kind: Any) -> Callable[[Array], Any]:
    def make(values: Array) -> Any:
        found = np.empty(values.shape, dtype=object)
        for where, value in np.ndenumerate(values):
            found[where] = kind(float(value))
        return found

    return make


def _frame(values: Array) -> Any:
    import pandas as pd

    if values.ndim == 1:
        return pd.Series(values, name="y")
    return pd.DataFrame(values, columns=[f"x{j}" for j in range(values.shape[1])])


def _nullable(values: Array) -> Any:
    return _frame(values).convert_dtypes()


class _Subclass(np.ndarray):
    """An array of another class."""


_SHARED = [
    *(_exactly(lambda v: v.tolist()), _exactly(lambda v: tuple(v.tolist()))),
    *(_as_dtype(kind) for kind in ("f4", "f2", "i8", "i1", "u1", "u8", "?", ">f8", "g")),
    *(_exactly(_objects(kind)) for kind in (float, Fraction, Decimal, np.float32)),
    *(_exactly(np.ma.array), _exactly(_read_only), _exactly(_frame), _exactly(_nullable)),
    _exactly(lambda v: np.ma.array(v, mask=np.zeros(v.shape, dtype=bool))),
    _exactly(lambda v: np.repeat(v, 2, axis=0)[::2]),
    _exactly(lambda v: v[::-1].copy()[::-1]),
    _exactly(lambda v: v.copy().view(_Subclass)),
]
_TABLES = [*_SHARED, _exactly(np.asfortranarray), _exactly(lambda v: [*map(np.array, v)])]
_TARGETS = [*_SHARED, _exactly(lambda v: v[:, None])]


# ---------------------------------------------------------------------- no numbers


def _with(values: Any, rng: Rng, item: Any, dtype: Any = object) -> Any:
    """Return a copy with another item at some place."""
    found = np.array(values, dtype=dtype)
    found[tuple(int(rng.integers(n)) for n in found.shape)] = item
    return found


def _masked(values: Array, rng: Rng) -> Any:
    mask = _with(np.zeros(values.shape), rng, True, bool)
    return np.ma.array(values, mask=mask)


def _sparse(values: Array) -> Any:
    from scipy.sparse import csr_matrix

    return csr_matrix(values)


_DAY = datetime.datetime(2024, 1, 1)
_ITEMS: list[Any] = [
    *("1.5", b"1.5", "nan", None, {}, [1.0], _DAY, _DAY.date(), datetime.timedelta(1)),
    *(10**400, -(10**400), Fraction(10**400, 3), 1j, float("nan"), float("-inf"), Decimal("NaN")),
    *(Decimal("1e400"), np.datetime64("NaT"), np.timedelta64(3, "s"), np.ma.masked, print),
]
_ANY: list[Callable[[Array, Rng], Any]] = [
    lambda v, rng: _with(v, rng, np.nan, float),
    lambda v, rng: _with(v, rng, rng.choice([-np.inf, np.inf]), float),
    lambda v, rng: _with(v, rng, np.inf, np.float32),
    lambda v, rng: _with(v, rng, np.longdouble("1e400"), np.longdouble),
    lambda v, rng: _with(v, rng, _ITEMS[rng.integers(len(_ITEMS))]),
    lambda v, rng: _with(v, rng, _ITEMS[rng.integers(len(_ITEMS))]),
    lambda v, rng: _with(v, rng, _ITEMS[rng.integers(len(_ITEMS))]).tolist(),
    _masked,
    lambda v, _: np.ma.masked_all(v.shape),
    lambda v, _: v.astype("datetime64[D]"),
    lambda v, _: v.astype("timedelta64[s]"),
    lambda v, _: v.astype(str),
    lambda v, _: v.astype(str).tolist(),
    lambda v, _: v.astype("S"),
    lambda v, _: v.astype(complex),
    lambda v, _: v.astype(complex) + 1j,
    lambda v, _: v.astype([("a", float)]),
    lambda v, _: None,
    lambda v, _: "1 2 3",
    lambda v, _: {"a": v},
    lambda v, _: (row for row in v),
    lambda v, _: 3.0,
    lambda v, _: [],
    lambda v, _: object(),
    lambda v, _: [v.tolist(), [1.0]],
]
_BAD_TABLES: list[Callable[[Array, Rng], Any]] = [
    *_ANY,
    lambda v, _: v[:0],
    lambda v, _: v[:, :0],
    lambda v, _: v[:, 0],
    lambda v, _: v[None],
    lambda v, _: [*v.tolist()[:-1], [1.0] * (v.shape[1] + 1)],
    lambda v, _: [*v.tolist(), 1.0],
    lambda v, _: _sparse(v),
]
_BAD_TARGETS: list[Callable[[Array, Rng], Any]] = [
    *_ANY,
    lambda v, _: v[:-1],
    lambda v, _: v[:0],
    lambda v, _: np.append(v, 1.0),
    lambda v, _: np.column_stack([v, v]),
    lambda v, _: v[None, :, None],
]


def bad_table(rng: Rng, X: Array) -> Any:
    """Return something in place of a table that must be refused."""
    return _BAD_TABLES[rng.integers(len(_BAD_TABLES))](X, rng)


def bad_target(rng: Rng, y: Array) -> Any:
    """Return something in place of a target that must be refused."""
    return _BAD_TARGETS[rng.integers(len(_BAD_TARGETS))](y, rng)
