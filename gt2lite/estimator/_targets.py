r"""The target as a system sees it: scaled, or the scaled logarithm of it.

With ``target_transform="log"`` a system learns :math:`\log y`, is calibrated on it, and the ends of
its intervals go back by the exponential function. That function rises, so
:math:`\ell \le \log y \le u` says the same as :math:`e^\ell \le y \le e^u`: a new target is covered
in the one form if and only if it is in the other. Hence levels and the guarantee carry over
as they are, and no end is negative. Means do not carry over: the prediction is the exponential of
a mean of logarithms, which lies nearer to the median of a long-tailed target than to its mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gt2lite._checks import Array
from gt2lite.datasets import Scaler


@dataclass(frozen=True, eq=False)
class LogScaler(Scaler):
    """A `Scaler` of the inputs and of the logarithm of the target.

    >>> scaler = LogScaler.fit([[1.0], [3.0]], [10.0, 1000.0])
    >>> scaler.transform_y([100.0]).tolist(), scaler.inverse_y([0.0]).round(6).tolist()
    ([0.0], [100.0])
    """

    @classmethod
    def fit(cls, X: ArrayLike, y: ArrayLike) -> LogScaler:
        """Fit to `X (N, M)` and to the logarithm of `y (N,)`, all above 0."""
        return cls(*vars(Scaler.fit(X, _log(y))).values())

    def transform_y(self, y: ArrayLike) -> Array:
        """Return the z-scores of the logarithms of target values, of any shape."""
        return super().transform_y(_log(y))

    def inverse_y(self, y: ArrayLike) -> Array:
        """Return z-scores, of any shape, in the target's own units."""
        with np.errstate(over="ignore"):
            found = np.exp(super().inverse_y(y))
        if not np.isfinite(found).all():
            raise ValueError(
                "an end of an interval of log(y) is so large that its exponential leaves the range "
                "of numbers: ask for a lower coverage, or train without target_transform"
            )
        return found


def _log(y: ArrayLike) -> Array:
    values = np.asarray(y, dtype=float)
    check_target("log", values)
    return np.log(values)


def check_target(target_transform: Any, values: Array) -> None:
    """Raise where a target cannot be transformed, with the first row of it."""
    low = values <= 0 if target_transform == "log" else np.zeros(1, dtype=bool)
    if low.any():
        first = int(np.argmax(low.ravel()))
        raise ValueError(
            f"y must be above 0 where target_transform='log', got {values.flat[first]:g} in row "
            f"{first} ({int(low.sum())} such rows): leave the transform out, or add a "
            "constant to y"
        )


def scaler_kind(target_transform: str | None) -> type[Scaler]:
    """Return the kind of scaler that a setting `target_transform` stands for.

    >>> scaler_kind("log").__name__, scaler_kind(None).__name__
    ('LogScaler', 'Scaler')
    """
    return LogScaler if target_transform == "log" else Scaler


def plain_scaler(scaler: Scaler) -> Scaler:
    """Return a scaler whose target is what the system learns: with logarithms, log(y) itself."""
    return Scaler(**vars(scaler)) if isinstance(scaler, LogScaler) else scaler


def learnt_name(scaler: Scaler, target: str) -> str:
    """Return what that target is called.

    >>> learnt_name(Scaler.fit([[0.0], [1.0]], [1.0, 2.0]), "price")
    'price'
    >>> learnt_name(LogScaler.fit([[0.0], [1.0]], [1.0, 2.0]), "price")
    'log(price)'
    """
    return f"log({target})" if isinstance(scaler, LogScaler) else target


def ends_in_units(scaler: Scaler, ends: Array) -> Array:
    """Return scaled ends of intervals, of any shape, in units of y; an open end stays open.

    >>> scaler = LogScaler.fit([[0.0], [1.0]], [1.0, 2.0])
    >>> ends_in_units(scaler, np.array([-np.inf, np.inf]))
    array([ 0., inf])
    """
    is_open = np.isinf(ends)
    if not is_open.any():
        return scaler.inverse_y(ends)
    found = scaler.inverse_y(np.where(is_open, 0.0, ends))
    nothing = 0.0 if isinstance(scaler, LogScaler) else -np.inf
    return np.where(is_open, np.where(ends > 0, np.inf, nothing), found)
