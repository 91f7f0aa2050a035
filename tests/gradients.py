"""A gradient checker for the tests: differences of the function against a claimed gradient.

`check_gradient` is for points where the function is smooth,
`one_sided` for its kinks. That the checker can fail is itself a test, in test_fast.py.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

STEP = 2e-4
"""Of the central differences, which reach two steps to either side (five-point rule).

The rule is off by step^4, some 1e-15, and by rounding over step, some 1e-12.
"""

TOLERANCE = 1e-8
"""What an entry may be off, as a share of itself; and a hundredth of it as a share of f."""

Function = Callable[[np.ndarray], float]


def central_differences(f: Function, x: np.ndarray) -> np.ndarray:
    """Return the gradient of `f` at `x` by central differences, entry by entry."""
    estimate = np.empty(x.shape)
    for i in np.ndindex(x.shape):
        values = []
        for steps in (-2, -1, 1, 2):
            moved = x.copy()
            moved[i] += steps * STEP
            values.append(f(moved))
        estimate[i] = (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * STEP)
    return estimate


def check_gradient(f: Function, x: np.ndarray, grad: np.ndarray) -> None:
    """Raise an AssertionError unless `grad` is the gradient of `f` at `x`."""
    assert np.shape(grad) == x.shape, f"gradient of shape {np.shape(grad)}, x of shape {x.shape}"
    estimate = central_differences(f, x)
    allowed = TOLERANCE * (np.abs(estimate) + 0.01 * abs(f(x)))
    # written so that a NaN fails
    assert (np.abs(grad - estimate) <= allowed).all(), (
        f"{grad}\nis not, by differences,\n{estimate}"
    )


def one_sided(f: Function, x: np.ndarray, step: float = 1e-7) -> tuple[np.ndarray, np.ndarray]:
    """Return the derivatives of `f` at `x` from below and from above, entry by entry."""
    below, above = np.empty(x.shape), np.empty(x.shape)
    here = f(x)
    for i in np.ndindex(x.shape):
        for side, sign in ((below, -1), (above, 1)):
            moved = x.copy()
            moved[i] += sign * step
            side[i] = (f(moved) - here) / (moved[i] - x[i])
    return below, above
