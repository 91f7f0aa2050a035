"""Figures of a fitted `GT2Regressor`, in the user's units: intervals, coverage, sets, rules.

Each takes `ax` and the estimator, and rows as `fit` does: arrays or data frames, with any index.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gt2lite._validation import Array, between, vector, whole
from gt2lite.calibration import CoverageError
from gt2lite.memberships import ALPHA_0, kappa_of, secondary
from gt2lite.metrics import covers, picp
from gt2lite.plots.method import bell, bin_coverage, footprint, interval_bands
from gt2lite.plots.style import (
    BAND,
    BLUE,
    COLORS,
    GREY,
    MARKS,
    labelled,
    legend_above,
    nth,
    plain_text,
)
from gt2lite.practice._sklearn import check_fitted
from gt2lite.practice.exchangeability import ExchangeabilityTest
from gt2lite.practice.martingales import LARGEST_LOG
from gt2lite.practice.rules import find_input
from gt2lite.practice.tables import n_rows_of, read_target
from gt2lite.practice.types import Groups, Table, Target
from gt2lite.system import constrain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gt2lite.practice.regressor import GT2Regressor

_LEVELS = np.arange(1, 20) / 20
_CATEGORIES = 10  # a column with at most so many distinct numbers is not cut into bins


def plot_intervals(
    ax: Axes,
    reg: GT2Regressor,
    X: Table,
    y: Target,
    coverage: float | Sequence[float] = 0.9,
    *,
    groups: Groups = None,
    target: str = "target",
) -> Axes:
    """Draw targets in rising order, each with its interval.

    Args:
        ax: where to draw.
        reg: a calibrated estimator.
        X: inputs (N, M).
        y: targets (N,).
        coverage: a level, or up to three.
        groups: the group of each row (N,), if the calibration was by groups.
        target: name of the target.
    """
    levels = np.sort(vector("coverage", np.atleast_1d(coverage)))[::-1]  # the widest first
    if levels.size > 3:
        raise ValueError(f"coverage must hold at most 3 levels, got {levels.size}")
    lower, upper = reg.predict_interval(X, coverage=levels.tolist(), groups=groups)  # (N, L)
    bands = {
        f"{100 * level:.4g}% intervals": (lower[:, i], upper[:, i])
        for i, level in enumerate(levels)
    }
    interval_bands(ax, read_target(y, len(lower)), bands)
    return labelled(ax, "rows, in the order of their target", plain_text(target))


def plot_calibration(
    ax: Axes,
    reg: GT2Regressor,
    X: Table,
    y: Target,
    *,
    levels: ArrayLike | None = None,
    groups: Groups = None,
) -> Axes:
    """Draw the share of rows covered against the level.

    The band shows sampling variation: two standard deviations of the share, from the numbers of
    these rows and of the calibration rows. Levels beyond the reach of the calibration are left out.

    Arguments as in `plot_intervals`, with rows that took no part in training or calibration;
    `levels` are 5%, 10%, ..., 95% if None.
    """
    y = read_target(y, n_rows_of(X))
    asked = _LEVELS if levels is None else vector("levels", levels)
    shares: dict[float, float] = {}
    for one in asked.tolist():
        with contextlib.suppress(CoverageError):
            shares[one] = picp(y, *reg.predict_interval(X, coverage=one, groups=groups))
    if not shares:
        raise CoverageError(f"levels must hold one within reach of the calibration, got {asked}")
    level = np.array(list(shares))
    n_calibrated = reg.calibrator_.n_samples
    spread = 2 * np.sqrt(level * (1 - level) * (1 / y.size + 1 / n_calibrated))
    ax.fill_between(
        100 * level, 100 * (level - spread), 100 * (level + spread), color=BAND, linewidth=0,
        label="sampling variation",
    )  # fmt: skip
    ax.plot([0, 100], [0, 100], color=GREY, linestyle=":", linewidth=1.2, label="coverage = level")
    ax.plot(
        100 * level, 100 * np.array(list(shares.values())), "o-", color=BLUE, markersize=4,
        label=f"{y.size} rows",
    )  # fmt: skip
    ax.set(xlim=(0, 101), ylim=(0, 101))
    ax.legend(loc="upper left")
    return labelled(ax, "level (%)", "rows covered (%)")


def plot_sets(
    ax: Axes,
    reg: GT2Regressor,
    input: str | int,
    *,
    X: Table | None = None,
    top: int = 5,
    alpha: float = ALPHA_0,
) -> Axes:
    """Draw the learned sets of one input over its values, each with its footprint.

    Args:
        ax: where to draw.
        reg: a fitted estimator.
        input: its name, or its number counted from 0.
        X: rows (N, M): draws the rules that weigh most on them, over their range. If None, the
            rules that fire most in training, over mean -+ 2.5 standard deviations.
        top: number of rules.
        alpha: the plane whose width is drawn; the widest is 0.01.
    """
    chosen = [rule.number - 1 for rule in reg.rules(X, top=top)]
    m, name = _find_input(reg, input)
    kappa = kappa_of(between("alpha", alpha, ALPHA_0, 1, closed=True))
    mean, spread = float(reg.scaler_.x_mean[m]), float(reg.scaler_.x_std[m])
    ends = mean - 2.5 * spread, mean + 2.5 * spread
    if X is not None:
        column = _inputs(reg, X)[:, m]
        ends = float(column.min()), float(column.max())
    x = np.linspace(*ends, 301)
    c, sigma, s_l, s_r, _ = constrain(reg.params_)
    for i, p in enumerate(chosen):
        mu = bell((x - mean) / spread, c[p, m], sigma[p, m], c.shape[1])
        lower, upper = secondary(mu, kappa, s_l[m], s_r[m])
        footprint(ax, x, lower, mu, upper, i, f"rule {p + 1}")
    ax.set_ylim(0, 1.02)
    legend_above(ax, 5)
    return labelled(ax, name, "membership")


def plot_rules(
    ax: Axes,
    reg: GT2Regressor,
    X: Table,
    *,
    inputs: tuple[str | int, str | int] | None = None,
    top: int = 5,
    target: str = "prediction",
) -> Axes:
    """Draw rows over two inputs, each in the colour of the rule that weighs most there.

    Args:
        ax: where to draw.
        reg: a fitted estimator.
        X: rows (N, M).
        inputs: two inputs by name or number; those that the rules shown depend on most if
            None. For a system with one input, the prediction is the vertical axis.
        top: number of rules with a colour of their own, up to 5; the others are grey.
        target: name of the prediction, for a system with one input.
    """
    rules = reg.rules(X, top=min(whole("top", top), len(COLORS)))
    leader = np.argmax(reg.rule_weights(X), axis=1)
    values = _inputs(reg, X)
    if values.shape[1] == 1:
        (_, name), label = _find_input(reg, 0), plain_text(target)
        place, height = values[:, 0], reg.predict(X)
    else:
        if inputs is None:
            decides = -np.log([[max(p.least, 1e-300) for p in rule.antecedents] for rule in rules])
            share = np.array([rule.share for rule in rules], dtype=float)
            first, second = np.argsort(-(share @ decides), kind="stable")[:2].tolist()
        else:
            if isinstance(inputs, str) or len(inputs) != 2:
                raise ValueError(f"inputs must be two names or numbers, got {inputs!r}")
            first, second = inputs
        (i, name), (j, label) = _find_input(reg, first), _find_input(reg, second)
        place, height = values[:, i], values[:, j]
    named = [rule.number - 1 for rule in rules]
    others = ~np.isin(leader, named)
    if others.any():
        ax.plot(place[others], height[others], ".", color="#bbbbbb", label="other rules")
    for k, rule in enumerate(rules):
        rows = leader == rule.number - 1
        if rows.any():
            ax.plot(
                place[rows], height[rows], nth(MARKS, k), color=nth(COLORS, k), markersize=3.5,
                alpha=0.6, linestyle="none", label=f"rule {rule.number}: {rows.mean():.0%}",
            )  # fmt: skip
    legend_above(ax)
    return labelled(ax, name, label)


def plot_coverage_by(
    ax: Axes,
    reg: GT2Regressor,
    X: Table,
    y: Target,
    by: str | int | ArrayLike,
    coverage: float = 0.9,
    *,
    bins: int = 5,
    groups: Groups = None,
) -> Axes:
    """Draw the share of rows covered in each bin of an input, or of any other column.

    The band shows two standard deviations of such a share if the coverage is the level.

    Arguments as in `plot_intervals`, with one level. `by` is an input by name or number, or a
    value or name for each row (N,). Numbers are cut into `bins` of about equal size; text and up
    to 10 distinct numbers are not.
    """
    level = between("coverage", coverage, 0, 1)
    lower, upper = reg.predict_interval(X, coverage=level, groups=groups)
    covered = covers(read_target(y, len(lower)), lower, upper)
    if isinstance(by, (str, int, np.integer)):
        m, name = _find_input(reg, by if isinstance(by, str) else int(by))
        column: NDArray[Any] = _inputs(reg, X)[:, m]
    else:
        column, name = np.asarray(by), plain_text(str(getattr(by, "name", None) or "bins"))
        if column.shape != (len(lower),):
            raise ValueError(
                f"by must be an input, or {len(lower)} values, one per row; got shape "
                f"{column.shape}"
            )
    code, names = _cut(column, whole("bins", bins))
    names = [plain_text(one) for one in names]
    sizes = np.bincount(code, minlength=len(names))
    shares = np.bincount(code, weights=covered, minlength=len(names)) / sizes
    bin_coverage(ax, {f"{100 * level:.4g}%": shares}, names, level, sizes=sizes.tolist())
    return labelled(ax, name, "rows covered (%)")


def plot_wealth(ax: Axes, test: ExchangeabilityTest, *, rules: bool = True) -> Axes:
    """Draw the wealth of a test of exchangeability over its rows, on a logarithmic scale.

    Wealth that reaches the threshold, the dashed line, raises an alarm, a mark; `scores` and
    `inputs` start again from 1 then.

    Args:
        ax: where to draw.
        test: with new rows, see `ExchangeabilityTest.update`.
        rules: whether to draw the wealth of each rule that has changed, as a thin line.
    """
    if not test.streams:
        raise ValueError("test must have new rows: call its update(X, y) first")
    names = {"scores": "scores", "inputs": "inputs", "rules": "scores by rule"}
    for k, (name, stream) in enumerate(test.streams.items()):
        wealth, color = _wealth(stream.log_wealth), nth(COLORS, k)
        ax.plot(np.arange(1, wealth.size + 1), wealth, color=color, label=names[name])
        rows = [i + 1 for i in stream.alarms]
        ax.plot(rows, wealth[stream.alarms], nth(MARKS, k), color=color, linestyle="none")
    if rules and test.rules is not None:
        for number in test.changed_rules:
            wealth = _wealth(test.wealth_of(number))
            ax.plot(np.arange(1, wealth.size + 1), wealth, linewidth=0.9, label=f"rule {number}")
    ax.axhline(test.threshold, color=GREY, linestyle="--", linewidth=1.2, label="threshold")
    ax.axhline(1, color=GREY, linestyle=":", linewidth=1)
    ax.set_yscale("log")
    legend_above(ax)
    return labelled(ax, "new rows, in their order", "wealth")


def _wealth(logs: Array) -> Array:
    found: Array = np.exp(np.minimum(logs, LARGEST_LOG))
    return found


def _inputs(reg: GT2Regressor, X: Table) -> Array:
    """Return rows as inputs (N, M), in units of the data."""
    return reg.model_.features.inputs(X)


def _find_input(reg: GT2Regressor, which: str | int) -> tuple[int, str]:
    """Return the number and the name of an input, given either; the name is for a figure."""
    check_fitted(reg)
    names = reg.model_.features.input_names()
    m = find_input("input", which, names)
    return m, plain_text(names[m])


def _cut(column: NDArray[Any], bins: int) -> tuple[NDArray[np.intp], list[str]]:
    """Return the bin (N,) of each value, and the names of the bins from the left."""
    if column.dtype.kind not in "biuf":
        column = np.array([str(value) for value in column])
    values, code = np.unique(column, return_inverse=True)
    if column.dtype.kind in "bU" or len(values) <= _CATEGORIES:
        return code, [f"{v:.4g}" if column.dtype.kind in "iuf" else str(v) for v in values]
    column = vector("by", column)
    edges = np.unique(np.quantile(column, np.linspace(0, 1, bins + 1)))
    code = np.clip(np.searchsorted(edges, column, side="right") - 1, 0, len(edges) - 2)
    kept, code = np.unique(code, return_inverse=True)
    return code, [f"{edges[k]:.4g} to\n{edges[k + 1]:.4g}" for k in kept]
