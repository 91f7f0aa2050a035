"""`GT2Regressor`: calibrated prediction intervals in the units of the user."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np

from gt2lite._validation import Array, IntArray, between, one_of, read_seed, warn
from gt2lite.calibration import plain_fraction
from gt2lite.datasets import TRANSFORMS, Scaler, check_target
from gt2lite.memberships import ALPHA_0
from gt2lite.metrics import interval_score
from gt2lite.practice import model_file
from gt2lite.practice._sklearn import OF_CALIBRATION, Regressor, Stateful, check_fitted
from gt2lite.practice.calibrators import (
    DEFAULT_COVERAGE,
    RANKED,
    Calibration,
    fewest_samples,
    make_calibrator,
    read_groups,
)
from gt2lite.practice.distribution import Distribution
from gt2lite.practice.explanations import Explanation, draw_background, explain_row, read_plane
from gt2lite.practice.presets import STRONG
from gt2lite.practice.printing import frame_of
from gt2lite.practice.rules import (
    RuleGroups,
    Rules,
    Units,
    count_leads,
    drop_rule,
    edit_rule,
    input_names,
    middle,
    one_plane,
    pop_min_rows,
    read_rules,
    rule_weights,
)
from gt2lite.practice.selection import (
    MOST_STEPS,
    EnsembleSettings,
    Fitted,
    MeanPlanes,
    fit_systems,
)
from gt2lite.practice.splitting import mark_rows, warn_if_seen
from gt2lite.practice.tables import (
    Names,
    Rows,
    check_one_row,
    match_table,
    n_rows_of,
    one_row,
    pandas_frame,
    read_table,
    read_target,
    take_rows,
)
from gt2lite.system import Planes
from gt2lite.training import Callback, Recipe

EPOCHS, MIN_STEPS = 100, 3000
"""Epochs if none are set, and the fewest steps that they should make."""

FEWEST_TRAINED = 10
"""Fewest rows that `fit_calibrate` trains on."""

FAR = 0.5
"""Share of the training range; inputs farther outside it are reported."""


_DRAWS = 4  # targets of each row that `readable` learns from


class Fidelity(NamedTuple):
    """How well a small system stands for a large one, see `GT2Regressor.readable`."""

    agreement: float  # R^2 of the predictions
    loss: float  # of interval score at 90%, relative
    n_rows: int  # held-out rows that measured both

    def __str__(self) -> str:
        worse = "worse" if self.loss >= 0 else "better"
        return (
            f"predictions agree with R^2 = {self.agreement:.3f}, the interval score at 90% is "
            f"{abs(self.loss):.1%} {worse} (on {self.n_rows} held-out rows)"
        )


class MissedLevelWarning(UserWarning):
    """The coverage of the calibration rows is far from the coverage requested."""


class ClippedInputsWarning(UserWarning):
    """Rows have inputs far outside the range seen in training, and were clipped to it."""


class NarrowEnvelopeWarning(UserWarning):
    """The trained envelope covers far fewer calibration rows than it was trained for."""


class GT2Regressor(Stateful, Regressor):
    """A general type-2 fuzzy logic system that predicts a number and an interval around it.

    It is trained once, for a high coverage, and then calibrated to any other coverage without
    training again. `GT2Regressor()` is the paper's recipe; for your own data start with
    `GT2Regressor.strong()`.

    All settings are given by name. Those from `n_rules` to `precision` are those of
    `gt2lite.Recipe`, which describes them in full, with the same defaults except for `epochs`.

    Args:
        n_rules: number of fuzzy rules, P.
        coverage: what the widest plane, alpha_0, learns to cover.
        alphas: planes that make up the output; None for the objective's own.
        objective: "dual", the paper's loss, or "aligned": every plane learns its own coverage.
        smf: "per_input" or "scalar" secondary memberships.
        epochs: passes over the data; None for 100, or more on small data, until there are about
            3,000 steps.
        batch_size: rows in a step.
        learning_rate: Adam's.
        keep: the parameters to keep: the "last", the "best", or the best on "validation" rows.
        bias_correction: whether Adam's bias correction counts "steps" or "epochs".
        schedule: "constant", "cosine" or "restarts", the course of the learning rate.
        weight_decay: share of the consequents that is taken off in a step.
        averaging: share that a running mean of the parameters keeps of itself; 0 for no mean.
        start: "per_input" or "joint" k-means for the centres at the start.
        sigma_scale: width of the memberships at the start, in standard deviations.
        validation: share of the rows that is set aside if `keep` is "validation".
        patience: epochs in a row without an improvement after which training stops; None for all.
        precision: "double", or "single", which trains up to twice as fast.
        n_systems: number of systems, trained from different starts; planes and outputs are means
            over all of them.
        choose: whether training rows decide on the number of rules, the initial width of sets,
            weight decay, the schedule, the form of the inputs, the length of training and the
            family of intervals. Candidates are scored on folds of the rows; the best one or two
            are then trained on all rows. Settings that differ from those of `strong` stay as given.
        inputs: "scaled", or "ranks", for inputs with long tails.
        margins: None for intervals that are planes; or a power in [0, 1], for intervals
            ``y_hat -+ t * w ** margins`` with the width w of the widest plane: 0 is the same
            margin for all rows.
        target_transform: None, or "log" for positive targets such as prices: the system learns
            log(y), and no bound is negative. An interval of log(y) covers if and only if its
            exponential does, so levels and guarantee carry over. The prediction is closer to the
            median of y than to its mean; rules are about log(y).
        clip_inputs: whether inputs outside the range of the training rows are moved to its edge.
            Consequents are linear, so far outside that range a system may predict anything.
        columns: None for tables of numbers; gaps, text and dates are refused. "auto", the default
            of `strong`, encodes those of a data frame as `practice.columns` describes: gaps are
            filled, and categories become columns of 0 and 1. All of it is learned from training
            rows, so the guarantee is the same. Tables of complete numbers are taken as they are.
        n_jobs: processes that train; None for one, -1 for one per system. Needs joblib.
        verbose: whether to show a progress bar; None shows one on a terminal.
        random_state: the seed of start values, row order, folds and splits; None for another
            one at each fit.

    Attributes:
        systems_: the trained systems, each with `params`, `recipe`, `history` and `inputs`.
        params_, recipe_, history_: those of the first system: a dict of arrays in scaled units,
            the settings of its training, and the mean loss of each epoch.
        chosen_: the candidates of a selection, best first, each with `settings`, `n_folds`,
            `epochs`, `score` and `kept`; empty if `choose` is False.
        margins_: power and usual width of the margins; None if intervals are planes.
        sides_: "each" if a selection found that noise leans to one side, so that each bound had
            better be calibrated on its own; else "both".
        limits_: (2, M) the range, in scaled units, to which inputs are clipped; None for no limits.
        ranks_: the quantiles of the inputs, if a system learns from ranks; else None.
        scaler_: mean and standard deviation of the training data.
        marks_: a hash of each training row, by which `calibrate` recognises it.
        columns_: the encoding of the columns of a data frame; absent for tables of numbers.
        calibrator_: the calibration; absent before `calibrate`.
        rule_groups_: the system and the rules by which rows were grouped, if ``groups="rules"``.
        calibration_rows_, split_: the rows that `fit_calibrate` did not train on, and a
            description of the split; absent otherwise.
        n_features_in_, feature_names_in_: number and names of the columns seen in `fit`; names
            only if X was a data frame.

    >>> from gt2lite import GT2Regressor, load_dataset
    >>> data = load_dataset("pp")
    >>> reg = GT2Regressor(epochs=20, learning_rate=0.01)
    >>> reg = reg.fit_calibrate(data.X[:3000], data.y[:3000])
    >>> lower, upper = reg.predict_interval(data.X[3000:], coverage=[0.9, 0.95])
    >>> lower.shape
    (6568, 2)
    """

    scaler_: Scaler
    marks_: Array
    columns_: Any  # of gt2lite.practice.columns, which needs pandas
    feature_names_in_: Names
    calibrator_: Calibration
    rule_groups_: RuleGroups
    calibration_rows_: IntArray
    split_: str
    fidelity_: Fidelity
    _names: Sequence[str] = ()  # of the inputs, if another estimator knows them
    _background: Array  # scaled training rows that explanations by inputs start from
    _seen: Array  # values between which rules are described, see `gt2lite.practice.rules.middle`

    def __init__(
        self,
        *,
        n_rules: int = 10,
        coverage: float = 0.99,
        alphas: Sequence[float] | None = None,
        objective: str = "dual",
        smf: str = "per_input",
        epochs: int | None = None,
        batch_size: int = 64,
        learning_rate: float = 1e-3,
        keep: str = "last",
        bias_correction: str = "steps",
        schedule: str = "constant",
        weight_decay: float = 0.0,
        averaging: float = 0.0,
        start: str = "per_input",
        sigma_scale: float = 1.0,
        validation: float = 0.2,
        patience: int | None = None,
        precision: str = "double",
        n_systems: int = 1,
        choose: bool = False,
        inputs: str = "scaled",
        margins: float | None = None,
        target_transform: str | None = None,
        clip_inputs: bool = False,
        columns: str | None = None,
        n_jobs: int | None = None,
        verbose: bool | None = None,
        random_state: int | np.random.Generator | np.random.RandomState | None = 0,
    ) -> None:
        self.n_rules = n_rules
        self.coverage = coverage
        self.alphas = alphas
        self.objective = objective
        self.smf = smf
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.keep = keep
        self.bias_correction = bias_correction
        self.schedule = schedule
        self.weight_decay = weight_decay
        self.averaging = averaging
        self.start = start
        self.sigma_scale = sigma_scale
        self.validation = validation
        self.patience = patience
        self.precision = precision
        self.n_systems = n_systems
        self.choose = choose
        self.inputs = inputs
        self.margins = margins
        self.target_transform = target_transform
        self.clip_inputs = clip_inputs
        self.columns = columns
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    @classmethod
    def strong(cls, **overrides: Any) -> Self:
        """Return a regressor for practice: five systems, their settings chosen by the data.

        It starts from `practice.presets.STRONG`, clips inputs and encodes data frames.
        `n_jobs=-1` uses all cores.

        Args:
            overrides: settings that differ, by name. What is given is not chosen:
                ``strong(n_rules=10)`` has systems of ten rules, ``strong(choose=False,
                n_systems=1)`` is one system with the settings of `STRONG`.

        >>> reg = GT2Regressor.strong(random_state=3)
        >>> reg.objective, reg.choose, reg.n_systems, reg.random_state
        ('aligned', True, 5, 3)
        """
        settings = asdict(STRONG) | {"epochs": None, "n_systems": 5, "choose": True}
        settings |= {"clip_inputs": True, "columns": "auto"}
        return cls(**(settings | overrides))

    # ------------------------------------------------------------ fit and calibrate

    def fit(self, X: Any, y: Any, *, callback: Callback | None = None) -> Self:
        """Train on inputs `X` (N, M), an array or a data frame, and targets `y` (N,).

        `callback`, see `gt2lite.training.train`, is called after each epoch and may end training.
        It is not available with `choose`, nor if several processes train.

        Ctrl-C ends training after the last complete epoch (of several systems, with the complete
        ones) and an `InterruptedTrainingWarning`. If nothing is complete yet, and in a selection,
        it raises KeyboardInterrupt and the previous model stays.

        Training, calibration and prediction keep BLAS to one thread, the fastest for matrices of
        this size, if threadpoolctl is installed (scikit-learn requires it). Without it set
        OMP_NUM_THREADS and OPENBLAS_NUM_THREADS to 1 before Python starts.
        """
        rows = read_table(X, self.columns)
        target = read_target(y, len(rows.values))
        return self._become(self._trained(rows, target, callback))

    def calibrate(
        self,
        X: Any,
        y: Any,
        method: str = "conformal",
        *,
        sides: str | None = None,
        groups: Any = None,
        **options: Any,
    ) -> Self:
        """Learn which plane has which coverage, from rows that were not trained on.

        Args:
            X: inputs (Q, M).
            y: targets (Q,).
            method: "conformal" has a guarantee, at any level up to Q / (Q + 1); "exact" takes
                rank ceil(Q coverage) instead of ceil((Q + 1) coverage) and has none; "table" and
                "search" are the paper's Methods 1 and 2, which approximate "exact" and end at the
                trained envelope.
            sides: "both" for one plane; "each" for a plane for each bound of the interval; "lower"
                or "upper" for one-sided intervals. None for "both", or for "each" if that is what
                a selection found best (`sides_`) and there are at least 199 rows.
            groups: a name or whole number for each row (Q,); each group gets its own planes, and
                `predict_interval` needs the groups of new rows. "rules" for the rule that leads at
                each row, that is, weighs most: see below.
            options: for the calibrator, see `gt2lite.calibration`, such as
                ``small_groups="pool"`` with groups. ``tails=(0.2, 0.8)``, with "each", allows a
                fifth of the misses below the interval and the rest above. With groups="rules",
                `min_rows` is the number of calibration rows that a rule needs for planes of its
                own (50).

        With ``groups="rules"`` intervals at a level cover at least that share of the rows on which
        a rule leads, for each rule (of several systems, each rule of the first). Which rule leads
        was fixed in training, so new rows need no groups. A rule shares a group with others if, by
        its share of the training rows, fewer than `min_rows` calibration rows are expected;
        deciding by the calibration rows themselves would void the guarantee. Nothing is promised
        for rows weighted by a rule: memberships overlap, and the groups are disjoint.

        Groups and `sides` other than "both" need the method "conformal" or "exact". A
        `NarrowEnvelopeWarning` reports a trained envelope that covers far fewer of these rows
        than it was trained for, a `SeenRowsWarning` how many of these rows were in `fit`.
        """
        rows = Rows(match_table(X, self))
        target = read_target(y, len(rows.values))
        new = self._calibrated_by(rows, target, (method, sides, groups, options))
        warn_if_seen(self.marks_, rows.values, target)
        return self._become(new)

    def fit_calibrate(
        self,
        X: Any,
        y: Any,
        *,
        share: float = 0.25,
        groups: Any = None,
        method: str = "conformal",
        sides: str | None = None,
        callback: Callback | None = None,
        **options: Any,
    ) -> Self:
        """Train on one part of the rows and calibrate on the rest, split at random.

        `share` of the rows, or of each group, calibrates; other arguments as in `fit` and
        `calibrate`. `random_state` is the seed of the split, too. No calibration row is used in
        training, not even for its mean; `calibration_rows_` has their indices and `split_`
        describes the split.

        Split the rows yourself if they are ordered in time or belong together: the guarantee
        holds for new rows that are exchangeable with the calibration rows.

        >>> from gt2lite import GT2Regressor, load_dataset
        >>> data = load_dataset("aids")
        >>> reg = GT2Regressor(n_rules=3, epochs=20, learning_rate=0.02)
        >>> reg.fit_calibrate(data.X, data.y).split_
        '2139 rows: 1604 to train on, 535 to calibrate on (share=0.25, random_state=0)'
        """
        rows = read_table(X, self.columns)
        target = read_target(y, len(rows.values))
        check_target(self.target_transform, target)  # an error names the row of the whole table
        asked = method, sides, groups, options
        return self._become(
            fit_parts(self, rows, target, share, self.random_state, asked, callback=callback)
        )

    # -------------------------------------------------------------------- predict

    def predict(self, X: Any) -> Array:
        """Return the prediction (N,) for inputs `X` (N, M)."""
        planes = self._planes(X)
        return self.scaler_.inverse_y(planes.output(self.recipe_.planes.alphas))

    def predict_interval(
        self,
        X: Any,
        coverage: float | Sequence[float] | None = None,
        *,
        alpha: float | None = None,
        groups: Any = None,
        as_frame: bool = False,
    ) -> Any:
        """Return the lower and upper bounds of prediction intervals.

        Args:
            X: inputs (N, M).
            coverage: the level, or several of them; needs `calibrate` first. None means 0.9.
            alpha: a plane in [0.01, 1] instead of a level, calibrated or not: 0.01 is the
                envelope of training, whose coverage is not calibrated.
            groups: the group of each row (N,), if the calibration was by groups other than rules.
            as_frame: whether to return a data frame, see below.

        Returns:
            Two arrays (N,), or (N, L) for a sequence of L levels. The open bound of a one-sided
            interval is infinite. As a frame: the columns "lower_90", "upper_90" and so on for
            each level, with the index of `X`.

        A `MissedLevelWarning` reports, once for each level, that the coverage of the calibration
        rows is far from it.
        """
        check_fitted(self)
        if alpha is not None:
            plane = read_plane(alpha, coverage, groups)
            lower, upper = self._planes(X)(plane)
        else:
            coverage = DEFAULT_COVERAGE if coverage is None else coverage
            calibrator, planes = self._calibrated(), self._planes(X)
            groups = self._groups_of(X, groups)
            lower, upper = calibrator.intervals(self._fitted().family(planes), coverage, groups)
            warned = self.__dict__.setdefault("_warned", set())
            for level in map(float, np.ravel(coverage)):
                if level not in warned:
                    warned.add(level)
                    _warn_if_missed(calibrator, level)
        lower, upper = (self.scaler_.inverse_bounds(bounds) for bounds in (lower, upper))
        if as_frame:
            return interval_frame(X, lower, upper, coverage, alpha)
        return lower, upper

    def predict_distribution(self, X: Any, *, groups: Any = None) -> Distribution:
        """Return the predictive distributions of rows `X` (N, M), in units of y.

        See `Distribution` for what they can do, `predict_quantile` for their guarantee and
        `predict_interval` for `groups`.
        """
        check_fitted(self)
        calibrator, planes = self._calibrated(), self._planes(X, keep=True)
        groups = self._groups_of(X, groups)
        return Distribution(calibrator, self._fitted().family(planes), self.scaler_, groups)

    def predict_quantile(
        self, X: Any, quantiles: float | Sequence[float], *, groups: Any = None
    ) -> Array:
        """Return quantiles of the predictive distributions, (N,), or (N, L) for L of them.

        After `calibrate` by "conformal", whatever its `sides`, the target of a new exchangeable row
        is at most the quantile q with a probability of at least q for q >= 1/2, and it is below the
        quantile with a probability of at most q for q < 1/2. Without ties both probabilities are
        within 1 / (Q + 1) of q. Quantiles never cross. "table" and "search" have no quantiles.

        Args:
            X: inputs (N, M).
            quantiles: a number in (0, 1), or L of them. Below 1 / (Q + 1) and above Q / (Q + 1),
                with Q calibration rows, they are infinite, with a `SmallCalibrationWarning`.
            groups: as in `predict_interval`.
        """
        return self.predict_distribution(X, groups=groups).quantile(quantiles)

    def calibration_report(
        self, coverage: float | Sequence[float], *, as_frame: bool = False
    ) -> Any:
        """Return the result of the calibration at a level, one row per group, or one for all.

        A row has the number of samples, what the group was calibrated on, its plane, the share
        of its samples covered, and the margin beyond the lowest plane, in units of y, or of
        log(y) if that is learned.

        Args:
            coverage: the level, or several of them.
            as_frame: whether to return a pandas frame with a column for the level.

        Returns:
            A list of `ReportRow`, or a dict of such lists by level for several levels.
        """
        calibrator = self._calibrated()
        reports = {
            float(level): [
                row._replace(margin=row.margin * self.scaler_.y_std)
                for row in calibrator.report(level)
            ]
            for level in np.ravel(coverage)
        }
        if as_frame:
            rows = [{"coverage": level} | r._asdict() for level in reports for r in reports[level]]
            for row in rows:
                for name in ("alpha", "margin"):
                    row[f"lower_{name}"], row[f"upper_{name}"] = np.broadcast_to(row.pop(name), 2)
            return frame_of(rows)
        return reports if np.ndim(coverage) else next(iter(reports.values()))

    # ---------------------------------------------------------------------- rules

    def rules(
        self,
        X: Any = None,
        y: Any = None,
        *,
        coverage: float | None = None,
        top: int | None = 10,
        system: int = 0,
        groups: Any = None,
        target: str = "y",
    ) -> Rules:
        """Return the heaviest rules, in the units and names of the data.

        A printed rule has the inputs it is about ("temperature about 12 to 19"), the target there
        as a formula, the uncertainty of its sets and, if rows are given, how often it leads.

        Args:
            X: rows (N, M) to weigh the rules on, such as the training rows. Without them it is
                unknown how often a rule leads, and rules are sorted by their mean log firing in
                training. Of very many rows, evenly spaced ones are used.
            y: their targets (N,), for rows not trained or calibrated on: which share of the rows
                on which a rule leads is covered.
            coverage: the level of the intervals whose mean width is reported for each rule, as it
                is with `y` or a calibration by rules; None for 0.9.
            top: number of rules; None for all.
            system: index of the system, if there are several. The rules of a system that learns
                from ranks are about ranks, in percent.
            groups: the group of each row (N,), if the calibration was by groups other than rules.
            target: name of the target.

        Returns:
            A sequence of `Rule`; `table()` and `to_frame()` have every number.
        """
        check_fitted(self)
        options = {"coverage": coverage, "top": top, "system": system, "groups": groups}
        return self._rules(Units.of(self, target=target), X, y, **options)

    def _rules(
        self,
        units: Units,
        X: Any,
        y: Any = None,
        *,
        coverage: float | None = None,
        groups: Any = None,
        system: int = 0,
        **options: Any,
    ) -> Rules:
        """Return the rules; `units` may have other names."""
        by_rule = self.__dict__.get("rule_groups_")
        if by_rule is not None and by_rule.system == system:
            options |= {"groups": by_rule, "sizes": self.calibrator_.sizes}  # type: ignore[attr-defined]
        rows = None if X is None else self._scaled(X)
        measured = y is not None or coverage is not None or "groups" in options
        if rows is not None and measured and "bounds" not in options:
            y = None if y is None else read_target(y, len(rows))
            options["bounds"] = np.stack(self.predict_interval(X, coverage, groups=groups))
        return read_rules(self._fitted(), units, rows, y=y, system=system, **options)

    def rule_weights(self, X: Any, *, system: int = 0) -> Array:
        """Return the weight of each rule in each output at rows `X` (N, M).

        These are (N, P), and every row adds up to 1. Column p belongs to rule p + 1 of `rules`.
        """
        scaled = self._scaled(X)
        return rule_weights(self._fitted(), scaled, system=system)

    def with_rule(
        self,
        k: int,
        *,
        centres: Mapping[Any, float] | None = None,
        widths: Mapping[Any, float] | None = None,
        intercept: float | None = None,
        slopes: Mapping[Any, float] | None = None,
        system: int = 0,
    ) -> Self:
        """Return an uncalibrated copy with one rule changed, in the units of the data.

        `calibrate` the copy for intervals with the guarantee, whatever the change was.

        Args:
            k: number of the rule, counted from 1, as `rules` prints it.
            centres: values at which memberships are largest, by name or number of the input.
            widths: distances between the two values at which a membership is half of its largest
                value: a set "about 10 to 16" has the centre 13 and the width 6.
            intercept: constant term of the formula.
            slopes: other terms of the formula; those not named stay as they are.
            system: index of the system, if there are several.

        >>> from gt2lite import GT2Regressor
        >>> x = np.linspace(0, 10, 200)[:, None]
        >>> reg = GT2Regressor(n_rules=2, epochs=5, random_state=0).fit(x, abs(x[:, 0] - 5))
        >>> new = reg.with_rule(2, centres={0: 7}, widths={0: 4}, intercept=-5, slopes={0: 1})
        >>> (rule,) = (rule for rule in new.rules() if rule.number == 2)
        >>> rule.antecedents[0].words, rule.formula()
        ('about 5.0 to 9.0', 'y = -5.00 + 1 x0')
        """
        check_fitted(self)
        change = centres, widths, intercept, slopes
        return self._changed(edit_rule(self._fitted(), Units.of(self), k, system, *change))

    def without_rule(self, k: int, *, system: int = 0) -> Self:
        """Return an uncalibrated copy without rule `k`; later rules move up by one number."""
        check_fitted(self)
        return self._changed(drop_rule(self._fitted(), k, system))

    def as_type1(self) -> Self:
        """Return an uncalibrated copy whose systems are of type 1: the plane alpha = 1 alone.

        Its intervals have the same margin at all rows.
        """
        return self.as_interval_type2(1.0)

    def as_interval_type2(self, alpha: float = ALPHA_0) -> Self:
        """Return an uncalibrated copy whose systems are of interval type 2: one plane, `alpha`.

        Its prediction is the midpoint of that plane, and its intervals are margins in proportion
        to the width of the plane.
        """
        check_fitted(self)
        return self._changed(one_plane(self._fitted(), alpha, self.__dict__.get("_background")))

    def explain(
        self,
        x: Any,
        coverage: float | None = None,
        *,
        alpha: float | None = None,
        group: Any = None,
        target: str = "y",
        system: int | None = None,
        background: Any = None,
    ) -> Explanation:
        """Return how one prediction and its interval come about: by rules, or by inputs.

        **One system** is explained by its rules, see `RuleExplanation`:
        weights times consequents add up to the prediction and, with margins, to both bounds.
        `system=k` does the same for one of several systems, whose means are the prediction and
        the interval. **Several systems**, and one with `background`, are explained by inputs, see
        `InputExplanation`: contributions, which are Shapley values, add up
        to the prediction minus the mean prediction over background rows. The inputs that a column
        of a data frame was encoded as change together.

        Args:
            x: one row: M numbers, a row of a data frame, or a table (1, M).
            coverage: the level of the interval, which needs `calibrate` first; 0.9 if neither it
                nor `alpha` is given.
            alpha: a plane in [0.01, 1] instead.
            group: the group of the row, if the calibration was by groups.
            target: name of the target.
            system: index of the system whose rules explain.
            background: rows (B, M) that contributions start from, such as training rows; of more
                than 100, 100 are used. None for 100 training rows that `fit` draws by the seed.
                `save` does not write those rows, so a loaded estimator needs `background`; pickle
                does.

        Returns:
            An explanation with `prediction`, `lower` and `upper` that prints, also in notebooks;
            `table()` and `to_frame()` have every number.
        """
        table, values = one_row(x, self), None
        row = check_one_row(match_table(table, self))
        if hasattr(self, "columns_"):
            values = pandas_frame(table).iloc[0].to_dict()
        options = {"coverage": coverage, "alpha": alpha, "group": group, "system": system}
        units = Units.of(self, target=target)
        return self._explain(units, row, background, values=values, **options)

    def _explain(
        self,
        units: Units,
        row: Array,
        background: Any,
        *,
        coverage: float | None = None,
        alpha: float | None = None,
        group: Any = None,
        system: int | None = None,
        values: Mapping[str, Any] | None = None,
    ) -> Explanation:
        """Return the explanation of a row (1, M) of numbers; `units` may have other names.

        `values` are those of the columns, if the row was encoded.
        """
        if system is not None and background is not None:
            raise ValueError("system explains by rules, background by inputs: give one of them")
        if background is not None:
            background = self._scaled(background)
        elif system is None and len(self.systems_) > 1:
            background = self.__dict__.get("_background")
            if background is None:
                raise ValueError(
                    "background is needed, because model files hold no training rows: pass some, "
                    "such as explain(x, background=X), or system=0 for the rules of one system"
                )
        fitted, calibration, by_rule = self._fitted(), None, None
        if alpha is not None:
            level = read_plane(alpha, coverage, group)
        else:
            calibration, by_rule = self._calibrated(), self.__dict__.get("rule_groups_")
            level = between("coverage", DEFAULT_COVERAGE if coverage is None else coverage, 0, 1)
        if by_rule is not None and group is not None:
            raise ValueError("group must be None: the calibration is by rules")

        def groups_of(Z: Array) -> list[Any] | None:
            if by_rule is not None:
                return by_rule.labels(fitted, Z)
            return None if group is None else read_groups([group]) * len(Z)

        options = {"system": system, "background": background, "values": values}
        return explain_row(fitted, units, row[0], calibration, level, groups_of, **options)

    def readable(self, X: Any, y: Any = None, *, n_rules: int = 7) -> Self:
        """Return one small system that imitates this estimator, to be read instead of it.

        It learns the predictive distribution of this estimator at 60% of the rows: their targets
        are bounds of calibrated intervals, at levels from 5 to 95%. Another 20% of the rows
        calibrate it, and the last 20% measure, as `fidelity_`, how well it stands for this
        estimator. Its rules are those of another, less accurate model: say so when you show them.

        Args:
            X: rows (N, M), at least 100, such as the training rows.
            y: their targets (N,). If None, targets drawn from this estimator's distribution take
                their place, so that nothing is learned about real errors.
            n_rules: number of rules.

        Returns:
            A calibrated `GT2Regressor` of one system. `fidelity_` has `agreement`, the R^2 of its
            predictions with those of this estimator, `loss`, the relative loss of interval score
            at 90% (0.1 is 10% worse), and `n_rows`. This estimator may have seen these rows; then
            the loss is overstated, and the small system needs `calibrate` with new rows for the
            guarantee.
        """
        rng, N = np.random.default_rng(0), n_rows_of(X)
        if N < 100:
            raise ValueError(f"X must have at least 100 rows, got {N}")
        bounds = self.predict_interval(X, np.arange(0.05, 1, 0.1).tolist())
        quantiles = np.concatenate(bounds, axis=1)  # (N, 20), equally likely
        if not np.isfinite(quantiles).all():
            raise ValueError('sides must be "both" or "each": calibrate anew before readable')
        target = rng.permuted(quantiles, axis=1)[:, 0] if y is None else read_target(y, N)
        learn, check, test = np.split(rng.permutation(N), [3 * N // 5, 4 * N // 5])
        labels = rng.permuted(quantiles[learn], axis=1)[:, :_DRAWS]
        small = self.strong(
            n_rules=n_rules,
            choose=False,
            n_systems=1,
            coverage=0.95,  # the outermost of the quantiles
            epochs=math.ceil(MIN_STEPS * STRONG.batch_size / labels.size),
            schedule="cosine",
            target_transform=self.target_transform,
            verbose=self.verbose,
        )
        small.fit(take_rows(X, learn.repeat(_DRAWS)), labels.ravel())
        held = take_rows(X, test)
        with warnings.catch_warnings():  # how good it is says `fidelity_`
            warnings.simplefilter("ignore", UserWarning)
            small.calibrate(take_rows(X, check), target[check])
            wanted, found = self.predict(held), small.predict(held)
            bounds = [reg.predict_interval(held) for reg in (self, small)]
        ours, score = (
            interval_score(target[test], lower, upper, coverage=DEFAULT_COVERAGE)
            for lower, upper in bounds
        )
        r2 = 1 - float(np.mean((found - wanted) ** 2) / (np.var(wanted) or 1.0))
        small.fidelity_ = Fidelity(r2, float(score / ours) - 1, len(test))
        return small

    # -------------------------------------------------------------- save and load

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted systems and their calibration to one JSON file at exactly this path.

        The format is described in `practice.model_file`. The file holds no rows: each calibration
        row leaves a few numbers, and each training row a hash of 48 bits. A row cannot be read
        from it, but anyone who has a row can find out whether it was trained on. The training
        rows that `explain` starts from are not written.
        """
        check_fitted(self)
        model_file.write(path, "regressor", model_file.pack_regressor(self))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return the estimator that `save` wrote to `path`; nothing in the file is executed.

        Raises:
            FileFormatError: the file is damaged, of another kind or of a later version.
        """
        return model_file.load(path, "regressor", partial(model_file.unpack_regressor, cls))

    # -------------------------------------------------------------------- private

    def _trained(self, rows: Rows, target: Array, callback: Callback | None = None) -> Self:
        """Return a copy of this estimator, trained anew and not calibrated."""
        values, columns = encode_training(rows.values)
        recipe, settings = self._recipe(len(values)), self._ensemble_settings()
        scaler = Scaler.fit(values, target, self.target_transform)
        X, y = scaler.transform_X(values), scaler.transform_y(target)
        fitted = fit_systems(X, y, recipe, settings, read_seed(self.random_state), callback)
        new = self._renewed(rows, columns)
        new._keep(count_leads(fitted, X))
        new.scaler_, new.marks_ = scaler, mark_rows(values, target)
        new._background, new._seen = draw_background(X, self.random_state), middle(X)
        return new

    def _calibrated_by(self, rows: Rows, target: Array, asked: Asked) -> Self:
        """Return a copy of this estimator with another calibration, on rows of numbers."""
        fitted, scaled = self._fitted(), self.scaler_.transform_X(rows.values)
        method, sides, groups, given_options = asked
        options = dict(given_options)
        min_rows = pop_min_rows(groups, options)
        if sides is None:
            plain = groups is None and not options and method in RANKED
            enough = len(scaled) >= fewest_samples(0.99, "each")
            sides = self.sides_ if plain and enough else "both"
        calibrator: Any = make_calibrator(method, sides, groups is not None, options)
        by_rule = None
        if isinstance(groups, str):
            by_rule = RuleGroups.choose(fitted, len(scaled), min_rows)
            groups = by_rule.labels(fitted, scaled)
        given = () if groups is None else (groups,)
        intervals = fitted.family(fitted.planes(scaled))
        calibrator.fit(intervals, self.scaler_.transform_y(target), *given)
        new = self._copy(*OF_CALIBRATION)
        new.calibrator_ = calibrator
        if by_rule is not None:
            new.rule_groups_ = by_rule
        if fitted.margins is None:  # margins are not the envelope that was trained
            _warn_if_narrow(calibrator, self.recipe_.coverage)
        return new

    def _recipe(self, n_rows: int) -> Recipe:
        """Return the recipe of the settings, checked, for a number of training rows."""
        settings = {field.name: getattr(self, field.name) for field in fields(Recipe)}
        if self.epochs is None:
            settings["epochs"] = EPOCHS
            steps = max(n_rows // Recipe(**settings).batch_size, 1)  # in an epoch
            settings["epochs"] = max(EPOCHS, math.ceil(MIN_STEPS / steps))
            if self.choose:  # the selection limits the steps
                settings["epochs"] = math.ceil(MOST_STEPS / steps)
        return Recipe(**settings)

    def _ensemble_settings(self) -> EnsembleSettings:
        """Return the settings that are not those of the recipe, checked."""
        if self.target_transform is not None:
            one_of("target_transform", self.target_transform, TRANSFORMS)
        names = [field.name for field in fields(EnsembleSettings)]
        return EnsembleSettings(**{name: getattr(self, name) for name in names})

    def _keep(self, fitted: Fitted) -> None:
        """Set the attributes that are results of training."""
        self.systems_, self.ranks_, self.margins_, self.chosen_, self.sides_, self.limits_ = fitted
        self.params_, self.recipe_, self.history_ = fitted.systems[0][:3]

    def _fitted(self) -> Fitted:
        """Return the result of training as one object, in scaled units."""
        return Fitted(
            self.systems_, self.ranks_, self.margins_, self.chosen_, self.sides_, self.limits_
        )

    def _changed(self, fitted: Fitted) -> Self:
        """Return an uncalibrated copy with other systems."""
        new = self._copy("fidelity_", *OF_CALIBRATION)
        new._keep(fitted)
        return new

    def _groups_of(self, X: Any, groups: Any) -> Any:
        """Return the groups of rows for the calibrator: those given, or the leading rules."""
        by_rule = self.__dict__.get("rule_groups_")
        if by_rule is None:
            return None if groups is None else read_groups(groups, n_rows_of(X))
        if groups is not None:
            raise ValueError("groups must be None: the calibration is by rules")
        return by_rule.labels(self._fitted(), self._scaled(X))

    def _scaled(self, X: Any) -> Array:
        values = match_table(X, self)
        return self.scaler_.transform_X(values)

    def _planes(self, X: Any, keep: bool = False) -> Planes | MeanPlanes:
        scaled = self._scaled(X)  # which checks that it is fitted
        fitted = self._fitted()
        if fitted.limits is not None:
            _warn_if_clipped(scaled, fitted.limits, self._names or input_names(self))
        return fitted.planes(scaled, keep)

    def _calibrated(self) -> Calibration:
        if not hasattr(self, "calibrator_"):
            raise RuntimeError(
                "this estimator is not calibrated: call calibrate(X_cal, y_cal) with rows that "
                "were not trained on, or fit_calibrate(X, y) instead of fit. The uncalibrated "
                f"envelope is predict_interval(X, alpha={ALPHA_0})"
            )
        return self.calibrator_


def encode_training(table: Any) -> tuple[Array, Any]:
    """Return training rows as inputs (N, M), and how columns are encoded; None for numbers."""
    if isinstance(table, np.ndarray):
        return table, None
    from gt2lite.practice.columns import learn

    columns = learn(table)
    return columns.encode(table).inputs.to_numpy(), columns


# ------------------------------------------------------ training and calibration rows


Asked = tuple[str, str | None, Any, Mapping[str, Any]]
"""The arguments `method`, `sides`, `groups` and `options` of a calibration."""


def fit_parts(
    estimator: Any, rows: Rows, target: Any, share: float, seed: Any, asked: Asked, **training: Any
) -> Any:
    """Return a copy of an estimator, trained on one part of the rows and calibrated on the rest.

    This is `fit_calibrate` of all estimators, see `GT2Regressor.fit_calibrate`. An estimator has
    two methods for it, which return copies: `_trained` takes rows, targets and the options of
    `training`; `_calibrated_by` takes rows, encoded as numbers, targets and what is `asked`.
    """
    method, sides, groups, options = asked
    plain = dict(options)
    pop_min_rows(groups, plain)
    make_calibrator(method, sides or "both", groups is not None, plain)  # refused before training
    N = len(target)
    rest, labels, words = split_rows(N, share, seed, groups, sides or "both", plain)
    use = np.delete(np.arange(N), rest)
    new = estimator._trained(rows.take(use), take_rows(target, use), **training)
    held = rows.take(rest)
    if hasattr(new, "columns_"):
        held = held._replace(values=new.columns_.encode(held.values).inputs.to_numpy())
    asked = method, sides, groups if labels is None else labels, options
    new = new._calibrated_by(held, take_rows(target, rest), asked)
    new.calibration_rows_, new.split_ = rest, words
    return new


def split_rows(
    n_rows: int,
    share: float,
    random_state: Any,
    groups: Any,
    sides: str,
    options: Mapping[str, Any],
) -> tuple[IntArray, list[str | int] | None, str]:
    """Return the rows to calibrate on, in rising order, their groups, and a description.

    Arguments as in `fit_calibrate`; `options` are those of the calibrator. A split that leaves too
    few rows for the default level is refused.

    >>> rows, _, words = split_rows(40, 0.25, 0, None, "both", {})
    >>> words
    '40 rows: 30 to train on, 10 to calibrate on (share=0.25, random_state=0)'
    """
    grouped = groups is not None and not isinstance(groups, str)  # "rules" are not known yet
    labels = read_groups(groups, n_rows) if grouped else None
    seed, share = read_seed(random_state), between("share", share, 0, 1)
    rng = np.random.default_rng([1, seed] if isinstance(seed, int) else seed)
    needed = fewest_samples(DEFAULT_COVERAGE, sides, options.get("tails"))
    rows_of: dict[Any, list[int]] = {}
    for i, label in enumerate(labels or [None] * n_rows):
        rows_of.setdefault(label, []).append(i)
    sizes = {label: max(round(share * len(rows)), 1) for label, rows in rows_of.items()}
    chosen = [rng.permutation(rows)[: sizes[label]] for label, rows in rows_of.items()]
    found = np.sort(np.concatenate(chosen))
    pools = grouped and options.get("small_groups") == "pool"
    for label, n in ({None: found.size} if pools else sizes).items():
        if n < needed:
            n_all, of, others = n_rows, "", ""
            if label is not None:
                n_all, of = len(rows_of[label]), f" of group {label!r}"
                others = ', join small groups, or set small_groups="pool"'
            raise ValueError(
                f"share={share:g} of {n_all} rows{of} leaves {n} to calibrate on, and at least "
                f"{needed} are needed: use a larger share or at least "
                f"{math.ceil(needed / share)} rows{others}"
            )
    n_trained = n_rows - found.size
    if n_trained < FEWEST_TRAINED:
        raise ValueError(
            f"share={share:g} of {n_rows} rows leaves {n_trained} to train on, and "
            f"at least {FEWEST_TRAINED} are needed: use a smaller share or more rows"
        )
    by = f", from each of {len(rows_of)} groups" if grouped else ""
    words = (
        f"{n_rows} rows: {n_trained} to train on, {found.size} to calibrate on{by} "
        f"(share={share:g}, random_state={random_state!r})"
    )
    return found, None if labels is None else [labels[i] for i in found], words


# -------------------------------------------------------------------------- warnings


def _warn_if_missed(calibrator: Any, level: float) -> None:
    """Warn if the coverage of the calibration rows, or of a group of them, is far from a level.

    Far is more than 2 points for "table" and "search", and more than 5 for "exact" and
    "conformal", whose ranks never fall short. Four rows are never far: each bound rounds its rank.
    """
    ranked = calibrator.method in RANKED
    missed = [
        row
        for row in calibrator.report(level)
        if row.calibrated_on in ("all", "group")
        and abs(row.reached - level) > max(0.05 if ranked else 0.02, 4 / row.n_samples)
    ]
    if not missed:
        return
    worst = max(missed, key=lambda row: abs(row.reached - level))
    group = "" if worst.group is None else f" of group {worst.group!r}"
    others = f" ({len(missed) - 1} more groups likewise)" if len(missed) > 1 else ""
    if ranked:
        reason = (
            "many rows are first covered by the same interval, because the target has few values "
            "or is predicted exactly. The intervals are wider than necessary"
        )
    else:
        reason = (
            "it evaluates too few planes or stalled. "
            'method="conformal" and method="exact" come as close as the rows allow'
        )
    warn(
        f"coverage {level:g} was requested, but method={calibrator.method!r} covers "
        f"{worst.reached:.1%} of the {worst.n_samples} calibration rows{group}{others}: {reason}",
        MissedLevelWarning,
    )


def _warn_if_clipped(X: Array, limits: Array, names: Sequence[str]) -> None:
    """Warn if a row lies outside the range of training by more than half of it (`FAR`).

    Values just outside are common, and clipping hardly changes them.
    """
    low, high = limits
    reach = FAR * (high - low)
    far = (low - reach > X) | (high + reach < X)
    if far.any():
        columns = ", ".join(str(names[m]) for m in np.flatnonzero(far.any(axis=0))[:5])
        warn(
            f"{far.any(axis=1).sum()} of {len(X)} rows have inputs far outside the range seen in "
            f"training; they are clipped to it. Such columns (at most 5 are listed): {columns}",
            ClippedInputsWarning,
        )


def _warn_if_narrow(calibrator: Any, trained_for: float) -> None:
    """Warn if the plane alpha_0 covers far fewer calibration rows than it was trained for."""
    n = calibrator.n_samples
    k = round(calibrator.max_coverage * n)
    if is_narrow(k, n, trained_for):
        warn(
            f"the envelope was trained to cover {trained_for:.1%}, but covers {k / n:.1%} of the "
            f"{n} calibration rows: the system overfits, was trained too briefly, or these rows "
            "are of another kind. Calibration corrects the coverage by wider intervals. To avoid "
            'it, try fewer rules (n_rules), weight_decay, keep="validation", more training rows '
            "or epochs",
            NarrowEnvelopeWarning,
        )


def is_narrow(n_covered: int, n_samples: int, trained_for: float) -> bool:
    """Return whether an envelope covers significantly less than it was trained for.

    By more than 5 points, and so little that an envelope with the coverage trained for would
    cover as little with a probability of at most 1 in 1,000, by Chernoff's bound on it.

    >>> is_narrow(65, 100, 0.99), is_narrow(97, 100, 0.99), is_narrow(9, 10, 0.99)
    (True, False, False)
    """
    share = n_covered / n_samples
    if not trained_for - share > 0.05:
        return False
    divergence = (1 - share) * math.log((1 - share) / (1 - trained_for))  # Kullback-Leibler
    divergence += share * math.log(share / trained_for) if share else 0.0
    return n_samples * divergence > math.log(1000)


# ----------------------------------------------------------------------- data frames


def interval_frame(
    X: Any, lower: Array, upper: Array, coverage: Any = None, alpha: float | None = None
) -> Any:
    """Return intervals as a data frame with a column for each bound and level.

    The frame is of the same library as the inputs `X`, with its index if it has one; for other
    tables it is a pandas frame. Bounds, `coverage` and `alpha` as in `predict_interval`.

    >>> frame = interval_frame([[1.0], [2.0]], np.zeros(2), np.ones(2), 0.975)
    >>> list(frame.columns), frame.shape
    (['lower_97.5', 'upper_97.5'], (2, 2))
    """
    levels = np.ravel(DEFAULT_COVERAGE if coverage is None else coverage)
    names = [("lower", "upper")] if alpha is not None else [bound_names(level) for level in levels]
    if len(set(names)) < len(names):
        raise ValueError(f"coverage must not name a level twice, got {coverage}")
    columns: dict[str, Array] = {}
    for pair, *bounds in zip(names, np.atleast_2d(lower.T), np.atleast_2d(upper.T), strict=True):
        columns |= dict(zip(pair, bounds, strict=True))
    if hasattr(X, "columns") and not hasattr(X, "iloc"):  # polars: frames without an index
        return type(X)(columns)
    return frame_of(columns, index=X.index if hasattr(X, "iloc") else None)


def bound_names(level: float) -> tuple[str, str]:
    """Return the names of the columns with the bounds at a level.

    >>> bound_names(0.9), bound_names(0.975)
    (('lower_90', 'upper_90'), ('lower_97.5', 'upper_97.5'))
    """
    return f"lower_{percent(level)}", f"upper_{percent(level)}"


def percent(level: float) -> str:
    """Return a level in percent, without trailing zeros; levels with one name are the same.

    >>> percent(0.9), percent(0.975), percent(0.1 + 0.2), percent(np.float32(0.29))
    ('90', '97.5', '30', '29')
    """
    return f"{float(100 * plain_fraction(level)):.10g}"
