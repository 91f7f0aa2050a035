"""`GT2Regressor`: calibrated prediction intervals in the units of the user."""

from __future__ import annotations

import copy
import math
import os
import warnings
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from gt2lite._validation import Array, IntArray, one_of, read_seed
from gt2lite.datasets import TRANSFORMS, Scaler, check_target
from gt2lite.memberships import ALPHA_0
from gt2lite.metrics import interval_score
from gt2lite.practice import model_file
from gt2lite.practice._sklearn import Learned, Regressor, check_fitted, refuse
from gt2lite.practice.calibrating import CalibrationPlan, calibrate_model, fit_parts
from gt2lite.practice.calibrators import DEFAULT_COVERAGE, Calibration, ReportRow
from gt2lite.practice.distribution import Distribution
from gt2lite.practice.explanations import Explanation, explain_row
from gt2lite.practice.frames import frame_of, interval_frame
from gt2lite.practice.margins import Margins
from gt2lite.practice.model import (
    Candidate,
    Ensemble,
    Fidelity,
    Model,
    Ranks,
    System,
    WithOutput,
    draw_background,
    middle,
    read_plane,
    weights_of,
)
from gt2lite.practice.presets import STRONG
from gt2lite.practice.rules import Rules, Units, drop_rule, edit_rule, one_plane, read_rules
from gt2lite.practice.selection import fit_systems
from gt2lite.practice.settings import (
    MIN_STEPS,
    EnsembleSettings,
    check_place,
    checking_place,
    read_recipe,
    strong_settings,
)
from gt2lite.practice.splitting import mark_rows, warn_if_seen
from gt2lite.practice.tables import (
    Features,
    Names,
    Rows,
    check_one_row,
    n_rows_of,
    read_table,
    read_target,
    take_rows,
)
from gt2lite.practice.types import (
    Bounds,
    ByInput,
    Encoding,
    Frame,
    Groups,
    Levels,
    Seed,
    Table,
    Target,
    Transformer,
    Weights,
)
from gt2lite.practice.weights import RuleGroups, count_leads, rule_weights
from gt2lite.recipe import Recipe
from gt2lite.system import Params
from gt2lite.training import Callback

_OF_RECIPE = "recipe__"  # begins the names of finer settings in a search
_DRAWS = 4  # targets of each row that `readable` learns from


class GT2Regressor(Regressor):
    """A general type-2 fuzzy logic system that predicts a number and an interval around it.

    It is trained once, for a high coverage, and then calibrated to any other coverage without
    training again. `GT2Regressor()` is the paper's recipe; for your own data start with
    `GT2Regressor.strong()`.

    All settings are given by name. The first six describe a training, as those of
    `gt2lite.Recipe` do. If one is None, the `recipe` decides; without a recipe, the value in
    brackets, the paper's.

    Args:
        n_rules: number of fuzzy rules, P (10).
        coverage: what the widest plane, alpha_0, learns to cover (0.99).
        objective: "dual", the paper's loss, or "aligned": every plane learns its own coverage
            ("dual").
        epochs: passes over the data (100, or more on small data, until there are about 3,000
            steps; so, too, with a recipe whose `epochs` are 100).
        batch_size: rows in a step (64).
        learning_rate: Adam's (0.001).
        recipe: a `gt2lite.Recipe` for finer settings, such as ``Recipe(weight_decay=0.1)``: planes
            of the output, start values, schedule, early stopping and precision. A setting that
            differs here and in an argument above is an error. In a search,
            ``recipe__weight_decay`` changes one of them.
        n_systems: number of systems, trained from different starts; planes and outputs are means
            over all of them.
        choose: whether training rows decide on the number of rules, the initial width of sets, the
            schedule, the form of the inputs, the length of training and the family of intervals.
            The rows are split into five folds; each system is trained without one of them, and
            scored on it. Settings that differ from those of `strong` stay as given. With less
            than ten `n_systems`, there are less for each fold, or for some folds only.
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
            A transformer of scikit-learn, such as a `ColumnTransformer` or a pipeline of them, is
            fitted on training rows, too, and gets tables as they are.
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
        model_: all that was learned, one `gt2lite.practice.model.Model`; the other attributes
            are parts of it.
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

    model_: Model

    systems_ = Learned[tuple[System, ...]]("ensemble.systems")
    chosen_ = Learned[tuple[Candidate, ...]]("ensemble.candidates")
    margins_ = Learned[Margins | None]("ensemble.margins", or_none=True)
    sides_ = Learned[str]("ensemble.sides")
    limits_ = Learned[Array | None]("ensemble.limits", or_none=True)
    ranks_ = Learned[Ranks | None]("ensemble.ranks", or_none=True)
    scaler_ = Learned[Scaler]("scaler")
    marks_ = Learned[Array]("marks")
    columns_ = Learned[Encoding]("features.encoding")
    n_features_in_ = Learned[int]("features.n")
    feature_names_in_ = Learned[Names]("features.names")
    calibrator_ = Learned[Calibration]("calibration.calibrator")
    rule_groups_ = Learned[RuleGroups]("calibration.rule_groups")
    calibration_rows_ = Learned[IntArray]("calibration.rows")
    split_ = Learned[str]("calibration.split")
    fidelity_ = Learned[Fidelity]("fidelity")
    params_ = Learned[Params]("ensemble.first.params")
    recipe_ = Learned[Recipe]("ensemble.first.recipe")
    history_ = Learned[Array]("ensemble.first.history")

    @checking_place
    def __init__(
        self,
        *,
        n_rules: int | None = None,
        coverage: float | None = None,
        objective: str | None = None,
        epochs: int | None = None,
        batch_size: int | None = None,
        learning_rate: float | None = None,
        recipe: Recipe | None = None,
        n_systems: int = 1,
        choose: bool = False,
        inputs: str = "scaled",
        margins: float | None = None,
        target_transform: str | None = None,
        clip_inputs: bool = False,
        columns: str | Transformer | None = None,
        n_jobs: int | None = None,
        verbose: bool | None = None,
        random_state: Seed = 0,
    ) -> None:
        self.n_rules = n_rules
        self.coverage = coverage
        self.objective = objective
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.recipe = recipe
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
        """Return a regressor for practice: at most ten systems, their settings chosen by the data.

        It starts from `practice.presets.STRONG`, clips inputs and encodes data frames. Training
        uses one core; ``n_jobs=2`` uses two, and so on (with joblib), for the same result.

        Args:
            overrides: settings that differ, by name, those of a `Recipe` included; `recipe` itself
                takes the place of `STRONG`. What is given is not chosen: ``strong(n_rules=10)`` has
                systems of ten rules,
                ``strong(choose=False, n_systems=1)`` is one system with the settings of `STRONG`.

        >>> reg = GT2Regressor.strong(random_state=3, weight_decay=0.1)
        >>> reg.objective, reg.choose, reg.n_systems, reg.recipe.weight_decay, reg.random_state
        ('aligned', True, 10, 0.1, 3)
        """
        return cls(**strong_settings(overrides))

    def set_params(self, **settings: Any) -> Self:
        """Change settings by name; ``recipe__weight_decay`` changes one of the recipe."""
        check_place(settings)
        finer = {name: settings.pop(name) for name in list(settings) if name.startswith(_OF_RECIPE)}
        if finer:
            recipe = settings.get("recipe", self.recipe) or Recipe()
            changed = {name.removeprefix(_OF_RECIPE): value for name, value in finer.items()}
            settings["recipe"] = replace(recipe, **changed)
        super().set_params(**settings)
        return self

    # ------------------------------------------------------------ fit and calibrate

    def fit(
        self, X: Table, y: Target, *, callback: Callback | None = None, **refused: object
    ) -> Self:
        """Train on inputs `X` (N, M), an array or a data frame, and targets `y` (N,).

        `callback`, see `gt2lite.training.train`, is called after each epoch and may end training.
        It is not available with `choose`, nor if several processes train. Rows have no weights in
        training; `calibrate` takes them.

        Ctrl-C ends training after the last complete epoch (of several systems, with the complete
        ones) and an `InterruptedTrainingWarning`. If nothing is complete yet, and in a selection,
        it raises KeyboardInterrupt and the previous model stays.

        Training, calibration and prediction keep BLAS to one thread, the fastest for matrices of
        this size, if threadpoolctl is installed (scikit-learn requires it). Without it set
        OMP_NUM_THREADS and OPENBLAS_NUM_THREADS to 1 before Python starts.
        """
        refuse(self, refused)
        rows = read_table(X, self.columns)
        self.model_ = self.train_model(rows, read_target(y, len(rows.values)), callback)
        return self

    def train_model(
        self,
        rows: Rows,
        target: Array,
        callback: Callback | None = None,
        folds: IntArray | None = None,
    ) -> Model:
        """Return what training on rows gives, and leave this estimator as it is.

        With `folds`, the fold (N,) of each row from 0, each system is trained without one of them.
        """
        settings = self.get_params(deep=False)
        values, features = Features.learn(rows, target, self.columns, type(self).__name__)
        if self.target_transform is not None:
            one_of("target_transform", self.target_transform, TRANSFORMS)
        recipe, others = read_recipe(settings, len(values)), EnsembleSettings.of(settings)
        scaler = Scaler.fit(values, target, self.target_transform)
        X, y = scaler.transform_X(values), scaler.transform_y(target)
        ensemble = fit_systems(X, y, recipe, others, read_seed(self.random_state), callback, folds)
        return Model(
            count_leads(ensemble, X),
            scaler,
            features,
            features.input_names(),
            mark_rows(values, target),
            settings,
            seen=middle(X),
            background=draw_background(X, self.random_state),
        )

    def with_model(self, model: Model) -> Self:
        """Return a copy of this estimator with another model."""
        new = copy.copy(self)
        new.model_ = model
        return new

    def calibrate(
        self,
        X: Table,
        y: Target,
        method: str = "conformal",
        *,
        sides: str | None = None,
        groups: Groups = None,
        sample_weight: Weights = None,
        **options: object,
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
            sample_weight: weights of the rows (Q,), for new rows whose inputs are distributed
                differently: the likelihood ratio of new and calibration inputs, up to a factor.
                Or a function that maps a table to the weights of its rows, such as
                `gt2lite.practice.shift.LikelihoodRatio`. For "conformal" without groups.
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

        With ``sample_weight`` the interval of a new row depends on its weight, too, as in
        Tibshirani et al. (2019): `predict_interval` computes it by the function, or is given it.
        Otherwise a new row has the largest weight of the calibration rows: one cut for all rows,
        which keeps the level if the ratio is nowhere larger. ``calibrator_.effective_size`` is the
        effective number of calibration rows; a level that needs more is refused.

        Groups and `sides` other than "both" need the method "conformal" or "exact". A
        `NarrowEnvelopeWarning` reports a trained envelope that covers far fewer of these rows
        than it was trained for, a `SeenRowsWarning` how many of these rows were in `fit`.
        """
        check_fitted(self)
        plan = CalibrationPlan(method, sides, groups, options).weigh(X, sample_weight)
        inputs = self.model_.features.inputs(X)
        target = read_target(y, len(inputs))
        model = calibrate_model(self.model_, Rows(inputs), target, plan)
        warn_if_seen(model.marks, inputs, target)
        self.model_ = model
        return self

    def fit_calibrate(
        self,
        X: Table,
        y: Target,
        *,
        share: float = 0.25,
        groups: Groups = None,
        method: str = "conformal",
        sides: str | None = None,
        sample_weight: Weights = None,
        callback: Callback | None = None,
        **options: object,
    ) -> Self:
        """Train on one part of the rows and calibrate on the rest, split at random.

        `share` of the rows, or of each group, calibrates; other arguments as in `fit` and
        `calibrate`; training does not use `sample_weight`. `random_state` is the seed of the split,
        too. No calibration row is used in training, not even for its mean; `calibration_rows_` has
        their indices and `split_` describes the split.

        Split the rows yourself if they are ordered in time or belong together: the guarantee
        holds for new rows that are exchangeable with the calibration rows.

        >>> from gt2lite import GT2Regressor, load_dataset
        >>> data = load_dataset("aids")
        >>> reg = GT2Regressor(n_rules=3, epochs=20, learning_rate=0.02)
        >>> reg.fit_calibrate(data.X, data.y).split_
        '2139 rows: 1604 to train on, 535 to calibrate on (share=0.25, random_state=0)'
        """
        plan = CalibrationPlan(method, sides, groups, options).weigh(X, sample_weight)
        rows = read_table(X, self.columns)
        target = read_target(y, len(rows.values))
        check_target(self.target_transform, target)  # an error names the row of the whole table
        train = partial(self.train_model, callback=callback)
        self.model_ = fit_parts(
            rows, target, share, self.random_state, plan, train, calibrate_model
        )
        return self

    # -------------------------------------------------------------------- predict

    def predict(self, X: Table) -> Array:
        """Return the prediction (N,) for inputs `X` (N, M)."""
        check_fitted(self)
        return self.model_.predict(self.model_.features.inputs(X))

    def predict_interval(
        self,
        X: Table,
        coverage: Levels | None = None,
        *,
        alpha: float | None = None,
        groups: Groups = None,
        sample_weight: ArrayLike | None = None,
        with_prediction: bool = False,
        as_frame: bool = False,
    ) -> Bounds | Frame:
        """Return the lower and upper bounds of prediction intervals.

        Args:
            X: inputs (N, M).
            coverage: the level, or several of them; needs `calibrate` first. None means 0.9.
            alpha: a plane in [0.01, 1] instead of a level, calibrated or not: 0.01 is the
                envelope of training, whose coverage is not calibrated.
            groups: the group of each row (N,), if the calibration was by groups other than rules.
            sample_weight: the weight of each row (N,), if the calibration has weights. None for
                those of the function that `calibrate` was given; without one, the largest weight
                of the calibration rows. A row whose weight is too large a share of all has an
                infinite interval.
            with_prediction: whether to return what `predict` returns, too: about twice as fast as
                two calls.
            as_frame: whether to return a data frame, see below.

        Returns:
            Two arrays (N,), or (N, L) for a sequence of L levels. The open bound of a one-sided
            interval is infinite. With `with_prediction` three arrays: the prediction (N,) and the
            bounds. As a frame: the columns "prediction", if asked for, and "lower_90", "upper_90"
            and so on for each level, with the index of `X`.

        A `MissedLevelWarning` reports, once for each level, that the coverage of the calibration
        rows is far from it.
        """
        check_fitted(self)
        model = self.model_
        levels = DEFAULT_COVERAGE if coverage is None else coverage
        if alpha is not None:
            alpha = read_plane(alpha, coverage, groups, sample_weight)
        calibration = model.calibrated() if alpha is None else None
        scaled = model.scale(X)
        planes = model.planes(scaled)
        family: Any = WithOutput(planes, model.ensemble.alphas) if with_prediction else planes
        if calibration is None:
            lower, upper = family(alpha)
        else:
            if model.ensemble.margins is not None:
                family = model.ensemble.family(planes)
            labels = model.groups_of(scaled, groups)
            weights = weights_of(X, calibration.ratio, sample_weight)
            lower, upper = calibration.calibrator.intervals(family, levels, labels, weights)
            calibration.check_levels(levels)
        lower, upper = (model.scaler.inverse_bounds(bounds) for bounds in (lower, upper))
        found: tuple[Array, ...] = ()
        if with_prediction:
            found = (model.scaler.inverse_y(family.centre),)
        found = (*found, lower, upper)
        return interval_frame(X, found, coverage, alpha) if as_frame else found

    def predict_distribution(self, X: Table, *, groups: Groups = None) -> Distribution:
        """Return the predictive distributions of rows `X` (N, M), in units of y.

        See `Distribution` for what they can do, `predict_quantile` for their guarantee and
        `predict_interval` for `groups`.
        """
        check_fitted(self)
        model = self.model_
        calibrator, scaled = model.calibrated().calibrator, model.scale(X)
        family = model.ensemble.family(model.planes(scaled, keep=True))
        return Distribution(calibrator, family, model.scaler, model.groups_of(scaled, groups))

    def predict_quantile(self, X: Table, quantiles: Levels, *, groups: Groups = None) -> Array:
        """Return quantiles of the predictive distributions, (N,), or (N, L) for L of them.

        After `calibrate` by "conformal", whatever its `sides`, the target of a new exchangeable row
        is at most the quantile q with a probability of at least q for q >= 1/2, and it is below the
        quantile with a probability of at most q for q < 1/2. Without ties both probabilities are
        within 1 / (Q + 1) of q. Quantiles of one call never cross. "table" and "search" have none.

        Args:
            X: inputs (N, M).
            quantiles: a number in (0, 1), or L of them. Below 1 / (Q + 1) and above Q / (Q + 1),
                with Q calibration rows, they are infinite, with a `SmallCalibrationWarning`.
            groups: as in `predict_interval`.
        """
        return self.predict_distribution(X, groups=groups).quantile(quantiles)

    def calibration_report(
        self, coverage: Levels, *, as_frame: bool = False
    ) -> list[ReportRow] | dict[float, list[ReportRow]] | Frame:
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
        check_fitted(self)
        calibrator, unit = self.model_.calibrated().calibrator, self.model_.scaler.y_std
        reports = {
            float(level): [
                row._replace(margin=row.margin * unit) for row in calibrator.report(level)
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
        X: Table | None = None,
        y: Target = None,
        *,
        coverage: float | None = None,
        top: int | None = 10,
        system: int = 0,
        groups: Groups = None,
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
        model, rows, bounds, targets = self.model_, None, None, None
        if X is not None:
            rows = model.scale(X)
            by_rule = getattr(self, "rule_groups_", None)
            grouped = by_rule is not None and by_rule.system == system
            if y is not None or coverage is not None or grouped:
                targets = None if y is None else read_target(y, len(rows))
                bounds = np.stack(self.predict_interval(X, coverage, groups=groups))
        units = Units.of(model, target)
        return read_rules(model, units, rows, top=top, system=system, bounds=bounds, y=targets)

    def rule_weights(self, X: Table, *, system: int = 0) -> Array:
        """Return the weight of each rule in each output at rows `X` (N, M).

        These are (N, P), and every row adds up to 1. Column p belongs to rule p + 1 of `rules`.
        """
        check_fitted(self)
        return rule_weights(self.model_.ensemble, self.model_.scale(X), system=system)

    def with_rule(
        self,
        k: int,
        *,
        centres: ByInput | None = None,
        widths: ByInput | None = None,
        intercept: float | None = None,
        slopes: ByInput | None = None,
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
        change, units = (centres, widths, intercept, slopes), Units.of(self.model_)
        return self._with(edit_rule(self.model_.ensemble, units, k, system, *change))

    def without_rule(self, k: int, *, system: int = 0) -> Self:
        """Return an uncalibrated copy without rule `k`; later rules move up by one number."""
        check_fitted(self)
        return self._with(drop_rule(self.model_.ensemble, k, system))

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
        return self._with(one_plane(self.model_.ensemble, alpha, self.model_.background))

    def _with(self, ensemble: Ensemble) -> Self:
        return self.with_model(self.model_.with_ensemble(ensemble))

    def explain(
        self,
        x: Table,
        coverage: float | None = None,
        *,
        alpha: float | None = None,
        group: str | int | None = None,
        target: str = "y",
        system: int | None = None,
        background: Table | None = None,
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
        check_fitted(self)
        model = self.model_
        table = model.features.one_row(x)
        return explain_row(
            model if model.calibration is None else model.at_row(table, model.calibration.ratio),
            Units.of(model, target),
            check_one_row(model.features.inputs(table)),
            coverage,
            alpha=alpha,
            group=group,
            system=system,
            background=None if background is None else model.scale(background),
            values=model.features.raw_values(table),
        )

    def readable(self, X: Table, y: Target = None, *, n_rules: int = 7) -> Self:
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
        fidelity = Fidelity(r2, float(score / ours) - 1, len(test))
        return small.with_model(replace(small.model_, fidelity=fidelity))

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
