"""Rules of fitted systems in the units of the data: reading, calibrating by, and editing them.

A prediction and both bounds of an interval are weighted means of consequents; everything here
follows from those weights. Functions take fitted systems (`Fitted`) and scaled rows; they are
behind `GT2Regressor.rules`, `rule_weights`, `calibrate(groups="rules")`, `with_rule`,
`without_rule` and `as_type1`.
"""

from __future__ import annotations

import math
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any, NamedTuple

import numpy as np

from gt2lite._sklearn import check_fitted
from gt2lite._validation import (
    Array,
    IntArray,
    Names,
    between,
    match_table,
    one_of,
    vector,
    whole,
)
from gt2lite.calibration import Margins
from gt2lite.datasets import Scaler
from gt2lite.memberships import ALPHA_0, kappa_of, log_firing, secondary
from gt2lite.metrics import covers, interval_score
from gt2lite.reduction import type_reduce
from gt2lite.selection import SPREAD, Fitted, System
from gt2lite.system import Params, constrain

MATTERS = 0.9
"""An input matters in a rule if its membership falls below this share of its largest value."""

SHOWN = 5
"""Inputs and terms of a rule in its short form."""

WIDTH = 100
"""Characters in a printed line."""

POOLED = "other rules"
"""Name of the group of rules that are calibrated together."""

TINY = np.finfo(float).tiny
_MEMBERSHIPS = 10**7  # evaluated at most to weigh rules; of more rows an even selection is taken
_COUNTED = 10**6  # the same for the rows that each rule leads on in training
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


class Flag(NamedTuple):
    """An input of two values, in words: "city" "is" "not Oslo" or "Oslo", "x0" "=" "0" or "1"."""

    subject: str
    verb: str
    low: str
    high: str

    @classmethod
    def of(cls, name: str, low: float, high: float, yes_no: bool) -> Flag:
        """Return the words for an input with these two values.

        >>> Flag.of("city = Oslo", 0, 1, False)
        Flag(subject='city', verb='is', low='not Oslo', high='Oslo')
        """
        column, equals, value = name.partition(" = ")
        if name.endswith(" is missing"):
            column, equals, value = name.removesuffix(" is missing"), "is", "missing"
        if equals and np.allclose([low, high], [0, 1], atol=1e-9):
            return cls(column, "is", f"not {value}", value)
        if yes_no:
            return cls(name, "=", "no", "yes")
        step = 1e-3 * (high - low)
        return cls(name, "=", number(low, step, trim=True), number(high, step, trim=True))


class Units(NamedTuple):
    """Names and scales of the inputs and of the target, and the values seen in training."""

    names: tuple[str, ...]
    target: str
    scaler: Scaler
    seen: Array  # (2, M), see `middle`, in scaled units
    flags: tuple[Flag | None, ...]  # of the inputs with two values

    @classmethod
    def of(
        cls, reg: Any, names: Sequence[str] | None = None, target: str = "y", columns: Any = None
    ) -> Units:
        """Return the units of a fitted estimator, with the names of its inputs or others.

        `columns`, of `gt2lite.columns`, are those of the estimator, unless another encoded them.
        """
        names, scaler = tuple(names or input_names(reg)), reg.scaler_
        seen = reg.__dict__.get("_seen")
        if seen is None:
            seen = np.outer([-2.0, 2.0], np.ones(len(names)))
        columns = columns or reg.__dict__.get("columns_")
        yes_no = [c.name for c in columns.used if c.kind == "yes/no"] if columns else []
        low, high = (scaler.x_mean + scaler.x_std * seen).tolist()
        flags = tuple(
            Flag.of(name, low[m], high[m], name in yes_no) if is_flag else None
            for m, (name, is_flag) in enumerate(zip(names, two_valued(seen), strict=True))
        )
        return cls(names, target, scaler, seen, flags)

    def learned(self) -> Units:
        """Return the units of what the systems learn: with a log target, those of log(y)."""
        target, scaler = self.scaler.learned_name(self.target), self.scaler.without_transform()
        return self._replace(target=target, scaler=scaler)

    def of_system(self, fitted: Fitted, system: int) -> Units:
        """Return the units of what one system learns; its inputs may be ranks, in percent."""
        units, M = self.learned(), len(self.names)
        if pick_system(fitted, system).inputs == "scaled" or fitted.ranks is None:
            return units
        ranks = np.outer([-0.475, 0.475], np.ones(M)) / SPREAD
        return units._replace(
            names=tuple(
                f"rank of {name}" if flag is None else name
                for name, flag in zip(self.names, self.flags, strict=True)
            ),
            scaler=replace(units.scaler, x_mean=np.full(M, 50.0), x_std=np.full(M, 100 * SPREAD)),
            seen=np.where(two_valued(self.seen), fitted.ranks.transform(self.seen), ranks),
        )

    def input(self, m: int, value: float) -> str:
        """Return a value of input `m` as text, rounded according to its standard deviation."""
        return number(value, 0.1 * float(self.scaler.x_std[m]))

    def row(self, x: Array, places: Mapping[str, Any]) -> dict[str, str]:
        """Return a scaled row (M,) as text, given the columns of each input.

        Of inputs with several columns of two values, those that are on are named.
        """
        values, found = self.scaler.x_mean + self.scaler.x_std * x, {}
        for name, columns in places.items():
            texts, several = [], len(columns) > 1
            for m in columns:
                flag, text = self.flags[m], self.input(m, float(values[m]))
                if flag is not None and np.isclose(x[m], self.seen[1, m]):
                    text = flag.subject if several and flag.verb == "=" else flag.high
                elif flag is not None and np.isclose(x[m], self.seen[0, m]):
                    text = "" if several else flag.low
                texts.append(text)
            found[name] = ", ".join(filter(None, texts)) or "other"
        return found

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
    that share a name are distinguished by their numbers.
    """
    if hasattr(reg, "columns_"):
        return tuple(reg.columns_.names)
    names = getattr(reg, "feature_names_in_", None)
    if names is None:
        return tuple(f"x{m}" for m in range(reg.n_features_in_))
    times = Counter(names)
    return tuple(n if times[n] == 1 else f"{n} (column {m})" for m, n in enumerate(names))


def find_input(argument: str, which: Any, names: Sequence[str]) -> int:
    """Return the number of an input, given that or its name, in an `argument` of that name."""
    if isinstance(which, str):
        return names.index(one_of(argument, which, names))
    return whole(argument, which, 0, len(names) - 1)


def number(value: float, step: float, *, trim: bool = False) -> str:
    """Return a number as text, rounded to the decimal place of `step`, or to a whole number.

    >>> number(12.3456, 0.74), number(1013.2, 6.0), number(2.0, 0.01, trim=True)
    ('12.3', '1013', '2')
    """
    place = -math.floor(math.log10(step)) if 0 < step < math.inf else 0
    if value and math.isfinite(value) and (place > 8 or abs(value) >= 1e15):
        digits = math.floor(math.log10(abs(value))) + 1 + place
        return f"{value:.{min(max(digits, 1), 17)}g}"
    place = min(max(place, 0), 8)
    text = f"{round(value, place) + 0.0:.{place}f}"
    return text.rstrip("0").rstrip(".") if trim and place else text


def row_table(x: Any, estimator: Any) -> Any:
    """Return one row as a table (1, M), from M numbers, a labelled row or a table.

    The labels of a row of a data frame decide on the order of its values.
    """
    check_fitted(estimator)
    names = getattr(estimator, "feature_names_in_", None)
    if hasattr(x, "to_frame") and names is not None:
        if x.index.is_unique and set(x.index) == set(names):
            x = x[list(names)]
        return x.to_frame().T.infer_objects()
    if np.ndim(x) == 1 and not hasattr(estimator, "columns_"):
        return named_table(vector("x", x, estimator.n_features_in_)[None], names)
    return x


def one_row(x: Any, estimator: Any) -> Array:
    """Return one row, see `row_table`, as a checked array (1, M) of numbers."""
    table = match_table(row_table(x, estimator), estimator)
    if len(table) != 1:
        raise ValueError(
            f"explain takes one row, got {len(table)}: pick one, such as X[0] or X.iloc[0]"
        )
    return table


def named_table(values: Array, names: Names | None) -> Any:
    """Return rows (N, M) as a pandas frame, if an estimator was trained on columns with names."""
    return values if names is None else frame_of(values, columns=names)


# ------------------------------------------------------------------------------ text


Rows = list[dict[str, Any]]

JOINT = "\xa0"
"""A space at which no line is broken."""


def wrap(text: str, first: str = "", other: str = "    ") -> str:
    """Return a paragraph in printed lines that start with these indents."""
    return textwrap.fill(text, WIDTH, initial_indent=first, subsequent_indent=other)


def count(n: int, noun: str) -> str:
    """Return a number and a noun, such as "1 more input" and "3 more inputs"."""
    return f"{n} {noun}{'s' * (n > 1)}"


class Printed:
    """Numbers that print as a table of text between notes, also in notebooks."""

    def __init__(self, table: Rows, cells: Rows, before: list[str], after: list[str]) -> None:
        self._table, self._cells, self._notes = table, cells, (before, after)

    def table(self) -> Rows:
        """Return all numbers as rows, the most important first."""
        return self._table

    def cells(self) -> Rows:
        """Return the short form of `table` as text."""
        return self._cells

    def notes(self) -> tuple[list[str], list[str]]:
        """Return the sentences before and after the table."""
        return self._notes

    def to_frame(self) -> Any:
        """Return `table` as a pandas frame."""
        frame = frame_of(self.table())
        return frame.set_index(frame.columns[0])

    def __str__(self) -> str:
        rows = self.cells()
        lines = [list(rows[0]), *(list(row.values()) for row in rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        table = "\n".join("  ".join(map(str.rjust, line, widths)).rstrip() for line in lines)
        before, after = (
            "\n".join(wrap(note).replace(JOINT, " ") for note in notes) for notes in self.notes()
        )
        return "\n\n".join(filter(None, [before, table, after]))

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str | None:
        (before, after), rows = self.notes(), self.cells()
        if not rows:
            return None  # a notebook shows the text then
        lines = [("th", rows[0]), *(("td", row.values()) for row in rows)]
        body = ""
        for tag, cells in lines:
            texts = (f"<{tag} style='text-align:left'>{escape(cell)}</{tag}>" for cell in cells)
            body += f"<tr>{''.join(texts)}</tr>"
        title, note = escape(" ".join(before)), escape(" ".join(after))
        return f"<p>{title}</p><table>{body}</table><p>{note}</p>"


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
def end_weights(params: Params, X: Array, alpha: float) -> Array:
    """Return the weights (2, N, P) of the rules in both endpoints of the plane `alpha`.

    They add up to 1 in each row; the endpoints are their products with the consequents.

    >>> ones = np.ones((2, 1))
    >>> params = {"c": np.array([[-1.0], [1.0]]), "raw_sigma": ones, "raw_l": np.zeros(1),
    ...           "raw_r": np.zeros(1), "a": 0 * ones, "a0": np.array([2.0, 5.0])}
    >>> end_weights(params, np.array([[0.0]]), alpha=1.0)[0]  # halfway, and of type 1
    array([[0.5, 0.5]])
    """
    log_lower, log_upper = log_firing(X, *constrain(params)[:4], kappa_of(alpha))
    top = log_upper.max(axis=1, keepdims=True)  # a common factor does not matter
    upper = np.exp(log_upper - top)
    lower = np.minimum(np.exp(log_lower - top), upper)  # rounding may exchange them
    y = consequents(params, X)
    y_l, y_r = (end[:, None] for end in type_reduce(lower, upper, y))
    # rules beyond an endpoint take the upper firing; so may those at it, to within rounding
    near = 64 * np.finfo(float).eps * np.abs(y).max(axis=1, keepdims=True)
    outside = np.stack([y <= y_l + near, y >= y_r - near])
    weights = np.where(outside, upper, lower)
    return weights / weights.sum(axis=2, keepdims=True)


def rule_weights(fitted: Fitted, X: Array, *, system: int = 0) -> Array:
    """Return the weights (N, P) of a system's rules in its outputs at scaled rows `X` (N, M).

    A plane alpha_k enters with ``alpha_k / sum(alphas)``, one half of it for each endpoint.
    """
    params, Z, alphas = pick_system(fitted, system).params, fitted.inputs(X, system), fitted.alphas
    shares = np.asarray(alphas, dtype=float) / (2 * np.sum(alphas))
    weights = np.zeros((len(X), len(params["c"])))
    size = max(_CHUNK_ELEMENTS // params["c"].size, 1)
    for start in range(0, len(X), size):
        rows = slice(start, start + size)
        for alpha, share in zip(alphas, shares, strict=True):
            weights[rows] += share * end_weights(params, Z[rows], float(alpha)).sum(axis=0)
    return weights


# --------------------------------------------------------------------------- antecedents


class Antecedent(NamedTuple):
    """One input in a rule: where the rule applies, in the units of the input.

    From `low` to `high` the membership is at least half of its largest value, that at `peak`,
    among the values seen. `least` is the smallest membership there, as a share of the largest.
    `footprint` says how uncertain the set is: the mean width of its widest plane between `low`
    and `high`, 0 for a type-1 set.
    """

    input: str
    text: str  # such as "temperature below 19" or "city is not Oslo", whether it matters or not
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
        """The range without the name of the input; "any" if the input does not matter."""
        return self.text.removeprefix(f"{self.input} ") if self.matters else "any"


@np.errstate(under="ignore")
def read_antecedents(params: Params, units: Units) -> list[tuple[Antecedent, ...]]:
    """Return the antecedents of every rule; `units` are those of the system."""
    c, sigma, s_l, s_r, _ = constrain(params)
    P, M = c.shape
    low, high = units.seen

    def log_mu(z: Array) -> Array:
        return -((z - c) ** 2) / (2 * M * sigma**2)

    # (P, M), as all that follows; an input of two values takes none in between
    nearer = np.where(log_mu(high) > log_mu(low), high, low)
    is_flag = [flag is not None for flag in units.flags]
    peak = np.where(is_flag, nearer, np.clip(c, low, high))
    least = np.exp(np.minimum(log_mu(low), log_mu(high)) - log_mu(peak))
    reach = np.sqrt((peak - c) ** 2 + 2 * M * sigma**2 * math.log(2))
    # where the membership falls to one half, or data end
    start, stop = np.maximum(c - reach, low), np.minimum(c + reach, high)
    from_low, to_high = start <= low, stop >= high
    place = (peak - low) / np.where(high > low, high - low, 1.0)  # 0 to 1 among values seen
    grid = np.linspace(0, 1, 51)[:, None, None]
    lower, upper = secondary(np.exp(log_mu(start + grid * (stop - start))), 1.0, s_l, s_r)
    footprint = (upper - lower).mean(axis=0)
    begin, end, best = (units.scaler.x_mean + units.scaler.x_std * z for z in (start, stop, peak))

    def text(p: int, m: int) -> str:
        any_half = from_low[p, m] and to_high[p, m]  # the membership is nowhere below one half
        if (flag := units.flags[m]) is not None:
            verb = "rather" if any_half else flag.verb
            return f"{flag.subject} {verb} {flag.high if peak[p, m] == high[m] else flag.low}"
        begins, ends, near = (units.input(m, values[p, m]) for values in (begin, end, best))
        if any_half and 1 / 3 <= place[p, m] <= 2 / 3:
            words = f"rather near {near}"
        elif any_half:
            words = "rather low" if place[p, m] < 1 / 3 else "rather high"
        elif from_low[p, m]:
            words = f"below {ends}"
        else:
            words = f"above {begins}" if to_high[p, m] else f"about {begins} to {ends}"
        return f"{units.names[m]} {words}"

    numbers = np.stack([begin, end, best, least, footprint], axis=2).tolist()
    return [
        tuple(Antecedent(units.names[m], text(p, m), *numbers[p][m]) for m in range(M))
        for p in range(P)
    ]


# --------------------------------------------------------------------------------- rules


@dataclass(frozen=True)
class Rule:
    """One rule: if its antecedents hold, the target is about its formula.

    Methods with `most` show so many inputs or terms, those that matter most; None for all.

    Without rows all that follows `units` is None. `width`, `times` and `covered` need intervals,
    `covered` needs targets, too, and `n_calibrated` a calibration by rules.
    """

    number: int  # counted from 1, as `explain` and the figures do
    antecedents: tuple[Antecedent, ...]  # one for each input
    intercept: float
    slopes: tuple[float, ...]  # one for each input
    units: Units = field(repr=False)
    leads: float | None = None  # share of rows on which it weighs more than any other rule
    share: float | None = None  # mean share of the weight
    typical: float | None = None  # mean of its consequent, rows weighted by the rule
    width: float | None = None  # mean width of intervals, rows weighted by the rule
    times: float | None = None  # its ratio to the mean width of all rows
    covered: float | None = None  # share of the rows on which it leads that intervals cover
    n_calibrated: int | None = None  # calibration rows of its group
    pooled: bool = False  # whether it shares that group with other rules

    def condition(self, most: int | None = None) -> str:
        """Return the inputs that matter and where, and in brackets their mean footprint."""
        by_need = sorted(self.antecedents, key=lambda a: a.least)
        decisive = [a for a in by_need if a.matters]
        others = by_need[len(decisive) :]
        joint = math.prod(a.least for a in others) < MATTERS  # they matter only together
        if not decisive:
            first = ", ".join(a.text for a in others[:3])
            return f"{len(others)} inputs together, most of all {first}" if joint else "any input"
        shown = [a.text for a in decisive[:most]]
        if left := len(decisive) - len(shown):
            shown.append(f"and {count(left, 'more input')}")
        if joint:
            shown.append(f"and {len(others)} others together")
        return f"{', '.join(shown)} [{np.mean([a.footprint for a in decisive]):.2f}]"

    def formula(self, most: int | None = None) -> str:
        """Return the consequent in the units of the data, other inputs at their training mean."""
        units, scaler = self.units, self.units.scaler
        moves = -np.abs(self.slopes) * scaler.x_std
        kept = set(np.argsort(moves, kind="stable")[:most].tolist())
        used = [m for m, slope in enumerate(self.slopes) if slope]
        held = [m for m in used if m not in kept]
        constant = self.intercept + sum(self.slopes[m] * float(scaler.x_mean[m]) for m in held)
        text = f"{units.target} = {units.output(constant)}"
        for m in used:
            if m in kept:
                size, flag, name = abs(self.slopes[m]), units.flags[m], units.names[m]
                # digits enough for the formula to be right wherever there is data
                largest = abs(float(scaler.x_mean[m])) + 2 * float(scaler.x_std[m])
                slope = number(size, min(0.01 * scaler.y_std / largest, 0.01 * size), trim=True)
                if flag is not None and flag.verb == "is":
                    name = f"({flag.subject} is {flag.high})"
                text += f" {'-' if self.slopes[m] < 0 else '+'} {slope} {name}"
        return text + (f" ({count(len(held), 'more input')} at the mean)" if held else "")

    def text(self, most: int | None = None) -> str:
        """Return the rule in three or four lines or, if they are long, in more."""
        title, then, width = f"Rule {self.number}", self.formula(most), []
        if self.leads is not None and self.share is not None and self.typical is not None:
            title += f": leads on {self.leads:.1%} of the rows, {self.share:.1%} of the weight"
            then += f"; typically {self.units.output(self.typical)}"
        if self.width is not None:
            width.append(f"{number(self.width, self.width / 100)}, {self.times:.2f} of the mean")
        if self.covered is not None:
            width.append(f"covers {self.covered:.1%} of the rows on which it leads")
        if self.n_calibrated is not None:
            shared = ", shared with other rules" if self.pooled else ""
            width.append(count(self.n_calibrated, "calibration row") + shared)
        lines = {"if": self.condition(most), "then": then, "width": "; ".join(width)}
        shown = [wrap(text, f"  {word:5} ", " " * 8) for word, text in lines.items() if text]
        return "\n".join([title, *shown])

    def __str__(self) -> str:
        return self.text()

    def row(self) -> dict[str, Any]:
        """Return all numbers of the rule as one row of a table."""
        weighed = ("leads", "share", "typical", "width", "times", "covered", "n_calibrated")
        row = {"rule": self.number} | {name: getattr(self, name) for name in weighed}
        row["intercept"] = self.intercept
        for one, slope in zip(self.antecedents, self.slopes, strict=True):
            row |= {
                one.input: one.words,
                f"{one.input} from": one.low,
                f"{one.input} to": one.high,
                f"{one.input} footprint": one.footprint,
                f"{one.input} slope": slope,
            }
        return row


class Rules(Printed, Sequence[Rule]):
    """Rules of a system, and how they print: a title, each rule in its short form, a legend."""

    def __init__(self, rules: Sequence[Rule], title: str, legend: str) -> None:
        self._rules = tuple(rules)
        super().__init__([rule.row() for rule in rules], [], [title], [legend])

    def __getitem__(self, index: Any) -> Any:
        return self._rules[index]

    def __len__(self) -> int:
        return len(self._rules)

    def __str__(self) -> str:
        (title,), (legend,) = self.notes()
        rules = [rule.text(SHOWN) for rule in self]
        return "\n".join([wrap(f"{title}:", other=""), *rules, "", wrap(legend, other="")])


LEGEND = (
    "A range is where the membership is at least half of its largest value; 'rather' is a "
    "preference that no value seen takes below half. [0.60] says how uncertain the sets are: "
    "the mean width of their footprint. An input is left out where its membership keeps "
    f"{MATTERS:.0%} of its largest value within the middle 95% of the training rows; where the "
    "memberships of such inputs multiply to less, they are counted as 'together'."
)


class Intervals(NamedTuple):
    """Prediction intervals (N,) at some rows, their kind in words, and targets (N,) if known."""

    lower: Array
    upper: Array
    kind: str
    y: Array | None = None


def read_rules(
    fitted: Fitted,
    units: Units,
    X: Array | None = None,
    *,
    top: int | None = None,
    system: int = 0,
    intervals: Intervals | None = None,
    groups: RuleGroups | None = None,
    sizes: Mapping[Any, int] | None = None,
) -> Rules:
    """Return the heaviest rules of a system; arguments as in `GT2Regressor.rules`.

    `X` are scaled inputs (N, M), `intervals` those at these rows, in units of y. After a
    calibration by rules of this system, `groups` has its groups and `sizes` their rows.
    """
    if top is not None:
        whole("top", top)
    params, units = pick_system(fitted, system).params, units.of_system(fitted, system)
    slopes, intercepts = user_consequents(params, units.scaler)
    P, legend = len(slopes), LEGEND
    weighed: dict[str, Array] = {}  # (P,) each
    if X is None:
        # the mean of the log firing over the training rows, whose scaled squares have mean 1
        order = np.argsort(((1 + params["c"] ** 2) / params["raw_sigma"] ** 2).sum(axis=1))[:top]
        title = (
            f"{len(order)} of {P} rules, those that fire most on the training rows first "
            "(how often each leads is not known without rows: rules(X))"
        )
    else:
        rows = even_rows(len(X), _MEMBERSHIPS // params["c"].size)
        weights = rule_weights(fitted, X[rows], system=system)  # (N, P)
        said = consequents(params, fitted.inputs(X[rows], system))
        total, leader = np.maximum(weights.sum(axis=0), TINY), weights.argmax(axis=1)
        led = np.bincount(leader, minlength=P)
        weighed = {
            "leads": led / len(rows),
            "share": weights.mean(axis=0),
            "typical": units.scaler.inverse_y((weights * said).sum(axis=0) / total),
        }
        if intervals is not None:
            lower, upper = intervals.lower[rows], intervals.upper[rows]
            if np.isfinite(upper - lower).all():
                weighed["width"] = weights.T @ (upper - lower) / total
                weighed["times"] = weighed["width"] / (np.mean(upper - lower) or 1.0)
                legend += f" 'width': the mean of {intervals.kind}, each row weighted by the rule."
            if intervals.y is not None:
                y = intervals.y[rows]
                hit = np.bincount(leader, (lower <= y) & (y <= upper), minlength=P)  # may be open
                weighed["covered"] = np.where(led > 0, hit / np.maximum(led, 1), np.nan)
        order = np.argsort(-weighed["share"], kind="stable")[:top]
        some = f"{len(rows)} rows" if len(rows) == len(X) else f"{len(rows)} of {len(X)} rows"
        title = f"{len(order)} of {P} rules, by their weight on {some}"
        if len(order) < P:
            title += f", with {weighed['share'][order].sum():.1%} of it"
    if groups is not None:
        title += groups.note(P)
    antecedents, rules = read_antecedents(params, units), []
    for p in order.tolist():
        found: dict[str, Any] = {name: float(values[p]) for name, values in weighed.items()}
        if np.isnan(found.get("covered", 0.0)):
            del found["covered"]  # it leads on none of these rows
        if groups is not None and sizes is not None:
            label = groups.label(p + 1)
            found |= {"n_calibrated": sizes.get(label, 0), "pooled": label == POOLED}
        slope = tuple(slopes[p].tolist())
        rules.append(Rule(p + 1, antecedents[p], float(intercepts[p]), slope, units, **found))
    return Rules(rules, title, legend)


def user_consequents(params: Params, scaler: Scaler) -> tuple[Array, Array]:
    """Return the slopes (P, M) and intercepts (P,) of the consequents in the units of the data."""
    slopes = scaler.y_std * params["a"] / scaler.x_std
    return slopes, scaler.inverse_y(params["a0"]) - slopes @ scaler.x_mean


def pick_system(fitted: Fitted, system: int) -> System:
    """Return one of the systems by its number, counted from 0."""
    return fitted.systems[whole("system", system, 0, len(fitted.systems) - 1)]


def even_rows(n_rows: int, most: int) -> IntArray:
    """Return the numbers of at most `most` evenly spaced rows, but not fewer than 1,000."""
    n = min(n_rows, max(most, 1000))
    return np.linspace(0, n_rows - 1, n).round().astype(int)


# ------------------------------------------------------------------ calibration by rules


class ByRule(NamedTuple):
    """A request for calibration by leading rule: of which system, and the size of groups."""

    system: int = 0
    min_rows: int = 50


class RuleGroups(NamedTuple):
    """Groups of rows by their leading rule: some rules have their own group, the others share one.

    The group of a row depends on its inputs, on training and on the number of calibration rows,
    so that group-conditional conformal calibration applies.
    """

    system: int
    own: tuple[int, ...]  # numbers of the rules with a group of their own, counted from 1

    @classmethod
    def choose(cls, fitted: Fitted, n_rows: int, request: ByRule) -> RuleGroups:
        """Return the groups for `n_rows` calibration rows, see `GT2Regressor.calibrate`.

        The shared group takes in further rules, the rarest first, until `min_rows` calibration
        rows are to be expected there, too.
        """
        leads = pick_system(fitted, request.system).leads
        least = whole("min_rows", request.min_rows)
        if leads is None:
            raise ValueError(
                'groups="rules" needs the training rows of each rule, which this model lacks: fit '
                "it again"
            )
        expected = n_rows * leads / leads.sum()  # (P,)
        order = np.argsort(expected, kind="stable")
        n_pooled = int((expected < least).sum())
        while 0 < n_pooled < len(order) and expected[order[:n_pooled]].sum() < least:
            n_pooled += 1
        return cls(request.system, tuple(sorted((order[n_pooled:] + 1).tolist())))

    def label(self, rule: int) -> int | str:
        """Return the group of a rule: its number, or "other rules"."""
        return rule if rule in self.own else POOLED

    def labels(self, fitted: Fitted, X: Array) -> list[int | str]:
        """Return the group of each scaled row of `X` (N, M)."""
        leader = rule_weights(fitted, X, system=self.system).argmax(axis=1) + 1
        return [self.label(rule) for rule in leader.tolist()]

    def note(self, n_rules: int) -> str:
        """Return which rules are calibrated together, in words."""
        pooled = [str(p) for p in range(1, n_rules + 1) if p not in self.own]
        if not pooled:
            return "; calibrated rule by rule"
        return (
            f"; calibrated rule by rule, except rules {', '.join(pooled)}, which lead on too few "
            "training rows and are calibrated together"
        )


def read_by_rule(groups: Any, options: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return the groups and options of `calibrate`, with groups="rules" as a request.

    >>> read_by_rule("rules", {"system": 1, "small_groups": "pool"})
    (ByRule(system=1, min_rows=50), {'small_groups': 'pool'})
    """
    if not isinstance(groups, str):
        return groups, dict(options)
    one_of("groups", groups, ["rules"])
    asked = {name: value for name, value in options.items() if name in ByRule._fields}
    return ByRule(**asked), {name: options[name] for name in options.keys() - asked.keys()}


def count_leads(fitted: Fitted, X: Array) -> Fitted:
    """Return the systems with the numbers of training rows on which each of their rules leads."""
    counted = []
    for k, system in enumerate(fitted.systems):
        rows = even_rows(len(X), _COUNTED // system.params["c"].size)
        leader = rule_weights(fitted, X[rows], system=k).argmax(axis=1)
        leads = np.bincount(leader, minlength=len(system.params["c"]))
        counted.append(system._replace(leads=leads))
    return fitted._replace(systems=tuple(counted))


# --------------------------------------------------------------------------- edited systems


def edit_rule(
    fitted: Fitted,
    units: Units,
    k: int,
    system: int,
    centres: Mapping[Any, float] | None,
    widths: Mapping[Any, float] | None,
    intercept: float | None,
    slopes: Mapping[Any, float] | None,
) -> Fitted:
    """Return the systems with one rule changed; arguments as in `GT2Regressor.with_rule`."""
    one, p = pick_rule(fitted, k, system)
    units = units.of_system(fitted, system)
    scaler, M = units.scaler, len(units.names)
    params = {name: value.copy() for name, value in one.params.items()}

    def changes(
        name: str, given: Mapping[Any, float] | None, low: float = -np.inf
    ) -> Iterator[tuple[int, float]]:
        for key, value in (given or {}).items():
            m = find_input(f"each input in {name}", key, units.names)
            yield m, between(f"{name}[{key!r}]", value, low, np.inf)

    for m, value in changes("centres", centres):
        params["c"][p, m] = (value - scaler.x_mean[m]) / scaler.x_std[m]
    for m, value in changes("widths", widths, 0):
        params["raw_sigma"][p, m] = value / scaler.x_std[m] / np.sqrt(8 * M * math.log(2))
    if intercept is not None or slopes is not None:
        all_slopes, intercepts = user_consequents(params, scaler)
        slope = all_slopes[p]
        for m, value in changes("slopes", slopes):
            slope[m] = value
        constant = intercepts[p] if intercept is None else intercept
        at_mean = between("intercept", constant, -np.inf, np.inf) + slope @ scaler.x_mean
        params["a"][p] = slope * scaler.x_std / scaler.y_std
        params["a0"][p] = (at_mean - scaler.y_mean) / scaler.y_std
    return replace_system(fitted, system, one._replace(params=params))


def drop_rule(fitted: Fitted, k: int, system: int) -> Fitted:
    """Return the systems with one rule left out of one of them."""
    one, p = pick_rule(fitted, k, system)
    if (P := len(one.params["c"])) == 1:
        raise ValueError("k is the only rule of its system, which cannot be dropped")
    by_rule = ("c", "raw_sigma", "a", "a0")
    params = {n: np.delete(v, p, axis=0) if n in by_rule else v for n, v in one.params.items()}
    recipe = replace(one.recipe, n_rules=P - 1)
    leads = None if one.leads is None else np.delete(one.leads, p)
    return replace_system(fitted, system, one._replace(params=params, recipe=recipe, leads=leads))


def one_plane(fitted: Fitted, alpha: float, X: Array | None) -> Fitted:
    """Return the systems reduced to one plane, with intervals as margins around their output.

    At alpha = 1 they are type-1 systems, with the same margin for all rows; below, interval
    type-2 systems, whose margins are proportional to the width of the plane. The mean width at
    scaled rows `X` (N, M) is the usual one; they are not needed if alpha is 1.
    """
    kappa = float(kappa_of(between("alpha", alpha, ALPHA_0, 1, closed=True)))

    def reduced(system: System) -> System:
        params = dict(system.params)
        for name, s in zip(("raw_l", "raw_r"), constrain(params)[2:4], strict=True):
            s = kappa * s[: params[name].size]  # of one share for all inputs, the first
            params[name] = np.log(np.maximum(s, TINY)) - np.log1p(-np.minimum(s, 1 - 1e-16))
        return system._replace(params=params, recipe=replace(system.recipe, alphas=(ALPHA_0,)))

    fitted = fitted._replace(systems=tuple(map(reduced, fitted.systems)), sides="both")
    if kappa == 0:
        return fitted._replace(margins=Margins(0.0, 1.0))
    if X is None:
        raise ValueError(
            "a loaded estimator has no training rows, whose widths are needed: fit it again"
        )
    return fitted.with_margins(1.0, X)


def pick_rule(fitted: Fitted, k: int, system: int) -> tuple[System, int]:
    """Return a system and the place of its rule `k`, counted from 1."""
    one = pick_system(fitted, system)
    return one, whole("k", k, 1, len(one.params["c"])) - 1


def replace_system(fitted: Fitted, system: int, new: System) -> Fitted:
    """Return the systems with one of them replaced."""
    before, after = fitted.systems[:system], fitted.systems[system + 1 :]
    return fitted._replace(systems=(*before, new, *after))


class Comparison(Printed):
    """Intervals of two estimators side by side: in all rows, and by leading rule.

    `leader` (N,) is the rule that leads in each row, `bounds` are lower and upper bounds (N,) of
    both estimators, and `text` formats a number in units of the target.
    """

    def __init__(
        self,
        coverage: float,
        leader: IntArray,
        y: Array,
        bounds: Sequence[tuple[Array, Array]],
        text: Callable[[float], str],
    ) -> None:
        where = {"all rows": np.full(len(y), True)}
        where |= {f"rule {k} leads": leader == k for k in np.unique(leader).tolist()}
        rows, cells = [], []
        for name, here in where.items():
            row: dict[str, Any] = {"where": name, "rows": int(here.sum())}
            cell = {"where": name, "rows": f"{here.sum()}"}
            for new, ends in zip(("", "new "), bounds, strict=True):
                target, lower, upper = (values[here] for values in (y, *ends))
                width = float(np.mean(upper - lower))
                score = interval_score(target, lower, upper, coverage=coverage)
                covered = float(covers(target, lower, upper).mean())
                row |= {f"{new}width": width, f"{new}score": score, f"{new}covered": covered}
                cell |= {f"{new}width": text(width), f"{new}score": text(score)}
                cell[f"{new}covered"] = f"{covered:.1%}"
            rows.append(row)
            cells.append(cell)
        super().__init__(rows, cells, [f"{100 * coverage:.4g}% intervals:"], [])
