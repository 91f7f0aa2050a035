"""Antecedents and rules of fitted systems, in the units of the data.

`read_rules` and `rule_weights` take fitted systems and scaled rows; they are what
`GT2Regressor.rules` and `rule_weights` return. A prediction and both bounds of an interval are
weighted means of consequents; everything here follows from those weights.
"""

from __future__ import annotations

import math
import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any, NamedTuple

import numpy as np

from gt2lite._sklearn import check_fitted
from gt2lite._validation import Array, match_table, vector, whole
from gt2lite.datasets import Scaler
from gt2lite.memberships import kappa_of, log_firing, secondary
from gt2lite.selection import SPREAD, Fitted, System
from gt2lite.system import Params, constrain

MATTERS = 0.9
"""An input matters in a rule if its membership falls below this share of its largest value."""

SHOWN = 5
"""Inputs and terms of a rule in its short form."""

WIDTH = 100
"""Characters in a printed line."""

_MEMBERSHIPS = 10**7  # evaluated at most to weigh rules; of more rows an even selection is taken
_CHUNK_ELEMENTS = 2**18  # memberships handled at once: a few megabytes


# ----------------------------------------------------------------------- names and units


def middle(X: Array) -> Array:
    """Return the values (2, M) between which a rule is described: the middle 95% of scaled rows.

    A column of two values keeps both, however rare one is: scaled, their product is -1.

    >>> X = np.array([[0.0]] * 99 + [[1.0]])
    >>> middle((X - X.mean()) / X.std()).prod().round(9)
    np.float64(-1.0)
    """
    ends = np.stack([X.min(axis=0), X.max(axis=0)])
    some = X[:: max(len(X) // 10_000, 1)]  # quantiles of all rows would copy the table
    inner = np.quantile(some, [0.025, 0.975], axis=0)
    return np.where(two_valued(ends), ends, inner)


def two_valued(ends: Array) -> Any:
    """Return which columns (M,) of mean 0 and variance 1 take no value between their `ends`."""
    return np.isclose(ends[0] * ends[1], -1, rtol=1e-9)


class Units(NamedTuple):
    """Names and scales of the inputs and of the target, and the values seen in training."""

    names: tuple[str, ...]
    target: str
    scaler: Scaler
    seen: Array  # (2, M), see `middle`, in scaled units

    @classmethod
    def of(cls, reg: Any, names: Sequence[str] | None = None, target: str = "y") -> Units:
        """Return the units of a fitted estimator, with the names of its inputs or others."""
        seen = reg.__dict__.get("_seen")
        if seen is None:
            seen = np.outer([-2.0, 2.0], np.ones(reg.scaler_.x_mean.size))
        return cls(tuple(names or input_names(reg)), target, reg.scaler_, seen)

    def learned(self) -> Units:
        """Return the units of what the systems learn: with a log target, those of log(y)."""
        scaler = self.scaler
        return self._replace(
            target=scaler.learned_name(self.target), scaler=scaler.without_transform()
        )

    def of_system(self, system: System) -> Units:
        """Return the units of a system's inputs: those of the data, or ranks in percent."""
        if system.inputs == "scaled":
            return self
        M = len(self.names)
        return self._replace(
            names=tuple(f"rank of {name}" for name in self.names),
            scaler=replace(self.scaler, x_mean=np.full(M, 50.0), x_std=np.full(M, 100 * SPREAD)),
            seen=np.outer([-0.475, 0.475], np.ones(M)) / SPREAD,
        )

    def value(self, m: int, z: float) -> float:
        """Return a scaled value of input `m` in its own units."""
        return float(self.scaler.x_mean[m] + self.scaler.x_std[m] * z)

    def input(self, m: int, value: float) -> str:
        """Return a value of input `m` as text, rounded according to its standard deviation."""
        return number(value, 0.1 * float(self.scaler.x_std[m]))

    def output(self, value: float) -> str:
        """Return a value of the target as text, rounded according to its standard deviation.

        If logarithms are learned, it is rounded according to its size.
        """
        spread = self.scaler.y_std
        if self.scaler.without_transform() is not self.scaler:
            spread *= abs(value) or 1.0  # the standard deviation of log(y) is relative
        return number(value, 0.01 * spread)


def input_names(reg: Any) -> tuple[str, ...]:
    """Return the input names of a fitted estimator: those of its data frame, else x0, x1, ...

    The inputs of an encoded column are named after it, such as "city = Oslo". Columns
    that share a name are told apart by their numbers.
    """
    if hasattr(reg, "columns_"):
        return tuple(reg.columns_.names)
    names = getattr(reg, "feature_names_in_", None)
    if names is None:
        return tuple(f"x{m}" for m in range(reg.n_features_in_))
    times = Counter(names)
    return tuple(n if times[n] == 1 else f"{n} (column {m})" for m, n in enumerate(names))


def number(value: float, step: float, *, trim: bool = False) -> str:
    """Return a number as text, rounded to the decimal place of `step`, or to a whole number.

    >>> number(12.3456, 0.74), number(1013.2, 6.0), number(2.0, 0.01, trim=True)
    ('12.3', '1013', '2')
    """
    place = -math.floor(math.log10(step)) if 0 < step < math.inf else 0
    if not math.isfinite(value) or value == 0:
        return f"{value + 0.0:g}" if value or place <= 0 or trim else f"{0:.{min(place, 8)}f}"
    if place > 8 or abs(value) >= 1e15:
        digits = math.floor(math.log10(abs(value))) + 1 + place
        return f"{value:.{min(max(digits, 1), 17)}g}"
    place = max(place, 0)
    text = f"{round(value, place) + 0.0:.{place}f}"
    return text.rstrip("0").rstrip(".") if trim and place else text


def one_row(x: Any, estimator: Any) -> Array:
    """Return one row as a checked array (1, M), from M numbers, a labelled row or a table (1, M).

    Args:
        x: the row. The labels of a row of a data frame decide on the order of its values.
        estimator: the fitted estimator that the row is for.
    """
    check_fitted(estimator)
    if hasattr(estimator, "columns_") and hasattr(x, "to_frame"):
        x = x.to_frame().T  # a row of a data frame
    if hasattr(x, "columns") or hasattr(estimator, "columns_") or np.ndim(x) != 1:
        table = match_table(x, estimator)
        if len(table) != 1:
            raise ValueError(
                f"explain takes one row, got {len(table)}: pick one, such as X[0] or X.iloc[0]"
            )
        return table
    values = vector("x", x, estimator.n_features_in_)
    names, labels = getattr(estimator, "feature_names_in_", None), getattr(x, "index", None)
    if names is None or labels is None or callable(labels):  # lists have a method of that name
        return values[None]
    wanted, found = list(names), list(map(str, labels))
    if sorted(found) != sorted(wanted):
        raise ValueError(
            f"x is labelled {', '.join(found)}, but the inputs are {', '.join(wanted)}"
        )
    if found != wanted and len(set(wanted)) < len(wanted):
        twice = [name for name, times in Counter(wanted).items() if times > 1]
        raise ValueError(
            f"x must have its labels in the order of fit, because several columns are called "
            f"{', '.join(twice)}: rename them, or pass the numbers in that order"
        )
    return values[[found.index(name) for name in wanted]][None] if found != wanted else values[None]


# ------------------------------------------------------------------------------ text


def wrap(text: str, first: str = "", other: str = "    ") -> str:
    """Return a paragraph in printed lines that start with these indents."""
    return textwrap.fill(text, WIDTH, initial_indent=first, subsequent_indent=other)


def count(n: int, noun: str) -> str:
    """Return a number and a noun, such as "1 more input" and "3 more inputs"."""
    return f"{n} {noun}{'s' * (n > 1)}"


def html_table(title: str, rows: Sequence[dict[str, str]], note: str) -> str:
    """Return rows of text as a table in HTML, everything escaped."""

    def line(tag: str, cells: Iterable[str]) -> str:
        return "".join(f"<{tag} style='text-align:left'>{escape(c)}</{tag}>" for c in cells)

    head = line("th", rows[0] if rows else ())
    body = "".join(f"<tr>{line('td', row.values())}</tr>" for row in rows)
    return (
        f"<table><caption>{escape(title)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table><p>{escape(note)}</p>"
    )


def frame_of(content: Any, **options: Any) -> Any:
    """Return rows or columns as a pandas frame."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError(
            "a data frame needs pandas, which is not installed: pip install pandas, or use arrays "
            "and table() in place of as_frame=True and to_frame()"
        ) from error
    return pandas.DataFrame(content, **options)


# ------------------------------------------------------------------------------- weights


def consequents(params: Params, X: Array) -> Array:
    """Return the consequents (N, P): what each rule says alone, for scaled inputs `X` (N, M)."""
    return np.asarray(X @ params["a"].T + params["a0"])


@np.errstate(under="ignore")
def firings(params: Params, X: Array, alpha: float) -> Array:
    """Return the lower and upper firing strengths (2, N, P) of the plane `alpha`."""
    return np.exp(_log_firings(params, X, alpha))


@np.errstate(under="ignore")
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
def read_antecedents(params: Params, units: Units) -> list[tuple[Antecedent, ...]]:
    """Return the antecedents of every rule; `units` are those of the system."""
    c, sigma, s_l, s_r, _ = constrain(params)
    P, M = c.shape
    low, high = units.seen

    def log_mu(z: Array) -> Array:
        return -((z - c) ** 2) / (2 * M * sigma**2)

    peak = np.clip(c, low, high)  # (P, M), as all that follows
    least = np.exp(np.minimum(log_mu(low), log_mu(high)) - log_mu(peak))
    reach = np.sqrt((peak - c) ** 2 + 2 * M * sigma**2 * math.log(2))
    start, stop = np.maximum(c - reach, low), np.minimum(c + reach, high)
    grid = np.linspace(0, 1, 51)[:, None, None]
    lower, upper = secondary(np.exp(log_mu(start + grid * (stop - start))), 1.0, s_l, s_r)
    footprint = (upper - lower).mean(axis=0)
    has_two_values = two_valued(units.seen)

    def words(p: int, m: int) -> str:
        begin, end = start[p, m], stop[p, m]  # membership falls to one half there, or data ends
        from_, to, best = (units.input(m, units.value(m, z)) for z in (begin, end, peak[p, m]))
        from_low, to_high = begin <= low[m], end >= high[m]
        if has_two_values[m] and from_low != to_high:
            step = 1e-3 * float(units.scaler.x_std[m])
            return f"= {number(units.value(m, low[m] if from_low else high[m]), step, trim=True)}"
        if not from_low and not to_high:
            return f"about {from_} to {to}"
        if not from_low or not to_high:
            return f"below {to}" if from_low else f"above {from_}"
        place = (peak[p, m] - low[m]) / ((high[m] - low[m]) or 1.0)  # 0 to 1 among values seen
        if 1 / 3 <= place <= 2 / 3:
            return f"rather near {best}"
        return "rather low" if place < 1 / 3 else "rather high"

    def antecedent(p: int, m: int) -> Antecedent:
        low, high, peaks = (units.value(m, z[p, m]) for z in (start, stop, peak))
        shares = float(least[p, m]), float(footprint[p, m])
        return Antecedent(units.names[m], words(p, m), low, high, peaks, *shares)

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
        return f"leads on {self.leads:.1%} of the rows, {self.share:.1%} of the weight"

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
            cells |= {"leads": f"{self.leads:.1%}", "weight": f"{self.share:.1%}"}
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
        scaler, size = self.units.scaler, abs(self.slopes[m])
        largest = abs(float(scaler.x_mean[m])) + 2 * float(scaler.x_std[m])
        return number(size, min(0.01 * scaler.y_std / largest, 0.01 * size), trim=True)


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
        return frame_of(self.table()).set_index("rule")

    def _repr_html_(self) -> str:
        return html_table(self.title, [rule.cells() for rule in self], self.legend)


LEGEND = (
    "A range is where the membership is at least half of its largest value; 'rather' is a "
    "preference that no value seen takes below half. [0.60] says how uncertain the sets are: "
    "the mean width of their footprint. An input is left out where its membership keeps "
    f"{MATTERS:.0%} of its largest value within the middle 95% of the training rows; where the "
    "memberships of such inputs multiply to less, they are counted as 'together'."
)


def read_rules(
    fitted: Fitted, units: Units, X: Array | None = None, *, top: int | None = None, system: int = 0
) -> Rules:
    """Return the heaviest rules of a system.

    Args:
        fitted: the systems.
        units: names and scales of inputs and target.
        X: scaled inputs (N, M) to weigh the rules on. Without them rules come in the order of
            their mean log firing on the training rows. The words of a rule do not depend on them.
        top: how many rules; None for all.
        system: which of the systems.
    """
    if top is not None:
        whole("top", top)
    one = pick_system(fitted, system)
    params, units = one.params, units.learned().of_system(one)
    scaler, P = units.scaler, len(params["c"])
    slopes = scaler.y_std * params["a"] / scaler.x_std  # (P, M)
    intercepts = scaler.inverse_y(params["a0"]) - slopes @ scaler.x_mean
    weighed: dict[str, Array] = {}  # (P,) each
    if X is None:
        # the mean of the log firing over the training rows, whose scaled squares have mean 1
        order = np.argsort(((1 + params["c"] ** 2) / params["raw_sigma"] ** 2).sum(axis=1))[:top]
        title = (
            f"{len(order)} of {P} rules, those that fire most on the training rows first "
            "(how often each leads is not known without rows: rules(X))"
        )
    else:
        n_given = len(X)
        X = _thinned(fitted.inputs(X, system), P)
        weights = output_weights(params, X, fitted.alphas)  # (N, P)
        total = np.maximum(weights.sum(axis=0), np.finfo(float).tiny)
        weighed = {
            "leads": np.bincount(np.argmax(weights, axis=1), minlength=P) / len(X),
            "share": weights.mean(axis=0),
            "typical": scaler.inverse_y((weights * consequents(params, X)).sum(axis=0) / total),
        }
        order = np.argsort(-weighed["share"], kind="stable")[:top]
        rows = f"{len(X)} rows" if len(X) == n_given else f"{len(X)} of {n_given} rows"
        title = f"{len(order)} of {P} rules, by their weight on {rows}"
        if len(order) < P:
            title += f", with {weighed['share'][order].sum():.1%} of it"
    antecedents = read_antecedents(params, units)
    rules = [
        Rule(
            number=p + 1,
            antecedents=antecedents[p],
            intercept=float(intercepts[p]),
            slopes=tuple(slopes[p].tolist()),
            units=units,
            **{name: float(values[p]) for name, values in weighed.items()},
        )
        for p in order.tolist()
    ]
    return Rules(rules, title, LEGEND)


def rule_weights(fitted: Fitted, X: Array, *, system: int = 0) -> Array:
    """Return the weights (N, P) of a system's rules in its outputs at scaled rows `X` (N, M)."""
    params = pick_system(fitted, system).params
    return output_weights(params, fitted.inputs(X, system), fitted.alphas)


def pick_system(fitted: Fitted, system: int) -> System:
    """Return one of the systems by its number, counted from 0."""
    n = len(fitted.systems)
    if whole("system", system, 0) >= n:
        there = "one system" if n == 1 else f"{n} systems"
        raise ValueError(f"system must be at most {n - 1}: there is {there}, got {system}")
    return fitted.systems[system]


def _thinned(X: Array, n_rules: int) -> Array:
    """Return rows spread evenly over `X`, as many as can be weighed in seconds."""
    most = max(_MEMBERSHIPS // (n_rules * X.shape[1]), 1000)
    return X if len(X) <= most else X[np.linspace(0, len(X) - 1, most).round().astype(int)]
