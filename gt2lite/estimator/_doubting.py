"""What a head can say of the model under it: rules of doubt, and how an interval came about."""

from __future__ import annotations

from typing import Any

import numpy as np

from gt2lite._checks import finite, numbers, whole
from gt2lite.estimator._bases import base_name, named_table, predict_base
from gt2lite.estimator._doubts import (
    DoubtExplanation,
    Doubts,
    doubts_without_rows,
    read_doubts,
)
from gt2lite.estimator._settings import USUAL_COVERAGE
from gt2lite.memberships import ALPHA_0


class Doubting:
    """Methods of a head for people who want to read where a model is unsure."""

    def rules(
        self,
        X: Any = None,
        *,
        coverage: float | None = None,
        top: int | None = 10,
        system: int = 0,
        groups: Any = None,
        target: str = "y",
    ) -> Doubts:
        """Return the rules of doubt: where the base is unsure or off, the widest intervals first.

        Args:
            X: rows (N, M) to weigh the rules on, such as those of training.
            coverage: the level of the intervals, 0.9 where none is named; the trained
                envelope without a calibration, or where intervals have one end only.
            top: how many rules; None for all that have 1 % of the weight or more.
            system: whose rules, where the head has several systems: 0 is the first. Widths are
                those of the whole head.
            groups: the group of each row, where the calibration was by groups.
            target: what the target is called.
        """
        head: Any = self
        head._check_fitted()
        if top is not None:
            whole("top", top)
        name, said = base_name(head.base_), f"{target} - base"
        if X is None:
            return doubts_without_rows(
                head.head_.rules(top=None, system=system, target=said), top, name
            )
        table, values = head._read(X)
        inputs = head._inputs(values, predict_base(head.base_, table))
        level = float(USUAL_COVERAGE) if coverage is None else coverage
        ends, kind = None, f"{100 * level:.4g} % intervals"
        if coverage is not None or hasattr(head.head_, "calibrator_"):
            ends = head.head_.predict_interval(inputs, level, groups=groups)
        if ends is None or not np.isfinite(ends).all():  # intervals of one end have no width
            ends, kind = head.head_.predict_interval(inputs, alpha=ALPHA_0), "trained envelopes"
        rules = head.head_.rules(inputs, top=None, system=system, target=said)
        weights = head.head_.rule_weights(inputs, system=system)
        return read_doubts(rules, weights, ends[1] - ends[0], kind, top, name)

    def explain(
        self,
        x: Any,
        coverage: float | None = None,
        *,
        alpha: float | None = None,
        group: Any = None,
        target: str = "y",
    ) -> DoubtExplanation:
        """Return how one prediction and its interval came about: the base, and rules of doubt.

        Arguments as in `GT2Regressor.explain`. Its attribute `head` is the explanation of the
        base's error; base and the ends of that make the ends of the interval.
        """
        head: Any = self
        head._check_fitted()
        table, values = head._read(_one_row(head, x))
        predicted = predict_base(head.base_, table)
        inputs = head._inputs(values, predicted)
        said = f"{target} - base"
        why = head.head_.explain(inputs, coverage, alpha=alpha, group=group, target=said)
        base = float(predicted[0])
        return DoubtExplanation(
            base + why.prediction * head.corrects_,
            base + why.lower,
            base + why.upper,
            base,
            why,
            head.corrects_,
            target,
            base_name(head.base_),
        )


def _one_row(head: Any, x: Any) -> Any:
    """Return a table of one row, whatever it was handed in as."""
    if hasattr(x, "columns") or np.ndim(x) != 1:
        if len(x) != 1:
            raise ValueError(f"explain takes one row, got {len(x)}: pick one, such as X[0]")
        return x
    values = finite("x", numbers("x", x))
    if values.size != head.n_features_in_:
        raise ValueError(f"x must have {head.n_features_in_} numbers, one per input, got {len(x)}")
    names, labels = getattr(head, "feature_names_in_", None), getattr(x, "index", None)
    if names is not None and labels is not None and not callable(labels):
        if sorted(map(str, labels)) != sorted(names):
            raise ValueError(
                f"x is labelled {', '.join(map(str, labels))}, but the inputs are "
                f"{', '.join(names)}"
            )
        values = values[[list(labels).index(name) for name in names]]
    return named_table(values[None], names)
