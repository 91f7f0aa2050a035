"""Calibration of models: a plan that checks itself, the split of rows, and the calibration.

A `CalibrationPlan` holds what `calibrate` and `fit_calibrate` of all estimators are asked for. It
is made before any training, so that a bad argument costs no time.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol, Self, TypeVar

import numpy as np

from gt2lite._validation import Array, IntArray, between, one_of, read_seed, whole
from gt2lite.practice.calibrators import (
    DEFAULT_COVERAGE,
    RANKED,
    Calibration,
    effective_size,
    fewest_samples,
    make_calibrator,
    read_groups,
)
from gt2lite.practice.model import CalibrationResult, Model, weights_of
from gt2lite.practice.tables import Features, Rows
from gt2lite.practice.types import Groups, Ratio, Seed, Settings, Table, Weights
from gt2lite.practice.warnings import warn_if_narrow
from gt2lite.practice.weights import RuleGroups, refer_to

MIN_ROWS = 50
"""Calibration rows that a rule needs for a group of its own."""

FEWEST_TRAINED = 10
"""Fewest rows that `fit_calibrate` trains on."""


@dataclass(frozen=True, eq=False)
class CalibrationPlan:
    """What `calibrate` is asked for; the arguments are those of `GT2Regressor.calibrate`.

    >>> CalibrationPlan("table", sides="upper")
    Traceback (most recent call last):
        ...
    ValueError: sides='upper' needs method="exact" or "conformal", got method='table'
    """

    method: str = "conformal"
    sides: str | None = None
    groups: Groups = None  # or "rules"
    options: Settings = field(default_factory=dict)
    weights: Array | None = None  # of the calibration rows
    ratio: Ratio | None = None  # computes the weights of new rows

    def __post_init__(self) -> None:
        if isinstance(self.groups, str):
            one_of("groups", self.groups, ["rules"])
            whole("min_rows", self.min_rows)
        self.make_calibrator(self.sides or "both")

    @property
    def by_rule(self) -> bool:
        """Whether rows are grouped by their leading rule."""
        return isinstance(self.groups, str)

    @property
    def min_rows(self) -> int:
        """Calibration rows that a rule needs for a group of its own."""
        found: int = self.options.get("min_rows", MIN_ROWS)
        return found

    def make_calibrator(self, sides: str) -> Calibration:
        """Return the calibrator, not fitted yet."""
        own = {"min_rows"} if self.by_rule else set()
        options = {name: value for name, value in self.options.items() if name not in own}
        grouped = self.groups is not None
        return make_calibrator(self.method, sides, grouped, options, self.weights)

    def weigh(self, X: Table, sample_weight: Weights) -> CalibrationPlan:
        """Return the plan with the weights of rows `X`: an array, or what a function says."""
        if sample_weight is None:
            return self
        ratio = sample_weight if callable(sample_weight) else None
        weights = weights_of(X, ratio, None if callable(sample_weight) else sample_weight)
        return replace(self, weights=weights, ratio=ratio)

    def choose_sides(self, n_rows: int, best: str) -> str:
        """Return the sides for a number of rows; `best` are those that a selection found best."""
        if self.sides is not None:
            return self.sides
        n_rows = n_rows if self.weights is None else round(effective_size(self.weights))
        plain = self.groups is None and not self.options and self.method in RANKED
        return best if plain and n_rows >= fewest_samples(0.99, "each") else "both"


def calibrate_model(model: Model, rows: Rows, target: Array, plan: CalibrationPlan) -> Model:
    """Return a model with another calibration, on rows encoded as numbers and targets (Q,)."""
    ensemble, scaled = model.ensemble, model.scaler.transform_X(rows.values)
    calibrator = plan.make_calibrator(plan.choose_sides(len(scaled), ensemble.sides))
    by_rule, groups = None, plan.groups
    if plan.by_rule:
        by_rule = RuleGroups.choose(ensemble, len(scaled), plan.min_rows)
        groups = by_rule.labels(ensemble, scaled)
    family = ensemble.family(ensemble.planes(scaled))
    calibrator.fit(family, model.scaler.transform_y(target), groups)
    if ensemble.margins is None:  # margins are not the envelope that was trained
        warn_if_narrow(calibrator, ensemble.first.recipe.coverage)
    known = refer_to(ensemble, scaled) if calibrator.method in RANKED else None
    found = CalibrationResult(calibrator, by_rule, ratio=plan.ratio, reference=known)
    return replace(model, calibration=found)


class Trained(Protocol):
    """A trained model, once it is calibrated with a description of its split."""

    @property
    def features(self) -> Features:
        """The columns of its table."""

    def with_split(self, rows: IntArray, words: str) -> Self:
        """Return the model with a description of the split that calibrated it."""


M = TypeVar("M", bound=Trained)


def fit_parts(
    rows: Rows,
    target: Array,
    share: float,
    seed: Seed,
    plan: CalibrationPlan,
    train: Callable[[Rows, Array], M],
    calibrate: Callable[[M, Rows, Array, CalibrationPlan], M],
) -> M:
    """Return a model that was trained on one part of the rows and calibrated on the rest.

    This is `fit_calibrate` of all estimators, see `GT2Regressor.fit_calibrate`. `train` takes rows
    and targets, `calibrate` a model, rows encoded as numbers, targets and a plan.
    """
    split = split_rows(len(target), share, seed, plan)
    used = np.delete(np.arange(len(target)), split.rows)
    model = train(rows.take(used), target[used])
    held = rows.take(split.rows)
    held = held._replace(values=model.features.encode(held.values))
    if split.labels is not None:
        plan = replace(plan, groups=split.labels)
    if plan.weights is not None:
        plan = replace(plan, weights=plan.weights[split.rows])
    return calibrate(model, held, target[split.rows], plan).with_split(split.rows, split.words)


class Split(NamedTuple):
    """The rows to calibrate on."""

    rows: IntArray  # in rising order
    labels: list[str | int] | None  # their groups, if there are groups
    words: str  # a description


def split_rows(n_rows: int, share: float, seed: Seed, plan: CalibrationPlan) -> Split:
    """Return the rows to calibrate on, drawn at random, or from each group at random.

    A split that leaves too few rows for the default level is refused.

    >>> split_rows(40, 0.25, 0, CalibrationPlan()).words
    '40 rows: 30 to train on, 10 to calibrate on (share=0.25, random_state=0)'
    """
    grouped = plan.groups is not None and not plan.by_rule  # leading rules are not known yet
    labels = read_groups(plan.groups, n_rows) if grouped else None
    number, share = read_seed(seed), between("share", share, 0, 1)
    rng = np.random.default_rng([1, number] if isinstance(number, int) else number)
    rows_of: dict[str | int | None, list[int]] = {}
    for i, label in enumerate(labels or [None] * n_rows):
        rows_of.setdefault(label, []).append(i)
    sizes = {label: max(round(share * len(rows)), 1) for label, rows in rows_of.items()}
    chosen = [rng.permutation(rows)[: sizes[label]] for label, rows in rows_of.items()]
    found = np.sort(np.concatenate(chosen))
    if grouped and plan.options.get("small_groups") == "pool":
        sizes, rows_of[None] = {None: found.size}, list(range(n_rows))
    needed = fewest_samples(DEFAULT_COVERAGE, plan.sides or "both", plan.options.get("tails"))
    for label, n in sizes.items():
        _check_size(n, needed, share, len(rows_of[label]), label)
    n_trained = n_rows - found.size
    if n_trained < FEWEST_TRAINED:
        raise ValueError(
            f"share={share:g} of {n_rows} rows leaves {n_trained} to train on, and "
            f"at least {FEWEST_TRAINED} are needed: use a smaller share or more rows"
        )
    by = f", from each of {len(chosen)} groups" if grouped else ""
    words = (
        f"{n_rows} rows: {n_trained} to train on, {found.size} to calibrate on{by} "
        f"(share={share:g}, random_state={seed!r})"
    )
    return Split(found, None if labels is None else [labels[i] for i in found], words)


def _check_size(n: int, needed: int, share: float, n_all: int, label: str | int | None) -> None:
    """Raise an error if a share of rows, or of those of a group, is too small to calibrate on."""
    if n >= needed:
        return
    of, others = "", ""
    if label is not None:
        of, others = f" of group {label!r}", ', join small groups, or set small_groups="pool"'
    raise ValueError(
        f"share={share:g} of {n_all} rows{of} leaves {n} to calibrate on, and at least {needed} "
        f"are needed: use a larger share or at least {math.ceil(needed / share)} rows{others}"
    )
