"""What a fitted estimator can say of itself: its rules, and how it came to a prediction."""

from __future__ import annotations

from typing import Any

import numpy as np

from gt2lite._checks import Array, finite, numbers, whole
from gt2lite.estimator._explain import Explanation, explain_row, units_of
from gt2lite.estimator._premises import Units
from gt2lite.estimator._rules import Rules, read_rules
from gt2lite.estimator._systems import System
from gt2lite.estimator._targets import learnt_name, plain_scaler
from gt2lite.estimator._weights import output_weights


class Readable:
    """Methods of an estimator for people who want to read what it learnt."""

    def rules(
        self, X: Any = None, *, top: int | None = 10, system: int = 0, target: str = "y"
    ) -> Rules:
        """Return the rules that weigh most, in the units and names of the data.

        Printed, each rule says for which inputs it is meant ("temperature about 12 to 19"), what
        the target is there as a formula, how uncertain its sets are and, where rows are given,
        how often it leads. An input is left out of a rule where its membership keeps 90 % of its
        largest value whatever the input is: without it no firing would change by more. "Whatever"
        is the middle 95 % of the rows, or the mean of training -+ 2 spreads without rows. Where
        such inputs matter jointly, as they do in wide tables, the rule counts them as "together".

        Args:
            X: rows (N, M) to weigh the rules on, such as those of training. Without them nobody
                knows how often a rule leads, and rules come in the order of their mean log
                firing in training. Of very many rows some are taken, spread evenly.
            top: how many rules; None for all.
            system: which of the systems, where there are several: 0 is the first. The rules of
                a system that learns from ranks speak of ranks, in per cent.
            target: what the target is called.

        Returns:
            A sequence of rules, each with `number`, `premises`, `intercept`, `slopes`, `leads`
            and `share`; `table()` and `to_frame()` have every number.

        >>> from gt2lite import GT2Regressor
        >>> x = np.linspace(0, 10, 200)[:, None]
        >>> reg = GT2Regressor(n_rules=2, epochs=5, random_state=0).fit(x, abs(x[:, 0] - 5))
        >>> rules = reg.rules(x)
        >>> len(rules), round(sum(rule.share for rule in rules), 10)
        (2, 1.0)
        """
        reg: Any = self
        reg._check_fitted()
        if top is not None:
            whole("top", top)
        one, learnt = _system(reg, system), reg.learnt()
        rows = None if X is None else learnt.inputs(reg._scaled(X), system)
        units = units_of(_units(reg, target), one)
        return read_rules(one.params, learnt.alphas, units, rows, top)

    def rule_weights(self, X: Any, *, system: int = 0) -> Array:
        """Return what each rule weighs in each output: (N, P), rows of which add up to 1.

        Column p belongs to rule p + 1 of `rules`.

        Args:
            X: inputs (N, M).
            system: which of the systems, where there are several.
        """
        reg: Any = self
        reg._check_fitted()
        one, learnt = _system(reg, system), reg.learnt()
        return output_weights(one.params, learnt.inputs(reg._scaled(X), system), learnt.alphas)

    def explain(
        self,
        x: Any,
        coverage: float | None = None,
        *,
        alpha: float | None = None,
        group: Any = None,
        target: str = "y",
    ) -> Explanation:
        """Return how one prediction and its interval came about, rule by rule.

        The estimate and both ends are weighted means of what the rules say alone, their
        consequents: weights times consequents add up to `predict` and `predict_interval`. Where
        calibration went beyond the planes, or intervals are margins around the prediction, a
        margin comes on top. Of several systems all rules are there, each system with the same say.
        With a log target all numbers are logarithms of y.

        Args:
            x: one row: M numbers, a row of a data frame, or a table (1, M).
            coverage: the level of the interval, which needs `calibrate` first; 0.9 where neither
                it nor `alpha` is given.
            alpha: a plane in [0.01, 1] instead.
            group: the group of the row, where the calibration was by groups.
            target: what the target is called.

        >>> from gt2lite import GT2Regressor
        >>> x = np.linspace(0, 10, 200)[:, None]
        >>> reg = GT2Regressor(n_rules=3, epochs=5, random_state=0).fit(x, abs(x[:, 0] - 5))
        >>> why = reg.explain([2.0], alpha=0.01)
        >>> bool(np.isclose(why.estimate.weights @ why.consequents, reg.predict([[2.0]])[0]))
        True
        """
        reg: Any = self
        reg._check_fitted()
        if coverage is not None and alpha is not None:
            raise ValueError(f"give alpha or coverage, not both: got {alpha!r} and {coverage!r}")
        row = _one_row(reg, x)
        units = _units(reg, target)
        calibration = None
        if alpha is None:
            calibration = reg._calibrated()
            coverage = 0.9 if coverage is None else coverage
        elif group is not None:
            raise ValueError("group belongs to a coverage, and none was given")
        return explain_row(reg.learnt(), row, units, calibration, coverage, alpha, group)


def input_names(reg: Any) -> tuple[str, ...]:
    """Return what the inputs are called: as in the data frame of `fit`, else x0, x1, ..."""
    names = getattr(reg, "feature_names_in_", None)
    if names is None:
        return tuple(f"x{m}" for m in range(reg.n_features_in_))
    return tuple(map(str, names))


def _units(reg: Any, target: str) -> Units:
    """Return the units of what the system learns, which may be the logarithm of the target."""
    return Units(input_names(reg), learnt_name(reg.scaler_, target), plain_scaler(reg.scaler_))


def _system(reg: Any, system: int) -> System:
    """Return one of the systems of an estimator."""
    n = len(reg.systems_)
    if whole("system", system, 0) >= n:
        there = "one system" if n == 1 else f"{n} systems"
        raise ValueError(f"system must be at most {n - 1}: there is {there}, got {system}")
    found: System = reg.systems_[system]
    return found


def _one_row(reg: Any, x: Any) -> Array:
    """Return one row, scaled (1, M), whatever it was handed in as."""
    if not hasattr(x, "columns") and np.ndim(x) == 1:
        scaled: Array = reg.scaler_.transform_X(_row_values(reg, x)[None])
        return scaled
    if hasattr(x, "shape") and len(x.shape) == 2 and x.shape[0] != 1:
        raise ValueError(
            f"explain takes one row, got {x.shape[0]}: pick one, such as X[0] or X.iloc[0]"
        )
    rows: Array = reg._scaled(x)
    if len(rows) != 1:
        raise ValueError(f"explain takes one row, got {len(rows)}: pick one, such as X[0]")
    return rows


def _row_values(reg: Any, x: Any) -> Array:
    values = finite("x", numbers("x", x))
    names, labels = getattr(reg, "feature_names_in_", None), getattr(x, "index", None)
    if values.size != reg.n_features_in_:
        raise ValueError(f"x must have {reg.n_features_in_} numbers, one per input, got {len(x)}")
    if names is not None and labels is not None and not callable(labels):
        if sorted(map(str, labels)) != sorted(names):
            raise ValueError(
                f"x is labelled {', '.join(map(str, labels))}, but the inputs are "
                f"{', '.join(names)}"
            )
        values = values[[list(labels).index(name) for name in names]]
    return values
