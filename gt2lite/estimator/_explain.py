"""How one prediction and its interval came about: which rules fired, and what they weigh."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gt2lite._checks import Array, between
from gt2lite.calibration import Calibration
from gt2lite.calibration.groups import read_groups
from gt2lite.estimator._premises import Units
from gt2lite.estimator._rules import read_rules
from gt2lite.estimator._weights import consequents, end_weights, firings, output_weights
from gt2lite.memberships import ALPHA_0
from gt2lite.system import Params, Planes

_TERMS = 4  # rules that a sum names; the others are taken together
_LEAST = 0.005  # a smaller weight would be printed as 0.00
_INPUTS = 12  # of the row that are printed
_ROWS = 8  # rules of the printed table
_WIDTH = 100  # of printed lines
_JOINT = "\xa0"  # a space at which no line ends


class Part(NamedTuple):
    """The estimate or one end of the interval: a weighted mean of consequents, and a margin.

    ``weights @ consequents + margin`` is `value`, and the weights add up to 1.
    """

    name: str
    value: float
    weights: Array  # (P,)
    margin: float  # what calibration adds beyond the lowest plane: 0, or less for a lower end
    alpha: float  # the plane; for the estimate, which mixes several, the widest of them
    fires: Array  # (2, P): lower and upper firing strengths in that plane


@dataclass(frozen=True, repr=False)
class Explanation:
    """A prediction, its interval and the rules that made both, in the units of the target.

    The prediction mixes planes: the one at alpha_k enters with alpha_k / sum(alphas), half of it
    for each end, and a rule's weight in it is the mean of its weights in those ends. An end of
    the interval comes from one plane, where each rule takes its lower or its upper firing,
    whichever pulls the end outwards.
    """

    prediction: float
    lower: float
    upper: float
    coverage: float | None  # None where a plane was asked for
    consequents: Array  # (P,): what each rule says alone
    estimate: Part
    lower_end: Part
    upper_end: Part
    alphas: Array  # the planes of the prediction
    inputs: dict[str, float]  # the row
    conditions: tuple[str, ...]  # what each rule is meant for, in words (P,)
    units: Units

    @property
    def parts(self) -> tuple[Part, Part, Part]:
        """The estimate, the lower and the upper end."""
        return self.estimate, self.lower_end, self.upper_end

    def table(self) -> list[dict[str, Any]]:
        """Return a dict for each rule, those that weigh most in the prediction first."""
        rows = []
        for p in np.argsort(-self.estimate.weights, kind="stable"):
            row: dict[str, Any] = {"rule": int(p) + 1, "consequent": float(self.consequents[p])}
            for part in self.parts:
                row |= {
                    f"{part.name} weight": float(part.weights[p]),
                    f"{part.name} fires from": float(part.fires[0, p]),
                    f"{part.name} fires to": float(part.fires[1, p]),
                }
            rows.append(row)
        return rows

    def __str__(self) -> str:
        lower, upper = self.units.output(self.lower), self.units.output(self.upper)
        kind = f"plane {self.lower_end.alpha:.3g}"
        if self.coverage is not None:
            kind = f"{100 * self.coverage:.4g} % interval"
        title = (
            f"{self.units.target}: prediction {self.units.output(self.prediction)}, "
            f"{kind} {lower} to {upper}"
        )
        shown = [
            f"{name} {self.units.number(m, value)}"
            for m, (name, value) in enumerate(self.inputs.items())
        ][:_INPUTS]
        if left := len(self.inputs) - len(shown):
            shown.append(f"and {left} more input{'s' * (left > 1)}")
        row = ", ".join(shown)
        row = textwrap.fill(f"at {row}", _WIDTH, subsequent_indent="    ")
        sums = [self._sum(part) for part in self.parts]
        meant = self._meant()
        return "\n".join(
            [title, row, "", *sums, "", *self._lines(), "", *meant, "", self._legend()]
        )

    __repr__ = __str__

    def _sum(self, part: Part) -> str:
        """Return a part as a sum of weights times consequents, as people would write it."""
        order = np.argsort(-part.weights, kind="stable")
        named = [p for p in order[:_TERMS] if part.weights[p] >= _LEAST]
        terms = [
            _term(part.weights[p], self.units.output(self.consequents[p]), f"rule {p + 1}")
            for p in named
        ]
        others = order[len(named) :]
        rest = float(part.weights[others].sum())
        if rest >= _LEAST:
            mean = float(part.weights[others] @ self.consequents[others]) / rest
            count = f"{len(others)} other rule{'s' * (len(others) > 1)}"
            terms.append(_term(rest, self.units.output(mean), count))
        text = f"{part.name} {self.units.output(part.value)} = {' + '.join(terms)}"
        text = textwrap.fill(text, _WIDTH, subsequent_indent="    ").replace(_JOINT, " ")
        if part.margin:
            sign = "-" if part.margin < 0 else "+"
            size = self.units.output(abs(part.margin))
            text += f"\n    {sign} {size} (margin: calibration went beyond the planes)"
        return text

    def _lines(self) -> list[str]:
        """Return the table of rules: what each says, how it fires, what it weighs."""
        planes = {part.alpha: part.fires for part in (self.lower_end, self.upper_end)}
        heads = ["rule", "says", *(f"fires at {alpha:.3g}" for alpha in planes)]
        rows = [[*heads, "in prediction", "lower end", "upper end"]]
        heaviest = np.max([part.weights for part in self.parts], axis=0)
        for p in np.argsort(-heaviest, kind="stable")[:_ROWS]:
            fires = [f"{low[p]:.2g} to {high[p]:.2g}" for low, high in planes.values()]
            weights = [f"{part.weights[p]:.3f}" for part in self.parts]
            rows.append([str(p + 1), self.units.output(self.consequents[p]), *fires, *weights])
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return [
            "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
            for row in rows
        ]

    def _meant(self) -> list[str]:
        """Return what the rules are for that weigh most in the prediction or in an end."""
        heaviest = [int(np.argmax(part.weights)) for part in self.parts]
        order = np.argsort(-self.estimate.weights, kind="stable")[:2].tolist()
        return [
            textwrap.fill(f"rule {p + 1} is for {self.conditions[p]}", _WIDTH,
                          subsequent_indent="    ")
            for p in dict.fromkeys([*order, *heaviest])
        ]  # fmt: skip

    def _legend(self) -> str:
        planes = ", ".join(f"{alpha:.3g}" for alpha in self.alphas)
        own = f"the plane alpha = {self.lower_end.alpha:.3g}"
        if self.lower_end.alpha != self.upper_end.alpha:
            own = f"planes of their own, {self.lower_end.alpha:.3g} and {self.upper_end.alpha:.3g}"
        text = (
            f"The prediction mixes the ends of the planes alpha = {planes}, each weighed by its "
            f"alpha; the ends of the interval come from {own}. 'fires': the lower and upper "
            "strength of a rule there; an end takes whichever pulls it outwards."
        )
        return textwrap.fill(text, _WIDTH)


def _term(weight: float, said: str, rule: str) -> str:
    return f"{weight:.2f} * {said} ({rule})".replace(" ", _JOINT)


def explain_row(
    planes: Planes,
    alphas: Array,
    units: Units,
    calibration: Calibration | None,
    coverage: float | None,
    alpha: float | None,
    group: Any,
) -> Explanation:
    """Return the explanation of one row.

    Args:
        planes: the planes of the system at the row.
        alphas: those of its output.
        units: names and scales.
        calibration: what turns `coverage` into planes; None where `alpha` is the plane.
        coverage: the level.
        alpha: the plane of the interval, where no level is asked for.
        group: the group of the row, where calibration was by groups.
    """
    scaler, params, X = units.scaler, planes.params, planes.X
    if calibration is None:
        alpha = between("alpha", alpha, ALPHA_0, 1, closed=True)
        lower, upper = planes(alpha)
        cuts = np.array([[alpha, 0.0], [alpha, 0.0]])
    else:
        coverage = between("coverage", coverage, 0, 1)
        groups = None if group is None else read_groups([group])
        lower, upper = calibration.intervals(planes, coverage, groups)
        cuts = _cuts(calibration, coverage, None if groups is None else groups[0])
        cuts[:, 0] = np.where(np.isnan(cuts[:, 0]), planes.alpha_min, cuts[:, 0])
    ends = []
    for side, (name, end) in enumerate((("lower end", lower), ("upper end", upper))):
        plane, margin = float(cuts[side, 0]), float(cuts[side, 1]) * scaler.y_std
        ends.append(
            Part(
                name,
                float(scaler.inverse_y(end)[0]),
                end_weights(params, X, plane)[side, 0],
                (-margin if side == 0 else margin) or 0.0,
                plane,
                np.stack(firings(params, X, plane))[:, 0],
            )
        )
    widest = float(np.min(alphas))
    prediction = float(scaler.inverse_y(planes.output(alphas))[0])
    estimate = Part(
        "prediction",
        prediction,
        output_weights(params, X, alphas)[0],
        0.0,
        widest,
        np.stack(firings(params, X, widest))[:, 0],
    )
    return Explanation(
        prediction,
        ends[0].value,
        ends[1].value,
        coverage,
        scaler.inverse_y(consequents(params, X)[0]),
        estimate,
        ends[0],
        ends[1],
        np.asarray(alphas, dtype=float),
        dict(zip(units.names, (X[0] * scaler.x_std + scaler.x_mean).tolist(), strict=True)),
        _conditions(params, alphas, units),
        units,
    )


def _conditions(params: Params, alphas: Array, units: Units) -> tuple[str, ...]:
    rules = sorted(read_rules(params, alphas, units, None, None), key=lambda rule: rule.number)
    return tuple(rule.condition(_TERMS) for rule in rules)


def _cuts(calibration: Calibration, coverage: float, group: Any) -> Array:
    """Return plane and margin of both ends (2, 2); the plane is NaN where there is a margin."""
    (row,) = (row for row in calibration.report(coverage) if row.group == group)
    return np.stack([np.broadcast_to(row.alpha, 2), np.broadcast_to(row.margin, 2)], axis=1)
