"""The rules of a system in the user's units and names, made to be read."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any, overload

import numpy as np

from gt2lite._checks import Array
from gt2lite.estimator._premises import MATTERS, Premise, Units, read_premises
from gt2lite.estimator._weights import consequents, output_weights
from gt2lite.system import Params

_SHOWN = 5  # inputs and terms of a rule in the short form
_WIDTH = 100  # of printed lines
_MEMBERSHIPS = 10**7  # that are evaluated to weigh rules; rows beyond are skipped evenly


@dataclass(frozen=True)
class Rule:
    """One rule: if its premises hold, the target is about its formula.

    `leads` is the share of rows on which it weighs more than any other rule, `share` its mean
    share of the weight, `typical` what it says there on average; all None without rows.
    """

    number: int  # counted from 1, as `explain` and the figures do
    premises: tuple[Premise, ...]  # one for each input
    intercept: float
    slopes: tuple[float, ...]  # one for each input
    leads: float | None
    share: float | None
    typical: float | None
    units: Units = field(repr=False)

    def condition(self, most: int | None = None) -> str:
        """Return the inputs that matter and where, those that decide most first.

        Args:
            most: how many to show, with their mean footprint; None for all, each with its own.
        """
        by_need = sorted(self.premises, key=lambda p: p.least)
        decisive = [p for p in by_need if p.matters]
        others = by_need[len(decisive) :]
        joint = math.prod(p.least for p in others) < MATTERS  # each alone is nothing, all are
        if not decisive:
            if not joint:
                return "any input"
            first = ", ".join(f"{p.input} {p.tends}" for p in others[:3])
            return f"{len(others)} inputs together, most of all {first}"
        if most is None:
            shown = [str(p) for p in decisive]
        else:
            shown = [f"{p.input} {p.words}" for p in decisive[:most]]
        if left := len(decisive) - len(shown):
            shown.append(f"and {left} more input{'s' * (left > 1)}")
        if joint:
            shown.append(f"and {len(others)} others together")
        mean = "" if most is None else f" [{np.mean([p.footprint for p in decisive]):.2f}]"
        return ", ".join(shown) + mean

    def formula(self, most: int | None = None) -> str:
        """Return the consequent in the user's units.

        Args:
            most: how many terms to show, those that move the target most; the other inputs
                stay at their mean of training then.
        """
        scaler = self.units.scaler
        moves = np.abs(self.slopes) * scaler.x_std
        kept = np.argsort(-moves, kind="stable")[: len(moves) if most is None else most]
        shown = [m for m in range(len(moves)) if m in kept and self.slopes[m]]
        held = [m for m in range(len(moves)) if m not in kept and self.slopes[m]]
        constant = self.intercept + sum(self.slopes[m] * float(scaler.x_mean[m]) for m in held)
        text = f"{self.units.target} = {self.units.output(constant)}"
        for m in shown:
            sign = "-" if self.slopes[m] < 0 else "+"
            text += f" {sign} {self._slope(m)} {self.units.names[m]}"
        if held:
            text += f" ({len(held)} more input{'s' * (len(held) > 1)} at the mean)"
        return text

    def weight(self) -> str:
        """Return how often the rule leads and what it weighs, in words; empty without rows."""
        if self.leads is None or self.share is None:
            return ""
        return f"leads on {_percent(self.leads)} of the rows, {_percent(self.share)} of the weight"

    def __str__(self) -> str:
        return self._text(None)

    def short(self) -> str:
        """Return the rule in three lines, with the inputs and terms that matter most."""
        return self._text(_SHOWN)

    def row(self) -> dict[str, Any]:
        """Return everything about the rule as one row of a table."""
        row: dict[str, Any] = {"rule": self.number, "leads": self.leads, "share": self.share}
        row |= {"typical": self.typical, "intercept": self.intercept}
        for premise, slope in zip(self.premises, self.slopes, strict=True):
            name = premise.input
            row |= {
                name: premise.words,
                f"{name} from": premise.low,
                f"{name} to": premise.high,
                f"{name} footprint": premise.footprint,
                f"{name} slope": slope,
            }
        return row

    def _text(self, most: int | None) -> str:
        weight = self.weight()
        typical = "" if self.typical is None else f"; typically {self.units.output(self.typical)}"
        lines = (("  if    ", self.condition(most)), ("  then  ", self.formula(most) + typical))
        return "\n".join(
            [f"Rule {self.number}{': ' * bool(weight)}{weight}"]
            + [
                textwrap.fill(line, _WIDTH, initial_indent=start, subsequent_indent=" " * 8)
                for start, line in lines
            ]
        )

    def _slope(self, m: int) -> str:
        """Return a slope with digits enough for the formula to be right where data is."""
        scaler = self.units.scaler
        largest = abs(float(scaler.x_mean[m])) + 2 * float(scaler.x_std[m])
        error = 0.01 * scaler.y_std / largest
        size = abs(self.slopes[m])
        digits = max(3, math.ceil(math.log10(size / error)) + 1)
        rounded = f"{size:.{min(digits, 12)}g}"
        if not 1e-6 <= size < 1e9:
            return rounded
        return np.format_float_positional(float(rounded), trim="-")


class Rules(Sequence[Rule]):
    """The rules of a system, those that weigh most first.

    Printed it is a page for people, `table` and `to_frame` have every number.
    """

    def __init__(
        self,
        rules: Sequence[Rule],
        n_rules: int,
        n_rows: int | None = None,
        n_given: int | None = None,
    ) -> None:
        self._rules = tuple(rules)
        self.n_rules = n_rules  # of the whole system
        self.n_rows = n_rows  # that the rules were weighed on
        self.n_given = n_given

    @overload
    def __getitem__(self, index: int) -> Rule: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Rule]: ...
    def __getitem__(self, index: int | slice) -> Rule | Sequence[Rule]:
        return self._rules[index]

    def __len__(self) -> int:
        return len(self._rules)

    def __iter__(self) -> Iterator[Rule]:
        return iter(self._rules)

    def __str__(self) -> str:
        title = textwrap.fill(f"{self._title()}:", _WIDTH)
        return "\n".join([title, *(rule.short() for rule in self), "", self._legend()])

    __repr__ = __str__

    def table(self) -> list[dict[str, Any]]:
        """Return a dict for each rule: its weight, and range, footprint and slope of each input."""
        return [rule.row() for rule in self]

    def to_frame(self) -> Any:
        """Return `table` as a pandas frame."""
        try:
            import pandas
        except ImportError as error:
            raise ImportError(
                "to_frame needs pandas, which is not installed: pip install pandas, or use table()"
            ) from error
        return pandas.DataFrame(self.table()).set_index("rule")

    def _repr_markdown_(self) -> str:
        def safe(cell: str) -> str:
            return cell.replace("|", r"\|")

        lines = [f"**{self._title()}**", ""]
        for i, row in enumerate(self._cells()):
            lines.append(f"| {' | '.join(map(safe, row))} |")
            if i == 0:
                lines.append("|---" * len(row) + "|")
        return "\n".join([*lines, "", self._legend()])

    def _repr_html_(self) -> str:
        head, *body = (
            "".join(f"<{tag} style='text-align:left'>{escape(cell)}</{tag}>" for cell in row)
            for tag, row in zip(["th"] + ["td"] * len(self), self._cells(), strict=True)
        )
        rows = "".join(f"<tr>{row}</tr>" for row in body)
        return (
            f"<table><caption>{escape(self._title())}</caption><thead><tr>{head}</tr></thead>"
            f"<tbody>{rows}</tbody></table><p>{escape(self._legend())}</p>"
        )

    def _cells(self) -> list[list[str]]:
        """Return the short form as a table: a row of names, then a row for each rule."""
        weighed = self.n_rows is not None
        cells = [["rule", "if", "then", *["typically", "leads", "weight"] * weighed]]
        for rule in self:
            row = [str(rule.number), rule.condition(_SHOWN), rule.formula(_SHOWN)]
            if rule.leads is not None and rule.share is not None and rule.typical is not None:
                row += [rule.units.output(rule.typical), *map(_percent, (rule.leads, rule.share))]
            cells.append(row)
        return cells

    def _title(self) -> str:
        count = f"{len(self)} of {self.n_rules} rules"
        if self.n_rows is not None:
            held = sum(rule.share or 0.0 for rule in self)
            weight = f", with {_percent(held)} of it" if len(self) < self.n_rules else ""
            of = f" of {self.n_given}" if self.n_given != self.n_rows else ""
            return f"{count}, by their weight on {self.n_rows}{of} rows{weight}"
        return (
            f"{count}, those that fire most on the training rows first (how often each leads is "
            "not known without rows: rules(X))"
        )

    def _legend(self) -> str:
        seen = "mean of training -+ 2 spreads"
        if self.n_rows is not None:
            seen = f"the middle 95 % of the {self.n_rows} rows"
        text = (
            "A range is where the membership is at least half of its largest value; 'rather' is a "
            "preference that no value seen takes below half. [0.60] says how uncertain the sets "
            "are: the mean width of their footprint. An input is left out where its membership "
            f"keeps {_percent(MATTERS)} of its largest value whatever it is, within {seen}; where "
            "the memberships of such inputs multiply to less, they are counted as 'together'."
        )
        return textwrap.fill(text, _WIDTH)


def _percent(share: float) -> str:
    percent = 100 * share
    return f"{percent:.0f} %" if percent >= 0.95 or percent == 0 else f"{percent:.1f} %"


def read_rules(
    params: Params, alphas: Array, units: Units, X: Array | None, top: int | None
) -> Rules:
    """Return the rules of a system that weigh most.

    Args:
        params: the system.
        alphas: the planes of its output.
        units: names and scales of inputs and target.
        X: scaled inputs (N, M) to weigh the rules on; None for none.
        top: how many; None for all.
    """
    P = len(params["c"])
    n_given = None if X is None else len(X)
    scaler = units.scaler
    slopes = scaler.y_std * params["a"] / scaler.x_std  # (P, M)
    intercepts = scaler.inverse_y(params["a0"]) - slopes @ scaler.x_mean
    weighed: list[tuple[float, float, float] | tuple[None, None, None]] = [(None, None, None)] * P
    if X is None:
        # the mean of the log firing over the training rows, whose scaled squares have mean 1
        order = np.argsort(((1 + params["c"] ** 2) / params["raw_sigma"] ** 2).sum(axis=1))
    else:
        X = _thinned(X, P)
        weights = output_weights(params, X, alphas)  # (N, P)
        leads = np.bincount(np.argmax(weights, axis=1), minlength=P) / len(X)
        share = weights.mean(axis=0)
        said = (weights * consequents(params, X)).sum(axis=0)
        typical = scaler.inverse_y(said / np.maximum(weights.sum(axis=0), np.finfo(float).tiny))
        weighed = list(zip(leads.tolist(), share.tolist(), typical.tolist(), strict=True))
        order = np.argsort(-share, kind="stable")
    premises = read_premises(params, units, X)
    rules = [
        Rule(
            int(p) + 1,
            premises[p],
            float(intercepts[p]),
            tuple(slopes[p].tolist()),
            weighed[p][0],
            weighed[p][1],
            weighed[p][2],
            units,
        )
        for p in order[:top]
    ]
    return Rules(rules, P, None if X is None else len(X), n_given)


def _thinned(X: Array, n_rules: int) -> Array:
    """Return rows spread evenly over `X`, as many as are weighed in seconds."""
    most = max(_MEMBERSHIPS // (n_rules * X.shape[1]), 1000)
    return X if len(X) <= most else X[np.linspace(0, len(X) - 1, most).round().astype(int)]
