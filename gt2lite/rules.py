"""Antecedents, rules and explanations of fitted systems, in the units of the data.

`read_rules`, `rule_weights` and `explain_row` take fitted systems and scaled rows; they are what
`GT2Regressor.rules`, `rule_weights` and `explain` return. A prediction and both bounds of an
interval are weighted means of consequents; everything here follows from those weights.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any, NamedTuple

import numpy as np

from gt2lite._sklearn import check_fitted
from gt2lite._validation import Array, between, match_table, vector, whole
from gt2lite.calibration import DEFAULT_COVERAGE, Calibration, read_groups
from gt2lite.datasets import Scaler
from gt2lite.memberships import ALPHA_0, kappa_of, log_firing, secondary
from gt2lite.selection import SPREAD, Fitted, System
from gt2lite.system import Params, constrain

MATTERS = 0.9
"""An input matters in a rule if its membership falls below this share of its largest value."""

SHOWN = 5
"""Inputs and terms of a rule in its short form."""

WIDTH = 100
"""Characters in a printed line."""

_FEW_VALUES = 5  # a column with at most this many distinct values is listed, not given as a range
_MEMBERSHIPS = 10**7  # evaluated at most to weigh rules; of more rows an even selection is taken
_CHUNK_ELEMENTS = 2**18  # memberships handled at once: a few megabytes


# ----------------------------------------------------------------------- names and units


class Units(NamedTuple):
    """Names and scales of the inputs and of what the system learned."""

    names: tuple[str, ...]
    target: str
    scaler: Scaler

    @classmethod
    def of(cls, scaler: Scaler, names: tuple[str, ...], target: str = "y") -> Units:
        """Return the units of a fitted scaler; if it takes logarithms, those of log(target)."""
        return cls(names, scaler.learned_name(target), scaler.without_transform())

    def of_system(self, system: System) -> Units:
        """Return the units of a system's inputs: those of the data, or ranks in percent."""
        if system.inputs == "scaled":
            return self
        M = len(self.names)
        scaler = replace(self.scaler, x_mean=np.full(M, 50.0), x_std=np.full(M, 100 * SPREAD))
        return Units(tuple(f"rank of {name}" for name in self.names), self.target, scaler)

    def number(self, m: int, value: float) -> str:
        """Return a value of input `m` as text, rounded according to its standard deviation."""
        return fixed(value, float(self.scaler.x_std[m]), 2)

    def output(self, value: float) -> str:
        """Return a value of the target as text, rounded according to its standard deviation."""
        return fixed(value, self.scaler.y_std, 3)


def input_names(reg: Any) -> tuple[str, ...]:
    """Return the input names of a fitted estimator: those of its data frame, else x0, x1, ...

    The inputs of an encoded column are named after it, such as "city = Oslo".
    """
    if hasattr(reg, "columns_"):
        return tuple(reg.columns_.names)
    names = getattr(reg, "feature_names_in_", None)
    if names is None:
        return tuple(f"x{m}" for m in range(reg.n_features_in_))
    return tuple(map(str, names))


def fixed(value: float, spread: float, digits: int) -> str:
    """Return a number as text, rounded to `digits` significant digits of `spread`.

    >>> fixed(12.3456, spread=7.4, digits=2), fixed(1013.2, spread=60.0, digits=2)
    ('12.3', '1013')
    """
    decimals = max(digits - 1 - math.floor(math.log10(spread)), 0)
    if decimals > 8 or abs(value) >= 1e9:
        return f"{value:.{digits + 1}g}"
    return f"{round(value, decimals) + 0.0:.{decimals}f}"


def one_row(x: Any, estimator: Any) -> Array:
    """Return one row as a checked array (1, M), from M numbers, a labelled row or a table (1, M).

    Args:
        x: the row. The labels of a row of a data frame decide on the order of its values.
        estimator: the fitted estimator that the row is for.
    """
    check_fitted(estimator)
    if hasattr(estimator, "columns_") and hasattr(x, "to_frame"):
        x = x.to_frame().T  # a row of a data frame
    if hasattr(x, "columns") or np.ndim(x) != 1:
        table = match_table(x, estimator)
        if len(table) != 1:
            raise ValueError(
                f"explain takes one row, got {len(table)}: pick one, such as X[0] or X.iloc[0]"
            )
        return table
    values = vector("x", x, estimator.n_features_in_)
    names, labels = getattr(estimator, "feature_names_in_", None), getattr(x, "index", None)
    if names is not None and labels is not None and not callable(labels):  # lists have a method
        if sorted(map(str, labels)) != sorted(names):
            raise ValueError(
                f"x is labelled {', '.join(map(str, labels))}, but the inputs are "
                f"{', '.join(names)}"
            )
        values = values[[list(labels).index(name) for name in names]]
    return values[None]


def wrap(text: str, first: str = "", other: str = "    ") -> str:
    """Return a paragraph in printed lines that start with these indents."""
    return textwrap.fill(text, WIDTH, initial_indent=first, subsequent_indent=other)


def count(n: int, noun: str) -> str:
    """Return a number and a noun, such as "1 more input" and "3 more inputs"."""
    return f"{n} {noun}{'s' * (n > 1)}"


def percent(share: float) -> str:
    """Return a share in percent, with a decimal if it is below one percent."""
    value = 100 * share
    return f"{value:.0f} %" if value >= 0.95 or value == 0 else f"{value:.1f} %"


# ------------------------------------------------------------------------------- weights


def consequents(params: Params, X: Array) -> Array:
    """Return the consequents (N, P): what each rule says alone, for scaled inputs `X` (N, M)."""
    return np.asarray(X @ params["a"].T + params["a0"])


def firings(params: Params, X: Array, alpha: float) -> Array:
    """Return the lower and upper firing strengths (2, N, P) of the plane `alpha`."""
    return np.exp(_log_firings(params, X, alpha))


@np.errstate(under="ignore")  # weights of far rules
def end_weights(params: Params, X: Array, alpha: float) -> Array:
    """Return the weights (2, N, P) of the rules in both endpoints of the plane `alpha`.

    They add up to 1 in each row; the endpoints are their products with the consequents.

    >>> ones = np.ones((2, 1))
    >>> params = {"c": np.array([[-1.0], [1.0]]), "raw_sigma": ones, "raw_l": np.zeros(1),
    ...           "raw_r": np.zeros(1), "a": 0 * ones, "a0": np.array([2.0, 5.0])}
    >>> end_weights(params, np.array([[0.0]]), alpha=1.0)[0]  # halfway, and of type 1
    array([[0.5, 0.5]])
    """
    size = max(_CHUNK_ELEMENTS // params["c"].size, 1)
    chunks = [X[start : start + size] for start in range(0, len(X), size)]
    return np.concatenate([_end_weights(params, chunk, alpha) for chunk in chunks], axis=1)


def output_weights(params: Params, X: Array, alphas: Array) -> Array:
    """Return the weights (N, P) of the rules in the output of a system of the planes `alphas`.

    A plane alpha_k enters with ``alpha_k / sum(alphas)``, one half of it for each endpoint.
    """
    shares = np.asarray(alphas, dtype=float) / (2 * np.sum(alphas))
    weights = np.zeros((len(X), len(params["c"])))
    for alpha, share in zip(alphas, shares, strict=True):
        weights += share * end_weights(params, X, float(alpha)).sum(axis=0)
    return weights


def _log_firings(params: Params, X: Array, alpha: float) -> Array:
    c, sigma, s_l, s_r, _ = constrain(params)
    return np.stack(log_firing(X, c, sigma, s_l, s_r, kappa_of(alpha)))


def _end_weights(params: Params, X: Array, alpha: float) -> Array:
    log_lower, log_upper = _log_firings(params, X, alpha)
    top = log_upper.max(axis=1, keepdims=True)  # a common factor does not matter
    lower, upper = np.exp(log_lower - top), np.exp(log_upper - top)
    y = consequents(params, X)
    return np.stack([_lower_weights(lower, upper, y), _lower_weights(lower, upper, -y)])


def _lower_weights(lower: Array, upper: Array, y: Array) -> Array:
    """Return the weights (N, P) that minimise the mean of `y`: upper firing, then lower."""
    order = np.argsort(y, axis=1, kind="stable")
    lo, up, ys = (np.take_along_axis(v, order, axis=1) for v in (lower, upper, y))
    total = _switched_sums(up, lo)
    with np.errstate(divide="ignore", invalid="ignore"):
        means = np.where(total > 0, _switched_sums(up * ys, lo * ys) / total, np.inf)
    switch = np.argmin(means, axis=1)
    chosen = np.where(np.arange(y.shape[1]) < switch[:, None], up, lo)
    weights = np.empty_like(chosen)
    np.put_along_axis(weights, order, chosen / chosen.sum(axis=1, keepdims=True), axis=1)
    return weights


def _switched_sums(first: Array, then: Array) -> Array:
    """Return sums (N, P + 1) of rows that have k values of `first`, then those of `then`."""
    before = np.pad(np.cumsum(first, axis=1), ((0, 0), (1, 0)))
    after = np.pad(np.cumsum(then[:, ::-1], axis=1)[:, ::-1], ((0, 0), (0, 1)))
    return before + after


# --------------------------------------------------------------------------- antecedents


class Antecedent(NamedTuple):
    """One input in a rule: where the rule applies, in the units of the input.

    From `low` to `high` the membership is at least half of its largest value, that at `peak`,
    among the values seen. `least` is the smallest membership there, as a share of the largest.
    `footprint` says how uncertain the set is: the mean width of its widest plane between `low`
    and `high`, 0 for a type-1 set.
    """

    input: str
    tends: str  # the range in words, even if the input does not matter by itself
    low: float
    high: float
    peak: float
    least: float
    footprint: float

    @property
    def matters(self) -> bool:
        """Whether the rule fires noticeably less at some value of this input that was seen."""
        return self.least < MATTERS

    @property
    def words(self) -> str:
        """The range in words; "any" if the input does not matter."""
        return self.tends if self.matters else "any"


@np.errstate(under="ignore")
def read_antecedents(params: Params, units: Units, X: Array | None) -> list[tuple[Antecedent, ...]]:
    """Return the antecedents of every rule, from scaled sets and scaled rows.

    "Seen" are the middle 95% of the rows, or the training mean -+ 2 standard deviations without
    rows.
    """
    c, sigma, s_l, s_r, _ = constrain(params)
    P, M = c.shape
    low, high = np.full(M, -2.0), np.full(M, 2.0)
    if X is not None:
        low, high = np.quantile(X, [0.025, 0.975], axis=0)
    listed: dict[int, Array] = {}  # columns with a few distinct values, such as 0 and 1
    for m in range(M):
        if X is not None and len(values := np.unique(X[:, m])) <= _FEW_VALUES:
            listed[m] = values
            low[m], high[m] = values[0], values[-1]  # a rare category counts, too

    def log_mu(z: Array) -> Array:
        return -((z - c) ** 2) / (2 * M * sigma**2)

    peak = np.clip(c, low, high)  # (P, M), as all that follows
    least = np.exp(np.minimum(log_mu(low), log_mu(high)) - log_mu(peak))
    reach = np.sqrt((peak - c) ** 2 + 2 * M * sigma**2 * math.log(2))
    start, stop = np.maximum(c - reach, low), np.minimum(c + reach, high)
    grid = np.linspace(0, 1, 51)[:, None, None]
    lower, upper = secondary(np.exp(log_mu(start + grid * (stop - start))), 1.0, s_l, s_r)
    footprint = (upper - lower).mean(axis=0)

    def in_units(m: int, z: float) -> float:
        return float(units.scaler.x_mean[m] + units.scaler.x_std[m] * z)

    def words(p: int, m: int) -> str:
        begin, end = start[p, m], stop[p, m]  # membership falls to one half there, or data ends
        values = listed.get(m, ())
        inside = [z for z in values if begin <= z <= end]
        if 0 < len(inside) < len(values):
            return "= " + " or ".join(f"{round(in_units(m, z), 9) + 0.0:.6g}" for z in inside)
        from_, to, best = (units.number(m, in_units(m, z)) for z in (begin, end, peak[p, m]))
        if begin > low[m] and end < high[m]:
            return f"about {from_} to {to}"
        if begin > low[m] or end < high[m]:
            return f"above {from_}" if begin > low[m] else f"below {to}"
        place = (peak[p, m] - low[m]) / ((high[m] - low[m]) or 1.0)  # 0 to 1 among values seen
        if 1 / 3 <= place <= 2 / 3:
            return f"rather near {best}"
        return "rather low" if place < 1 / 3 else "rather high"

    def antecedent(p: int, m: int) -> Antecedent:
        return Antecedent(
            input=units.names[m],
            tends=words(p, m),
            low=in_units(m, start[p, m]),
            high=in_units(m, stop[p, m]),
            peak=in_units(m, peak[p, m]),
            least=float(least[p, m]),
            footprint=float(footprint[p, m]),
        )

    return [tuple(antecedent(p, m) for m in range(M)) for p in range(P)]


# --------------------------------------------------------------------------------- rules


@dataclass(frozen=True)
class Rule:
    """One rule: if its antecedents hold, the target is about its formula.

    `leads` is the share of rows on which it weighs more than any other rule, `share` its mean
    share of the weight, `typical` the mean of its consequent, rows weighted by the rule; all are
    None without rows.
    """

    number: int  # counted from 1, as `explain` and the figures do
    antecedents: tuple[Antecedent, ...]  # one for each input
    intercept: float
    slopes: tuple[float, ...]  # one for each input
    units: Units = field(repr=False)
    leads: float | None = None
    share: float | None = None
    typical: float | None = None

    def condition(self, most: int | None = None) -> str:
        """Return the inputs that matter and where, the most decisive first.

        Args:
            most: how many to show, with their mean footprint; None for all, each with its own.
        """
        by_need = sorted(self.antecedents, key=lambda a: a.least)
        decisive = [a for a in by_need if a.matters]
        others = by_need[len(decisive) :]
        joint = math.prod(a.least for a in others) < MATTERS  # they matter only together
        if not decisive:
            if not joint:
                return "any input"
            first = ", ".join(f"{a.input} {a.tends}" for a in others[:3])
            return f"{len(others)} inputs together, most of all {first}"
        shown = [f"{a.input} {a.words}" for a in decisive[:most]]
        uncertain = f" [{np.mean([a.footprint for a in decisive]):.2f}]"
        if most is None:
            shown = [f"{a.input} {a.words} [{a.footprint:.2f}]" for a in decisive]
            uncertain = ""
        if left := len(decisive) - len(shown):
            shown.append(f"and {count(left, 'more input')}")
        if joint:
            shown.append(f"and {len(others)} others together")
        return ", ".join(shown) + uncertain

    def formula(self, most: int | None = None) -> str:
        """Return the consequent in the units of the data.

        Args:
            most: how many terms to show, those that move the target most; the other inputs
                are held at their training mean.
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
            text += f" ({count(len(held), 'more input')} at the mean)"
        return text

    def heading(self) -> str:
        """Return how often the rule leads and its weight, in words; empty without rows."""
        if self.leads is None or self.share is None:
            return ""
        return f"leads on {percent(self.leads)} of the rows, {percent(self.share)} of the weight"

    def text(self, most: int | None = None) -> str:
        """Return the rule in three lines or, if they are long, in more.

        Args:
            most: how many inputs and terms to show, those that matter most; None for all.
        """
        title = ": ".join(filter(None, [f"Rule {self.number}", self.heading()]))
        typical = "" if self.typical is None else f"; typically {self.units.output(self.typical)}"
        condition, formula = self.condition(most), self.formula(most) + typical
        indent = " " * 8
        return "\n".join(
            [title, wrap(condition, "  if    ", indent), wrap(formula, "  then  ", indent)]
        )

    def __str__(self) -> str:
        return self.text()

    def cells(self) -> dict[str, str]:
        """Return the short form as one row of a table of text."""
        cells = {"rule": f"{self.number}", "if": self.condition(SHOWN), "then": self.formula(SHOWN)}
        if self.leads is not None and self.share is not None and self.typical is not None:
            cells["typically"] = self.units.output(self.typical)
            cells |= {"leads": percent(self.leads), "weight": percent(self.share)}
        return cells

    def row(self) -> dict[str, Any]:
        """Return all numbers of the rule as one row of a table."""
        row: dict[str, Any] = {"rule": self.number, "leads": self.leads, "share": self.share}
        row |= {"typical": self.typical, "intercept": self.intercept}
        for antecedent, slope in zip(self.antecedents, self.slopes, strict=True):
            name = antecedent.input
            row |= {
                name: antecedent.words,
                f"{name} from": antecedent.low,
                f"{name} to": antecedent.high,
                f"{name} footprint": antecedent.footprint,
                f"{name} slope": slope,
            }
        return row

    def _slope(self, m: int) -> str:
        """Return a slope with enough digits for the formula to be right wherever there is data."""
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
    """Rules of a system, and how they print: a title, each rule in its short form, a legend."""

    def __init__(self, rules: Sequence[Rule], title: str, legend: str) -> None:
        self._rules, self.title, self.legend = tuple(rules), title, legend

    def __getitem__(self, index: Any) -> Any:
        return self._rules[index]

    def __len__(self) -> int:
        return len(self._rules)

    def __str__(self) -> str:
        title, legend = wrap(f"{self.title}:", other=""), wrap(self.legend, other="")
        return "\n".join([title, *(rule.text(SHOWN) for rule in self), "", legend])

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

    def _repr_html_(self) -> str:
        def row(tag: str, cells: Iterable[str]) -> str:
            return "".join(f"<{tag} style='text-align:left'>{escape(c)}</{tag}>" for c in cells)

        cells = [rule.cells() for rule in self]
        head = row("th", cells[0] if cells else ())
        body = "".join(f"<tr>{row('td', one.values())}</tr>" for one in cells)
        return (
            f"<table><caption>{escape(self.title)}</caption><thead><tr>{head}</tr></thead>"
            f"<tbody>{body}</tbody></table><p>{escape(self.legend)}</p>"
        )


def read_rules(
    fitted: Fitted, units: Units, X: Array | None = None, *, top: int | None = None, system: int = 0
) -> Rules:
    """Return the heaviest rules of a system.

    Args:
        fitted: the systems.
        units: names and scales of inputs and target.
        X: scaled inputs (N, M) to weigh the rules on. Without them rules come in the order of
            their mean log firing on the training rows.
        top: how many rules; None for all.
        system: which of the systems.
    """
    if top is not None:
        whole("top", top)
    one = _pick(fitted, system)
    params, units = one.params, units.of_system(one)
    scaler, P = units.scaler, len(params["c"])
    slopes = scaler.y_std * params["a"] / scaler.x_std  # (P, M)
    intercepts = scaler.inverse_y(params["a0"]) - slopes @ scaler.x_mean
    weighed: dict[str, Array] = {}  # (P,) each
    if X is None:
        # the mean of the log firing over the training rows, whose scaled squares have mean 1
        order = np.argsort(((1 + params["c"] ** 2) / params["raw_sigma"] ** 2).sum(axis=1))
        title = (
            f"{len(order[:top])} of {P} rules, those that fire most on the training rows first "
            "(how often each leads is not known without rows: rules(X))"
        )
        seen = "mean of training -+ 2 spreads"
    else:
        n_given = len(X)
        X = _thinned(fitted.inputs(X, system), P)
        weights = output_weights(params, X, fitted.alphas)  # (N, P)
        said = (weights * consequents(params, X)).sum(axis=0)
        weighed = {
            "leads": np.bincount(np.argmax(weights, axis=1), minlength=P) / len(X),
            "share": weights.mean(axis=0),
            "typical": scaler.inverse_y(
                said / np.maximum(weights.sum(axis=0), np.finfo(float).tiny)
            ),
        }
        order = np.argsort(-weighed["share"], kind="stable")
        rows = f"{len(X)} rows" if len(X) == n_given else f"{len(X)} of {n_given} rows"
        title = f"{len(order[:top])} of {P} rules, by their weight on {rows}"
        if len(order[:top]) < P:
            title += f", with {percent(sum(weighed['share'][order[:top]]))} of it"
        seen = f"the middle 95 % of the {len(X)} rows"
    antecedents = read_antecedents(params, units, X)
    rules = [
        Rule(
            number=p + 1,
            antecedents=antecedents[p],
            intercept=float(intercepts[p]),
            slopes=tuple(slopes[p].tolist()),
            units=units,
            **{name: float(values[p]) for name, values in weighed.items()},
        )
        for p in order[:top].tolist()
    ]
    legend = (
        "A range is where the membership is at least half of its largest value; 'rather' is a "
        "preference that no value seen takes below half. [0.60] says how uncertain the sets are: "
        "the mean width of their footprint. An input is left out where its membership keeps "
        f"{percent(MATTERS)} of its largest value whatever it is, within {seen}; where the "
        "memberships of such inputs multiply to less, they are counted as 'together'."
    )
    return Rules(rules, title, legend)


def rule_weights(fitted: Fitted, X: Array, *, system: int = 0) -> Array:
    """Return the weights (N, P) of a system's rules in its outputs at scaled rows `X` (N, M)."""
    params = _pick(fitted, system).params
    return output_weights(params, fitted.inputs(X, system), fitted.alphas)


def _pick(fitted: Fitted, system: int) -> System:
    n = len(fitted.systems)
    if whole("system", system, 0) >= n:
        there = "one system" if n == 1 else f"{n} systems"
        raise ValueError(f"system must be at most {n - 1}: there is {there}, got {system}")
    return fitted.systems[system]


def _thinned(X: Array, n_rules: int) -> Array:
    """Return rows spread evenly over `X`, as many as can be weighed in seconds."""
    most = max(_MEMBERSHIPS // (n_rules * X.shape[1]), 1000)
    return X if len(X) <= most else X[np.linspace(0, len(X) - 1, most).round().astype(int)]


# -------------------------------------------------------------------------- explanations

_TERMS = 4  # rules that a sum names; the others are added up
_LEAST = 0.005  # a smaller weight would be printed as 0.00
_INPUTS = 12  # printed inputs of the row
_ROWS = 8  # printed rows of the table of rules
_JOINT = "\xa0"  # a space at which no line is broken


class Part(NamedTuple):
    """The prediction or one bound of the interval: a weighted mean of consequents, and a margin.

    ``weights @ consequents + margin`` is `value`, and the weights add up to 1.
    """

    name: str
    value: float
    weights: Array  # (P,), of the rules of all systems
    margin: float  # what is added to the weighted mean; negative for a lower bound
    alpha: float  # the plane; for the prediction, which mixes several, the widest of them
    fires: Array  # (2, P): lower and upper firing strengths in that plane


@dataclass(frozen=True, repr=False)
class Explanation:
    """A prediction, its interval and the rules that made both, in the units of the target.

    The prediction mixes planes: the one at alpha_k enters with alpha_k / sum(alphas), half of it
    for each endpoint, and the weight of a rule in it is the mean of its weights in those endpoints.
    A bound of the interval comes from one plane, where each rule takes its lower or its upper
    firing, whichever pulls the bound outwards. Several systems have equal parts: the weights of
    the rules of each add up to 1 / K. If intervals are margins around the prediction, a bound has
    the weights of the prediction, and all its distance from it is margin.
    """

    prediction: float
    lower: float
    upper: float
    coverage: float | None  # None if a plane was asked for
    consequents: Array  # (P,): what each rule says alone
    estimate: Part
    lower_end: Part
    upper_end: Part
    alphas: Array  # the planes of the prediction
    inputs: dict[str, float]  # the row
    labels: list[str]  # (P,): the number of each rule, or "system.number"
    conditions: list[str]  # (P,): where each rule applies, in words
    units: Units
    is_margin: bool = False  # whether the bounds are the prediction with a margin

    @property
    def parts(self) -> tuple[Part, Part, Part]:
        """The prediction, the lower and the upper bound."""
        return self.estimate, self.lower_end, self.upper_end

    def table(self) -> list[dict[str, Any]]:
        """Return a dict for each rule, the heaviest in the prediction first."""
        rows = []
        for p in np.argsort(-self.estimate.weights, kind="stable"):
            label = self.labels[p]
            rule = int(label) if label.isdigit() else label
            row: dict[str, Any] = {"rule": rule, "consequent": float(self.consequents[p])}
            for part in self.parts:
                row |= {
                    f"{part.name} weight": float(part.weights[p]),
                    f"{part.name} fires from": float(part.fires[0, p]),
                    f"{part.name} fires to": float(part.fires[1, p]),
                }
            rows.append(row)
        return rows

    def __str__(self) -> str:
        text = self.units.output
        kind = f"plane {self.lower_end.alpha:.3g}"
        if self.coverage is not None:
            kind = f"{100 * self.coverage:.4g} % interval"
        title = (
            f"{self.units.target}: prediction {text(self.prediction)}, "
            f"{kind} {text(self.lower)} to {text(self.upper)}"
        )
        row = [
            f"{name} {self.units.number(m, value)}"
            for m, (name, value) in enumerate(self.inputs.items())
        ]
        if left := len(row[_INPUTS:]):
            row[_INPUTS:] = [f"and {count(left, 'more input')}"]
        # the heaviest rules of the prediction and of either bound
        order = np.argsort(-self.estimate.weights, kind="stable")[:2].tolist()
        heaviest = dict.fromkeys([*order, *(int(part.weights.argmax()) for part in self.parts)])
        blocks = [
            [title, wrap(f"at {', '.join(row)}")],
            [self._sum(part) for part in self.parts],
            self._lines(),
            [wrap(f"rule {self.labels[p]} is for {self.conditions[p]}") for p in heaviest],
            [self._legend()],
        ]
        return "\n\n".join("\n".join(block) for block in blocks)

    __repr__ = __str__

    def _sum(self, part: Part) -> str:
        """Return a part as a sum of weights times consequents."""
        if np.isinf(part.value):
            return f"{part.name}: none, the interval is open there"

        def term(weight: float, said: float, rule: str) -> str:
            text = f"{weight:.2f} * {self.units.output(said)} ({rule})"
            return text.replace(" ", _JOINT)

        order = np.argsort(-part.weights, kind="stable")
        named = [p for p in order[:_TERMS] if part.weights[p] >= _LEAST]
        others = order[len(named) :]
        terms = [
            term(part.weights[p], self.consequents[p], f"rule {self.labels[p]}") for p in named
        ]
        if (rest := float(part.weights[others].sum())) >= _LEAST:
            mean = float(part.weights[others] @ self.consequents[others]) / rest
            terms.append(term(rest, mean, count(len(others), "other rule")))
        text = wrap(f"{part.name} {self.units.output(part.value)} = {' + '.join(terms)}")
        if part.margin:
            sign = "-" if part.margin < 0 else "+"
            why = "of this row" if self.is_margin else "calibration went beyond the planes"
            text += f"\n    {sign} {self.units.output(abs(part.margin))} (margin: {why})"
        return text.replace(_JOINT, " ")

    def _lines(self) -> list[str]:
        """Return the table of rules: consequents, firing strengths and weights."""
        planes = {part.alpha: part.fires for part in (self.lower_end, self.upper_end)}
        heads = ["rule", "says", *(f"fires at {alpha:.3g}" for alpha in planes)]
        rows = [[*heads, "in prediction", "lower end", "upper end"]]
        heaviest = np.max([part.weights for part in self.parts], axis=0)
        for p in np.argsort(-heaviest, kind="stable")[:_ROWS]:
            fires = [f"{low[p]:.2g} to {high[p]:.2g}" for low, high in planes.values()]
            weights = [f"{part.weights[p]:.3f}" for part in self.parts]
            rows.append([self.labels[p], self.units.output(self.consequents[p]), *fires, *weights])
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return ["  ".join(map(str.rjust, row, widths)) for row in rows]

    def _legend(self) -> str:
        planes = ", ".join(f"{alpha:.3g}" for alpha in self.alphas)
        lower, upper = self.lower_end.alpha, self.upper_end.alpha
        if self.is_margin:
            ends = "are the prediction with a margin that follows the width of the widest plane"
        elif lower == upper:
            ends = f"come from the plane alpha = {lower:.3g}"
        else:
            ends = f"come from planes of their own, {lower:.3g} and {upper:.3g}"
        text = (
            f"The prediction mixes the ends of the planes alpha = {planes}, each weighed by its "
            f"alpha; the ends of the interval {ends}. 'fires': the lower and upper "
            "strength of a rule there; an end of a plane takes whichever pulls it outwards."
        )
        if not self.labels[0].isdigit():
            text += " Rule 2.5 is rule 5 of system 2, see rules(system=2)."
        return wrap(text, other="")


def explain_row(
    fitted: Fitted,
    units: Units,
    X: Array,
    calibration: Calibration | None,
    coverage: float | None = None,
    alpha: float | None = None,
    group: Any = None,
) -> Explanation:
    """Return the explanation of one row.

    Args:
        fitted: the systems.
        units: names and scales.
        X: the scaled row (1, M).
        calibration: what maps `coverage` to planes; None if `alpha` is given.
        coverage: the level; None for 0.9, unless `alpha` is given.
        alpha: the plane of the interval instead of a level.
        group: the group of the row, if calibration was by groups.
    """
    scaler, alphas, planes = units.scaler, fitted.alphas, fitted.planes(X)
    if calibration is None:
        if coverage is not None:
            raise ValueError(f"give alpha or coverage, not both: got {alpha!r} and {coverage!r}")
        if group is not None:
            raise ValueError("group cannot be combined with alpha; pass coverage instead")
        alpha = between("alpha", alpha, ALPHA_0, 1, closed=True)
        bounds, cuts, is_margin = planes(alpha), [(alpha, 0.0)] * 2, False
    else:
        coverage = between("coverage", DEFAULT_COVERAGE if coverage is None else coverage, 0, 1)
        groups = None if group is None else read_groups([group])
        bounds = calibration.intervals(fitted.family(planes), coverage, groups)
        cuts = _cuts(calibration, coverage, groups and groups[0], planes.alpha_min)
        is_margin = fitted.margins is not None
    members = [(system.params, fitted.inputs(X, k)) for k, system in enumerate(fitted.systems)]

    def mean(weights: list[Array]) -> Array:  # every system has the same part
        return np.concatenate(weights) / len(members)

    def fires(alpha: float) -> Array:  # (2, P)
        return np.concatenate([firings(params, Z, alpha)[:, 0] for params, Z in members], axis=1)

    prediction, widest = float(scaler.inverse_y(planes.output(alphas))[0]), float(np.min(alphas))
    weights = mean([output_weights(params, Z, alphas)[0] for params, Z in members])
    estimate = Part("prediction", prediction, weights, 0.0, widest, fires(widest))
    ends = []
    for side, name in enumerate(("lower end", "upper end")):
        value = float(scaler.inverse_bounds(bounds[side])[0])
        if is_margin:
            ends.append(estimate._replace(name=name, value=value, margin=value - prediction))
            continue
        plane, beyond = cuts[side]
        margin = (-1, 1)[side] * beyond * scaler.y_std or 0.0  # no -0.0
        weights = mean([end_weights(params, Z, plane)[side, 0] for params, Z in members])
        ends.append(Part(name, value, weights, margin, plane, fires(plane)))
    labels, conditions = [], []
    for k in range(len(members)):
        for rule in sorted(read_rules(fitted, units, system=k), key=lambda rule: rule.number):
            labels.append(f"{rule.number}" if len(members) == 1 else f"{k}.{rule.number}")
            conditions.append(rule.condition(_TERMS))
    said = np.concatenate([consequents(params, Z)[0] for params, Z in members])
    row = (X[0] * scaler.x_std + scaler.x_mean).tolist()
    return Explanation(
        prediction=prediction,
        lower=ends[0].value,
        upper=ends[1].value,
        coverage=coverage,
        consequents=scaler.inverse_y(said),
        estimate=estimate,
        lower_end=ends[0],
        upper_end=ends[1],
        alphas=np.asarray(alphas, dtype=float),
        inputs=dict(zip(units.names, row, strict=True)),
        labels=labels,
        conditions=conditions,
        units=units,
        is_margin=is_margin,
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
