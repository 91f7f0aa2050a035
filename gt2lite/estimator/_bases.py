"""The model under a head: its training, predictions for rows it has not seen, its fingerprint.

Nothing here knows of fuzzy systems. scikit-learn is imported inside, because it may be missing.
"""

from __future__ import annotations

import hashlib
import re
from typing import Any, NamedTuple

import numpy as np

from gt2lite._checks import Array, IntArray, whole
from gt2lite._progress import progress_bar
from gt2lite._tables import Names, take_rows

PROBES = 32
"""Rows on which a base is asked again when a head is loaded."""

CLOSE = 1e-6
"""How far its answers may be off then, in spreads of them: another machine rounds otherwise."""

_HARMLESS = ("n_jobs", "verbose", "memory", "copy_X")  # settings that change no prediction


class Held(NamedTuple):
    """A trained base, and what it predicted for rows that it was not trained on."""

    base: Any
    rows: IntArray  # rising; a row that was held out twice is there twice
    predicted: Array
    out_of_fold: bool


def check_base(base: Any) -> None:
    """Raise what is wrong with a base, where it is no regressor of scikit-learn's kind."""
    from sklearn.base import is_classifier

    wanted = "base must be a regressor with fit and predict, such as Ridge()"
    if isinstance(base, type):
        raise TypeError(f"{wanted}, got the class {base.__name__}: write {base.__name__}()")
    for name in ("get_params", "fit", "predict"):
        if not callable(getattr(base, name, None)):
            raise TypeError(f"{wanted}, got {base!r}, which has no {name}")
    if is_classifier(base):
        raise TypeError(f"{wanted}, got {base!r}, which predicts classes")


def is_frozen(base: Any) -> bool:
    """Return whether a base is in scikit-learn's `FrozenEstimator`, and must not be trained."""
    from sklearn.frozen import FrozenEstimator

    return isinstance(base, FrozenEstimator)


def base_name(base: Any) -> str:
    """Return what the class of a base is called; of a pipeline, that of its last step."""
    if is_frozen(base):
        return base_name(base.estimator)
    if hasattr(base, "steps"):
        return base_name(base.steps[-1][1])
    return type(base).__name__


def hold_out(base: Any, table: Any, target: Array, cv: Any, seed: int) -> Held:
    """Train a copy of a base on all rows, and others on all folds but one, for its predictions.

    Args:
        base: a regressor, which stays as it is. A frozen one predicts all rows as they are.
        table: the rows (N, M), as the base wants them.
        target: (N,).
        cv: a number of folds, or a splitter or list of splits in scikit-learn's manner.
        seed: of the folds, where `cv` is a number.
    """
    from sklearn.base import clone

    if is_frozen(base):
        every = np.arange(len(target))
        return Held(base, every, predict_base(base, table), out_of_fold=False)
    splits = _splits(cv, table, target, seed)
    rows: list[IntArray] = []
    predicted: list[Array] = []
    with progress_bar(len(splits) + 1, "base", "fit") as step:
        for trained, held in splits:
            one = clone(base).fit(take_rows(table, trained), target[trained])
            rows.append(np.asarray(held, dtype=np.intp))
            predicted.append(predict_base(one, take_rows(table, held)))
            step("out of fold")
        fitted = clone(base).fit(table, target)
        step("all rows")
    found = np.concatenate(rows)
    order = np.argsort(found, kind="stable")
    return Held(fitted, found[order], np.concatenate(predicted)[order], out_of_fold=True)


def _splits(cv: Any, table: Any, target: Array, seed: int) -> list[tuple[IntArray, IntArray]]:
    from sklearn.model_selection import KFold, check_cv

    if isinstance(cv, (int, np.integer)) or not (hasattr(cv, "split") or np.iterable(cv)):
        folds = whole("cv", cv, 2)
        if len(target) < 2 * folds:
            raise ValueError(
                f"cv={folds} folds need at least {2 * folds} rows, got {len(target)} sample(s): "
                "use more rows or fewer folds"
            )
        cv = KFold(folds, shuffle=True, random_state=seed)
    return list(check_cv(cv).split(table, target))


def predict_base(base: Any, table: Any) -> Array:
    """Return what a base predicts (N,), if that is one finite number for each row."""
    predicted = np.asarray(base.predict(table), dtype=float)
    if predicted.ndim == 2 and predicted.shape[1] == 1:
        predicted = predicted[:, 0]
    if predicted.shape != (len(table),):
        raise ValueError(
            f"base must predict one number for each of {len(table)} rows, and predicted an array "
            f"of shape {predicted.shape}"
        )
    if not np.isfinite(predicted).all():
        raise ValueError(
            f"base predicted NaN or infinity for {(~np.isfinite(predicted)).sum()} of "
            f"{len(table)} rows"
        )
    return predicted


def named_table(values: Array, names: Names | None, like: Any = None) -> Any:
    """Return rows as a base wants them that was trained on columns of these names, or of none.

    Args:
        values: the rows (N, M).
        names: of the columns.
        like: a data frame of the kind wanted; without it a pandas frame, where there is pandas.
    """
    if names is None:
        return values
    columns = dict(zip(names, values.T, strict=True))
    if like is not None:
        return type(like)(columns)
    try:
        import pandas
    except ImportError:
        return values
    return pandas.DataFrame(columns)


# ---------------------------------------------------------------------- fingerprint


def draw_probes(values: Array, seed: int) -> Array:
    """Return rows (32, M) to ask a base about: real values, each column drawn for itself.

    >>> draw_probes(np.array([[1.0, 5.0], [2.0, 6.0]]), seed=0).shape
    (32, 2)
    """
    rows = np.random.default_rng(seed).integers(len(values), size=(PROBES, values.shape[1]))
    return np.take_along_axis(values, rows, axis=0)


def describe_base(base: Any) -> dict[str, Any]:
    """Return the class of a base and its settings as text.

    >>> from sklearn.linear_model import Ridge
    >>> told = describe_base(Ridge(alpha=2.0))
    >>> told["class"], told["settings"]["alpha"]
    ('sklearn.linear_model._ridge.Ridge', '2.0')
    """
    if is_frozen(base):
        base = base.estimator
    found = {name: _as_text(value) for name, value in base.get_params(deep=True).items()}
    settings = {
        name: text
        for name, text in sorted(found.items())
        if text is not None and name.rpartition("__")[2] not in _HARMLESS
    }
    return {"class": _class_name(base), "settings": settings}


def differences(told: dict[str, Any], base: Any, asked: Array, spread: float, now: Array) -> str:
    """Return in what a base differs from the one that was described; "" where in nothing.

    Args:
        told: what `describe_base` returned.
        base: the base now.
        asked: what the base predicted for the probes then.
        spread: of what it predicted.
        now: what it predicts for them now.

    Settings that only one of the two has, as in another release of its library, do not count.
    """
    seen = describe_base(base)
    found = []
    if seen["class"] != told["class"]:
        found.append(f"it is a {seen['class']}, and was a {told['class']}")
    else:
        found += [
            f"{name} is {seen['settings'][name]}, and was {text}"
            for name, text in told["settings"].items()
            if seen["settings"].get(name, text) != text
        ]
    off = np.abs(now - asked)
    if (wrong := int((off > CLOSE * spread).sum())) > 0:
        found.append(
            f"it predicts otherwise for {wrong} of {len(asked)} stored rows, by up to "
            f"{off.max():.3g}: it was trained on other rows or in another way"
        )
    return "; ".join(found)


def _class_name(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


def _as_text(value: Any) -> str | None:
    """Return a setting as text that is the same tomorrow; None for a list of estimators."""
    if hasattr(value, "get_params") and not isinstance(value, type):
        return _class_name(value)
    if isinstance(value, np.ndarray):
        digest = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()[:16]
        return f"array {value.shape} {digest}"
    if isinstance(value, (list, tuple)) and any("get_params" in dir(v) for v in _flat(value)):
        return None
    if callable(value):
        return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', '')}"
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))


def _flat(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return [item for part in value for item in _flat(part)]
    return [value]
