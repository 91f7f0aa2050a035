"""A test of exchangeability for fitted systems: may the calibration still be trusted?

The guarantee of a conformal calibration holds if new rows are exchangeable with the calibration
rows. `ExchangeabilityTest` tests that in three ways, row by row, each by a test martingale of
`gt2lite.practice.martingales`:

======== ==========================================================================================
`scores` signed scores, the places of targets in their intervals: is the guarantee valid?
`inputs` the leading rule of each row and its distance from the rules: are rows of the same kind?
`rules`  scores among rows with the same leading rule: where did the relation of X and y change?
======== ==========================================================================================

A test can show that rows have changed, not that they have not. It reports any change, harmful or
not: less noise, too, which makes intervals too wide. Tests of the risk alone are those of
Podkopaev and Ramdas (2022).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gt2lite._validation import Array, IntArray, between, one_of, read_seed
from gt2lite.calibration import Scores
from gt2lite.memberships import kappa_of
from gt2lite.practice.calibrators import DEFAULT_COVERAGE, RANKED
from gt2lite.practice.martingales import (
    BETTING,
    LARGEST_LOG,
    OnlinePValues,
    Stream,
    adjust_e_values,
)
from gt2lite.practice.printing import PrintedItems, Rows, count, wrap
from gt2lite.practice.regressor import GT2Regressor
from gt2lite.practice.rules import SHOWN, Rule
from gt2lite.practice.splitting import warn_if_seen
from gt2lite.practice.tables import read_target
from gt2lite.practice.weights import rule_distance


def signed_scores(scores: Scores) -> Array:
    """Return one number (Q,) for each sample that rises from far below its estimate to far above.

    Its size is the kappa of the plane that first covers the sample, plus the margin if none does.
    In single precision, so that a row met again is a tie although its sums were rounded otherwise.
    """
    alpha = np.where(scores.alpha > 0, scores.alpha, scores.alpha_min)
    signed = scores.side * (kappa_of(alpha) + scores.margin)
    return signed.astype(np.float32).astype(float)


def input_distance(reg: Any, X: Array) -> Array:
    """Return how far rows of numbers (N, M) are from the nearest rule of a fitted `GT2Regressor`.

    See `gt2lite.practice.weights.rule_distance`.
    """
    return rule_distance(reg.model_.ensemble, reg.scaler_.transform_X(X))


class State(NamedTuple):
    """Wealth of each stream after an update; NaN for a stream that is not tested."""

    n_rows: int  # new rows so far
    alarms: tuple[str, ...]  # streams that raised an alarm in this update
    changed_rules: tuple[int, ...]  # rules found to have changed so far
    scores: float
    inputs: float = math.nan
    rules: float = math.nan


class ExchangeabilityTest:
    """A running test of whether new rows are exchangeable with the calibration rows.

    Call `update` with each new row, or with batches of rows, in time order. The estimator is never
    changed. Print the test for a summary, `by_rule()` for a table of rules.

    Args:
        reg: a `GT2Regressor` or `IntervalHead`, calibrated by "conformal" or "exact", without
            groups or by rules.
        X: reference rows (Q, M), not trained on: the calibration rows. None for what the
            calibration keeps of its rows, also in a file: scores, leading rules and distances.
            With ``groups="rules"`` or `rules_of` that is enough for the stream `scores` only.
        y: their targets (Q,).
        coverage: the level of the intervals whose coverage `by_rule` reports.
        threshold: a stream raises an alarm when its wealth reaches this number. If rows are
            exchangeable, the probability that it ever does is at most 1 / threshold; that any of
            the three streams does, at most 3 / threshold.
        betting: "mixture" or "jumper", see `Mixture` and `Jumper`.
        random_state: the seed that breaks ties.
        rules_of: another fitted `GT2Regressor` whose rules part the rows, such as
            ``reg.readable(X_train, y_train)``, which has few of them; None for those of `reg`.

    Attributes:
        scores: the `Stream` of the signed scores of all rows.
        inputs: the `Stream` of inputs, the mean of two gamblers: one bets on the leading rule, the
            other on the distance from rules among rows with the same leading rule.
        rules: the `Stream` of scores by leading rule, with a gambler for each rule that leads on
            reference rows (of several systems, a rule of the first). Its wealth is
            the mean over rules, which pays for their number. It does not restart, so that `by_rule`
            refers to all rows. It tests less than `scores`, that rows are exchangeable within each
            rule: a change of how often each rule leads does not count, a change of the inputs
            within a rule does.
        changed_rules: numbers of the rules whose e-value, adjusted for the number of rules by
            `adjust_e_values`, has reached `threshold`. The probability that any of them ever does
            without a change is at most 1 / threshold.
        n_rows: number of new rows so far.

    Rows that repeat the one before, such as those of a sensor that is read too often, are not
    exchangeable, and their evidence counts twice.

    >>> from gt2lite import GT2Regressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (1200, 1))
    >>> y = X[:, 0] + 0.1 * rng.normal(size=1200) + 0.3 * (np.arange(1200) >= 900) * (X[:, 0] > 0)
    >>> reg = GT2Regressor(n_rules=2, epochs=20, learning_rate=0.03).fit(X[:300], y[:300])
    >>> reg = reg.calibrate(X[300:600], y[300:600])
    >>> test = ExchangeabilityTest(reg, X[300:600], y[300:600])
    >>> test.update(X[600:900], y[600:900]).alarms  # as before
    ()
    >>> test.update(X[900:], y[900:]).alarms  # another relation, where x is above 0
    ('scores', 'rules')
    """

    def __init__(
        self,
        reg: Any,
        X: Any = None,
        y: Any = None,
        *,
        coverage: float = DEFAULT_COVERAGE,
        threshold: float = 100.0,
        betting: str = "mixture",
        random_state: Any = 0,
        rules_of: GT2Regressor | None = None,
    ) -> None:
        if not hasattr(reg, "predict_distribution"):
            raise TypeError(f"reg must be a GT2Regressor or IntervalHead, got {reg!r}")
        self.reg, self._system = reg, getattr(reg, "head_", reg)
        calibrator = getattr(self._system, "calibrator_", None)
        if calibrator is None:
            raise ValueError("reg is not calibrated: call reg.calibrate(X_cal, y_cal) first")
        by_groups = calibrator.by_group and not hasattr(self._system, "rule_groups_")
        if calibrator.by_weight:
            raise ValueError(
                "reg is calibrated with weights, because new rows are not exchangeable with the "
                "calibration rows: call reg.calibrate(X_cal, y_cal) without sample_weight"
            )
        if calibrator.method not in RANKED or by_groups:
            how = "groups" if by_groups else f"method={calibrator.method!r}"
            raise ValueError(
                f"reg is calibrated by {how}, whose scores are not comparable: call "
                'reg.calibrate(X_cal, y_cal) with method="conformal" and without groups, or with '
                'groups="rules"'
            )
        self.rules_of = reg if rules_of is None else rules_of
        self._leads = self._system if rules_of is None else rules_of
        if (X is None) != (y is None):
            raise ValueError("X and y of the reference rows must be given together")
        self.coverage = between("coverage", coverage, 0, 1)
        self.threshold = between("threshold", threshold, 1, math.inf)
        gambler = BETTING[one_of("betting", betting, BETTING)]
        self.n_rows = 0
        self.changed_rules: tuple[int, ...] = ()
        self.inputs: Stream | None = None
        self.rules: Stream | None = None
        self.scores = Stream([gambler()], self.threshold)
        rngs = np.random.default_rng(read_seed(random_state)).spawn(4)
        if X is None:
            known = self._system.model_.calibrated().reference
            score, scores = signed_scores(calibrator.scores), calibrator.scores
            if known is None or calibrator.by_group or rules_of is not None:
                self._p_scores = OnlinePValues(score, rngs[0])
                return
            leader, distance = known
            covered = scores.between(*calibrator.cuts(self.coverage))
        else:
            leader, distance, score, covered = self._look(X, y)
            rows = reg.model_.features.inputs(X)
            warn_if_seen(self._system.marks_, rows, read_target(y, len(leader)))
        self._p_scores = OnlinePValues(score, rngs[0])
        self._p_by_rule = OnlinePValues(score, rngs[1], leader)
        self._p_leader = OnlinePValues(leader, rngs[2])
        self._p_distance = OnlinePValues(distance, rngs[3], leader)
        R = len(self._leads.systems_[0].params["c"])
        self._n_reference = np.bincount(leader, minlength=R)
        self._n_reference_covered = np.bincount(leader[covered], minlength=R)
        self._n_new, self._n_scored, self._n_covered = np.zeros((3, R), dtype=int)
        self._tested = np.flatnonzero(self._n_reference)  # rules that new rows can be compared with
        self.inputs = Stream([gambler(), gambler()], self.threshold)
        self.rules = Stream([gambler() for _ in self._tested], self.threshold, restarts=False)

    def update(self, X: Any, y: Any = None) -> State:
        """Test new rows `X` (N, M) with targets `y` (N,), in time order.

        Without targets only the stream `inputs` is updated.
        """
        if y is None and self.inputs is None:
            raise ValueError("y is missing: without reference rows only scores are tested")
        streams = {name: stream for name in _STREAMS if (stream := getattr(self, name)) is not None}
        n_alarms = {name: len(stream.alarms) for name, stream in streams.items()}
        leader, distance, score, covered = self._look(X, y)  # an error here changes nothing
        self.n_rows += len(leader)
        if y is not None:
            self.scores.update(self._p_scores.update(score)[:, None])
        if self.inputs is not None and self.rules is not None:
            p = self._p_leader.update(leader), self._p_distance.update(distance, leader)
            self.inputs.update(np.stack(p, axis=1))
            self._n_new += self._count(leader)
            if y is not None:
                p_rule = self._p_by_rule.update(score, leader)[:, None]
                bets = np.where(leader[:, None] == self._tested, p_rule, np.nan)
                self._name_changed(self.rules.update(bets))
                self._n_scored += self._count(leader)
                self._n_covered += self._count(leader[covered])
        alarms = tuple(name for name, n in n_alarms.items() if len(streams[name].alarms) > n)
        wealth = {name: stream.wealth for name, stream in streams.items()}
        return State(self.n_rows, alarms, self.changed_rules, **wealth)

    def wealth_of(self, rule: int) -> Array:
        """Return the log wealth (N,) of the gambler of a rule, by its number, after each row."""
        if self.rules is None or rule - 1 not in self._tested:
            raise ValueError(f"rule {rule} has no reference rows, so it is not tested")
        return self.rules.log_wealths[:, np.searchsorted(self._tested, rule - 1)]

    def by_rule(self, target: str = "y") -> RuleEvidence:
        """Return how rows of each leading rule are covered, and the evidence that they changed.

        Rules with the largest e-values come first; `target` is the name of the target.
        """
        if self.rules is None:
            raise ValueError("rules need reference rows: pass X and y of the calibration rows")
        e, adjusted = np.full((2, len(self._n_new)), math.nan)
        e[self._tested] = self.rules.wealths
        adjusted[self._tested] = adjust_e_values(e[None, self._tested])[0]
        found = []
        for rule in self.rules_of.rules(top=None, target=target):
            p = rule.number - 1
            row = RuleRow(
                rule.number,
                condition(rule),
                int(self._n_reference[p]),
                share(self._n_reference_covered[p], self._n_reference[p]),
                int(self._n_new[p]),
                share(self._n_covered[p], self._n_scored[p]),
                float(e[p]),
                float(adjusted[p]),
                rule.number in self.changed_rules,
            )
            found.append(row)
        found.sort(key=lambda row: (row.n_new == 0, not row.e > 0, -row.e, row.rule))
        return RuleEvidence(found, self.n_rows, self.coverage, self.threshold)

    @property
    def streams(self) -> dict[str, Stream]:
        """The streams that have tested rows, by name."""
        found = {name: getattr(self, name) for name in _STREAMS}
        return {name: one for name, one in found.items() if one is not None and len(one)}

    @property
    def alarms(self) -> dict[str, int]:
        """The first alarm of each stream that raised one, by name: an index of its rows."""
        return {name: one.alarms[0] for name, one in self.streams.items() if one.alarms}

    def verdict(self, rows: str = "new rows", index: Sequence[object] | None = None) -> str:
        """Return the result as a sentence: first whether errors changed, then whether inputs did.

        Args:
            rows: what the rows are called.
            index: their names (N,), for the row of an alarm; None for numbers from 1.
        """
        what, alarms = f"{self.n_rows:,} {rows}", self.alarms

        def row(first: int) -> str:
            name = first + 1 if index is None else index[first]
            return f"first alarm in row {name}, {first + 1:,} of {self.n_rows:,}"

        errors = [first for name, first in alarms.items() if name != "inputs"]
        if errors:
            also = " and inputs" if "inputs" in alarms else ""
            of = f"The errors{also} of the {what} differ from those of the calibration rows"
            return f"{of} ({row(min(errors))})."
        if "inputs" in alarms and "scores" not in self.streams:  # rows without targets
            of = f"The inputs of the {what} differ from those of the calibration rows"
            return f"{of} ({row(alarms['inputs'])})."
        if "inputs" in alarms:
            return (
                f"No sign that the errors of the {what} differ from those of the calibration rows; "
                f"their inputs do ({row(alarms['inputs'])})."
            )
        largest = math.exp(max((s.log_wealth.max() for s in self.streams.values()), default=0.0))
        found = f"largest wealth {largest:.3g}, alarm at {self.threshold:.4g}"
        return f"No sign that the {what} differ from the calibration rows ({found})."

    def __str__(self) -> str:
        lines = [
            f"{count(self.n_rows, 'new row')}. If all rows are exchangeable, a stream ever reaches "
            f"wealth {self.threshold:.4g} with a probability of at most {1 / self.threshold:.2g}."
        ]
        for name, what in _STREAMS.items():
            stream: Stream | None = getattr(self, name)
            if stream is None or len(stream) == 0:
                found = "not tested"
            elif stream.alarms:
                found = f"changed: alarm in row {stream.alarms[0]}, counted from 0"
            else:
                largest = math.exp(max(stream.log_wealth.max(), 0.0))
                found = f"no alarm (largest wealth {largest:.3g})"
            lines.append(f"  {what:14}  {found}")
        if self.changed_rules:
            lines.append(f"Rules that changed: {', '.join(map(str, self.changed_rules))}.")
        return "\n".join(lines)

    def _count(self, leader: IntArray) -> IntArray:
        return np.bincount(leader, minlength=len(self._n_new))

    def _name_changed(self, logs: Array) -> None:
        """Add rules to those that changed, given log wealths (N, tested rules) after each row."""
        e = np.exp(np.minimum(logs, LARGEST_LOG))
        high = adjust_e_values(e[(e >= self.threshold).any(axis=1)]) >= self.threshold
        found = 1 + self._tested[high.any(axis=0)]
        self.changed_rules = tuple(sorted({*self.changed_rules, *found.tolist()}))

    def _look(self, X: Any, y: Any) -> tuple[IntArray, Array, Array, NDArray[np.bool_]]:
        """Return leading rule, distance, score and whether it is covered, (N,) each, of rows.

        The last two mean nothing without targets.
        """
        rows = self.reg.predict_distribution(X)
        score, covered = np.empty(0), np.empty(0, dtype=bool)
        if y is not None:
            target = read_target(y, len(rows), type(self).__name__)
            score = signed_scores(rows.scores(target))
            lower, upper = self.reg.predict_interval(X, self.coverage)
            covered = (lower <= target) & (target <= upper)
        inputs, values = X, self.rules_of.model_.features.inputs(X)
        if self._leads is not self.rules_of:  # a head: its system also has the base's prediction
            inputs = values = np.column_stack([values, rows.shift])
        leader = self._leads.rule_weights(inputs).argmax(axis=1)
        return leader, input_distance(self._leads, values), score, covered


_STREAMS = {
    "scores": "scores",
    "inputs": "inputs",
    "rules": "scores by rule",
}


# -------------------------------------------------------------------------- evidence by rule


class RuleRow(NamedTuple):
    """Evidence about the rows on which a rule leads."""

    rule: int
    condition: str  # such as "temperature below 12, humidity above 80"
    n_reference: int
    reference_covered: float  # share of the reference rows that intervals cover; NaN without any
    n_new: int
    covered: float  # share of the new rows with targets that intervals cover; NaN without any
    e: float  # evidence that its rows changed, the wealth of its gambler; NaN without a reference
    adjusted: float  # the same, adjusted for the number of rules
    changed: bool  # whether `adjusted` has ever reached the threshold


def share(part: int, n: int) -> float:
    """Return a share, NaN of nothing."""
    return float(part / n) if n else math.nan


def condition(rule: Rule) -> str:
    """Return the inputs that matter most in a rule, and where."""
    decisive = sorted((a for a in rule.antecedents if a.matters), key=lambda a: a.least)
    return ", ".join(a.text for a in decisive[:SHOWN]) or "any input"


class RuleEvidence(PrintedItems[RuleRow]):
    """Evidence by rule, and how it prints."""

    def __init__(
        self, rows: Sequence[RuleRow], n_rows: int, coverage: float, threshold: float
    ) -> None:
        super().__init__(rows)
        self.n_rows, self.coverage, self.threshold = n_rows, coverage, threshold

    def table(self) -> Rows:
        """Return the numbers of each rule as a row."""
        return [row._asdict() for row in self]

    def __str__(self) -> str:
        n_tested = sum(row.n_reference > 0 for row in self)
        lines = [self.line(row) for row in self if row.n_new]
        changed = [str(rule) for rule in sorted(row.rule for row in self if row.changed)]
        words = f"Changed: {'rules' if len(changed) > 1 else 'rule'} {', '.join(changed)}."
        bound = f"at most {1 / self.threshold:.2g} for all {n_tested} rules together"
        lines.append(
            f"{words if changed else 'No rule has changed significantly.'} The probability of a "
            f"false report is {bound}."
        )
        return "\n".join(map(wrap, lines))

    def line(self, row: RuleRow) -> str:
        """Return the evidence about one rule as a sentence."""
        text = f"Rule {row.rule} ({row.condition}): {row.n_new} of {count(self.n_rows, 'new row')}"
        if not math.isnan(row.covered):
            found, asked = f"{row.covered:.0%}", f"{self.coverage:.0%}"
            text += f"; covers {found}" + (f" instead of {asked}" if found != asked else "")
            if row.n_reference:
                text += f" (reference rows: {row.reference_covered:.0%})"
        e = f"{row.e:,.0f}" if 10 <= row.e < 1e6 else f"{row.e:.2g}"
        return f"{text}, e = {e}" if row.n_reference else f"{text}; no reference rows"
