"""Settings of `GT2Regressor`: the flat ones and the recipe, put together and checked."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import ParamSpec

from gt2lite._validation import between, one_of, whole
from gt2lite.practice.model import INPUTS
from gt2lite.practice.presets import STRONG
from gt2lite.practice.types import Record, Settings
from gt2lite.recipe import Recipe

P = ParamSpec("P")

FLAT = ("n_rules", "coverage", "objective", "epochs", "batch_size", "learning_rate")
"""Settings of a training that are arguments of `GT2Regressor`, too."""

FINER = tuple(one.name for one in fields(Recipe) if one.name not in FLAT)
"""Those that only a recipe has."""

EPOCHS, MIN_STEPS = 100, 3000
"""Epochs if none are set, and the fewest steps that they should make."""

MOST_STEPS = 4800
"""Length of the longest training that a selection tries."""

MAX_SYSTEMS = 1000


def changes(recipe: Recipe) -> Record:
    """Return the settings in which a recipe differs from the paper's: those that it sets.

    >>> changes(Recipe(weight_decay=0.1, epochs=100))
    {'weight_decay': 0.1}
    """
    names = [one.name for one in fields(Recipe)]
    return {n: getattr(recipe, n) for n in names if getattr(recipe, n) != getattr(Recipe(), n)}


def read_recipe(settings: Settings, n_rows: int) -> Recipe:
    """Return the recipe that an estimator trains by, given its settings and the number of rows.

    >>> flat = dict.fromkeys(FLAT) | {"choose": False}
    >>> found = read_recipe(flat | {"n_rules": 5, "recipe": Recipe(averaging=0.9)}, n_rows=600)
    >>> found.n_rules, found.averaging, found.epochs  # 9 steps each
    (5, 0.9, 334)
    """
    recipe = Recipe() if settings["recipe"] is None else check_recipe(settings["recipe"])
    given = {name: settings[name] for name in FLAT if settings[name] is not None}
    check_once(given, recipe, Recipe())
    found = changes(recipe) | given
    if "epochs" not in found:
        steps = max(n_rows // Recipe(**found).batch_size, 1)  # in an epoch
        found["epochs"] = max(EPOCHS, math.ceil(MIN_STEPS / steps))
        if settings["choose"]:  # the selection limits the steps
            found["epochs"] = math.ceil(MOST_STEPS / steps)
    return Recipe(**found)


def strong_settings(overrides: Settings) -> Record:
    """Return the settings of `GT2Regressor.strong`, see there."""
    others: Record = {"n_systems": 10, "choose": True, "clip_inputs": True, "columns": "auto"}
    others |= overrides
    recipe = others.pop("recipe", None)
    recipe = STRONG if recipe is None else check_recipe(recipe)
    names = [*FINER, *(name for name in FLAT if others.get(name) is not None)]
    given = {name: others.pop(name) for name in names if name in others}
    check_once(given, recipe, STRONG)
    found = changes(replace(recipe, **given))
    flat = {name: found.pop(name) for name in FLAT if name in found}
    flat |= {name: given[name] for name in FLAT if name in given}  # the paper's values, too
    return others | flat | {"recipe": Recipe(**found)}


def check_recipe(recipe: object) -> Recipe:
    """Return a recipe, or raise an error if it is something else."""
    if not isinstance(recipe, Recipe):
        raise TypeError(f"recipe must be a gt2lite.Recipe or None, got {recipe!r}")
    return recipe


def check_once(given: Settings, recipe: Recipe, usual: Recipe) -> None:
    """Raise an error if a setting differs from the one of a recipe that is not as usual."""
    for name, value in given.items():
        if getattr(recipe, name) not in (value, getattr(usual, name)):
            raise ValueError(
                f"{name} is given twice, as {name}={value!r} and by recipe=Recipe("
                f"{name}={getattr(recipe, name)!r}): leave one of them out"
            )


def check_place(settings: Mapping[str, object]) -> None:
    """Raise an error that says where they belong if some settings are those of a recipe."""
    finer = {name: value for name, value in settings.items() if name in FINER}
    if finer:
        words = ", ".join(f"{name}={value!r}" for name, value in finer.items())
        what = "is a setting" if len(finer) == 1 else "are settings"
        raise TypeError(f"{', '.join(finer)} {what} of the recipe: pass recipe=Recipe({words})")


def checking_place(init: Callable[P, None]) -> Callable[P, None]:
    """Return an `__init__` with the same signature that calls `check_place` first."""

    @functools.wraps(init)
    def checked(*args: P.args, **settings: P.kwargs) -> None:
        check_place(settings)
        init(*args, **settings)

    return checked


@dataclass
class EnsembleSettings:
    """The settings of `GT2Regressor` that concern more than the training of one system, checked."""

    n_systems: int = 1
    choose: bool = False
    inputs: str = "scaled"
    margins: float | None = None
    n_jobs: int | None = None
    verbose: bool | None = None
    clip_inputs: bool = False

    @classmethod
    def of(cls, settings: Settings) -> EnsembleSettings:
        """Return those among all settings of an estimator."""
        return cls(**{one.name: settings[one.name] for one in fields(cls)})

    def __post_init__(self) -> None:
        self.n_systems = whole("n_systems", self.n_systems, high=MAX_SYSTEMS)
        one_of("inputs", self.inputs, INPUTS)
        if self.margins is not None:
            self.margins = between("margins", self.margins, 0, 1, closed=True)
        if self.n_jobs is not None and self.n_jobs != -1:
            self.n_jobs = whole("n_jobs", self.n_jobs)
        for name in ("choose", "clip_inputs", "verbose"):
            value = getattr(self, name)
            if value not in (True, False) and not (name == "verbose" and value is None):
                raise ValueError(f"{name} must be True or False, got {value!r}")
