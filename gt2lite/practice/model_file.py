"""The model file: an open JSON format for fuzzy systems and their calibration.

A file is one JSON object. Any JSON reader opens it; nothing in it is executed::

    {"format": "gt2lite model", "version": 1, "kind": "regressor", "gt2lite": "0.1.0",
     "sha256": "9f86...", "content":
    {
    "settings": {"n_rules": 10, ...},
    ...
    }
    }

kind
    "regressor" (`GT2Regressor`), "cv plus" (`CVPlusRegressor`) or "table model"
    (`gt2lite.practice.report.TableModel`).
sha256
    The SHA-256 of the bytes of the content as they stand in the file: from the brace below
    ``"content":`` to its closing brace, both included. It detects damage. It is not a signature:
    whoever edits a file can compute it again.
content
    What the schema `model.schema.json` describes, entry by entry. A regressor holds neither
    training rows nor calibration rows. The other kinds contain one or several regressors.

Numbers are written as Python's `repr` writes them: the shortest decimal that reads back as the
same 64-bit float. Arrays are nested lists, rows first. NaN is never written. Infinity occurs only
as the score of a candidate, and is written as the string "inf". `evaluator.js` evaluates regressors
and table models in other places than Python.

A file is refused by a `FileFormatError` if it is not a regular file, is larger than `MAX_BYTES`,
has a duplicate key, a NaN or Infinity token or a number beyond the range of floats, has another
digest, kind or a later version, or holds anything unknown or impossible: scores that
contradict themselves or belong to other planes than those of the systems, groups that are not those
of the rules, columns that are not those of the table, predictions that are not finite.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import re
import secrets
import signal
import stat
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, replace
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from gt2lite._validation import Array, matrix, numbers, one_of, vector
from gt2lite._version import __version__
from gt2lite.calibration import Scores
from gt2lite.datasets import Scaler
from gt2lite.memberships import ALPHA_0, kappa_of
from gt2lite.practice import schema
from gt2lite.practice.calibrators import RANKED, GroupCalibrator, restore
from gt2lite.practice.margins import Margins
from gt2lite.practice.model import (
    CalibrationResult,
    Candidate,
    Ensemble,
    Model,
    Ranks,
    Reference,
    System,
)
from gt2lite.practice.settings import EnsembleSettings, read_recipe
from gt2lite.practice.tables import Features
from gt2lite.practice.weights import RuleGroups
from gt2lite.recipe import Recipe
from gt2lite.system import param_shapes

if TYPE_CHECKING:
    from gt2lite.practice.columns import Columns

FORMAT, VERSION = "gt2lite model", 1

EVALUATOR = Path(__file__).with_name("evaluator.js")
"""The evaluator of regressors and table models in JavaScript."""

MAX_BYTES = 2**28
"""Size limit of a file: 256 MB. Reading takes up to some twenty times the size in memory."""

KINDS = ("regressor", "cv plus", "table model")

Location = str | os.PathLike[str]
Content = dict[str, Any]
T = TypeVar("T")

_HEAD = re.compile(
    rb'\{"format": "gt2lite model", "version": (\d{1,9}), "kind": "([a-z ]{1,20})", '
    rb'"gt2lite": "[^"\\\x00-\x1f]{1,40}", "sha256": "([0-9a-f]{64})", "content":\n'
)
_TAIL = b"\n}\n"


class FileFormatError(ValueError):
    """A file is not a model file of the kind asked for, or is damaged or of a later version."""


# --------------------------------------------------------------------- write and read


def write(path: Location, kind: str, content: Mapping[str, object]) -> None:
    """Write a model file to exactly this path, in full or not at all; arguments as in `encode`."""
    write_files({path: encode(kind, content)})


def encode(kind: str, content: Mapping[str, object]) -> bytes:
    """Return the bytes of a model file.

    Args:
        kind: one of `KINDS`.
        content: text, numbers, booleans, None, NumPy arrays, and lists and dicts of them.
    """
    one_of("kind", kind, KINDS)
    lines = [
        f"{json.dumps(name)}: {json.dumps(value, allow_nan=False, default=plain)}"
        for name, value in content.items()
    ]
    body = "{\n" + ",\n".join(lines) + "\n}"
    digest = hashlib.sha256(body.encode()).hexdigest()
    head = {"format": FORMAT, "version": VERSION, "kind": kind, "gt2lite": __version__}
    start = json.dumps(head | {"sha256": digest})[:-1] + ', "content":\n'
    data = (start + body).encode() + _TAIL
    if len(data) > MAX_BYTES:
        raise ValueError(
            f"the model takes {len(data):,} bytes, more than the {MAX_BYTES:,} of a model file: "
            "train and calibrate on fewer rows"
        )
    return data


def for_evaluator(kind: str, content: Content) -> Content:
    """Return a regressor or table model for `evaluator.js`, without what it does not use.

    These are hashes of training rows, histories of training, settings and candidates.
    """
    if kind == "table model":
        regressor = for_evaluator("regressor", content["regressor"])["content"]
        content = content | {"regressor": regressor}
    else:
        unused = {"marks", "candidates", "sides", "seen", "reference"}
        content = {name: part for name, part in content.items() if name not in unused}
        transform = content["settings"]["target_transform"]
        used = "params", "inputs", "leads"
        systems = [{name: one[name] for name in used} for one in content["systems"]]
        content |= {"settings": {"target_transform": transform}, "systems": systems}
    return {"version": VERSION, "kind": kind, "content": content}


def read(path: Location, kind: str) -> Content:
    """Return the content of a model file; arrays are nested lists. Errors are those of `load`."""
    return load(path, kind, lambda content: content, check=False)


def load(path: Location, kind: str, unpack: Callable[[Content], T], *, check: bool = True) -> T:
    """Return what `unpack` makes of the content of a model file that fits the schema.

    Raises:
        FileFormatError: something goes wrong in reading or unpacking; it names the path.
        FileNotFoundError, PermissionError: the file cannot be opened.
    """
    try:
        content = _parse(_read_bytes(path), kind)
        if check:
            schema.check(content, kind.replace(" ", "_"))
        return unpack(content)
    except (FileNotFoundError, PermissionError):
        raise
    except Exception as error:  # a crafted file can provoke any of them
        what = str(error) if isinstance(error, ValueError) else repr(error)
        raise FileFormatError(f"{path} is not a readable gt2lite {kind}: {what}") from error


def write_files(files: Mapping[Location, bytes]) -> None:
    """Write files in full or not at all, and all of them or none.

    Temporary files beside them take their names at the end, which Ctrl-C does not interrupt. A
    link is followed, and a file that is replaced keeps its permissions.
    """
    temporaries: dict[Path, Path] = {}
    try:
        for path, data in files.items():
            target = check_writable(path)
            temporary = target.with_name(f".gt2lite-{secrets.token_hex(8)}")
            temporaries[temporary] = target
            with temporary.open("xb") as file:
                if target.exists():  # before there is anything to read
                    temporary.chmod(stat.S_IMODE(target.stat().st_mode))
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        with _without_interrupts():
            for temporary, target in temporaries.items():
                os.replace(temporary, target)
    except BaseException:
        for temporary in temporaries:
            temporary.unlink(missing_ok=True)
        raise


def check_writable(path: Location) -> Path:
    """Return where a file would be written, with links followed, or raise an OSError."""
    target = Path(os.path.realpath(path))
    if os.path.isdir(path):
        raise IsADirectoryError(f"{path} is a folder: name a file in it")
    if target.is_symlink() or (os.path.exists(path) and not os.path.isfile(path)):
        raise OSError(
            f"{path} is a device, a pipe, a socket or an endless link: name a regular file"
        )
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"{path} cannot be written: there is no folder {target.parent}. Make it first, such as "
            "by Path(...).mkdir(parents=True)"
        )
    return target


@contextlib.contextmanager
def _without_interrupts() -> Iterator[None]:
    """Ignore Ctrl-C for a moment; other threads than the main one never receive it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def plain(value: object) -> object:
    """Return a value that `json` cannot write as one that it can."""
    if isinstance(value, (np.ndarray, np.generic)):
        if value.dtype.kind not in "biufUO":
            raise TypeError(f"a model file cannot hold an array of {value.dtype}")
        return value.tolist()
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    raise TypeError(f"a model file cannot hold {value!r}")


def _read_bytes(path: Location) -> bytes:
    if not stat.S_ISREG(os.stat(path).st_mode):  # before opening: a pipe would block
        raise ValueError("it is not a regular file")
    with open(path, "rb") as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise ValueError(f"it has more than the {MAX_BYTES:,} bytes of a model file")
    return data


def _parse(data: bytes, kind: str) -> Content:
    head = _HEAD.match(data)
    if head is None or not data.endswith(_TAIL):
        raise ValueError("it does not begin and end as a model file does")
    version, found, digest = int(head[1]), head[2].decode(), head[3].decode()
    if version != VERSION:
        raise ValueError(
            f"it has format version {version}, and gt2lite {__version__} reads version {VERSION}: "
            "install a newer gt2lite, or save the model again with this one"
        )
    if found != kind:
        raise ValueError(f"it is a {found!r}")
    body = data[head.end() : -len(_TAIL)]
    if hashlib.sha256(body).hexdigest() != digest:
        raise ValueError("its SHA-256 is not that of its content: it is damaged or was edited")
    content = json.loads(
        body, object_pairs_hook=_unique_keys, parse_float=_number, parse_constant=_number
    )
    if not isinstance(content, dict):
        raise ValueError("its content is not an object")
    return content


def _unique_keys(pairs: list[tuple[str, object]]) -> Content:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("an object has a duplicate key")
    return found


def _number(text: str) -> float:
    if not math.isfinite(value := float(text)):
        raise ValueError(f"{text[:20]} is not a finite 64-bit number")
    return value


# -------------------------------------------------------------------------- regressor

_SCALER = ("x_mean", "x_std", "y_mean", "y_std")


class Estimator(Protocol):
    """A `GT2Regressor`, which is defined in a later module."""

    model_: Model

    def get_params(self, deep: bool = True) -> Content:
        """Return the settings."""

    def with_model(self, model: Model) -> Self:
        """Return a copy with another model."""


E = TypeVar("E", bound=Estimator)


def pack_regressor(reg: Estimator) -> Content:
    """Return a fitted `GT2Regressor` as the content of a file."""
    model = reg.model_
    ensemble, columns, calibration = model.ensemble, model.features.encoding, model.calibration
    if columns is not None and not hasattr(columns, "to_json"):
        raise TypeError(
            "a model file cannot hold a transformer of scikit-learn (columns): save this estimator "
            "by joblib.dump or pickle"
        )
    if calibration is not None and calibration.ratio is not None:
        raise TypeError(
            "a model file cannot hold a function that computes weights (sample_weight): calibrate "
            "with an array, such as sample_weight=ratio(X_cal), or save this estimator by "
            "joblib.dump or pickle"
        )
    settings, recipe = dict(model.settings), model.settings["recipe"]
    settings["random_state"] = as_seed(settings["random_state"])
    settings["recipe"] = None if recipe is None else asdict(recipe)
    state = None if calibration is None else calibration.calibrator.get_state()
    groups = None if calibration is None else calibration.rule_groups
    known = None if calibration is None else calibration.reference
    return {
        "settings": settings,
        "features": model.features.names,
        "columns": None if columns is None else columns.to_json(),
        "scaler": {name: getattr(model.scaler, name) for name in _SCALER},
        "marks": model.marks,
        "planes": ensemble.alphas,
        "systems": [
            system._asdict() | {"recipe": asdict(system.recipe)} for system in ensemble.systems
        ],
        "ranks": None if ensemble.ranks is None else ensemble.ranks.knots,
        "margins": None if ensemble.margins is None else asdict(ensemble.margins),
        "candidates": [
            one._asdict() | ({"score": "inf"} if math.isinf(one.score) else {})
            for one in ensemble.candidates
        ],
        "sides": ensemble.sides,
        "limits": ensemble.limits,
        "calibration": state and {"state": state[0], "arrays": state[1]},
        "seen": model.seen,
        "rule_groups": None if groups is None else groups._asdict(),
        "reference": None if known is None else known._asdict(),
    }


def unpack_regressor(cls: Callable[..., E], content: Content) -> E:
    """Return the estimator of class `cls` that `pack_regressor` described, or raise an error.

    The content must fit the schema, which states all that concerns single values. Here they are
    compared with each other.
    """
    reg = cls(**_unpack_settings(content["settings"]))
    settings = reg.get_params(deep=False)
    read_recipe(settings, n_rows=1)  # these two check the settings
    EnsembleSettings.of(settings)
    scaler = _unpack_scaler(content["scaler"], settings["target_transform"])
    M = len(scaler.x_mean)
    ensemble, columns, names = _unpack_ensemble(content, M), None, content["features"]
    if settings["clip_inputs"] != (ensemble.limits is not None):
        raise ValueError("limits must be null exactly if clip_inputs is false")
    if content["columns"] is not None:
        columns = unpack_columns(content["columns"], M)
    n = M if columns is None else len(columns.columns)
    if names is not None and len(names) != n:
        raise ValueError(f"features must be null or the names of {n} inputs")
    encoded = names if columns is None else [column.name for column in columns.columns]
    if names is not None and names != encoded:
        raise ValueError("columns and features must name the same columns")
    _check_finite(ensemble, scaler)
    names = None if names is None else np.asarray(names, dtype=object)
    features = Features(n, names, columns, type(reg).__name__)
    seen = None if content["seen"] is None else _rising("seen", content["seen"], M)
    marks, inputs = vector("marks", content["marks"]), features.input_names()
    calibration = _unpack_calibration(content["calibration"], content["rule_groups"], ensemble)
    if content["reference"] is not None:
        if calibration is None:
            raise ValueError("reference must be null without a calibration")
        known = _unpack_reference(content["reference"], ensemble, calibration.calibrator.n_samples)
        calibration = replace(calibration, reference=known)
    model = Model(ensemble, scaler, features, inputs, marks, settings, seen, None, calibration)
    return reg.with_model(model)


def _unpack_settings(content: Content) -> Content:
    recipe = content["recipe"]
    return content | {"recipe": None if recipe is None else _unpack_recipe(recipe)}


def _unpack_recipe(content: Content) -> Recipe:
    alphas = content["alphas"]
    return Recipe(**content | {"alphas": None if alphas is None else tuple(alphas)})


def _unpack_scaler(content: Content, target_transform: str | None) -> Scaler:
    x_mean, x_std = (vector(name, content[name], len(content["x_mean"])) for name in _SCALER[:2])
    return Scaler(x_mean, x_std, content["y_mean"], content["y_std"], target_transform)


def _check_finite(ensemble: Ensemble, scaler: Scaler) -> None:
    """Raise an error if predictions are not finite at the mean of the training rows."""
    with np.errstate(all="ignore"):
        planes = ensemble.planes(np.zeros((1, len(scaler.x_mean))))
        scaler.inverse_y([planes.output(ensemble.alphas), *ensemble.family(planes)(ALPHA_0)])


def _unpack_calibration(
    content: Content | None, groups: Content | None, ensemble: Ensemble
) -> CalibrationResult | None:
    calibrator, by_rule = None, None
    if content is not None:
        arrays = {name: numbers(name, values) for name, values in content["arrays"].items()}
        calibrator = restore(content["state"], arrays)
        _check_lowest(calibrator.scores, ensemble, calibrator.method)
    if groups is not None:
        if not isinstance(calibrator, GroupCalibrator):
            raise ValueError("rule_groups must be null without a calibration by groups")
        leads = ensemble.pick(groups["system"]).leads
        if leads is None:
            raise ValueError("rule_groups must be null unless rules have leads")
        rarest_first = np.argsort(leads, kind="stable") + 1  # see `RuleGroups.choose`
        by_rule = RuleGroups(groups["system"], tuple(groups["own"]))
        if groups["own"] != sorted(rarest_first[len(leads) - len(by_rule.own) :].tolist()):
            raise ValueError("own must be the numbers of the rules that lead most often, rising")
        if not calibrator.sizes.keys() <= {by_rule.label(rule) for rule in rarest_first.tolist()}:
            raise ValueError("labels must be those of rule_groups")
    return None if calibrator is None else CalibrationResult(calibrator, by_rule)


def _unpack_reference(content: Content, ensemble: Ensemble, n: int) -> Reference:
    leaders, distances = (vector("reference", content[name], n) for name in Reference._fields)
    if not leaders.max() < len(ensemble.first.params["c"]):
        raise ValueError("leaders must hold the indices of rules of the first system")
    return Reference(leaders.astype(np.intp), distances)


def unpack_scores(content: Content, ensemble: Ensemble) -> Scores:
    """Return the scores of rows in the family of an ensemble, checked."""
    scores = Scores.from_arrays(content)
    _check_lowest(scores, ensemble, "conformal")
    return scores


def _check_lowest(scores: Scores, ensemble: Ensemble, method: str) -> None:
    """Raise an error if scores begin to need margins at another plane than the systems do."""
    lowest = ALPHA_0
    if method in RANKED:
        M = ensemble.first.params["c"].shape[1]
        lowest = ensemble.family(ensemble.planes(np.zeros((1, M)))).alpha_min
    # in kappa, and with the room that `Planes.alpha_min` leaves: processors differ in last bits
    if not math.isclose(kappa_of(scores.alpha_min), kappa_of(lowest), rel_tol=1e-8):
        raise ValueError(f"alpha_min must be that of the systems, {lowest:g}")


def as_seed(random_state: object) -> int | None:
    """Return a seed to be stored; None for a generator, whose state is not stored."""
    return int(random_state) if isinstance(random_state, Integral) else None


def unpack_columns(content: object, M: int) -> Columns:
    """Return the `gt2lite.practice.columns.Columns` that encode M inputs, checked."""
    from gt2lite.practice.columns import Columns

    columns = Columns.from_json(content)
    if len(columns.names) != M:
        raise ValueError(f"columns must encode {M} inputs, not {len(columns.names)}")
    return columns


def _unpack_ensemble(parts: Content, M: int) -> Ensemble:
    """Return the result of training for M inputs."""
    systems = tuple(_unpack_system(one, M) for one in parts["systems"])
    if any(not np.array_equal(one.recipe.planes.alphas, parts["planes"]) for one in systems):
        raise ValueError("planes must be those of every system")
    ranks, margins, limits = parts["ranks"], parts["margins"], parts["limits"]
    if (ranks is not None) != any(system.inputs == "ranks" for system in systems):
        raise ValueError('ranks belong to systems with inputs "ranks"')
    return Ensemble.of(
        systems,
        ranks=None if ranks is None else Ranks(_rising("ranks", ranks, M)),
        margins=None if margins is None else Margins(**margins),
        candidates=tuple(
            Candidate(**one | {"score": float(one["score"])})  # it may be "inf"
            for one in parts["candidates"]
        ),
        sides=parts["sides"],
        limits=None if limits is None else _rising("limits", limits, M),
    )


def _unpack_system(content: Content, M: int) -> System:
    recipe, leads = _unpack_recipe(content["recipe"]), content["leads"]
    params = {name: numbers(name, value) for name, value in content["params"].items()}
    if {n: v.shape for n, v in params.items()} != param_shapes(recipe.n_rules, M, recipe.smf):
        raise ValueError("params do not have the shapes of the recipe")
    if not (np.abs(params["raw_sigma"]) > np.finfo(float).tiny).all():
        raise ValueError("raw_sigma must not be 0")
    if leads is not None:
        leads = vector("leads", leads, recipe.n_rules).astype(int)
        if not leads.any():
            raise ValueError("leads must count the training rows of each rule")
    history = vector("history", content["history"])
    return System(params, recipe, history, content["inputs"], leads)


def _rising(name: str, content: ArrayLike, M: int) -> Array:
    """Return values of M inputs, in rows that rise."""
    found = matrix(name, content)
    if found.shape[1] != M or not (np.diff(found, axis=0) >= 0).all():
        raise ValueError(f"{name} must be rising values of {M} inputs")
    return found
