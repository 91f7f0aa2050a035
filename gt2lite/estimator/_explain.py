"""How one prediction and its interval came about: which rules fired, and what they weigh."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from gt2lite._checks import Array, between
from gt2lite.calibration import Calibration
from gt2lite.calibration.groups import read_groups
from gt2lite.estimator._fitting import Fitted
from gt2lite.estimator._premises import Units
from gt2lite.estimator._ranks import SPREAD
from gt2lite.estimator._rules import read_rules
from gt2lite.estimator._systems import System
from gt2lite.estimator._targets import ends_in_units
from gt2lite.estimator._weights import consequents, end_weights, firings, output_weights
from gt2lite.memberships import ALPHA_0

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
    weights: Array  # (P,), of the rules of all systems
    margin: float  # what comes on top of the rules: 0, or less for a lower end
    alpha: float  # the plane; for the estimate, which mixes several, the widest of them
    fires: Array  # (2, P): lower and upper firing strengths in that plane


@dataclass(frozen=True, repr=False)
class Explanation:
    """A prediction, its interval and the rules that made both, in the units of the target.

    The prediction mixes planes: the one at alpha_k enters with alpha_k / sum(alphas), half of it
    for each end, and a rule's weight in it is the mean of its weights in those ends. An end of
    the interval comes from one plane, where each rule takes its lower or its upper firing,
    whichever pulls the end outwards. Of several systems each has the same say: the weights of
    its rules add up to 1 / K. Where intervals are margins around the prediction, an end has
    the weights of the prediction, and all its distance from it is margin.
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
    labels: tuple[str, ...]  # what each rule is called: its number, or "system.number" (P,)
    conditions: tuple[str, ...]  # what each rule is meant for, in words (P,)
    units: Units
    is_margin: bool = False  # whether the ends are the prediction with a margin

    @property
    def parts(self) -> tuple[Part, Part, Part]:
        """The estimate, the lower and the upper end."""
        return self.estimate, self.lower_end, self.upper_end

    def table(self) -> list[dict[str, Any]]:
        """Return a dict for each rule, those that weigh most in the prediction first."""
        rows = []
        for p in np.argsort(-self.estimate.weights, kind="stable"):
            row: dict[str, Any] = {"rule": self._rule(p), "consequent": float(self.consequents[p])}
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

    def _rule(self, p: int) -> int | str:
        """Return the number of a rule, or where there are several systems its label."""
        label = self.labels[p]
        return int(label) if label.isdigit() else label

    def _sum(self, part: Part) -> str:
        """Return a part as a sum of weights times consequents, as people would write it."""
        if np.isinf(part.value):
            return f"{part.name}: none, the interval is open there"
        order = np.argsort(-part.weights, kind="stable")
        named = [p for p in order[:_TERMS] if part.weights[p] >= _LEAST]
        terms = [
            _term(part.weights[p], self.units.output(self.consequents[p]), f"rule {self.labels[p]}")
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
            why = "of this row" if self.is_margin else "calibration went beyond the planes"
            text += f"\n    {sign} {size} (margin: {why})"
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
            rows.append([self.labels[p], self.units.output(self.consequents[p]), *fires, *weights])
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
            textwrap.fill(f"rule {self.labels[p]} is for {self.conditions[p]}", _WIDTH,
                          subsequent_indent="    ")
            for p in dict.fromkeys([*order, *heaviest])
        ]  # fmt: skip

    def _legend(self) -> str:
        planes = ", ".join(f"{alpha:.3g}" for alpha in self.alphas)
        own = f"come from the plane alpha = {self.lower_end.alpha:.3g}"
        if self.lower_end.alpha != self.upper_end.alpha:
            own = (
                "come from planes of their own, "
                f"{self.lower_end.alpha:.3g} and {self.upper_end.alpha:.3g}"
            )
        if self.is_margin:
            own = "are the prediction with a margin that follows the width of the widest plane"
        text = (
            f"The prediction mixes the ends of the planes alpha = {planes}, each weighed by its "
            f"alpha; the ends of the interval {own}. 'fires': the lower and upper "
            "strength of a rule there; an end of a plane takes whichever pulls it outwards."
        )
        if not self.labels[0].isdigit():
            text += " Rule 2.5 is rule 5 of system 2, see rules(system=2)."
        return textwrap.fill(text, _WIDTH)


def _term(weight: float, said: str, rule: str) -> str:
    return f"{weight:.2f} * {said} ({rule})".replace(" ", _JOINT)


def explain_row(
    learnt: Fitted,
    X: Array,
    units: Units,
    calibration: Calibration | None,
    coverage: float | None,
    alpha: float | None,
    group: Any,
) -> Explanation:
    """Return the explanation of one row.

    Args:
        learnt: the systems.
        X: the row, scaled (1, M).
        units: names and scales.
        calibration: what turns `coverage` into planes; None where `alpha` is the plane.
        coverage: the level.
        alpha: the plane of the interval, where no level is asked for.
        group: the group of the row, where calibration was by groups.
    """
    scaler, alphas, planes = units.scaler, learnt.alphas, learnt.planes(X)
    is_margin = calibration is not None and learnt.margins is not None
    if calibration is None:
        alpha = between("alpha", alpha, ALPHA_0, 1, closed=True)
        lower, upper = planes(alpha)
        cuts = np.array([[alpha, 0.0], [alpha, 0.0]])
    else:
        coverage = between("coverage", coverage, 0, 1)
        groups = None if group is None else read_groups([group])
        lower, upper = calibration.intervals(learnt.family(planes), coverage, groups)
        cuts = _cuts(calibration, coverage, None if groups is None else groups[0])
        cuts[:, 0] = np.where(np.isinf(cuts[:, 1]), cuts[::-1, 0], cuts[:, 0])  # no such end
        cuts[:, 0] = np.where(np.isnan(cuts[:, 0]), planes.alpha_min, cuts[:, 0])
    rules = _Rules(learnt, X)
    prediction = float(scaler.inverse_y(planes.output(alphas))[0])
    widest = float(np.min(alphas))
    estimate = Part(
        "prediction", prediction, rules.output_weights(alphas), 0.0, widest, rules.firings(widest)
    )
    ends = []
    for side, (name, end) in enumerate((("lower end", lower), ("upper end", upper))):
        value = float(ends_in_units(scaler, end)[0])
        if is_margin:
            ends.append(estimate._replace(name=name, value=value, margin=value - prediction))
            continue
        plane, margin = float(cuts[side, 0]), float(cuts[side, 1]) * scaler.y_std
        ends.append(
            Part(
                name,
                value,
                rules.end_weights(plane)[side],
                (-margin if side == 0 else margin) or 0.0,
                plane,
                rules.firings(plane),
            )
        )
    return Explanation(
        prediction,
        ends[0].value,
        ends[1].value,
        coverage,
        scaler.inverse_y(rules.consequents()),
        estimate,
        ends[0],
        ends[1],
        np.asarray(alphas, dtype=float),
        dict(zip(units.names, (X[0] * scaler.x_std + scaler.x_mean).tolist(), strict=True)),
        rules.labels(),
        rules.conditions(units),
        units,
        is_margin,
    )


class _Rules:
    """The rules of all systems at one row, system by system."""

    def __init__(self, learnt: Fitted, X: Array) -> None:
        self.learnt = learnt
        self.members = [
            (system.params, learnt.inputs(X, k)) for k, system in enumerate(learnt.systems)
        ]

    def output_weights(self, alphas: Array) -> Array:
        """Return what the rules weigh in the output (P,)."""
        return self._mean([output_weights(params, X, alphas)[0] for params, X in self.members])

    def end_weights(self, alpha: float) -> tuple[Array, Array]:
        """Return what they weigh in the two ends of a plane, (P,) each."""
        found = [end_weights(params, X, alpha)[:, 0] for params, X in self.members]
        return self._mean([w[0] for w in found]), self._mean([w[1] for w in found])

    def firings(self, alpha: float) -> Array:
        """Return their lower and upper firing strengths in a plane (2, P)."""
        found = [np.stack(firings(params, X, alpha))[:, 0] for params, X in self.members]
        return np.concatenate(found, axis=1)

    def consequents(self) -> Array:
        """Return what each says alone (P,), in scaled units."""
        return np.concatenate([consequents(params, X)[0] for params, X in self.members])

    def labels(self) -> tuple[str, ...]:
        """Return what they are called."""
        sizes = [len(params["c"]) for params, _ in self.members]
        if len(sizes) == 1:
            return tuple(str(p + 1) for p in range(sizes[0]))
        return tuple(f"{k}.{p + 1}" for k, size in enumerate(sizes) for p in range(size))

    def conditions(self, units: Units) -> tuple[str, ...]:
        """Return what they are meant for, in words."""
        found: list[str] = []
        for system in self.learnt.systems:
            own = units_of(units, system)
            rules = read_rules(system.params, self.learnt.alphas, own, None, None)
            found += [r.condition(_TERMS) for r in sorted(rules, key=lambda r: r.number)]
        return tuple(found)

    def _mean(self, weights: list[Array]) -> Array:
        return np.concatenate(weights) / len(self.members)


def units_of(units: Units, system: System) -> Units:
    """Return the units in which a system's rules speak: those of the data, or ranks in per cent."""
    if system.inputs == "scaled":
        return units
    M = len(units.names)
    scaler = replace(units.scaler, x_mean=np.full(M, 50.0), x_std=np.full(M, 100 * SPREAD))
    return Units(tuple(f"rank of {name}" for name in units.names), units.target, scaler)


def _cuts(calibration: Calibration, coverage: float, group: Any) -> Array:
    """Return plane and margin of both ends (2, 2); the plane is NaN where there is a margin."""
    (row,) = (row for row in calibration.report(coverage) if row.group == group)
    return np.stack([np.broadcast_to(row.alpha, 2), np.broadcast_to(row.margin, 2)], axis=1)
