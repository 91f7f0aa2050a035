"""The estimator under attack: numbers of any size, tables of any type, settings of any kind.

Each case fits a tiny system, calibrates it and asks it for intervals. It must end in finite
intervals in the scale of the target, ordered and nested, or in an error that names the
argument. Where it is known which of the two it must be, that is checked, too.
"""

from __future__ import annotations

import copy
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import calls
import numpy as np
import tables
from cases import ANSWERED, REFUSED, Wrong, expect_refusal, of_kind, watched

from gt2lite import GT2Regressor
from gt2lite._validation import Array
from gt2lite.calibration import CoverageError
from gt2lite.training import DivergenceError

CASES = 10_000
PLANES = (1.0, 0.99, 0.7, 0.5, 0.4, 0.1, 0.05, 0.011, 0.01)
ULPS = 64 * np.finfo(float).eps


@dataclass
class Answer:
    """What a fitted and calibrated system said of some rows."""

    predicted: Array
    planes: list[tuple[Array, Array]]  # of `PLANES`, the narrowest first
    levels: tuple[Array, Array] | None  # (N, L), the lowest first; None where out of reach
    refused: str = ""  # why there are no levels

    @property
    def arrays(self) -> list[Array]:
        """All numbers of it."""
        return [self.predicted, *(end for ends in self.planes for end in ends), *self.ends]

    @property
    def ends(self) -> tuple[Array, ...]:
        """The two ends, or nothing."""
        return self.levels or ()


@dataclass
class Question:
    """How a system is calibrated and what it is asked for."""

    method: str = "conformal"
    sides: str = "both"
    levels: list[float] = field(default_factory=lambda: [0.3, 0.5])
    groups: Any = None
    options: dict[str, Any] = field(default_factory=dict)


def draw_question(rng: np.random.Generator, n: int) -> Question:
    """Draw a question that `n` calibration rows can answer, if the method can."""
    method = str(rng.choice(["conformal", "exact", "search", "table"], p=[0.4, 0.3, 0.15, 0.15]))
    ranked = method in ("conformal", "exact")
    asked = Question(method, str(rng.choice(["both", "each"])) if ranked else "both")
    smallest = n
    if ranked and n >= 8 and rng.random() < 0.3:
        asked.groups = np.arange(n) % 2
        smallest = n // 2
    highest = (smallest - (asked.sides == "each")) / (smallest + 1)
    if highest <= 0:
        asked.sides, highest = "both", smallest / (smallest + 1)
    asked.levels = sorted(float(highest * u) for u in rng.uniform(0.02, 1, rng.integers(1, 5)))
    return asked


def draw_settings(rng: np.random.Generator, **fixed: Any) -> dict[str, Any]:
    """Draw settings within their bounds, for a training of an instant."""
    pick = rng.choice
    drawn: dict[str, Any] = {
        "n_rules": int(rng.integers(1, 5)),
        "epochs": int(rng.integers(1, 4)),
        "batch_size": int(pick([3, 16, 64])),
        "learning_rate": float(10 ** rng.uniform(-4, -1)),
        "coverage": float(rng.uniform(0.5, 0.999)),
        "objective": str(pick(["dual", "aligned"])),
        "smf": str(pick(["per_input", "scalar"])),
        "keep": str(pick(["last", "best"])),
        "bias_correction": str(pick(["steps", "epochs"])),
        "schedule": str(pick(["constant", "cosine"])),
        "weight_decay": float(pick([0.0, 0.1])),
        "averaging": float(pick([0.0, 0.9])),
        "start": str(pick(["per_input", "joint"])),
        "sigma_scale": float(10 ** rng.uniform(-2, 1)),
        "random_state": int(rng.integers(1000)),
        "n_systems": int(pick([1, 2, 3], p=[0.6, 0.3, 0.1])),
        "margins": [None, 0.0, 0.5, 1.0][pick(4, p=[0.7, 0.1, 0.1, 0.1])],
        "inputs": str(pick(["scaled", "ranks"], p=[0.8, 0.2])),
    }
    return drawn | fixed


def ask(
    X: Any, y: Any, settings: dict[str, Any], asked: Question, new: Any = None
) -> tuple[Answer, GT2Regressor]:
    """Fit, calibrate on the same rows and ask; `new` are the rows that are asked about."""
    reg = GT2Regressor(**settings).fit(X, y)
    rows, groups = (X, asked.groups) if new is None else (new, None)
    if new is not None and asked.groups is not None:
        groups = np.zeros(len(new), dtype=int)
    planes = [reg.predict_interval(rows, alpha=alpha) for alpha in PLANES]
    answer = Answer(reg.predict(rows), planes, None)
    reg.calibrate(
        X, y, method=asked.method, sides=asked.sides, groups=asked.groups, **asked.options
    )
    try:
        answer.levels = reg.predict_interval(rows, coverage=asked.levels, groups=groups)
    except CoverageError as error:
        if asked.method in ("conformal", "exact") or "coverage" not in str(error):
            raise Wrong(f"a level within reach was refused: {error}") from error
        answer.refused = str(error)
    return answer, reg


def check(answer: Answer, ranked: bool = True) -> None:
    """Raise `Wrong` unless an answer is finite, ordered and nested."""
    if not all(np.isfinite(array).all() for array in answer.arrays):
        raise Wrong("an answer is not finite")
    pairs = [*answer.planes, answer.levels] if answer.levels else answer.planes
    if any((lower > upper).any() for lower, upper in pairs):
        raise Wrong("a lower end lies above its upper end")
    inner, outer = answer.planes[:-1], answer.planes[1:]
    for i, (a, b) in enumerate(zip(inner, outer, strict=True)):
        if (a[0] < b[0]).any() or (a[1] > b[1]).any():
            raise Wrong(f"plane {PLANES[i]} leaves plane {PLANES[i + 1]} at a row")
    lower, upper = answer.planes[-1]
    room = ULPS * max(np.abs(array).max() for array in (lower, upper, answer.predicted))
    if (answer.predicted < lower - room).any() or (answer.predicted > upper + room).any():
        raise Wrong("a prediction lies outside the widest plane")
    if answer.levels and ranked:
        lower, upper = answer.levels
        if (np.diff(lower, axis=1) > 0).any() or (np.diff(upper, axis=1) < 0).any():
            raise Wrong("an interval leaves that of a higher level")


def check_coverage(answer: Answer, asked: Question, y: Array) -> None:
    """Raise `Wrong` unless calibration rows are covered as often as a level says."""
    if answer.levels is None or asked.method not in ("conformal", "exact"):
        return
    for j, level in enumerate(asked.levels):
        lower, upper = answer.levels[0][:, j], answer.levels[1][:, j]
        room = ULPS * (np.abs(lower) + np.abs(upper) + np.abs(y).max())
        covered = ((lower - room <= y) & (y <= upper + room)).mean()
        if covered < level - 1e-9:
            raise Wrong(f"{covered:.4f} of the calibration rows are covered at level {level:.4f}")


def check_scale(answer: Answer, y: Array) -> None:
    """Raise `Wrong` where an answer is far out of the range of the targets."""
    low, high = float(y.min()) / 2, float(y.max()) / 2  # halves, so that a span is a number
    span = max(high - low, ULPS * max(abs(low), abs(high)))
    if span == 0 or low == high:
        return  # a constant has no scale
    for array in answer.arrays:
        if (array / 2 < low - 1e3 * span).any() or (array / 2 > high + 1e3 * span).any():
            raise Wrong(f"answers to {array.max():g} where targets end at {y.max():g}")


def check_file(reg: GT2Regressor, X: Array, answer: Answer) -> None:
    """Raise `Wrong` unless a model that fits can be saved, and says the same once loaded."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        reg.save(path)
        again = GT2Regressor.load(path)
    if not np.array_equal(again.predict(X), answer.predicted):
        raise Wrong("the loaded model predicts something else")


# ----------------------------------------------------------------------- the kinds


def scales(rng: np.random.Generator) -> str:
    """Another unit, a power of two, for each column and the target changes no digit."""
    X, y = tables.draw(rng)
    settings, asked = draw_settings(rng), draw_question(rng, len(y))
    a, b = rng.integers(-985, 986, X.shape[1]), int(rng.integers(-985, 986))
    plain, _ = ask(X, y, settings, asked)
    odd, _ = ask(np.ldexp(X, a), np.ldexp(y, b), settings, asked)
    check(plain, asked.method in ("conformal", "exact"))
    check_coverage(plain, asked, y)
    check_scale(plain, y)
    for ours, wanted in zip(odd.arrays, plain.arrays, strict=True):
        if not np.array_equal(ours, np.ldexp(wanted, b)):
            raise Wrong(f"units of 2**{a.tolist()} and 2**{b} change digits")
    return ANSWERED


def extremes(rng: np.random.Generator) -> str:
    """Tables of very large, very small and mixed numbers: answered in scale, or named."""
    X, y, within = tables.draw_extreme(rng)
    settings, asked = draw_settings(rng), draw_question(rng, len(y))
    try:
        answer, reg = ask(X, y, settings, asked)
    except ValueError as error:
        if within:
            raise Wrong(f"numbers within bounds were refused: {error}") from error
        if " of X " not in str(error) and not str(error).startswith("y "):
            raise Wrong(f"the error names neither X nor y: {error}") from error
        return REFUSED
    check(answer, asked.method in ("conformal", "exact"))
    check_scale(answer, y)
    check_coverage(answer, asked, y)
    check_file(reg, X, answer)
    return ANSWERED


def far_away(rng: np.random.Generator) -> str:
    """New rows far from the data: finite and nested as well, or named."""
    X, y = tables.draw(rng)
    settings, asked = draw_settings(rng), draw_question(rng, len(y))
    reach = 10.0 ** rng.uniform(0, 160)
    new = reach * rng.normal(size=(20, X.shape[1]))
    try:
        answer, _ = ask(X, y, settings, asked, new)
    except ValueError as error:
        spread = X.std(axis=0)
        away = np.abs(new) / np.where(spread > 0, spread, 1.0)  # the limit is 1e150 of them
        if "of X holds" not in str(error) or away.max() < 1e149:
            raise Wrong(f"a row was refused: {error}") from error
        return REFUSED
    check(answer, asked.method in ("conformal", "exact"))
    return ANSWERED


def types(rng: np.random.Generator) -> str:
    """The same numbers in another type or layout give the same bits."""
    X, y = tables.draw(rng, plain=True)
    settings, asked = draw_settings(rng), draw_question(rng, len(y))
    A, b, other_X, other_y = tables.retyped(rng, X, y)
    kept = copy.deepcopy((other_X, other_y))
    wanted, _ = ask(A, b, settings, asked)
    found, _ = ask(other_X, other_y, settings, asked)
    check(wanted, asked.method in ("conformal", "exact"))
    for ours, theirs in zip(found.arrays, wanted.arrays, strict=True):
        if not np.array_equal(ours, theirs):
            raise Wrong(f"X as {type(other_X)} and y as {type(other_y)} change the answer")
    if repr(kept) != repr((other_X, other_y)):
        raise Wrong("what was handed in was changed")
    return ANSWERED


def no_numbers(rng: np.random.Generator) -> str:
    """What is no table of numbers is refused by name, wherever it is handed in."""
    X, y = tables.draw(rng)
    settings = draw_settings(rng)
    if rng.random() < 0.3:
        bad = tables.bad_target(rng, y)
        return expect_refusal(lambda: GT2Regressor(**settings).fit(X, bad), "y ", "y:")
    bad = tables.bad_table(rng, X)
    where = int(rng.integers(3))
    if where == 0:
        return expect_refusal(lambda: GT2Regressor(**settings).fit(bad, y), "X")
    reg = GT2Regressor(**settings).fit(X, y)
    if where == 1:
        return expect_refusal(lambda: reg.predict(bad), "X")
    return expect_refusal(lambda: reg.calibrate(bad, y, method="conformal"), "X")


def degenerate(rng: np.random.Generator) -> str:
    """One row, constant columns, duplicates, a constant target: answered."""
    X, y = tables.draw_degenerate(rng)
    settings, asked = draw_settings(rng), draw_question(rng, len(y))
    answer, _ = ask(X, y, settings, asked)
    check(answer, asked.method in ("conformal", "exact"))
    check_coverage(answer, asked, y)
    check_scale(answer, y)
    return ANSWERED


def settings(rng: np.random.Generator) -> str:
    """A setting within its bounds, to their very ends and in any type of number, is taken."""
    X, y = tables.draw(rng)
    chosen, asked = draw_settings(rng), draw_question(rng, len(y))
    name, value = calls.good_setting(rng)
    if name == "learning_rate":
        chosen["weight_decay"] = 0.0  # its bound hangs on the rate
    try:
        answer, reg = ask(X, y, chosen | {name: value}, asked)
    except DivergenceError as error:
        if chosen.get("learning_rate", 0) < 0.05 and name not in ("learning_rate", "sigma_scale"):
            raise Wrong(f"a gentle training diverged: {error}") from error
        return REFUSED
    check(answer, asked.method in ("conformal", "exact"))
    check_file(reg, X, answer)
    return ANSWERED


def bad_settings(rng: np.random.Generator) -> str:
    """A setting out of its bounds, or that is no number, is named."""
    X, y = tables.draw(rng)
    name, value = calls.bad_setting(rng)
    chosen = draw_settings(rng) | {name: value}
    return expect_refusal(lambda: GT2Regressor(**chosen).fit(X, y), name)


def bad_calls(rng: np.random.Generator) -> str:
    """A bad argument of a method is named."""
    X, y = tables.draw(rng)
    reg = GT2Regressor(**draw_settings(rng)).fit(X, y)
    act, names = calls.bad_call(rng, reg, X, y)
    return expect_refusal(act, *names)


KINDS = (
    *(scales, extremes, far_away, types, no_numbers),
    *(degenerate, settings, bad_settings, bad_calls),
)


def case(seed: int, index: int) -> tuple[str, str]:
    """Run one case: the kinds take turns."""
    kind = KINDS[index % len(KINDS)]
    name = kind.__name__.replace("_", " ")
    with of_kind(name), watched():
        return name, kind(np.random.default_rng([seed, index]))
