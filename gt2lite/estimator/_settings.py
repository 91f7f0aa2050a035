"""The settings of `GT2Regressor`: those of `Recipe`, and a few of its own.

What a setting of `Recipe` is called, its default and its meaning are written there alone. Here are
those that only the estimator has, and the signature and the text for `help`.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np

from gt2lite._checks import between, one_of, whole
from gt2lite.recipe import Recipe

EPOCHS, MIN_STEPS = 100, 3000

LARGEST_SEED = 2**64
"""What a seed may be at most: a model file holds it, and is read with the same bound."""

_OWN: dict[str, tuple[str, Any]] = {  # type and default
    "epochs": ("int | None", None),
    "n_systems": ("int", 1),
    "choose": ("bool", False),
    "inputs": ("str", "scaled"),
    "margins": ("float | None", None),
    "target_transform": ("str | None", None),
    "n_jobs": ("int | None", None),
    "verbose": ("bool | None", None),
    "random_state": ("Any", 0),
}

_DESCRIBED = """\
    n_systems: how many systems are trained, from different starts; planes and outputs are
        means over all of them.
    choose: whether rows of training decide on the number of rules, how wide sets start, weight
        decay, the form of the inputs, the length of training and the family of intervals. The
        rows are dealt into `n_systems` folds, and each system is trained without one of them;
        where the mean of two settings is best, there are twice as many systems. Settings that
        differ from those of `strong` stay as given.
    inputs: "scaled", or "ranks", for inputs with long tails.
    margins: None for intervals that are planes; or a power in [0, 1], for intervals
        ``y_hat -+ t * w ** margins`` with the width w of the widest plane: 0 is the same
        margin for all rows.
    target_transform: None, or "log" for targets above 0, such as prices: the system learns
        log(y), and no end is negative. The exponential function rises, so that an interval
        of log(y) covers if and only if its exponential does: levels and guarantee carry over.
        The prediction is nearer to the median of y than to its mean; rules speak of log(y).
    n_jobs: processes that train; None for one, -1 for one a system. Needs joblib.
    verbose: whether a progress bar is shown (needs tqdm); None shows one on a terminal.
    random_state: the seed of start values, row order and folds; None for another one at
        each fit."""

INPUTS = ("scaled", "ranks")

TRANSFORMS = ("log",)
"""Of the target; None is the target as it is."""

MOST_SYSTEMS = 1000

_TYPED = {field.name: (field.type, field.default) for field in fields(Recipe)} | _OWN

DEFAULTS: dict[str, Any] = {name: default for name, (_, default) in _TYPED.items()}
"""Every setting with its default, in the order of `Recipe`."""


class Unasked(float):
    """A level that nobody asked for, so that it can be told from the same one asked for."""


USUAL_COVERAGE = Unasked(0.9)
"""The coverage of intervals where none is named."""

SIGNATURE = inspect.Signature(
    [
        inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD),
        *(
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
            )
            for name, (annotation, default) in _TYPED.items()
        ),
    ],
    return_annotation=None,
)
"""The signature of a method that takes them all, by name."""


def complete(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return all settings: those given, and the defaults of the others.

    >>> complete({"n_rules": 3})["n_rules"], complete({})["epochs"]
    (3, None)
    """
    for name in settings:
        if name not in DEFAULTS:
            raise TypeError(f"there is no setting {name!r}, only {', '.join(DEFAULTS)}")
    return DEFAULTS | dict(settings)


def make_recipe(settings: Mapping[str, Any], n_rows: int) -> Recipe:
    """Return the recipe that the settings stand for with so many rows to learn from.

    >>> make_recipe(DEFAULTS, n_rows=640).epochs  # 10 steps each
    300
    """
    chosen = {field.name: settings[field.name] for field in fields(Recipe)}
    if chosen["epochs"] is None:
        chosen["epochs"] = _enough_epochs(chosen["batch_size"], n_rows)
    return Recipe(**chosen)


class Plan(NamedTuple):
    """The settings that `Recipe` does not have, checked."""

    n_systems: int
    choose: bool
    inputs: str
    margins: float | None
    target_transform: str | None
    n_jobs: int | None
    verbose: bool | None


def make_plan(settings: Mapping[str, Any]) -> Plan:
    """Return the estimator's own settings, or say what is wrong with them.

    >>> make_plan(DEFAULTS)[:4]
    (1, False, 'scaled', None)
    """
    n_systems = whole("n_systems", settings["n_systems"], high=MOST_SYSTEMS)
    choose, margins, n_jobs = settings["choose"], settings["margins"], settings["n_jobs"]
    if not isinstance(choose, (bool, np.bool_)):
        raise ValueError(f"choose must be True or False, got {choose!r}")
    if choose and n_systems < 2:
        raise ValueError(
            f"choose=True needs n_systems of at least 2, one for each fold, got {n_systems}"
        )
    if margins is not None:
        margins = between("margins", margins, 0, 1, closed=True)
    if n_jobs is not None and n_jobs != -1:
        n_jobs = whole("n_jobs", n_jobs)
    transform, verbose = settings["target_transform"], settings["verbose"]
    if transform is not None:
        one_of("target_transform", transform, TRANSFORMS)
    if verbose is not None:
        if not (isinstance(verbose, (bool, np.bool_)) or verbose in (0, 1)):
            raise ValueError(f"verbose must be True, False or None, got {verbose!r}")
        verbose = bool(verbose)
    inputs = one_of("inputs", settings["inputs"], INPUTS)
    return Plan(n_systems, bool(choose), inputs, margins, transform, n_jobs, verbose)


def _enough_epochs(batch_size: Any, n_rows: int) -> int:
    if not isinstance(batch_size, (int, np.integer)) or batch_size <= 0:
        return EPOCHS  # the recipe says what is wrong with such a batch
    return max(EPOCHS, math.ceil(MIN_STEPS / max(n_rows // batch_size, 1)))


def describe() -> str:
    """Return what the settings mean, as a list with one indent."""
    _, _, told = inspect.cleandoc(Recipe.__doc__ or "").partition("Attributes:\n")
    return f"{told}\n{_DESCRIBED}"


def read_seed(random_state: Any) -> Any:
    """Return a seed for NumPy's generators from what scikit-learn calls a random state."""
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    if random_state is None or isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, (int, np.integer)) and 0 <= random_state <= LARGEST_SEED:
        return int(random_state)
    raise ValueError(
        "random_state must be a whole number from 0 to 2**64, a generator or None, "
        f"got {random_state!r}"
    )
