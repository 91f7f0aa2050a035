"""Explanations of single predictions: by the rules of one system, or by the inputs.

`explain_row` is what `GT2Regressor.explain` returns. The prediction of one system is a weighted
mean of what its rules say, and so are both bounds of its interval. Several systems have too many
rules to be read: their prediction is explained by how far the value of each input moves it away
from the mean prediction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gt2lite._validation import Array, IntArray, between, kind_of
from gt2lite.memberships import kappa_of, log_firing
from gt2lite.practice.calibrators import DEFAULT_COVERAGE, Calibration, read_groups
from gt2lite.practice.model import BACKGROUND, Model, draw_background, read_plane
from gt2lite.practice.printing import Printed, Rows, aligned, count, number, wrap
from gt2lite.practice.rules import SHOWN, Units, read_rules
from gt2lite.practice.types import Record
from gt2lite.practice.weights import consequents, end_weights, rule_weights
from gt2lite.system import constrain

EVALUATIONS = 2000
"""Rows that the model is evaluated on, at most, to explain one row by its inputs."""

_INPUTS = 12  # printed inputs of the row
_ROWS = 8  # printed rows of the table of rules


@dataclass(frozen=True, repr=False)
class Explanation(Printed):
    """A prediction and its interval in the units of the target, and how they come about."""

    prediction: float
    lower: float
    upper: float
    coverage: float | None  # None if a plane was asked for
    units: Units
    inputs: Record  # the row: the value of each column of the data

    @property
    def kind(self) -> str:
        """The interval in words, such as "90% interval"."""
        return "interval" if self.coverage is None else f"{100 * self.coverage:.4g}% interval"

    def _title(self) -> str:
        prediction, *ends = map(self.units.output, (self.prediction, self.lower, self.upper))
        return f"{self.units.target}: prediction {prediction}, {self.kind} {' to '.join(ends)}"

    def _row(self) -> dict[str, str]:
        scales = dict(zip(self.units.names, self.units.scaler.x_std.tolist(), strict=True))

        def text(name: str, value: Any) -> str:
            if isinstance(value, bool | np.bool_):
                return "yes" if value else "no"
            kind = kind_of(value)
            if kind == "number":
                return number(float(value), 0.1 * scales.get(name, 0.01), trim=True)
            return "missing" if kind == "missing" else str(value)

        return {name: text(name, value) for name, value in self.inputs.items()}


def _largest(values: Array) -> list[int]:
    return np.argsort(-values, kind="stable").tolist()


def explain_row(
    model: Model,
    units: Units,
    row: Array,
    coverage: float | None = None,
    *,
    alpha: float | None = None,
    group: str | int | None = None,
    system: int | None = None,
    background: Array | None = None,
    values: Mapping[str, object] | None = None,
) -> Explanation:
    """Return the explanation of a row (1, M): by rules, or by inputs if `background`.

    `values` are those of the columns before they were encoded. Other arguments as in
    `GT2Regressor.explain`, with scaled rows (B, M) as `background`.
    """
    background = _choose_background(model, system, background)
    if group is not None and model.calibration and model.calibration.rule_groups is not None:
        raise ValueError("group must be None: the calibration is by rules")
    if alpha is not None:
        level, calibration = read_plane(alpha, coverage, group), None
    else:
        calibration = model.calibrated().calibrator
        level = between("coverage", DEFAULT_COVERAGE if coverage is None else coverage, 0, 1)
    ensemble = model.ensemble

    def groups_of(Z: Array) -> list[str | int] | None:
        return model.groups_of(Z, None if group is None else read_groups([group]) * len(Z))

    def evaluate(Z: Array) -> Array:
        """Return the scaled prediction, lower and upper bound (3, n) at scaled rows."""
        planes = ensemble.planes(Z)
        if calibration is None:
            bounds = planes(level)
        else:
            bounds = calibration.intervals(ensemble.family(planes), level, groups_of(Z))
        return np.stack([planes.output(ensemble.alphas), *bounds])

    known = dict(zip(units.names, row[0].tolist(), strict=True)) | dict(values or {})
    inputs = {name: known[name] for name in units.places}
    shown = None if calibration is None else level
    about: Record = {"coverage": shown, "units": units, "inputs": inputs}
    X = units.scaler.transform_X(row)
    y = evaluate(X)[:, 0]  # (3,)
    if background is not None:
        about |= _in_units(units, y)
        return _explain_inputs(evaluate, X[0], background, about)
    cuts: Sequence[tuple[float, float]] | None = [(level, 0.0)] * 2
    if calibration is not None:
        labels = groups_of(X)
        label = None if labels is None else labels[0]
        lowest = ensemble.planes(X).alpha_min
        cuts = None if ensemble.margins else _cuts(calibration, level, label, lowest)
    return _explain_rules(model, X, y, cuts, system, about)


def _choose_background(model: Model, system: int | None, background: Array | None) -> Array | None:
    """Return the rows that an explanation by inputs starts from; None to explain by rules."""
    if system is not None and background is not None:
        raise ValueError("system explains by rules, background by inputs: give one of them")
    if background is not None or system is not None or len(model.ensemble.systems) == 1:
        return background
    if model.background is None:
        raise ValueError(
            "background is needed, because model files hold no training rows: pass some, "
            "such as explain(x, background=X), or system=0 for the rules of one system"
        )
    return model.background


def _in_units(units: Units, y: Array) -> Record:
    """Return a scaled prediction and its bounds (3,) in the units of the target, by name."""
    found = units.scaler.inverse_bounds(y).tolist()
    return dict(zip(("prediction", "lower", "upper"), found, strict=True))


# -------------------------------------------------------------------------------- by rules


class Part(NamedTuple):
    """The prediction or one bound of the interval: a weighted mean of consequents, and a margin.

    ``weights @ consequents + margin`` is `value`, and the weights add up to 1.
    """

    name: str
    value: float
    weights: Array  # (P,)
    margin: float  # what is added to the weighted mean; negative for a lower bound
    alpha: float  # the plane; for the prediction, which mixes several, the widest of them
    fires: Array  # (2, P): lower and upper firing strengths in that plane


@dataclass(frozen=True, repr=False)
class RuleExplanation(Explanation):
    """A prediction and its interval by the rules of one system.

    The prediction mixes planes: the one at alpha_k enters with alpha_k / sum(alphas), half of it
    for each endpoint, and the weight of a rule in it is the mean of its weights in those endpoints.
    A bound of the interval comes from one plane, where each rule takes its lower or its upper
    firing, whichever pulls the bound outwards. If intervals are margins around the prediction, a
    bound has the weights of the prediction, and all its distance from it is margin.

    With a log target the parts and consequents are logarithms; prediction and bounds are not.
    """

    consequents: Array  # (P,): what each rule says alone
    estimate: Part  # the prediction
    lower_end: Part  # the lower bound of the interval
    upper_end: Part
    conditions: list[str]  # (P,): where each rule applies, in words
    system: int | None = None  # which of several systems

    @property
    def parts(self) -> tuple[Part, Part, Part]:
        """The prediction, the lower and the upper bound."""
        return self.estimate, self.lower_end, self.upper_end

    def table(self) -> Rows:
        """Return a dict for each rule, the heaviest in the prediction first."""
        rows = []
        for p in _largest(self.estimate.weights):
            row: Record = {"rule": p + 1, "consequent": float(self.consequents[p])}
            for part in self.parts:
                row |= {
                    f"{part.name} weight": float(part.weights[p]),
                    f"{part.name} fires from": float(part.fires[0, p]),
                    f"{part.name} fires to": float(part.fires[1, p]),
                }
            rows.append(row | {"if": self.conditions[p]})
        return rows

    def __str__(self) -> str:
        learned = self.units.learned()

        def total(part: Part) -> str:
            if np.isinf(part.margin):
                return "open"
            text = learned.output(part.value - part.margin)
            margin = f" {'-' if part.margin < 0 else '+'} {learned.output(abs(part.margin))}"
            return text + margin if part.margin else text

        shown = _largest(np.max([part.weights for part in self.parts], axis=0))[:_ROWS]
        table = [
            {"rule": f"{p + 1}", "says": learned.output(self.consequents[p])}
            | {part.name: f"{part.weights[p]:.3f}" for part in self.parts}
            for p in shown
        ]
        table.append({"rule": "sum", "says": ""} | {part.name: total(part) for part in self.parts})
        row = [f"{name} {value}" for name, value in self._row().items()]
        if left := len(row[_INPUTS:]):
            row[_INPUTS:] = [f"and {count(left, 'more input')}"]
        # the two heaviest rules of the prediction and the heaviest of either bound
        prediction, lower, upper = (_largest(part.weights) for part in self.parts)
        heaviest = dict.fromkeys([*prediction[:2], lower[0], upper[0]])
        rules = [f"Rule {p + 1}: if {self.conditions[p]}" for p in heaviest]
        legend = (
            f"'says': {learned.target} by a rule alone; beside it the weights of the rule. 'sum': "
            "weights times 'says' over all rules, then the margin, if there is one."
        )
        if self.system is not None:
            legend += f" This is system {self.system}; prediction and interval are means over all."
        before, after = [self._title(), f"at {', '.join(row)}"], [*rules, legend]
        return "\n".join([*map(wrap, before), "", aligned(table), "", *map(wrap, after)])


def _explain_rules(
    model: Model,
    X: Array,
    y: Array,
    cuts: Sequence[tuple[float, float]] | None,
    system: int | None,
    about: Record,
) -> RuleExplanation:
    """Return the explanation of a scaled row `X` (1, M) by the rules of one system.

    `y` (3,) are the scaled prediction and bounds, `cuts` the plane of each bound and the
    margin beyond it; None if the bounds are margins around the prediction. Of several systems the
    rules of one are explained, with the planes and margins of all, so that prediction and interval
    are means over the systems.
    """
    units, ensemble, k = about["units"], model.ensemble, system or 0
    several, widest = len(ensemble.systems) > 1, float(np.min(ensemble.alphas))
    params, Z = ensemble.pick(k).params, ensemble.inputs(X, k)
    scaler = units.scaler.without_transform()
    said = scaler.inverse_y(consequents(params, Z)[0])

    @np.errstate(under="ignore")
    def part(name: str, value: float, weights: Array, margin: float, alpha: float) -> Part:
        if several:
            value = float(weights @ said) + margin
        fires = np.exp(log_firing(Z, *constrain(params)[:4], kappa_of(alpha)))[:, 0]
        return Part(name, value, weights, margin, alpha, fires)

    prediction, *bounds = scaler.inverse_bounds(y).tolist()
    weights = rule_weights(ensemble, X, system=k)[0]
    parts = [part("prediction", prediction, weights, 0.0, widest)]
    for side, (name, value) in enumerate(zip(("lower bound", "upper bound"), bounds, strict=True)):
        if cuts is None:
            parts.append(part(name, value, weights, value - prediction, widest))
        else:
            plane, beyond = cuts[side]
            of_end = end_weights(params, Z, plane)[side, 0]
            parts.append(part(name, value, of_end, (-1, 1)[side] * beyond * scaler.y_std, plane))
    if several:
        y = np.array([(one.value - scaler.y_mean) / scaler.y_std for one in parts])
    rules = sorted(read_rules(model, units, system=k), key=lambda rule: rule.number)
    return RuleExplanation(
        **about,
        **_in_units(units, y),
        consequents=said,
        estimate=parts[0],
        lower_end=parts[1],
        upper_end=parts[2],
        conditions=[rule.condition(SHOWN) for rule in rules],
        system=system if several else None,
    )


def _cuts(
    calibration: Calibration, coverage: float, group: str | int | None, lowest: float
) -> list[tuple[float, float]]:
    """Return the plane and the margin beyond it of both bounds.

    A bound beyond the planes is that of the `lowest` plane with a margin. An open bound has an
    infinite margin and, for comparison, the plane of the other bound.
    """
    (row,) = (row for row in calibration.report(coverage) if row.group == group)
    planes, margins = (np.broadcast_to(value, 2) for value in (row.alpha, row.margin))
    planes = np.where(np.isinf(margins), planes[::-1], planes)
    planes = np.where(np.isnan(planes), lowest, planes)
    return list(zip(planes.tolist(), margins.tolist(), strict=True))


# ------------------------------------------------------------------------------- by inputs


@dataclass(frozen=True, repr=False)
class InputExplanation(Explanation):
    """A prediction and the width of its interval by the inputs.

    `contributions` add up to `prediction` - `baseline`, the mean prediction over the background
    rows, and `width_contributions` to the width of the interval minus `mean_width`; exactly, up
    to rounding. Widths are NaN if the interval is open. See `walk_inputs` for the method.
    """

    baseline: float
    contributions: Array  # (G,), one for each input
    errors: Array  # (G,): standard errors
    mean_width: float
    width_contributions: Array
    width_errors: Array
    n_background: int

    def table(self) -> Rows:
        """Return a dict for each input, the largest contribution first."""
        names = list(self.inputs)
        return [
            {
                "input": names[g],
                "value": self.inputs[names[g]],
                "contribution": float(self.contributions[g]),
                "error": float(self.errors[g]),
                "width contribution": float(self.width_contributions[g]),
                "width error": float(self.width_errors[g]),
            }
            for g in _largest(np.abs(self.contributions))
        ]

    def __str__(self) -> str:
        text, values = self.units.output, self._row()
        table = self.table()
        rows, rest = table[:_INPUTS], table[_INPUTS:]
        sums = ("contribution", "width contribution")
        if rest:
            others = {name: sum(row[name] for row in rest) for name in sums}
            rows.append({"input": count(len(rest), "other input")} | others)
        width = self.upper - self.lower - self.mean_width
        added = self.prediction - self.baseline
        rows.append({"input": "sum of all", "contribution": added, "width contribution": width})
        numbers = ["contribution", "error"]
        if np.isfinite(width):  # that of a one-sided interval is not
            numbers += ["width contribution", "width error"]
        lines = [
            {"input": row["input"], "value": values.get(row["input"], "")}
            | {name: text(row[name]) if name in row else "" for name in numbers}
            for row in rows
        ]
        start = f"the mean prediction over {self.n_background} training rows is "
        start += text(self.baseline)
        if np.isfinite(width):
            start += f", the mean width of their intervals {text(self.mean_width)}"
        legend = (
            "A contribution is how far the value of an input moves the prediction, or the width, "
            "away from that mean (a Shapley value, with its standard error)."
        )
        return "\n".join([self._title(), wrap(start), "", aligned(lines), "", wrap(legend)])


def _explain_inputs(
    evaluate: Callable[[Array], Array], x: Array, background: Array, about: Record
) -> InputExplanation:
    """Return the explanation of a scaled row `x` (M,) by its inputs.

    `evaluate` returns the scaled prediction and bounds (3, n) at scaled rows (n, M).
    """
    units: Units = about["units"]

    def outputs(Z: Array) -> Array:
        """Return the prediction and the width of the interval (n, 2) in units of the target."""
        y_hat, lower, upper = units.scaler.inverse_bounds(evaluate(Z))
        width = upper - lower
        return np.stack([y_hat, np.where(np.isinf(width), np.nan, width)], axis=1)

    found, errors, start = walk_inputs(outputs, x, background, list(units.places.values()))
    return InputExplanation(
        **about,
        baseline=float(start[:, 0].mean()),
        contributions=found[:, 0],
        errors=errors[:, 0],
        mean_width=float(start[:, 1].mean()),
        width_contributions=found[:, 1],
        width_errors=errors[:, 1],
        n_background=len(start),
    )


def walk_inputs(
    outputs: Callable[[Array], Array], x: Array, background: Array, places: Sequence[IntArray]
) -> tuple[Array, Array, Array]:
    """Return contributions (G, K) of the inputs, their standard errors (G, K), and the start.

    A walk starts at a background row and changes one input after the other, in random order, to
    its value in `x`; the change of the output in that step is credited to the input. The mean over
    many walks estimates the Shapley values (Strumbelj and Kononenko 2014, Knowledge and
    Information Systems 41). Each order is walked forwards and backwards (antithetic sampling;
    Mitchell et al. 2022). The steps of a walk add up to the difference between its ends, and every
    row starts equally many walks, so the contributions add up to the output at `x` minus the mean
    over the background. There are at most 2,000 evaluations; with more than ten inputs, fewer
    background rows are used.

    Standard errors are those of the mean over starting rows: they include that the background is a
    sample. Walks pass through rows that mix `x` and a training row; such a row may not exist.

    Args:
        outputs: returns K outputs (n, K) at rows (n, M).
        x: the row (M,).
        background: rows (B, M), at least two.
        places: the columns of each of G inputs; inputs with several columns change together.

    Returns:
        Contributions, errors, and the outputs (B, K) at the background rows that were used.
    """
    G, budget = len(places), EVALUATIONS - 2  # x itself is evaluated here and by the caller
    steps = 2 * (G - 1)  # new rows for a pair of walks
    if len(background) < 2:
        raise ValueError(f"background must have at least 2 rows, got {len(background)}")
    if budget < 2 * (1 + steps):
        raise ValueError(
            f"explain by inputs takes at most {(budget // 2 + 1) // 2} inputs, got {G}: explain "
            "the rules of one system by system=0"
        )
    background = draw_background(background, 0, min(BACKGROUND, budget // (1 + steps)))
    start, end = outputs(background), outputs(x[None])[0]  # (B, K), (K,)
    B = len(start)
    n_walks = (budget - B) // (B * steps) if steps else 1  # pairs from each row
    # sorted, so that the order of the background rows does not matter
    rows = np.tile(np.argsort(start[:, 0], kind="stable"), n_walks).repeat(2)  # (W,)
    rng = np.random.default_rng(0)  # the same row has the same explanation
    order = np.array([rng.permutation(G) for _ in rows[::2]]).repeat(2, axis=0)  # (W, G)
    order[1::2] = order[1::2, ::-1]  # backwards
    when = np.argsort(order, axis=1)  # (W, G): in which step an input changes
    input_of = np.empty(len(x), dtype=int)
    for g, columns in enumerate(places):
        input_of[columns] = g
    changed = when[:, None, :] <= np.arange(G - 1)[:, None]  # (W, G - 1, G)
    mixed = np.where(changed[:, :, input_of], x, background[rows][:, None])  # (W, G - 1, M)
    path = np.empty((len(rows), G + 1, len(end)))
    path[:, 0], path[:, -1] = start[rows], end
    if G > 1:
        path[:, 1:-1] = outputs(mixed.reshape(-1, len(x))).reshape(len(rows), G - 1, -1)
    gains = np.take_along_axis(np.diff(path, axis=1), when[:, :, None], axis=1)  # (W, G, K)
    by_row = gains.reshape(-1, B, 2, G, len(end)).mean(axis=(0, 2))  # (B, G, K)
    return by_row.mean(axis=0), by_row.std(axis=0, ddof=1) / np.sqrt(B), start
