"""The rules of doubt: where a head finds the model under it unsure, and why."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

from gt2lite._checks import Array
from gt2lite.estimator._explain import Explanation
from gt2lite.estimator._premises import fixed
from gt2lite.estimator._rules import Rule, Rules

LEAST_SHARE = 0.01
"""A rule with less of the weight is left out: what it says of a few rows is hardly a rule."""

_WIDTH = 100  # of printed lines
_SHOWN = 5  # inputs and terms of a rule


@dataclass(frozen=True)
class Doubt:
    """One rule of a head: where it holds, how wide intervals are there, how the base is off.

    `width` is the mean width of the intervals, each row weighed by the rule, and `times` that
    width in mean widths of all rows; both None without rows.
    """

    rule: Rule
    width: float | None
    times: float | None

    @property
    def number(self) -> int:
        """The number of the rule, counted from 1."""
        return self.rule.number

    def __str__(self) -> str:
        rule, typical, weight = self.rule, "", self.rule.weight()
        if self.width is not None and self.times is not None:
            weight = (
                f"width {rule.units.output(self.width)}, {self.times:.2f} of the mean; {weight}"
            )
        if rule.typical is not None:
            typical = f"; typically {rule.units.output(rule.typical)}"
        lines = (
            ("  if    ", rule.condition(_SHOWN)),
            ("  then  ", rule.formula(_SHOWN) + typical),
        )
        return "\n".join(
            [f"Rule {self.number}{': ' * bool(weight)}{weight}"]
            + [
                textwrap.fill(line, _WIDTH, initial_indent=start, subsequent_indent=" " * 8)
                for start, line in lines
            ]
        )


class Doubts(Sequence[Doubt]):
    """The rules of a head, those with the widest intervals first."""

    def __init__(self, doubts: Sequence[Doubt], title: str, legend: str) -> None:
        self._doubts, self.title, self._legend = tuple(doubts), title, legend

    @overload
    def __getitem__(self, index: int) -> Doubt: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Doubt]: ...
    def __getitem__(self, index: int | slice) -> Doubt | Sequence[Doubt]:
        return self._doubts[index]

    def __len__(self) -> int:
        return len(self._doubts)

    def __iter__(self) -> Iterator[Doubt]:
        return iter(self._doubts)

    def __str__(self) -> str:
        title, legend = (textwrap.fill(text, _WIDTH) for text in (self.title, self._legend))
        return "\n".join([title, *map(str, self), "", legend])

    __repr__ = __str__

    def table(self) -> list[dict[str, Any]]:
        """Return a dict for each rule: width, and all that `Rules.table` has."""
        return [
            {"rule": one.number, "width": one.width, "times": one.times} | one.rule.row()
            for one in self
        ]


def doubts_without_rows(rules: Rules, top: int | None, base: str) -> Doubts:
    """Return the rules of a head as they come, with no width: nobody knows it without rows."""
    found = [Doubt(rule, None, None) for rule in list(rules)[:top]]
    title = (
        f"Where {base} is off: {len(found)} of {rules.n_rules} rules (how wide intervals are "
        "where each leads is not known without rows: rules(X)):"
    )
    return Doubts(found, title, _legend(base))


def read_doubts(
    rules: Rules, weights: Array, widths: Array, kind: str, top: int | None, base: str
) -> Doubts:
    """Return the rules of a head by the width of the intervals where they weigh.

    Args:
        rules: all rules, weighed on the rows.
        weights: of the rules on the rows (N, P).
        widths: of the intervals of the rows (N,).
        kind: what intervals they are, in words.
        top: how many rules; None for all that weigh enough.
        base: what the model under the head is called.
    """
    share = weights.mean(axis=0)
    mean = float(widths.mean())
    found = []
    for rule in rules:
        p = rule.number - 1
        if share[p] >= LEAST_SHARE:
            width = float(weights[:, p] @ widths / weights[:, p].sum())
            found.append(Doubt(rule, width, width / mean if mean > 0 else 1.0))
    found.sort(key=lambda one: (-(one.width or 0.0), one.number))
    units = rules[0].units
    title = (
        f"Where {base} is unsure: {min(len(found), top or len(found))} of {rules.n_rules} rules, "
        f"the widest {kind} first (mean width {units.output(mean)} on {len(widths)} rows):"
    )
    return Doubts(found[:top], title, _legend(base))


def _legend(base: str) -> str:
    return (
        f"'width': the mean width of intervals, each row weighed by the rule. 'then': how far "
        f"{base} is off there; the column 'base' is what it predicts. Rules with less than "
        f"{100 * LEAST_SHARE:.0f} % of the weight are left out. Ranges as in GT2Regressor.rules."
    )


@dataclass(frozen=True, repr=False)
class DoubtExplanation:
    """A prediction of a base, the interval around it, and the rules of the head that made it."""

    prediction: float
    lower: float
    upper: float
    base: float  # what the base says
    head: Explanation  # of y - base: estimate, both ends and their rules
    corrected: bool  # whether the prediction is base + estimate
    target: str
    name: str  # of the base

    def __str__(self) -> str:
        spread = self.head.units.scaler.y_std

        def told(value: float) -> str:
            return fixed(value, spread, 3)

        kind = "interval"
        if self.head.coverage is not None:
            kind = f"{100 * self.head.coverage:.4g} % interval"
        prediction = "the base alone, because the head does not make it better"
        if self.corrected:
            prediction = f"base {told(self.base)} and {told(self.head.prediction)} by the head"
        lines = (
            f"{self.target}: prediction {told(self.prediction)} ({prediction})",
            f"{kind} {told(self.lower)} to {told(self.upper)}: base {told(self.base)} and what "
            f"the head says of its error, {told(self.head.lower)} to {told(self.head.upper)}",
        )
        first = [textwrap.fill(line, _WIDTH, subsequent_indent="    ") for line in lines]
        return "\n".join([*first, "", str(self.head)])

    __repr__ = __str__
