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

from gt2lite._validation import Array, IntArray, between
from gt2lite.calibration import DEFAULT_COVERAGE, Calibration, read_groups
from gt2lite.memberships import ALPHA_0, kappa_of, log_firing
from gt2lite.rules import (
    JOINT,
    SHOWN,
    Printed,
    Rows,
    Units,
    consequents,
    count,
    end_weights,
    find_input,
    pick_system,
    read_rules,
    rule_weights,
)
from gt2lite.selection import Fitted
from gt2lite.system import constrain

EVALUATIONS = 2000
"""Rows that the model is evaluated on, at most, to explain one row by its inputs."""

BACKGROUND = 100
"""Training rows whose mean prediction an explanation by inputs starts from."""

_TERMS = 4  # rules that a sum names; the others are added up
_LEAST = 0.005  # a smaller weight would be printed as 0.00
_INPUTS = 12  # printed inputs of the row
_ROWS = 8  # printed rows of the table of rules


def draw_background(X: Array, seed: Any) -> Array:
    """Return at most `BACKGROUND` of the rows `X` (N, M), drawn by the seed if it is a number."""
    rng = np.random.default_rng(seed if isinstance(seed, int) else 0)
    return X[np.sort(rng.permutation(len(X))[:BACKGROUND])]


def read_plane(alpha: Any, coverage: Any, groups: Any) -> float:
    """Return a plane that is asked for, which excludes a level and groups."""
    if coverage is not None:
        raise ValueError(f"coverage must be None if alpha is given: got {coverage!r} and {alpha!r}")
    if groups is not None:
        raise ValueError("groups cannot be combined with alpha: pass coverage instead")
    return between("alpha", alpha, ALPHA_0, 1, closed=True)


@dataclass(frozen=True, repr=False)
class Explanation(Printed):
    """A prediction and its interval in the units of the target, and how they come about."""

    prediction: float
    lower: float
    upper: float
    coverage: float | None  # None if a plane was asked for
    units: Units
    row: dict[str, str]  # the inputs as text

    @property
    def kind(self) -> str:
        """The interval in words, such as "90% interval"."""
        return "interval" if self.coverage is None else f"{100 * self.coverage:.4g}% interval"

    def _title(self) -> str:
        prediction, *ends = map(self.units.output, (self.prediction, self.lower, self.upper))
        return f"{self.units.target}: prediction {prediction}, {self.kind} {' to '.join(ends)}"


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
    alphas: Array  # the planes of the prediction
    inputs: dict[str, float]  # the row
    conditions: list[str]  # (P,): where each rule applies, in words
    is_margin: bool = False  # whether the bounds are the prediction with a margin
    system: int | None = None  # which of several systems

    @property
    def parts(self) -> tuple[Part, Part, Part]:
        """The prediction, the lower and the upper bound."""
        return self.estimate, self.lower_end, self.upper_end

    def table(self) -> Rows:
        """Return a dict for each rule, the heaviest in the prediction first."""
        rows = []
        for p in _largest(self.estimate.weights):
            row: dict[str, Any] = {"rule": p + 1, "consequent": float(self.consequents[p])}
            for part in self.parts:
                row |= {
                    f"{part.name} weight": float(part.weights[p]),
                    f"{part.name} fires from": float(part.fires[0, p]),
                    f"{part.name} fires to": float(part.fires[1, p]),
                }
            rows.append(row | {"if": self.conditions[p]})
        return rows

    def cells(self) -> Rows:
        """Return consequents, firing strengths and weights of the heaviest rules as text."""
        planes = {part.alpha: part.fires for part in self.parts[1:]}
        says, rows = self.units.learned().output, []
        for p in _largest(np.max([part.weights for part in self.parts], axis=0))[:_ROWS]:
            row = {"rule": f"{p + 1}", "says": says(self.consequents[p])}
            for alpha, (low, high) in planes.items():
                row[f"fires at {alpha:.3g}"] = f"{low[p]:.2g} to {high[p]:.2g}"
            rows.append(row | {f"in {part.name}": f"{part.weights[p]:.3f}" for part in self.parts})
        return rows

    def notes(self) -> tuple[list[str], list[str]]:
        """Return the row and each part as a sum; then the heaviest rules in words."""
        row = [f"{name} {value}" for name, value in self.row.items()]
        if left := len(row[_INPUTS:]):
            row[_INPUTS:] = [f"and {count(left, 'more input')}"]
        # the two heaviest rules of the prediction and the heaviest of either bound
        prediction, lower, upper = (_largest(part.weights) for part in self.parts)
        heaviest = dict.fromkeys([*prediction[:2], lower[0], upper[0]])
        rules = [f"Rule {p + 1}: if {self.conditions[p]}" for p in heaviest]
        before = [self._title(), f"at {', '.join(row)}", *map(self._sum, self.parts)]
        return before, [*rules, self._legend()]

    def _sum(self, part: Part) -> str:
        """Return a part as a sum of weights times consequents."""
        if np.isinf(part.value):
            return f"{part.name}: none, the interval is open there"
        units = self.units.learned()

        def term(weight: float, said: float, rule: str) -> str:
            return f"{weight:.2f} * {units.output(said)} ({rule})".replace(" ", JOINT)

        order = _largest(part.weights)
        named = [p for p in order[:_TERMS] if part.weights[p] >= _LEAST]
        others = order[len(named) :]
        terms = [term(part.weights[p], self.consequents[p], f"rule {p + 1}") for p in named]
        if (rest := float(part.weights[others].sum())) >= _LEAST:
            mean = float(part.weights[others] @ self.consequents[others]) / rest
            terms.append(term(rest, mean, count(len(others), "other rule")))
        log = f" ({units.target})" if units.target != self.units.target else ""
        text = f"{part.name} {units.output(part.value)}{log} = {' + '.join(terms)}"
        if part.margin:
            sign = "-" if part.margin < 0 else "+"
            why = "of this row" if self.is_margin else "calibration went beyond the planes"
            margin = f"{sign} {units.output(abs(part.margin))} (margin: {why})"
            text += " " + margin.replace(" ", JOINT)
        return text

    def _legend(self) -> str:
        planes = ", ".join(f"{alpha:.3g}" for alpha in self.alphas)
        ends = dict.fromkeys(f"{part.alpha:.3g}" for part in self.parts[1:])
        come = f"come from alpha = {' and '.join(ends)}"
        if self.is_margin:
            come = "are the prediction with a margin that follows the width of the widest plane"
        text = (
            f"The prediction mixes the endpoints of the planes alpha = {planes}, each weighted by "
            f"its alpha; the bounds of the interval {come}. 'fires': the lower and upper strength "
            "of a rule there; an endpoint of a plane takes the one that pulls it outwards."
        )
        if self.system is not None:
            text += f" This is system {self.system}; prediction and interval are means over all."
        return text


def _largest(values: Array) -> list[int]:
    return np.argsort(-values, kind="stable").tolist()


def explain_row(
    fitted: Fitted,
    units: Units,
    X: Array,
    calibration: Calibration | None,
    *,
    coverage: float | None = None,
    alpha: float | None = None,
    group: Any = None,
    system: int | None = None,
    background: Array | None = None,
    together: Mapping[str, Sequence[Any]] | None = None,
) -> Explanation:
    """Return the explanation of a scaled row `X` (1, M): by rules, or by inputs if `background`.

    `calibration` maps `coverage` to planes; it is None if `alpha` is given. `group` may be a
    function that returns the groups of scaled rows. Other arguments as in `GT2Regressor.explain`,
    with scaled rows (B, M) as `background`.
    """
    if calibration is None:
        level = read_plane(alpha, coverage, group)
    else:
        coverage = DEFAULT_COVERAGE if coverage is None else coverage
        level = coverage = between("coverage", coverage, 0, 1)

    def groups_of(Z: Array) -> list[Any] | None:
        if callable(group):
            return list(group(Z))
        return None if group is None else read_groups([group]) * len(Z)

    def evaluate(Z: Array) -> Array:
        """Return the scaled prediction, lower and upper bound (3, n) at scaled rows."""
        planes = fitted.planes(Z)
        if calibration is None:
            bounds = planes(level)
        else:
            bounds = calibration.intervals(fitted.family(planes), level, groups_of(Z))
        return np.stack([planes.output(fitted.alphas), *bounds])

    places = input_places(units.names, together)
    if background is not None:
        return _explain_inputs(evaluate, units, X[0], background, places, coverage)
    values, is_margin, cuts = evaluate(X)[:, 0], False, [(level, 0.0)] * 2
    if calibration is not None:
        is_margin = fitted.margins is not None
        (label,) = groups_of(X) or [None]
        cuts = _cuts(calibration, level, label, fitted.planes(X).alpha_min)
    # the rules of one system, and of several systems those of one of them, with the planes and
    # margins of all, so that prediction and interval are means over the systems
    k, several, widest = system or 0, len(fitted.systems) > 1, float(np.min(fitted.alphas))
    params, Z = pick_system(fitted, k).params, fitted.inputs(X, k)
    scaler = units.scaler.without_transform()
    said = scaler.inverse_y(consequents(params, Z)[0])

    @np.errstate(under="ignore")
    def part(name: str, value: float, weights: Array, margin: float, alpha: float) -> Part:
        if several and np.isfinite(value):
            value = float(weights @ said) + margin
        fires = np.exp(log_firing(Z, *constrain(params)[:4], kappa_of(alpha)))[:, 0]
        return Part(name, value, weights, margin, alpha, fires)

    learned = scaler.inverse_bounds(values).tolist()
    weights = rule_weights(fitted, X, system=k)[0]
    parts = [part("prediction", learned[0], weights, 0.0, widest)]
    for side, name in enumerate(("lower bound", "upper bound")):
        plane, beyond = cuts[side]
        margin = (-1, 1)[side] * beyond * scaler.y_std or 0.0  # no -0.0
        if is_margin:
            plane, margin = widest, learned[side + 1] - learned[0]
        else:
            weights = end_weights(params, Z, plane)[side, 0]
        parts.append(part(name, learned[side + 1], weights, margin, plane))
    if several:
        values = np.array([(part.value - scaler.y_mean) / scaler.y_std for part in parts])
    rules = sorted(read_rules(fitted, units, system=k), key=lambda rule: rule.number)
    prediction, lower, upper = units.scaler.inverse_bounds(values).tolist()
    row = X[0] * scaler.x_std + scaler.x_mean
    about = prediction, lower, upper, coverage, units, units.row(X[0], places), said
    estimate, lower_end, upper_end = parts
    return RuleExplanation(
        *about,
        estimate,
        lower_end,
        upper_end,
        alphas=np.asarray(fitted.alphas, dtype=float),
        inputs=dict(zip(units.names, row.tolist(), strict=True)),
        conditions=[rule.condition(SHOWN) for rule in rules],
        is_margin=is_margin,
        system=system if several else None,
    )


def _cuts(
    calibration: Calibration, coverage: float, group: Any, lowest: float
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

Places = dict[str, IntArray]  # columns of each input


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
    n_evaluations: int

    @property
    def inputs(self) -> dict[str, str]:
        """The inputs as text: those of encoded columns have no number."""
        return self.row

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

    def cells(self) -> Rows:
        """Return contributions with their standard errors as text; the last row is the sum."""
        text, rows = self.units.output, self.table()

        def line(name: str, rows: Rows, one: Any = None) -> dict[str, str]:
            adds, widens = (
                float(sum(row[key] for row in rows))
                for key in ("contribution", "width contribution")
            )
            return {
                "input": name,
                "value": one["value"] if one else "",
                "adds": "+" * (adds >= 0) + text(adds),
                "+-": text(one["error"]) if one else "",
                "widens": "+" * (widens >= 0) + text(widens),
                "+- ": text(one["width error"]) if one else "",
            }

        lines = [line(row["input"], [row], row) for row in rows[:_INPUTS]]
        if rest := rows[_INPUTS:]:
            lines.append(line(count(len(rest), "other input"), rest))
        return [*lines, line("sum of all", rows)]

    def notes(self) -> tuple[list[str], list[str]]:
        """Return what the contributions start from, and how to read them."""
        start = (
            f"the mean prediction over {self.n_background} training rows is "
            f"{self.units.output(self.baseline)}, the mean width of their intervals "
            f"{self.units.output(self.mean_width)}"
        )
        legend = (
            "'adds': how far the value of an input moves the prediction away from that mean; "
            "'widens': the same for the width; '+-': standard errors. The sums are exact. "
            f"(Shapley values, estimated with {self.n_evaluations:,} evaluations.)"
        )
        return [self._title(), start], [legend]


def input_places(names: Sequence[str], together: Mapping[str, Sequence[Any]] | None) -> Places:
    """Return the columns of each input, given their names.

    `together` has inputs with several columns, by names or numbers; every other column is an
    input of its own.

    >>> input_places(["age", "red", "green"], {"colour": ["red", "green"]})
    {'age': array([0]), 'colour': array([1, 2])}
    """
    owners = list(names)
    for owner, columns in (together or {}).items():
        if owner in names and not {owner, names.index(owner)} & set(columns):
            raise ValueError(f"together must not name an input {owner!r}: a column has that name")
        for column in columns:
            m = find_input(f"each column in together[{owner!r}]", column, names)
            if owners[m] != names[m]:
                raise ValueError(f"together has {names[m]!r} in {owners[m]!r} and in {owner!r}")
            owners[m] = owner
    return {owner: np.flatnonzero(np.array(owners) == owner) for owner in dict.fromkeys(owners)}


def _explain_inputs(
    evaluate: Callable[[Array], Array],
    units: Units,
    x: Array,
    background: Array,
    places: Places,
    coverage: float | None,
) -> InputExplanation:
    """Return the explanation of a scaled row `x` (M,) by its inputs.

    `evaluate` returns the scaled prediction and bounds (3, n) at scaled rows (n, M).
    """
    n_evaluations = 1  # x, below

    def outputs(Z: Array) -> Array:
        """Return the prediction and the width of the interval (n, 2) in units of the target."""
        nonlocal n_evaluations
        n_evaluations += len(Z)
        y_hat, lower, upper = units.scaler.inverse_bounds(evaluate(Z))
        width = upper - lower
        return np.stack([y_hat, np.where(np.isinf(width), np.nan, width)], axis=1)

    background = draw_background(background, 0)
    found, errors, mean = walk_inputs(outputs, x, background, list(places.values()))
    prediction, lower, upper = units.scaler.inverse_bounds(evaluate(x[None])[:, 0]).tolist()
    about = prediction, lower, upper, coverage, units, units.row(x, places)
    return InputExplanation(
        *about,
        baseline=float(mean[0]),
        contributions=found[:, 0],
        errors=errors[:, 0],
        mean_width=float(mean[1]),
        width_contributions=found[:, 1],
        width_errors=errors[:, 1],
        n_background=len(background),
        n_evaluations=n_evaluations,
    )


def walk_inputs(
    outputs: Callable[[Array], Array], x: Array, background: Array, places: Sequence[IntArray]
) -> tuple[Array, Array, Array]:
    """Return contributions (G, K) of the inputs, their standard errors (G, K), and the means (K,).

    A walk starts at a background row and changes one input after the other, in random order, to
    its value in `x`; the change of the output in that step is credited to the input. The mean over
    many walks estimates the Shapley values (Strumbelj and Kononenko 2014, Knowledge and
    Information Systems 41). Each order is walked forwards and backwards (antithetic sampling;
    Mitchell et al. 2022). The steps of a walk add up to the difference between its ends, so the
    contributions add up to the output at `x` minus the mean over the background. If walks cannot
    start from every background row, the difference that remains is divided in proportion to
    squared errors.

    Standard errors are those of the mean over starting rows: they include that the background is a
    sample. Walks pass through rows that mix `x` and a training row; such a row may not exist.

    Args:
        outputs: returns K outputs (n, K) at rows (n, M).
        x: the row (M,).
        background: rows (B, M), at least two.
        places: the columns of each of G inputs; inputs with several columns change together.
    """
    B, G = len(background), len(places)
    steps = 2 * (G - 1)  # new rows for a pair of walks
    n_pairs = (EVALUATIONS - 2 - B) // steps if steps else B
    if B < 2:
        raise ValueError(f"background must have at least 2 rows, got {B}")
    if n_pairs < 2:
        raise ValueError(
            f"explain by inputs takes at most {(EVALUATIONS - 2 - B) // 4 + 1} inputs, got {G}: "
            "join columns by together=, or explain the rules of one system by system=0"
        )
    start, end = outputs(background), outputs(x[None])[0]  # (B, K), (K,)
    # every row equally often, or rows spread evenly over the outputs
    used = np.argsort(start[:, 0], kind="stable")
    used = used[((np.arange(min(n_pairs, B)) + 0.5) * B / min(n_pairs, B)).astype(int)]
    rows = np.tile(used, max(n_pairs // B, 1)).repeat(2)  # (W,), forwards and backwards
    rng = np.random.default_rng(0)  # the same row has the same explanation
    order = np.array([rng.permutation(G) for _ in rows[::2]]).repeat(2, axis=0)  # (W, G)
    order[1::2] = order[1::2, ::-1]
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
    by_row = gains.reshape(-1, len(used), 2, G, len(end)).mean(axis=(0, 2))
    found, errors = by_row.mean(axis=0), by_row.std(axis=0, ddof=1) / np.sqrt(len(used))
    left, shares = end - start.mean(axis=0) - found.sum(axis=0), errors**2
    shares = np.where(shares.sum(axis=0) > 0, shares, 1.0)
    return found + left * shares / shares.sum(axis=0), errors, start.mean(axis=0)
