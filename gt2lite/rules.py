"""Antecedents, rules and explanations of a fitted system, in the units of the user."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any, NamedTuple, overload

import numpy as np

from gt2lite._validation import Array, between, finite, numbers, whole
from gt2lite.calibration import Calibration
from gt2lite.calibration.groups import read_groups
from gt2lite.datasets import Scaler, ends_in_units, learnt_name, plain_scaler
from gt2lite.memberships import ALPHA_0, kappa_of, log_firing, secondary
from gt2lite.selection import SPREAD, Fitted, System
from gt2lite.system import Params, constrain

MATTERS = 0.9
"""An input matters in a rule if its membership falls below this share of its largest value."""

_FEW_VALUES = 5  # a column of so many different values is listed, not given as a range


class Units(NamedTuple):
    """What is needed to speak of inputs and target in the user's terms."""

    names: tuple[str, ...]
    target: str
    scaler: Scaler

    def number(self, m: int, value: float) -> str:
        """Return a value of input `m`, with as many digits as its spread asks for."""
        return fixed(value, float(self.scaler.x_std[m]), 2)

    def output(self, value: float) -> str:
        """Return a value of the target, with as many digits as its spread asks for."""
        return fixed(value, self.scaler.y_std, 3)


def fixed(value: float, spread: float, digits: int) -> str:
    """Return a number with so many digits of its spread.

    >>> fixed(12.3456, spread=7.4, digits=2), fixed(1013.2, spread=60.0, digits=2)
    ('12.3', '1013')
    """
    decimals = max(digits - 1 - math.floor(math.log10(spread)), 0)
    if decimals > 8 or abs(value) >= 1e9:
        return f"{value:.{digits + 1}g}"
    return f"{round(value, decimals) + 0.0:.{decimals}f}"


class Premise(NamedTuple):
    """One input in a rule: where the rule is meant for it, in the units of the input.

    `low` to `high` is where the membership is at least half of its largest value `peak`,
    among the values that were seen. `least` is the smallest membership there, as a share of
    the largest; `footprint` how uncertain the set is: the mean width of its widest plane between
    `low` and `high`, 0 for an ordinary set and 1 for one that says nothing.
    """

    input: str
    words: str
    low: float
    high: float
    peak: float
    least: float
    footprint: float
    tends: str  # the words, also where the input does not matter by itself

    @property
    def matters(self) -> bool:
        """Whether the rule fires noticeably less at some value of this input that was seen."""
        return self.least < MATTERS

    def __str__(self) -> str:
        return f"{self.input} {self.words} [{self.footprint:.2f}]"


def read_premises(params: Params, units: Units, X: Array | None) -> list[tuple[Premise, ...]]:
    """Return the premises of every rule, from scaled sets and scaled rows."""
    c, sigma, s_l, s_r, _ = constrain(params)
    M = c.shape[1]
    low, high = np.full(M, -2.0), np.full(M, 2.0)
    if X is not None:
        low, high = np.quantile(X, [0.025, 0.975], axis=0)
    listed = [None if X is None else _few_values(X[:, m]) for m in range(M)]
    for m, values in enumerate(listed):
        if values is not None:  # a rare category counts, too
            low[m], high[m] = values[0], values[-1]

    def log_mu(z: Array) -> Array:
        return -((z - c) ** 2) / (2 * M * sigma**2)

    peak = np.clip(c, low, high)
    least = np.exp(np.minimum(log_mu(low), log_mu(high)) - log_mu(peak))
    reach = np.sqrt((peak - c) ** 2 + 2 * M * sigma**2 * math.log(2))
    start, stop = np.maximum(c - reach, low), np.minimum(c + reach, high)
    grid = np.linspace(0, 1, 51)[:, None, None]
    lower, upper = secondary(np.exp(log_mu(start + grid * (stop - start))), 1.0, s_l, s_r)
    footprint = (upper - lower).mean(axis=0)
    cut = start > low, stop < high

    def premise(p: int, m: int) -> Premise:
        mean, std = units.scaler.x_mean[m], units.scaler.x_std[m]
        ends = float(mean + std * start[p, m]), float(mean + std * stop[p, m])
        best = float(mean + std * peak[p, m])
        place = float(peak[p, m] - low[m]) / (float(high[m] - low[m]) or 1.0)
        texts = units.number(m, ends[0]), units.number(m, ends[1]), units.number(m, best)
        tends = _words(texts, (bool(cut[0][p, m]), bool(cut[1][p, m])), place)
        values = listed[m]
        if values is not None:
            inside = values[(start[p, m] <= values) & (values <= stop[p, m])]
            if 0 < len(inside) < len(values):
                plain = (f"{round(float(mean + std * v), 9) + 0.0:.6g}" for v in inside)
                tends = f"= {' or '.join(plain)}"
        words = tends if least[p, m] < MATTERS else "any"
        measures = float(least[p, m]), float(footprint[p, m])
        return Premise(units.names[m], words, *ends, best, *measures, tends)

    return [tuple(premise(p, m) for m in range(M)) for p in range(len(c))]


def _words(texts: tuple[str, str, str], cut: tuple[bool, bool], place: float) -> str:
    """Return a range in words, from its ends and peak, which ends are real, and where it peaks."""
    low, high, peak = texts
    if all(cut):
        return f"about {low} to {high}"
    if any(cut):
        return f"above {low}" if cut[0] else f"below {high}"
    if 1 / 3 <= place <= 2 / 3:
        return f"rather near {peak}"
    return "rather low" if place < 1 / 3 else "rather high"


def _few_values(column: Array) -> Array | None:
    """Return the values of a column that has a few different ones, such as 0 and 1."""
    values = np.unique(column)
    return values if len(values) <= _FEW_VALUES else None


_CHUNK_ELEMENTS = 2**18  # memberships handled at once: a few megabytes


def consequents(params: Params, X: Array) -> Array:
    """Return what each rule says alone (N, P), for scaled inputs `X` (N, M)."""
    return np.asarray(X @ params["a"].T + params["a0"])


def firings(params: Params, X: Array, alpha: float) -> tuple[Array, Array]:
    """Return the lower and upper firing strengths (N, P) of the plane `alpha`."""
    lower, upper = _log_firings(params, X, alpha)
    return np.exp(lower), np.exp(upper)


def end_weights(params: Params, X: Array, alpha: float) -> Array:
    """Return the weights (2, N, P) of the rules in both ends of the plane `alpha`.

    They add up to 1 in each row, and with the consequents they make the lower and upper end.

    >>> ones = np.ones((2, 1))
    >>> params = {"c": np.array([[-1.0], [1.0]]), "raw_sigma": ones, "raw_l": np.zeros(1),
    ...           "raw_r": np.zeros(1), "a": 0 * ones, "a0": np.array([2.0, 5.0])}
    >>> end_weights(params, np.array([[0.0]]), alpha=1.0)[0]  # halfway, and of type 1
    array([[0.5, 0.5]])
    """
    ends = [_choose(params, X[rows], alpha) for rows in _stretches(params, len(X))]
    return np.concatenate(ends, axis=1)


def output_weights(params: Params, X: Array, alphas: Array) -> Array:
    """Return the weights (N, P) of the rules in the output of a system of the planes `alphas`.

    A plane alpha_k enters with ``alpha_k / sum(alphas)``, one half of it for each end.
    """
    shares = np.asarray(alphas, dtype=float) / (2 * np.sum(alphas))
    weights = np.zeros((len(X), len(params["c"])))
    for alpha, share in zip(alphas, shares, strict=True):
        weights += share * end_weights(params, X, float(alpha)).sum(axis=0)
    return weights


def _stretches(params: Params, n_rows: int) -> Iterator[slice]:
    size = max(_CHUNK_ELEMENTS // params["c"].size, 1)
    for start in range(0, n_rows, size):
        yield slice(start, start + size)


def _log_firings(params: Params, X: Array, alpha: float) -> tuple[Array, Array]:
    theta = constrain(params)
    lower, upper = log_firing(X, theta.c, theta.sigma, theta.s_l, theta.s_r, kappa_of(alpha))
    return lower, upper


def _choose(params: Params, X: Array, alpha: float) -> Array:
    log_lower, log_upper = _log_firings(params, X, alpha)
    top = log_upper.max(axis=1, keepdims=True)  # a common factor does not matter
    lower, upper = np.exp(log_lower - top), np.exp(log_upper - top)
    y = consequents(params, X)
    return np.stack([_lower_weights(lower, upper, y), _lower_weights(lower, upper, -y)])


def _lower_weights(lower: Array, upper: Array, y: Array) -> Array:
    """Return the weights (N, P) that make the mean of `y` smallest: upper firing, then lower."""
    order = np.argsort(y, axis=1, kind="stable")
    lo, up, ys = (np.take_along_axis(v, order, axis=1) for v in (lower, upper, y))
    total = _before(up) + _after(lo)  # (N, P + 1): so many rules lie before the switch
    with np.errstate(divide="ignore", invalid="ignore"):
        means = np.where(total > 0, (_before(up * ys) + _after(lo * ys)) / total, np.inf)
    switch = np.argmin(means, axis=1)
    chosen = np.where(np.arange(y.shape[1]) < switch[:, None], up, lo)
    weights = np.empty_like(chosen)
    np.put_along_axis(weights, order, chosen / chosen.sum(axis=1, keepdims=True), axis=1)
    return weights


def _before(values: Array) -> Array:
    """Return the sums (N, P + 1) of the first 0, 1, ..., P values of each row."""
    return np.pad(np.cumsum(values, axis=1), ((0, 0), (1, 0)))


def _after(values: Array) -> Array:
    """Return the sums (N, P + 1) of what the first 0, 1, ..., P values of each row leave."""
    return np.pad(np.cumsum(values[:, ::-1], axis=1)[:, ::-1], ((0, 0), (0, 1)))


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


_TERMS = 4  # rules that a sum names; the others are taken together
_LEAST = 0.005  # a smaller weight would be printed as 0.00
_INPUTS = 12  # of the row that are printed
_ROWS = 8  # rules of the printed table
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
        one, learnt = _system(reg, system), reg._fitted()
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
        one, learnt = _system(reg, system), reg._fitted()
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
        return explain_row(reg._fitted(), row, units, calibration, coverage, alpha, group)


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
