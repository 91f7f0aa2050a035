"""Rules of fitted systems in the units of the data: reading and editing them.

These functions are behind `GT2Regressor.rules`, `with_rule`, `without_rule` and `as_type1`. The
weights of rules, from which everything follows, are in `gt2lite.practice.weights`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from gt2lite._validation import Array, IntArray, between, one_of, whole
from gt2lite.datasets import Scaler
from gt2lite.memberships import ALPHA_0, kappa_of, secondary
from gt2lite.practice.calibrators import GroupCalibrator
from gt2lite.practice.margins import Margins
from gt2lite.practice.model import SPREAD, Ensemble, Model, System, two_valued
from gt2lite.practice.printing import PrintedItems, Rows, count, number, wrap
from gt2lite.practice.types import ByInput, Encoding, Record
from gt2lite.practice.weights import POOLED, consequents, even_rows, rule_weights
from gt2lite.system import Params, constrain

MATTERS = 0.9
"""Inputs are left out of a printed rule if, all together, they keep this share of its firing."""

SHOWN = 5
"""Inputs and terms of a rule in its short form."""

TINY = np.finfo(float).tiny
_MEMBERSHIPS = 10**7  # evaluated at most to weigh rules; of more rows an even selection is taken


# ----------------------------------------------------------------------- names and units


def two_texts(name: str, low: float, high: float, yes_no: bool) -> tuple[str, str]:
    """Return in words that an input of two values has the lower or the higher one.

    >>> two_texts("city = Oslo", 0, 1, False), two_texts("x0", 1, 2, False)
    (('city is not Oslo', 'city is Oslo'), ('x0 = 1', 'x0 = 2'))
    """
    column, encoded, value = name.partition(" = ")
    if name.endswith(" is missing"):
        column, encoded, value = name.rpartition(" is ")
    if encoded and np.allclose([low, high], [0, 1], atol=1e-9):
        return f"{column} is not {value}", f"{column} is {value}"
    if yes_no:
        return f"{name} = no", f"{name} = yes"
    step = 1e-3 * (high - low)
    return f"{name} = {number(low, step, trim=True)}", f"{name} = {number(high, step, trim=True)}"


class Units(NamedTuple):
    """Names and scales of the inputs and of the target, and the values seen in training."""

    names: tuple[str, ...]
    target: str
    scaler: Scaler
    seen: Array  # (2, M), see `middle`, in scaled units
    flags: tuple[tuple[str, str] | None, ...]  # of the inputs with two values, see `two_texts`
    places: Mapping[str, IntArray]  # the inputs that each column of the data became

    @classmethod
    def of(cls, model: Model, target: str = "y", encoding: Encoding | None = None) -> Units:
        """Return the units of a model.

        `encoding` is how columns became its inputs, if not the model's but another one did it.
        """
        names, scaler, seen = model.names, model.scaler, model.seen
        if seen is None:
            seen = np.outer([-2.0, 2.0], np.ones(len(names)))
        columns = encoding or model.features.encoding
        used = columns.used if columns else []
        kinds = {name: column.kind for column in used for name in column.input_names()}
        # these are 0 or 1; a gap has a value in between
        coded = np.isin([kinds.get(name, "") for name in names], ["category", "yes/no"])
        zero_one = (np.array([[0.0], [1.0]]) - scaler.x_mean) / scaler.x_std
        is_flag, seen = two_valued(seen) | coded, np.where(coded, zero_one, seen)
        low, high = (scaler.x_mean + scaler.x_std * seen).tolist()
        flags = tuple(
            two_texts(name, low[m], high[m], kinds.get(name) == "yes/no") if is_flag[m] else None
            for m, name in enumerate(names)
        )
        places = columns.places() if columns else {}
        n_encoded = sum(map(len, places.values()))
        places |= {name: np.array([m]) for m, name in enumerate(names) if m >= n_encoded}
        return cls(names, target, scaler, seen, flags, places)

    def learned(self) -> Units:
        """Return the units of what the systems learn: with a log target, those of log(y)."""
        target, scaler = self.scaler.learned_name(self.target), self.scaler.without_transform()
        return self._replace(target=target, scaler=scaler)

    def of_system(self, ensemble: Ensemble, system: int) -> Units:
        """Return the units of what one system learns; its inputs may be ranks, in percent."""
        units, M = self.learned(), len(self.names)
        if ensemble.pick(system).inputs == "scaled" or ensemble.ranks is None:
            return units
        ranks = np.outer([-0.475, 0.475], np.ones(M)) / SPREAD
        is_flag = [flag is not None for flag in self.flags]
        return units._replace(
            names=tuple(
                f"rank of {name}" if flag is None else name
                for name, flag in zip(self.names, self.flags, strict=True)
            ),
            scaler=replace(units.scaler, x_mean=np.full(M, 50.0), x_std=np.full(M, 100 * SPREAD)),
            seen=np.where(is_flag, ensemble.ranks.transform(self.seen), ranks),
        )

    def output(self, value: float) -> str:
        """Return a value of the target as text, rounded according to its standard deviation.

        If logarithms are learned, it is rounded according to its size.
        """
        spread = self.scaler.y_std
        if self.scaler.without_transform() is not self.scaler:
            spread *= abs(value) or 1.0  # the standard deviation of log(y) is relative
        return number(value, 0.01 * spread)


def find_input(argument: str, which: str | int, names: Sequence[str]) -> int:
    """Return the number of an input, given that or its name, in an `argument` of that name."""
    if isinstance(which, str):
        return names.index(one_of(argument, which, names))
    return whole(argument, which, 0, len(names) - 1)


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
    matters: bool  # whether it is named: inputs that are not keep 90% of the firing, all together
    low: float
    high: float
    peak: float
    least: float
    footprint: float

    @property
    def words(self) -> str:
        """The range without the name of the input; "any" if the input does not matter."""
        return self.text.replace(f"{self.input} ", "", 1) if self.matters else "any"


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
    grid = np.linspace(0, 1, 51)[:, None, None]
    lower, upper = secondary(np.exp(log_mu(start + grid * (stop - start))), 1.0, s_l, s_r)
    footprint = (upper - lower).mean(axis=0)
    # least decisive inputs are left out as long as, all together, they keep most of the firing
    order = np.argsort(least, axis=1, kind="stable")[:, ::-1]
    kept = np.cumprod(np.take_along_axis(least, order, axis=1), axis=1)
    matters = np.empty((P, M), dtype=bool)
    np.put_along_axis(matters, order, kept < MATTERS, axis=1)
    begin, end, best = (units.scaler.x_mean + units.scaler.x_std * z for z in (start, stop, peak))

    def text(p: int, m: int) -> str:
        any_half = from_low[p, m] and to_high[p, m]  # the membership is nowhere below one half
        if (flag := units.flags[m]) is not None:
            words = flag[int(peak[p, m] == high[m])]
            return f"rather {words}" if any_half else words
        step = 0.1 * float(units.scaler.x_std[m])
        begins, ends, near = (number(values[p, m], step) for values in (begin, end, best))
        if any_half:
            words = f"rather near {near}"
        elif from_low[p, m]:
            words = f"below {ends}"
        else:
            words = f"above {begins}" if to_high[p, m] else f"about {begins} to {ends}"
        return f"{units.names[m]} {words}"

    numbers = np.stack([begin, end, best, least, footprint], axis=2).tolist()
    return [
        tuple(
            Antecedent(units.names[m], text(p, m), bool(matters[p, m]), *numbers[p][m])
            for m in range(M)
        )
        for p in range(P)
    ]


# --------------------------------------------------------------------------------- rules


@dataclass(frozen=True)
class Rule:
    """One rule: if its antecedents hold, the target is about its formula.

    Methods with `most` show so many inputs or terms, those that matter most; None for all.

    Without rows all that follows `units` is None. `width` and `covered` need intervals, `covered`
    needs targets, too, and `n_calibrated` a calibration by rules.
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
    covered: float | None = None  # share of the rows on which it leads that intervals cover
    n_calibrated: int | None = None  # calibration rows of its group
    pooled: bool = False  # whether it shares that group with other rules

    def condition(self, most: int | None = None) -> str:
        """Return the inputs that matter and where, and in brackets their mean footprint."""
        decisive = sorted((a for a in self.antecedents if a.matters), key=lambda a: a.least)
        if not decisive:
            return "any input"
        shown = [a.text for a in decisive[:most]]
        if left := len(decisive) - len(shown):
            shown.append(f"and {count(left, 'more input')}")
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
                size, name = abs(self.slopes[m]), units.names[m]
                # digits enough for the formula to be right wherever there is data
                largest = abs(float(scaler.x_mean[m])) + 2 * float(scaler.x_std[m])
                slope = number(size, min(0.01 * scaler.y_std / largest, 0.01 * size), trim=True)
                if " " in name:
                    name = f"({name.replace(' = ', ' is ')})"  # such as "city = Oslo"
                text += f" {'-' if self.slopes[m] < 0 else '+'} {slope} {name}"
        return text + (f" ({count(len(held), 'more input')} at the mean)" if held else "")

    def text(self, most: int | None = None) -> str:
        """Return the rule in three or four lines or, if they are long, in more."""
        title, then, width = f"Rule {self.number}", self.formula(most), []
        if self.leads is not None and self.share is not None and self.typical is not None:
            title += f": leads on {self.leads:.1%} of the rows, {self.share:.1%} of the weight"
            then += f"; typically {self.units.output(self.typical)}"
        if self.width is not None:
            width.append(number(self.width, self.width / 100))
        if self.covered is not None:
            width.append(f"covers {self.covered:.1%} of the rows on which it leads")
        if self.n_calibrated is not None:
            shared = ", shared with other rules" if self.pooled else ""
            width.append(count(self.n_calibrated, "calibration row") + shared)
        measured = "width" if self.width is not None else "rows"  # open intervals have no width
        lines = {"if": self.condition(most), "then": then, measured: "; ".join(width)}
        shown = [wrap(text, f"  {word:5} ", " " * 8) for word, text in lines.items() if text]
        return "\n".join([title, *shown])

    def __str__(self) -> str:
        return self.text()

    def row(self) -> Record:
        """Return all numbers of the rule as one row of a table."""
        weighed = ("leads", "share", "typical", "width", "covered", "n_calibrated")
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


LEGEND = (
    "A range is where the membership is at least half of its largest value; after 'rather' it is "
    "so for all values seen. The number in brackets is the mean footprint of the sets: how "
    "uncertain they are. "
    f"Inputs are left out if together they keep {MATTERS:.0%} or more of a rule's firing within "
    "the middle 95% of the training rows."
)


class Rules(PrintedItems[Rule]):
    """Rules of a system, and how they print: a title, each rule in its short form, a legend."""

    def __init__(self, rules: Sequence[Rule], title: str, legend: str = LEGEND) -> None:
        super().__init__(rules)
        self._title, self._legend = title, legend

    def table(self) -> Rows:
        """Return all numbers of each rule as a row."""
        return [rule.row() for rule in self]

    def __str__(self) -> str:
        rules = [rule.text(SHOWN) for rule in self]
        title, legend = (wrap(text, other="") for text in (f"{self._title}:", self._legend))
        return "\n".join([title, *rules, "", legend])


def read_rules(
    model: Model,
    units: Units,
    X: Array | None = None,
    *,
    top: int | None = None,
    system: int = 0,
    bounds: Array | None = None,
    y: Array | None = None,
) -> Rules:
    """Return the heaviest rules of a system; arguments as in `GT2Regressor.rules`.

    `X` are scaled inputs (N, M), `bounds` (2, N) those of intervals at these rows, in units of y.
    """
    if top is not None:
        whole("top", top)
    ensemble, sizes_of = model.ensemble, group_sizes(model, system)
    params, units = ensemble.pick(system).params, units.of_system(ensemble, system)
    slopes, intercepts = user_consequents(params, units.scaler)
    P, weighed = len(slopes), {}
    if X is None:
        # the mean of the log firing over the training rows, whose scaled squares have mean 1
        order = np.argsort(((1 + params["c"] ** 2) / params["raw_sigma"] ** 2).sum(axis=1))[:top]
        by = "those that fire most in training first (how often each leads: rules(X))"
    else:
        rows = even_rows(len(X), _MEMBERSHIPS // params["c"].size)
        weighed = _weigh(
            rule_weights(ensemble, X[rows], system=system),
            consequents(params, ensemble.inputs(X[rows], system)),
            None if bounds is None else bounds[:, rows],
            None if y is None else y[rows],
        )
        weighed["typical"] = units.scaler.inverse_y(weighed["typical"])
        order = np.argsort(-weighed["share"], kind="stable")[:top]
        some = f"{len(rows)} of {len(X)}" if len(rows) < len(X) else f"{len(X)}"
        by = f"by their weight on {some} rows"
    antecedents, rules = read_antecedents(params, units), []
    for p in order.tolist():
        found: Record = {name: float(values[p]) for name, values in weighed.items()}
        if np.isnan(found.get("covered", 0.0)):
            del found["covered"]  # it leads on none of these rows
        if sizes_of is not None:
            found |= sizes_of[p]
        slope = tuple(slopes[p].tolist())
        rules.append(Rule(p + 1, antecedents[p], float(intercepts[p]), slope, units, **found))
    widths = " 'width': the mean width of intervals, rows weighted by the rule."
    legend = LEGEND + widths if "width" in weighed else LEGEND
    return Rules(rules, f"{len(rules)} of {P} rules, {by}", legend)


def group_sizes(model: Model, system: int) -> list[Record] | None:
    """Return the calibration rows of each rule's group, if a system's rules group the rows."""
    if model.calibration is None or (groups := model.calibration.rule_groups) is None:
        return None
    calibrator = model.calibration.calibrator
    if groups.system != system or not isinstance(calibrator, GroupCalibrator):
        return None
    P, sizes = len(model.ensemble.pick(system).params["c"]), calibrator.sizes
    labels = [groups.label(p + 1) for p in range(P)]
    return [{"n_calibrated": sizes.get(one, 0), "pooled": one == POOLED} for one in labels]


def _weigh(weights: Array, said: Array, bounds: Array | None, y: Array | None) -> dict[str, Array]:
    """Return what rows decide about rules, see `Rule`, in arrays (P,), in the units of `said`.

    `weights` and `said` (N, P) are the weights and consequents of the rules at these rows.
    """
    total, leader = np.maximum(weights.sum(axis=0), TINY), weights.argmax(axis=1)
    led = np.bincount(leader, minlength=weights.shape[1])
    found = {
        "leads": led / len(leader),
        "share": weights.mean(axis=0),
        "typical": (weights * said).sum(axis=0) / total,
    }
    if bounds is None:
        return found
    lower, upper = bounds
    if np.isfinite(upper - lower).all():  # an open interval has no width
        found["width"] = weights.T @ (upper - lower) / total
    if y is not None:
        hit = np.bincount(leader, (lower <= y) & (y <= upper), minlength=len(led))
        found["covered"] = np.where(led > 0, hit / np.maximum(led, 1), np.nan)
    return found


def user_consequents(params: Params, scaler: Scaler) -> tuple[Array, Array]:
    """Return the slopes (P, M) and intercepts (P,) of the consequents in the units of the data."""
    slopes = scaler.y_std * params["a"] / scaler.x_std
    return slopes, scaler.inverse_y(params["a0"]) - slopes @ scaler.x_mean


# --------------------------------------------------------------------------- edited systems


def edit_rule(
    ensemble: Ensemble,
    units: Units,
    k: int,
    system: int,
    centres: ByInput | None,
    widths: ByInput | None,
    intercept: float | None,
    slopes: ByInput | None,
) -> Ensemble:
    """Return the systems with one rule changed; arguments as in `GT2Regressor.with_rule`."""
    one, p = pick_rule(ensemble, k, system)
    units = units.of_system(ensemble, system)
    scaler, M = units.scaler, len(units.names)
    params = {name: value.copy() for name, value in one.params.items()}

    def changes(
        name: str, given: ByInput | None, low: float = -np.inf
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
    return replace_system(ensemble, system, one._replace(params=params))


def drop_rule(ensemble: Ensemble, k: int, system: int) -> Ensemble:
    """Return the systems with one rule left out of one of them."""
    one, p = pick_rule(ensemble, k, system)
    if (P := len(one.params["c"])) == 1:
        raise ValueError("k is the only rule of its system, which cannot be dropped")
    by_rule = ("c", "raw_sigma", "a", "a0")
    params = {n: np.delete(v, p, axis=0) if n in by_rule else v for n, v in one.params.items()}
    recipe = replace(one.recipe, n_rules=P - 1)
    leads = None if one.leads is None else np.delete(one.leads, p)
    return replace_system(ensemble, system, one._replace(params=params, recipe=recipe, leads=leads))


def one_plane(ensemble: Ensemble, alpha: float, X: Array | None) -> Ensemble:
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

    ensemble = replace(ensemble, sides="both").with_systems(map(reduced, ensemble.systems))
    if kappa == 0:
        return replace(ensemble, margins=Margins(0.0, 1.0))
    if X is None:
        raise ValueError(
            "a loaded estimator has no training rows, whose widths are needed: fit it again"
        )
    return ensemble.with_margins(1.0, X)


def pick_rule(ensemble: Ensemble, k: int, system: int) -> tuple[System, int]:
    """Return a system and the place of its rule `k`, counted from 1."""
    one = ensemble.pick(system)
    return one, whole("k", k, 1, len(one.params["c"])) - 1


def replace_system(ensemble: Ensemble, system: int, new: System) -> Ensemble:
    """Return the systems with one of them replaced."""
    before, after = ensemble.systems[:system], ensemble.systems[system + 1 :]
    return ensemble.with_systems((*before, new, *after))
