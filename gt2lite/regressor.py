"""`GT2Regressor`: calibrated prediction intervals in the units of the user."""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Self

import numpy as np

from gt2lite._sklearn import Regressor
from gt2lite._validation import Array, Names, between, read_seed, read_table, read_target
from gt2lite.calibration import RANKED, Calibration, Cut, ReportRow, TwoSidedCalibrator
from gt2lite.calibration.groups import read_groups
from gt2lite.calibration.make import make_calibrator, tails_of
from gt2lite.datasets import check_target, ends_in_units, scaler_kind
from gt2lite.memberships import ALPHA_0
from gt2lite.model_file import Stored
from gt2lite.rules import Readable
from gt2lite.selection import (
    SIGNATURE,
    Learnt,
    check_watch,
    complete,
    describe,
    fit_systems,
    make_plan,
    make_recipe,
)
from gt2lite.splits import DEFAULT_COVERAGE, draw_split
from gt2lite.training import STRONG, Callback

FAR, FAR_ABOVE = 0.02, 0.05
"""How far from its level a coverage may lie: either way, and above it where ranks decide."""

SHORT, CHANCE = 0.05, 1e-3
"""How much less than trained for an envelope may cover, and how unlikely that has to be."""


class MissedLevelWarning(UserWarning):
    """The interval for a level covers another share of the calibration rows than was asked for."""


class NarrowEnvelopeWarning(UserWarning):
    """The trained envelope covers far less of the calibration rows than it was trained for."""


# ---------------------------------------------------------------------- levels


def warn_if_missed(
    calibrator: Any, levels: Iterable[float], told: set[float], stacklevel: int = 3
) -> None:
    """Warn of each level that a calibration misses, unless it is among those `told` before.

    Args:
        calibrator: any `gt2lite.calibration.Calibration`.
        levels: the levels asked for.
        told: those that were looked at before; the new ones are added.
        stacklevel: whose line the warning names.
    """
    method = calibrator.method
    sides = "each" if isinstance(calibrator, TwoSidedCalibrator) else "both"
    each = getattr(calibrator, "sides", sides) == "each"
    for level in map(float, levels):
        if level in told:
            continue
        told.add(level)
        missed = [
            row
            for row in calibrator.report(level)
            if row.calibrated_on in ("all", "group")
            and is_far(row.reached, level, row.n_samples, method, each)
        ]
        if missed:
            words = _missed(missed, level, method)
            warnings.warn(words, MissedLevelWarning, stacklevel=stacklevel)


def is_far(reached: float, level: float, n_samples: int, method: str, each: bool = False) -> bool:
    """Return whether the share of calibration rows covered is far from the level.

    For "table" and "search": more than 2 points away, and more than two rows. For "exact" and
    "conformal", which never fall short: more than 5 points above, and more than the
    rounding of ranks explains, which is two rows, or four where each end has its own rank.

    >>> is_far(0.97, 0.9, 1000, "search"), is_far(0.91, 0.9, 1000, "search")
    (True, False)
    >>> is_far(0.94, 0.9, 1000, "conformal"), is_far(1.0, 0.9, 9, "conformal")
    (False, False)
    """
    rows = (4 if each else 2) / n_samples
    if method in RANKED:
        return reached - level > max(FAR_ABOVE, rows)
    return abs(reached - level) > max(FAR, rows)


def _missed(rows: list[ReportRow], level: float, method: str) -> str:
    worst = max(rows, key=lambda row: abs(row.reached - level))
    among = "" if worst.group is None else f" of group {worst.group!r}"
    more = f" ({len(rows) - 1} more groups likewise)" if len(rows) > 1 else ""
    told = (
        f"coverage {level:g} was asked for, and the interval that method={method!r} chose covers "
        f"{worst.reached:.1%} of the {worst.n_samples} calibration rows{among}{more}: "
    )
    if method in RANKED:
        return told + (
            "many rows are first covered by one and the same interval, as where the target has few "
            "values or is met exactly, and there is none in between. No level is missed from "
            "below; the intervals are wider than this one needs"
        )
    why = "its search stalled" if method == "search" else "it interpolates between few planes"
    return told + (
        f'{why}. calibrate(X, y, method="conformal") comes as near as the rows allow, with a '
        'guarantee, and method="exact" without'
    )


# -------------------------------------------------------------------- envelope


def warn_if_narrow(calibrator: Any, trained_for: float, stacklevel: int = 3) -> None:
    """Warn where the plane alpha_0 covers far less of the calibration rows than it should.

    Args:
        calibrator: any `gt2lite.calibration.Calibration`, fitted.
        trained_for: the coverage that training aimed at.
        stacklevel: whose line the warning names.
    """
    n = calibrator.n_samples
    if calibrator.method in RANKED:
        k = int(calibrator.scores.covered(Cut(ALPHA_0)).sum())
    else:
        k = round(calibrator.coverage(ALPHA_0) * n)
    if is_narrow(k, n, trained_for):
        warnings.warn(
            f"the envelope was trained to cover {trained_for:.1%}, and covers {k / n:.1%} of the "
            f"{n} calibration rows: the system fits its training rows better than new ones, was "
            "trained too briefly, or these rows come from elsewhere. Calibration mends the "
            "coverage, at the price of wider intervals. Fewer rules (n_rules), weight_decay, "
            'keep="validation", more training rows or epochs help',
            NarrowEnvelopeWarning,
            stacklevel=stacklevel,
        )


def is_narrow(n_covered: int, n_samples: int, trained_for: float) -> bool:
    """Return whether an envelope covers less than it was trained for, by more than chance.

    More than 5 points less, and so few that an envelope with the coverage trained for
    has a chance of at most 1 in 1,000 to cover no more.

    >>> is_narrow(65, 100, 0.99), is_narrow(97, 100, 0.99), is_narrow(9, 10, 0.99)
    (True, False, False)
    """
    short = trained_for - n_covered / n_samples > SHORT
    return short and at_most(n_covered, n_samples, trained_for) <= CHANCE


def at_most(k: int, n: int, p: float) -> float:
    """Return the chance of at most `k` hits in `n` trials with chance `p`, for ``k < n * p``.

    From the term of `k` downwards, where each term is a falling share of the one before.

    >>> round(at_most(1, 4, 0.5), 12)  # (1 + 4) / 16
    0.3125
    """
    ways = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    term = math.exp(ways + k * math.log(p) + (n - k) * math.log1p(-p))
    total = term
    for j in range(k, 0, -1):
        term *= j / (n - j + 1) * (1 - p) / p
        total += term
        if term <= 1e-16 * total:
            break
    return total


def interval_frame(
    X: Any, lower: Array, upper: Array, coverage: Any = None, alpha: float | None = None
) -> Any:
    """Return intervals as a data frame with a column for each end and level.

    A frame of the kind that `X` is, with its index where it has one; for other tables a
    pandas frame.

    Args:
        X: the inputs.
        lower: (N,), or (N, L) for L levels.
        upper: likewise.
        coverage: the level or levels; None means 0.9.
        alpha: the plane, if one was requested instead of a coverage.

    >>> frame = interval_frame([[1.0], [2.0]], np.zeros(2), np.ones(2), 0.9)
    >>> list(frame.columns), frame.shape
    (['lower_90', 'upper_90'], (2, 2))
    """
    if alpha is not None:
        columns = {"lower": lower, "upper": upper}
    else:
        columns = {}
        for level, low, high in zip(
            np.ravel(DEFAULT_COVERAGE if coverage is None else coverage),
            np.atleast_2d(lower.T),
            np.atleast_2d(upper.T),
            strict=True,
        ):
            columns |= {f"lower_{percent(level)}": low, f"upper_{percent(level)}": high}
    if hasattr(X, "columns") and not hasattr(X, "iloc"):  # polars: frames without an index
        return type(X)(columns)
    return _pandas().DataFrame(columns, index=X.index if hasattr(X, "iloc") else None)


def percent(level: float) -> str:
    """Return a level in per cent, as short as it can be told.

    >>> percent(0.9), percent(0.975), percent(0.29)
    ('90', '97.5', '29')
    """
    return f"{100 * level:.10g}"


def report_frame(reports: Mapping[float, Sequence[ReportRow]]) -> Any:
    """Return the rows of calibration reports as a pandas frame, with a column for the level.

    Planes and margins have a column for each end.
    """
    rows = []
    for level, report in reports.items():
        for row in report:
            plain = {"coverage": level} | row._asdict()
            for name in ("alpha", "margin"):
                value = np.broadcast_to(plain.pop(name), 2)
                plain |= {f"lower_{name}": value[0], f"upper_{name}": value[1]}
            rows.append(plain)
    return _pandas().DataFrame(rows)


def _pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        raise ImportError(
            "as_frame=True needs pandas, which is not installed: pip install pandas, or take the "
            "arrays"
        ) from error
    return pandas


class GT2Regressor(Readable, Stored, Learnt, Regressor):
    """A general type-2 fuzzy logic system that predicts a number and an interval around it.

    It is trained once, for a high coverage, and then calibrated to any other one without
    training again. `GT2Regressor()` is the paper's recipe; for tables of your own begin with
    `GT2Regressor.strong()`.

    All settings are given by name. They are those of `gt2lite.training.Recipe`, where
    `epochs` may also be None: 100, and more on small data, until about 3,000 steps are done.

    Attributes:
        systems_: the trained systems, each with `params`, `recipe`, `history` and `inputs`.
        params_, recipe_, history_: those of the first: a dict of arrays in scaled units, the
            settings of its training, and the mean loss of each epoch.
        chosen_: what a choice inside training has tried, the best first; empty without one.
        margins_: the family of intervals that is calibrated; None for planes.
        ranks_: the ranks of the inputs, where a system learns from them; else None.
        scaler_: mean and spread of the training data.
        calibrator_: what `calibrate` learnt; absent before.
        calibration_rows_, split_: the rows that `fit_calibrate` did not train on, and a line
            about them; absent otherwise.
        n_features_in_, feature_names_in_: the columns seen in `fit`; names where X had them.

    >>> from gt2lite import GT2Regressor, load_dataset
    >>> data = load_dataset("pp")
    >>> reg = GT2Regressor(epochs=20, learning_rate=0.01)
    >>> reg = reg.fit_calibrate(data.X[:3000], data.y[:3000])
    >>> lower, upper = reg.predict_interval(data.X[3000:], coverage=[0.9, 0.95])
    >>> lower.shape
    (6568, 2)
    """

    def __init__(self, **settings: Any) -> None:
        for name, value in complete(settings).items():
            setattr(self, name, value)

    __init__.__signature__ = SIGNATURE  # type: ignore[attr-defined]

    @classmethod
    def strong(cls, **overrides: Any) -> Self:
        """Return a regressor for practice: several systems, their settings chosen by the data.

        Every plane learns a coverage, as in `gt2lite.training.STRONG`; the number of rules, the
        form of the inputs, the length of training and more are chosen inside the rows
        of training, and the mean of five to fifteen systems is kept. It takes 15 to 25 seconds for
        1,000 rows with 10 inputs on one core, and grows with the inputs. `n_jobs=-1` uses
        all cores.

        Args:
            overrides: settings that differ, by name. What is given is not chosen:
                ``strong(n_rules=10)`` has systems of ten rules, ``strong(choose=False,
                n_systems=1)`` is one system with the settings of `STRONG`.

        >>> reg = GT2Regressor.strong(random_state=3)
        >>> reg.objective, reg.choose, reg.n_systems, reg.random_state
        ('aligned', True, 5, 3)
        """
        settings = asdict(STRONG) | {"epochs": None, "n_systems": 5, "choose": True}
        return cls(**(settings | overrides))

    # ------------------------------------------------------------ fit and calibrate

    def fit(self, X: Any, y: Any, *, callback: Callback | None = None) -> Self:
        """Train on inputs `X` (N, M), an array or a data frame, and targets `y` (N,).

        Args:
            X: inputs.
            y: targets.
            callback: called after each epoch with its number, its loss and the parameters;
                training ends if it returns True, see `gt2lite.training.train`. Not with
                `choose`, nor where several processes train.

        Ctrl-C ends training with what the epochs so far have learnt, of several systems with
        those that are complete, and an `InterruptedTrainingWarning`. Before there is such, and
        in a choice inside training, it is an error, and the model that was there stays. In a loop
        of fits, such as a search, it ends one of them.

        Training, calibration and prediction keep BLAS to one thread, which is the fastest for
        matrices of this size, where threadpoolctl is installed (scikit-learn brings it).
        Without it set OMP_NUM_THREADS and OPENBLAS_NUM_THREADS to 1 before Python starts.
        """
        values, names = read_table(X)
        return self._fit(values, names, read_target(y, len(values)), callback)

    def calibrate(
        self,
        X: Any,
        y: Any,
        method: str = "conformal",
        *,
        sides: str = "both",
        groups: Any = None,
        **options: Any,
    ) -> Self:
        """Learn which plane has which coverage, from rows that training has not seen.

        Args:
            X: inputs (Q, M).
            y: targets (Q,).
            method: "conformal" has a guarantee, at any level up to Q / (Q + 1); "exact" is the
                same without its one rank of caution; "table" and "search" are the paper's
                Methods 1 and 2, which approximate "exact" and end at the trained envelope.
            sides: "both" for one plane; "each" for a plane for each end of the interval; "lower"
                or "upper" for that end alone, so that it has all the misses of a level.
            groups: a name or whole number for each row (Q,), and each group gets planes of
                its own; `predict_interval` then wants the groups of new rows, too.
            options: for the calibrator, see `gt2lite.calibration`; with groups
                ``small_groups="pool"`` is one. ``tails=(0.2, 0.8)``, with "each", lets a fifth of
                the misses lie below and the rest above.

        Groups and `sides` other than "both" need the method "conformal" or "exact". A
        `NarrowEnvelopeWarning` says where the trained envelope covers far less of these rows
        than it was trained for.
        """
        calibrator = make_calibrator(method, sides, groups is not None, options)
        scaled = self._scaled(X)
        target = read_target(y, len(scaled))
        return self._calibrate(calibrator, scaled, target, groups)

    def fit_calibrate(
        self,
        X: Any,
        y: Any,
        *,
        share: float = 0.25,
        groups: Any = None,
        method: str = "conformal",
        sides: str = "both",
        callback: Callback | None = None,
        **options: Any,
    ) -> Self:
        """Train on a part of one table and calibrate on the rest, drawn at random.

        `random_state` is the seed of the split, too. No calibration row is trained on, not even
        for its mean; `calibration_rows_` has their indices and `split_` tells the split.

        Args:
            X: inputs (N, M).
            y: targets (N,).
            share: the part of the rows that calibrates.
            groups: a name or whole number for each row (N,): each group gives its share, and
                is calibrated on its own.
            method: see `calibrate`, as for `sides` and `options`.
            sides: likewise.
            callback: see `fit`.
            options: see `calibrate`.

        Rows in the order of time, or that belong together, are better split by hand: the
        guarantee is one for new rows of the same kind as those drawn.

        >>> from gt2lite import GT2Regressor, load_dataset
        >>> data = load_dataset("aids")
        >>> reg = GT2Regressor(n_rules=3, epochs=20, learning_rate=0.02)
        >>> reg.fit_calibrate(data.X, data.y).split_
        '2139 rows: 1604 to train on, 535 to calibrate on (share=0.25, random_state=0)'
        """
        calibrator = make_calibrator(method, sides, groups is not None, options)
        values, names = read_table(X)
        target = read_target(y, N := len(values))
        check_target(self.target_transform, target)  # while rows have their own numbers
        labels = None if groups is None else read_groups(groups, N)
        pool, tails = options.get("small_groups") == "pool", tails_of(sides, options)
        split = draw_split(N, share, self.random_state, labels, sides=sides, tails=tails, pool=pool)
        self._fit(values[split.trained], names, target[split.trained], callback)
        of_rows = None if labels is None else [labels[i] for i in split.calibrated]
        scaled = self.scaler_.transform_X(values[split.calibrated])
        self._calibrate(calibrator, scaled, target[split.calibrated], of_rows)
        self.calibration_rows_, self.split_ = split.calibrated, split.words
        return self

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
        """Return the lower and upper ends of prediction intervals.

        Args:
            X: inputs (N, M).
            coverage: the level, or several of them; needs `calibrate` first. None means 0.9.
            alpha: a plane in [0.01, 1] instead of a level, calibrated or not: 0.01 is the
                envelope that training aimed at, and covers what it happens to cover.
            groups: the group of each row (N,), where the calibration was by groups.
            as_frame: whether to return a data frame, see below.

        Returns:
            Two arrays (N,), or (N, L) for a sequence of L levels. An end that there is none of is
            infinite. As a frame: the columns "lower_90", "upper_90" and so on for each level,
            with the index of `X`.

        A `MissedLevelWarning` says, once for each level, where the calibration rows were covered
        far more or less often than that.
        """
        self._check_fitted()
        if alpha is not None:
            lower, upper = self._plane(X, alpha, coverage, groups)
        else:
            coverage = DEFAULT_COVERAGE if coverage is None else coverage
            calibrator, planes = self._calibrated(), self._planes(X)
            if groups is not None:
                groups = read_groups(groups, len(planes))
            lower, upper = calibrator.intervals(self._fitted().family(planes), coverage, groups)
            told = self.__dict__.setdefault("_told", set())
            warn_if_missed(calibrator, np.ravel(coverage), told)
        lower, upper = (ends_in_units(self.scaler_, ends) for ends in (lower, upper))
        if as_frame:
            return interval_frame(X, lower, upper, coverage, alpha)
        return lower, upper

    def calibration_report(
        self, coverage: float | Sequence[float], *, as_frame: bool = False
    ) -> Any:
        """Return what the calibration makes of a level, a row for each group, or one for all.

        A row has the number of samples, what the group was calibrated on, its plane, the share
        of its samples covered, and the margin on top of the lowest plane, in units of y, or of
        log(y) where that is learnt.

        Args:
            coverage: the level, or several of them.
            as_frame: whether to return a pandas frame with a column for the level.

        Returns:
            A list of `ReportRow`, or a dict of such lists by level where several are asked for.
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
            return report_frame(reports)
        return reports if np.ndim(coverage) else next(iter(reports.values()))

    # ------------------------------------------------------------------ inside

    def _fit(
        self, values: Array, names: Names | None, target: Array, callback: Callback | None = None
    ) -> Self:
        settings = self.get_params()
        recipe, plan = make_recipe(settings, len(values)), make_plan(settings)
        check_watch(plan, callback)
        scaler = scaler_kind(plan.target_transform).fit(values, target)
        fitted = fit_systems(
            scaler.transform_X(values),
            scaler.transform_y(target),
            recipe,
            plan,
            read_seed(self.random_state),
            callback,
        )
        self._forget("calibrator_", "feature_names_in_", *_OF_CALIBRATION)
        self._keep(fitted)
        self.scaler_ = scaler
        self.n_features_in_ = values.shape[1]
        if names is not None:
            self.feature_names_in_ = names
        return self

    def _calibrate(self, calibrator: Any, scaled: Array, target: Array, groups: Any) -> Self:
        given = () if groups is None else (groups,)
        learnt = self._fitted()
        intervals = learnt.family(learnt.planes(scaled))
        calibrator.fit(intervals, self.scaler_.transform_y(target), *given)
        self._forget(*_OF_CALIBRATION)
        self.calibrator_: Calibration = calibrator
        self._calibration_X = None if calibrator.interval is None else scaled
        if learnt.margins is None:  # margins are no envelope that was trained
            warn_if_narrow(calibrator, self.recipe_.coverage, stacklevel=4)
        return self

    def _plane(self, X: Any, alpha: Any, coverage: Any, groups: Any) -> tuple[Array, Array]:
        if coverage is not None:
            raise ValueError(f"give alpha or coverage, not both: got {alpha!r} and {coverage!r}")
        if groups is not None:
            raise ValueError("groups cannot be combined with alpha: pass coverage instead")
        return self._planes(X)(between("alpha", alpha, ALPHA_0, 1, closed=True))


GT2Regressor.__doc__ = inspect.cleandoc(GT2Regressor.__doc__ or "").replace(
    "\nAttributes:\n", f"\nSettings:\n{describe()}\n\nAttributes:\n", 1
)


_OF_CALIBRATION = ("calibration_rows_", "split_", "_told")  # what a new calibration outdates
