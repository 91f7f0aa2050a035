"""The settings of `GT2Regressor`: those of `Recipe`, and the two that differ.

What a setting is called, what it is by default and what it means is written in `Recipe` alone.
Here are the names and defaults, the signature and the text for `help` that follow from it.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from gt2lite.recipe import Recipe

EPOCHS, MIN_STEPS = 100, 3000

LARGEST_SEED = 2**64
"""What a seed may be at most: a model file holds it, and is read with the same bound."""

_OWN = {"epochs": ("int | None", None), "random_state": ("Any", 0)}  # type and default

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


def _enough_epochs(batch_size: Any, n_rows: int) -> int:
    if not isinstance(batch_size, (int, np.integer)) or batch_size <= 0:
        return EPOCHS  # the recipe says what is wrong with such a batch
    return max(EPOCHS, math.ceil(MIN_STEPS / max(n_rows // batch_size, 1)))


def describe() -> str:
    """Return what `Recipe` says of its attributes, as a list with one indent."""
    _, _, told = inspect.cleandoc(Recipe.__doc__ or "").partition("Attributes:\n")
    return told


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
