"""Settings and arguments to hand in: within their bounds, at their ends, and beyond."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from gt2lite import GT2Regressor
from gt2lite._validation import Array

Rng = np.random.Generator

_TINY = Fraction(1, 10**400)  # above 0, though the nearest float is 0
_GOOD: dict[str, list[Any]] = {
    "n_rules": [1, np.int64(2), np.uint8(3), 9, 70],
    "epochs": [1, np.int32(2), 4],
    "batch_size": [1, 2, np.int16(5), 10**9],
    "learning_rate": [Fraction(1, 100), np.float32(0.01), 1e-300, 5e-324, 0.5, 3.0, 999.0, 1],
    "coverage": [1e-9, 1e-300, 1 - 1e-12, Fraction(1, 2), np.float32(0.9), np.longdouble(0.9)],
    "alphas": [(0.01,), [0.01, 1], np.array([0.01, 0.5, 1.0]), (0.01, 0.3, 0.3, 0.02), None],
    "sigma_scale": [1.1e-6, 9e5, 1, Fraction(1, 3), np.float16(2)],
    "weight_decay": [0, -0.0, 9.9, Fraction(1, 7), 1e-300],
    "averaging": [0, 0.999999, np.float32(0.5), 1 - 2.0**-53],
    "validation": [1e-9, 0.5, 1 - 1e-9],
    "keep": ["validation", "best", "last", np.str_("validation")],
    "random_state": [None, np.int64(3), 2**40, 2**64],
}
_NOT = [None, "x", "0.5", b"1", float("nan"), float("inf"), -float("inf"), True, -1, -0.5, 1j]
_ODD = [[0.5], (0.5, 0.6), np.array([1, 2]), np.array(0.5), {}, object(), Decimal("0.5"), [], 1e308]
_BAD: dict[str, list[Any]] = {
    "n_rules": [0, 0.5, 2.0, 10**4 + 1, 10**400, Fraction(5), np.float64(3), 10**30],
    "epochs": [0, 1.5, 10**400, 10**6 + 1],
    "batch_size": [0, 2.5, 10**400, np.float32(8)],
    "learning_rate": [0, 0.0, -0.0, 1e3, 1e300, 10**400, _TINY, Fraction(10**400)],
    "coverage": [0, 1, 1.5, 90, 1 - 2.0**-53, _TINY, 1 - _TINY, 10**400],
    "alphas": [0.5, "0.01", (), (0.5, 1.0), (0.01, 1.5), (0.0, 0.01), ((0.01,), (1.0,)), {0.01}],
    "sigma_scale": [0, 1e-6, 1e6, 1e300, 1e-300, _TINY, 10**400],
    "weight_decay": [1e5, 10**400, Fraction(10**400)],
    "averaging": [1, 1.0, 2, 10**400, 1 - _TINY],
    "validation": [0, 1, 2.5, _TINY, 1 - _TINY],
    "objective": ["Dual", ""],
    "smf": ["per-input"],
    "keep": ["first"],
    "bias_correction": ["epoch"],
    "schedule": ["linear"],
    "start": ["random"],
    "random_state": [1.5, np.float64(3), 2**64 + 1, 10**400],
    "speed": [1, None],
}
_TAKEN = {  # what would be no trouble for these
    "epochs": ("None",),
    "alphas": ("None",),
    "random_state": ("None", "True"),
}


def good_setting(rng: Rng) -> tuple[str, Any]:
    """Return a setting and a value that it must take."""
    name = str(rng.choice(list(_GOOD)))
    if name == "random_state" and rng.random() < 0.4:
        return name, np.random.default_rng(3) if rng.random() < 0.5 else _old_state()
    return name, _GOOD[name][rng.integers(len(_GOOD[name]))]


def _old_state() -> Any:
    return np.random.RandomState(3)  # what scikit-learn hands around


def bad_setting(rng: Rng) -> tuple[str, Any]:
    """Return a setting and a value that it must refuse."""
    name = str(rng.choice(list(_BAD)))
    taken = _TAKEN.get(name, ())
    values = [value for value in [*_BAD[name], *_NOT, *_ODD] if repr(value) not in taken]
    return name, values[rng.integers(len(values))]


# ------------------------------------------------------------------------ arguments


def bad_call(
    rng: Rng, reg: GT2Regressor, X: Array, y: Array
) -> tuple[Callable[[], Any], tuple[str, ...]]:
    """Return a call with one bad argument, and names of which its error must have one."""
    kind = _CALLS[rng.integers(len(_CALLS))]
    return kind(rng, reg, X, y)


Call = tuple[Callable[[], Any], tuple[str, ...]]


def _level(rng: Rng, reg: GT2Regressor, X: Array, y: Array) -> Call:
    method = str(rng.choice(["conformal", "exact", "search", "table"]))
    reg.calibrate(X, y, method=method)
    bad = _pick(
        rng,
        *(0, 1, 0.0, 1.0, -0.1, 90, float("nan"), float("inf"), "0.9", True, 1j, 10**400, _TINY),
        *([], [[0.5]], [0.5, 2], [0.5, None], ["0.5"], (), {}, object(), np.array([]), [np.nan]),
        *(1 - _TINY, np.ma.array([0.5, 0.6], mask=[0, 1]), Decimal("0.5"), b"0.5", [0.1, [0.2]]),
    )
    if method == "conformal" and rng.random() < 0.1:
        bad = float(rng.choice([1 - 1e-12, 0.99999]))  # no set of this size answers that
    return lambda: reg.predict_interval(X, coverage=bad), ("coverage",)


def _plane(rng: Rng, reg: GT2Regressor, X: Array, y: Array) -> Call:
    bad = _pick(
        rng, 0, 0.0099, 1.01, -1, float("nan"), "0.5", True, [0.5], np.array([0.1]), 10**400
    )
    return lambda: reg.predict_interval(X, alpha=bad), ("alpha",)


def _groups(rng: Rng, reg: GT2Regressor, X: Array, y: Array) -> Call:
    n = len(y)
    names: list[Any] = ["a"] * n
    bad = _pick(
        rng,
        *(names[:-1], [*names, "b"], [names], "a", 3, [*names[:-1], None], [*names[:-1], 1.5]),
        *([*names[:-1], float("nan")], [*names[:-1], ["a", "b"]], np.full(n, 0.5), {}, []),
        *(np.full(n, "2024", dtype="datetime64[D]"), np.ma.array([1] * n, mask=[1] * n)),
        *([*names[:-1], float("inf")], [*names[:-1], (1, 2)], np.full(n, 1j)),
    )
    if rng.random() < 0.5:
        return lambda: reg.calibrate(X, y, method="exact", groups=bad), ("groups",)
    reg.calibrate(X, y, method="exact", groups=names)
    return lambda: reg.predict_interval(X, coverage=0.5, groups=bad), ("groups",)


def _mixed_up(rng: Rng, reg: GT2Regressor, X: Array, y: Array) -> Call:
    names = ["a"] * len(y)
    reg.calibrate(X, y, method="exact")
    by_group = GT2Regressor(n_rules=1, epochs=1).fit(X, y)
    by_group.calibrate(X, y, method="exact", groups=names)
    return _pick(
        rng,
        (lambda: reg.predict_interval(X, alpha=0.5, coverage=0.5), ("alpha",)),
        (lambda: reg.predict_interval(X, groups=names), ("groups",)),
        (lambda: reg.predict_interval(X, alpha=0.5, groups=names), ("groups",)),
        (lambda: reg.predict_interval(X, coverage=0.5, groups=names), ("groups",)),
        (lambda: by_group.predict_interval(X, coverage=0.5), ("groups",)),
        (lambda: by_group.predict_interval(X, coverage=0.5, groups=["b"] * len(y)), ("groups",)),
        (lambda: reg.predict(np.column_stack([X, X])), ("X",)),
        (lambda: reg.calibrate(X, y[:-1]), ("y ",)),
        (lambda: reg.calibrate(X, y, method="table", groups=names), ("groups",)),
        (lambda: reg.calibrate(X, y, method="search", sides="each"), ("sides",)),
        (lambda: reg.fit_calibrate(X, y, share=1.5), ("share",)),
        (lambda: reg.calibration_report(1.5), ("coverage",)),
        (lambda: GT2Regressor().predict(X), ("not fitted",)),
    )


_OPTIONS: dict[str, dict[str, list[Any]]] = {
    "search": {
        "start": [0, 0.009, 1.1, float("nan"), "a", None],
        "step": [0, 1e-7, 1.1, 5e-324, float("nan"), [0.1]],
        "shrink": [0, 0.91, 1, 1 - 1e-12, 2, None],
        "tolerance": [-1e-9, float("nan"), 1.1, "x"],
        "min_step": [0, 5e-324, 1e-300, float("nan"), 10**400],
        "speed": [1],
    },
    "table": {
        "step": [0, 1e-6, 5e-324, 1.1, float("nan"), True, None],
        "interpolation": ["cubic", None, 3],
    },
    "exact": {"step": [0.1]},
    "conformal": {"level": [0.9]},
}


def _options(rng: Rng, reg: GT2Regressor, X: Array, y: Array) -> Call:
    if rng.random() < 0.3:
        name = str(rng.choice(["method", "sides"]))
        bad = _pick(rng, "x", "", None, 3, ["exact"], np.array(["exact", "table"]))
        return lambda: reg.calibrate(X, y, **{"method": "exact"} | {name: bad}), (name,)
    method = str(rng.choice(list(_OPTIONS)))
    option = str(rng.choice(list(_OPTIONS[method])))
    bad = _pick(rng, *_OPTIONS[method][option])
    return lambda: reg.calibrate(X, y, method=method, **{option: bad}), (option,)


def _pick(rng: Rng, *choices: Any) -> Any:
    return choices[rng.integers(len(choices))]


_CALLS = (_level, _plane, _groups, _mixed_up, _options)
