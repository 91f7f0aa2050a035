"""One file for one result: an `.npz` of plain arrays with a JSON header, no pickle.

A file is data: nothing in it is run or evaluated, and it takes no more memory than four times
its own size, the header aside (100 MB at most). It holds a member `header`, JSON in bytes, and
one member for each array: 64-bit floats, the lowest byte first, rows after one another, not
compressed. The header lists the arrays with their shapes and has a SHA-256 of all of it. What
is not such a file, or not the whole of it, gets a `FileFormatError` that says so, whatever went
wrong inside.

The promise: a file that a release wrote is read by every later one, and gives the same arrays.
Version 1 had neither list nor digest; all other checks hold for it, too. A file of a version
that is newer than this code is refused, not guessed at. `tests/model_files` has files of each.
"""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import re
import secrets
import stat
import struct
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from numbers import Integral, Real
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from gt2lite import model_file as files
from gt2lite._validation import (
    LARGEST_SEED,
    Array,
    Names,
    between,
    finite,
    matrix,
    one_of,
    vector,
    whole,
)
from gt2lite._version import __version__
from gt2lite.calibration import Calibration, SearchCalibrator, TableCalibrator
from gt2lite.calibration.make import restore_calibration
from gt2lite.calibration.margins import Margins
from gt2lite.datasets import LogScaler, Scaler, scaler_kind
from gt2lite.selection import (
    INPUTS,
    MOST_SYSTEMS,
    Fitted,
    Judged,
    Ranks,
    System,
    complete,
    make_plan,
    make_recipe,
)
from gt2lite.system import Params, param_shapes
from gt2lite.training import Recipe

VERSION = 2

MAX_BYTES = 2**31 - 1
"""Of a file; beyond it the archive would need another layout."""
MAX_HEADER_BYTES = 2**22
MAX_ARRAYS = 10_000

Location = str | os.PathLike[str]

_HEADER, _SUFFIX = "header", ".npy"
OWN_KEYS = frozenset({"format", "version", "arrays", "digest"})
"""What a header has by itself; the rest is the caller's."""
_FLOATS, _BYTES = "<f8", "|u1"
_UTF8_NAME = 0x800  # the one flag of a member that says nothing about its content
_ENTRY_BYTES = 512  # of a member in the archive's directory, at most
_END = struct.Struct("<4s4HLLH")  # the last record of an archive
_END64_BYTES = 20  # of the record before it, in an archive of another layout
_MAGIC = b"\x93NUMPY\x01\x00"
_DESCRIPTION = re.compile(
    rb"\{'descr': '([^']+)', 'fortran_order': False, "
    rb"'shape': \((|\d{1,10},|\d{1,10}(?:, \d{1,10}){1,15})\), \} *\n"
)
_MACHINE = (errno.EMFILE, errno.ENFILE)  # errors of opening that tell nothing about the file


class FileFormatError(ValueError):
    """A file is not what it should be: foreign, damaged, incomplete or of another version."""


def write(path: Location, kind: str, header: dict[str, Any], arrays: dict[str, Array]) -> None:
    """Write a file of a `kind`; afterwards `path` has all of it, or is as it was before.

    Args:
        path: where; what was there before is replaced.
        kind: what it holds, such as "model".
        header: plain values. Numbers of any type come back as int or float.
        arrays: numbers; they come back as 64-bit floats.
    """
    taken = [name for name in sorted(OWN_KEYS) if name in header] + [
        name for name in arrays if name == _HEADER
    ]
    if taken:
        raise ValueError(f"{', '.join(taken)}: the file has entries of its own with this name")
    floats = {name: _as_floats(name, value) for name, value in arrays.items()}
    whole = seal({"format": f"gt2lite {kind}", "version": VERSION, **header}, floats)
    text = json.dumps(whole).encode()
    size = sum(value.nbytes for value in floats.values())
    if len(floats) > MAX_ARRAYS or len(text) > MAX_HEADER_BYTES or size > MAX_BYTES - 2**24:
        raise ValueError(
            f"{len(floats)} arrays of {size} bytes with a header of {len(text)} are too much for "
            f"a gt2lite {kind}, which has at most {MAX_ARRAYS} arrays, {MAX_BYTES} bytes, and "
            f"{MAX_HEADER_BYTES} in its header"
        )
    content: dict[str, Any] = {_HEADER: np.frombuffer(text, dtype=np.uint8), **floats}
    replace(path, lambda file: np.savez(file, **content))


def read(path: Location, kind: str) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the header and the arrays of a file that `write` made.

    Raises:
        FileFormatError: where it is no such file, or not as it was written.
        FileNotFoundError, PermissionError: where it cannot be opened.
    """
    try:
        with _open(path) as file:
            return _read(file, kind)
    except FileFormatError as error:
        raise FileFormatError(f"{path} {error}") from error.__cause__


def seal(header: dict[str, Any], arrays: dict[str, Array]) -> dict[str, Any]:
    """Return a header as plain values, with a list of the arrays and a digest of everything."""
    shapes = {name: list(value.shape) for name, value in arrays.items()}
    plain: dict[str, Any] = json.loads(
        json.dumps({**header, "arrays": shapes, "digest": ""}, default=_plain)
    )
    return {**plain, "digest": _digest(plain, arrays)}


def replace(path: Location, write: Callable[[BinaryIO], object]) -> None:
    """Let `write` make a file, which takes its name only when all of it is on the disk.

    Until then it is called `.name.` and 16 hexadecimal digits; a killed process leaves that.
    """
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"{path} cannot be written: there is no folder {target.parent}. Make it first, such as "
            "by Path(...).mkdir(parents=True)"
        )
    if target.is_dir():
        raise IsADirectoryError(f"{path} is a folder: name a file in it, such as {target.name}.npz")
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        with temporary.open("xb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


# ------------------------------------------------------------------ inside


def _open(path: Location) -> BinaryIO:
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise FileFormatError("is no file: it is a folder, a pipe or a device")
        return open(path, "rb")
    except (FileNotFoundError, PermissionError):
        raise
    except OSError as error:
        if error.errno in _MACHINE:
            raise
        raise FileFormatError(f"cannot be opened: {error}") from error


def _read(file: BinaryIO, kind: str) -> tuple[dict[str, Any], dict[str, Array]]:
    try:
        members = _members(file, kind)
        if _HEADER not in members:
            raise FileFormatError(f"is not a gt2lite {kind}: it has no header")
        text = members.pop(_HEADER).tobytes()
        header = json.loads(text.decode())
        if not isinstance(header, dict) or header.get("format") != f"gt2lite {kind}":
            raise FileFormatError(f"is not a gt2lite {kind}: its header is another's")
        _check_version(header.get("version"))
        if header["version"] > 1:
            _check_whole(header, members)
    except FileFormatError:
        raise
    except Exception as error:  # a damaged file can raise anything
        what = f"{type(error).__name__}: {error}"
        raise FileFormatError(f"is damaged or incomplete ({what})") from error
    return {name: v for name, v in header.items() if name not in ("arrays", "digest")}, members


def _members(file: BinaryIO, kind: str) -> dict[str, NDArray[Any]]:
    """Return what an archive holds; each member is read to its end, where its checksum is."""
    size = _check_ends(file, kind)
    with zipfile.ZipFile(file) as archive:
        entries = archive.infolist()
        names = [entry.filename.removesuffix(_SUFFIX) for entry in entries]
        if len(set(names)) < len(names):
            raise FileFormatError("is damaged: two of its members have one name")
        if sum(entry.file_size for entry in entries) > size:
            raise FileFormatError("is damaged: its members are larger than the file")
        for entry in entries:
            if entry.compress_type != zipfile.ZIP_STORED or entry.compress_size != entry.file_size:
                raise FileFormatError(f"is not a gt2lite {kind}: its members are compressed")
            if not entry.filename.endswith(_SUFFIX) or entry.flag_bits & ~_UTF8_NAME:
                raise FileFormatError(f"is not a gt2lite {kind}: it holds {entry.filename!r}")
            if entry.filename == _HEADER + _SUFFIX and entry.file_size > MAX_HEADER_BYTES + 2**10:
                raise FileFormatError(f"has a header of {entry.file_size} bytes: that is too long")
        return {
            name: _array(name, archive.read(entry))
            for name, entry in zip(names, entries, strict=True)
        }


def _check_ends(file: BinaryIO, kind: str) -> int:
    """Return the size of a file if it begins and ends as an archive of few members does."""
    size = os.fstat(file.fileno()).st_size
    if file.read(2) != b"PK":
        raise FileFormatError(f"is not a gt2lite {kind}: it is no .npz file")
    if size > MAX_BYTES:
        raise FileFormatError(f"has {size} bytes, more than the {MAX_BYTES} of a gt2lite {kind}")
    file.seek(max(size - _END.size - _END64_BYTES, 0))
    tail = file.read()
    mark, _, _, _, n_members, directory, _, comment = _END.unpack(tail[-_END.size :])
    if mark != b"PK\x05\x06" or comment or tail.startswith(b"PK\x06\x07"):
        raise FileFormatError("is damaged or incomplete: it does not end as an .npz file does")
    if n_members > MAX_ARRAYS + 1 or directory > (MAX_ARRAYS + 1) * _ENTRY_BYTES:
        raise FileFormatError(f"is not a gt2lite {kind}: it has too many members")
    file.seek(0)
    return size


def _array(name: str, member: bytes) -> NDArray[Any]:
    """Return the array in a member; its description is matched, not evaluated."""
    start = len(_MAGIC) + 2
    end = start + int.from_bytes(member[start - 2 : start], "little")
    found = _DESCRIPTION.fullmatch(member[start:end])
    dtype = _BYTES if name == _HEADER else _FLOATS
    if not member.startswith(_MAGIC) or found is None or found[1].decode() != dtype:
        raise FileFormatError(f"is damaged: its array {name!r} is not one of {dtype} in C order")
    shape = tuple(int(n) for n in found[2].split(b",") if n)
    if math.prod(shape) * np.dtype(dtype).itemsize != len(member) - end:
        raise FileFormatError(f"is damaged: the size of its array {name!r} is not that of {shape}")
    return np.frombuffer(member, dtype, offset=end).reshape(shape).astype(dtype[1:])  # a copy


def _check_version(version: Any) -> None:
    if type(version) is not int or version < 1:
        raise FileFormatError(f"has format version {version!r}, which is none")
    if version > VERSION:
        raise FileFormatError(
            f"has format version {version}, this gt2lite reads up to {VERSION}: install a newer "
            "gt2lite, or make the file again with this one"
        )


def _check_whole(header: dict[str, Any], arrays: dict[str, Array]) -> None:
    """Check that the arrays are those that the header lists, and that nothing has changed."""
    if header["arrays"] != {name: list(value.shape) for name, value in arrays.items()}:
        raise FileFormatError("is damaged: its arrays are not those that its header lists")
    if header["digest"] != _digest({**header, "digest": ""}, arrays):
        raise FileFormatError("is damaged: its content is not what was written")


def _digest(header: dict[str, Any], arrays: dict[str, Array]) -> str:
    digest = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for _, value in sorted(arrays.items()):
        digest.update(np.ascontiguousarray(value, dtype=_FLOATS).data)
    return digest.hexdigest()


def _as_floats(name: str, value: Any) -> Array:
    array = np.asarray(value)
    if not np.can_cast(array.dtype, np.float64):
        raise TypeError(f"{name} must hold real numbers, got an array of {array.dtype}")
    return np.asarray(array, dtype=_FLOATS, order="C")


def _plain(value: Any) -> Any:
    """Return a number of any type as one that JSON knows."""
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    return value.item()  # NumPy's truth values


SYSTEM_KEYS = ("systems", "margins", "chosen")
"""What the header of a model file says of its systems."""

State = tuple[dict[str, Any], dict[str, Array]]


def systems_state(fitted: Fitted) -> State:
    """Return what was learnt as values for a JSON header, and arrays."""
    first, *others = fitted.systems
    plain = not others and first.inputs == "scaled" and not fitted.judged
    if plain and fitted.margins is None:
        return {}, _arrays(first, "")
    header: dict[str, Any] = {
        "systems": [{"recipe": asdict(s.recipe), "inputs": s.inputs} for s in fitted.systems],
        "chosen": [judged._asdict() for judged in fitted.judged],
    }
    arrays: dict[str, Array] = {}
    for k, system in enumerate(fitted.systems):
        arrays |= _arrays(system, f"systems/{k}/")
    if fitted.ranks is not None:
        arrays["ranks"] = fitted.ranks.knots
    if fitted.margins is not None:
        header["margins"] = asdict(fitted.margins)
    return header, arrays


def _arrays(system: System, prefix: str) -> dict[str, Array]:
    found = {f"{prefix}params/{name}": value for name, value in system.params.items()}
    return found | {f"{prefix}history": system.history}


def is_of_systems(name: str, n_systems: int) -> bool:
    """Return whether an array is one that `systems_state` makes."""
    if name in ("history", "ranks") or name.startswith("params/"):
        return True
    head, _, rest = name.removeprefix("systems/").partition("/")
    known = name.startswith("systems/") and head in map(str, range(n_systems))
    return known and (rest == "history" or rest.startswith("params/"))


def read_systems(
    header: Mapping[str, Any], arrays: Mapping[str, Array], recipe: Recipe, M: int
) -> Fitted:
    """Return what `systems_state` described, or raise where it does not fit together.

    Args:
        header: the values.
        arrays: the arrays.
        recipe: that of a single system.
        M: number of inputs.
    """
    if "systems" not in header:
        return Fitted((_system(arrays, "", recipe, "scaled", M),), None, None)
    described = header["systems"]
    whole("systems", len(described), high=2 * MOST_SYSTEMS)
    systems = tuple(
        _system(arrays, f"systems/{k}/", Recipe(**one["recipe"]), one["inputs"], M)
        for k, one in enumerate(described)
    )
    if len({system.recipe.planes.alphas.tobytes() for system in systems}) > 1:
        raise ValueError("its systems have different planes")
    ranks = _ranks(arrays, M) if any(system.inputs == "ranks" for system in systems) else None
    judged = tuple(_judged(one) for one in header.get("chosen", []))
    return Fitted(systems, ranks, _margins(header), judged)


def _system(
    arrays: Mapping[str, Array], prefix: str, recipe: Recipe, inputs: str, M: int
) -> System:
    one_of("inputs", inputs, INPUTS)
    params: Params = part(arrays, f"{prefix}params/")
    shapes = param_shapes(recipe.n_rules, M, recipe.smf)
    if {name: value.shape for name, value in params.items()} != shapes:
        raise ValueError("the parameters do not fit together")
    params = {name: params[name] for name in shapes}
    if not (np.abs(params["raw_sigma"]) > np.finfo(float).tiny).all():
        raise ValueError("raw_sigma must not be 0")
    return System(params, recipe, vector("history", arrays[f"{prefix}history"]), inputs)


def _ranks(arrays: Mapping[str, Array], M: int) -> Ranks:
    knots = matrix("ranks", arrays["ranks"])
    if knots.shape[1] != M or len(knots) < 2 or not (np.diff(knots, axis=0) >= 0).all():
        raise ValueError(f"ranks must be rising quantiles of {M} inputs")
    return Ranks(knots)


def _margins(header: Mapping[str, Any]) -> Margins | None:
    if "margins" not in header:
        return None
    power, usual = header["margins"]["power"], header["margins"]["usual"]
    return Margins(between("power", power, 0, 1, closed=True), between("usual", usual, 0, np.inf))


def _judged(described: Mapping[str, Any]) -> Judged:
    judged = Judged(**described)
    if not isinstance(judged.settings, dict) or not isinstance(judged.kept, bool):
        raise ValueError("what was chosen is not described as it should be")
    whole("n_folds", judged.n_folds), whole("epochs", judged.epochs)
    between("score", judged.score, 0, np.inf, closed=True)
    return judged


def part(arrays: Mapping[str, Array], prefix: str) -> dict[str, Array]:
    """Return the arrays whose names begin so, by the rest of their names."""
    return {
        name.removeprefix(prefix): finite(name, value)
        for name, value in arrays.items()
        if name.startswith(prefix)
    }


class Model(NamedTuple):
    """All that a fitted estimator consists of."""

    settings: dict[str, Any]
    fitted: Fitted
    scaler: Scaler
    names: Names | None  # of the columns, where they have some
    calibrator: Calibration | None
    calibration_X: Array | None  # scaled inputs, where the calibrator may need them again

    def attributes(self) -> dict[str, Any]:
        """Return what a fitted estimator has beside its settings and what it learnt, by name."""
        found = {
            "scaler_": self.scaler,
            "n_features_in_": self.scaler.x_mean.size,
            "feature_names_in_": self.names,
            "calibrator_": self.calibrator,
        }
        return {name: value for name, value in found.items() if value is not None}


class Stored:
    """Methods of an estimator that goes to a file and comes back."""

    def save(self, path: files.Location) -> None:
        """Write the fitted system, with its calibration, to one `.npz` file.

        No pickle is involved. The methods "table" and "search" evaluate the system on
        the calibration set when a new level is asked for, so that set goes into the file;
        "exact" and "conformal" need a few numbers per calibration row, and store no data.
        """
        reg: Any = self
        reg._check_fitted()
        write_model(path, model_of(reg))

    @classmethod
    def load(cls, path: files.Location) -> Self:
        """Return the estimator that `save` wrote to `path`.

        Raises:
            FileFormatError: where the file is damaged, incomplete or another's. No code
                of the file is ever run.
        """
        model = read_model(path)
        self: Any = cls(**model.settings)
        self._keep(model.fitted)
        self._calibration_X = model.calibration_X
        for name, value in model.attributes().items():
            setattr(self, name, value)
        found: Self = self
        return found


def model_of(estimator: Any) -> Model:
    """Return what a fitted estimator consists of."""
    settings = estimator.get_params()
    if not estimator.chosen_:  # what it was fitted with, whatever was set since
        settings |= asdict(estimator.recipe_) | {"epochs": estimator.epochs}
    settings["target_transform"] = "log" if isinstance(estimator.scaler_, LogScaler) else None
    if not isinstance(estimator.random_state, Integral):
        settings["random_state"] = None  # a generator's state is no setting
    return Model(
        settings,
        estimator._fitted(),
        estimator.scaler_,
        getattr(estimator, "feature_names_in_", None),
        getattr(estimator, "calibrator_", None),
        estimator.calibration_inputs(),
    )


def write_model(path: files.Location, model: Model) -> None:
    """Write a model to one file.

    Where the calibrator may be asked for a plane that it has not seen, the inputs of the
    calibration set go into the file.
    """
    header: dict[str, Any] = {"gt2lite": __version__, "settings": model.settings}
    arrays = {f"scaler/{name}": np.asarray(v) for name, v in vars(model.scaler).items()}
    for found, kept in zip(systems_state(model.fitted), (header, arrays), strict=True):
        kept |= found
    if model.names is not None:
        header["feature_names"] = list(model.names)
    if model.calibrator is not None:
        header["calibrator"], state = model.calibrator.get_state()
        arrays |= {f"calibrator/{name}": v for name, v in state.items()}
        if model.calibrator.interval is not None and model.calibration_X is not None:
            arrays["calibration_X"] = model.calibration_X
    files.write(path, "model", header, arrays)


def read_model(path: files.Location) -> Model:
    """Return the model that `write_model` wrote.

    Raises:
        FileFormatError: where the file is damaged, incomplete or another's.
    """
    header, arrays = files.read(path, "model")
    try:
        return _read_parts(header, arrays)
    except Exception as error:  # whatever a crafted file can provoke
        raise files.FileFormatError(f"{path} is damaged: {error!r}") from error


def _read_parts(header: dict[str, Any], arrays: dict[str, Array]) -> Model:
    _refuse_unknown(header, arrays)
    settings = complete(header["settings"])
    if isinstance(settings["alphas"], list):  # JSON knows no tuples
        settings["alphas"] = tuple(settings["alphas"])
    recipe = make_recipe(settings, 1)  # checks them
    plan = make_plan(settings)
    if settings["random_state"] is not None:
        whole("random_state", settings["random_state"], low=0, high=LARGEST_SEED)
    scaler = _read_scaler(part(arrays, "scaler/"), plan.target_transform)
    M = scaler.x_mean.size
    fitted = read_systems(header, arrays, recipe, M)
    return Model(
        settings,
        fitted,
        scaler,
        _read_names(header, M),
        _read_calibrator(header, arrays, fitted),
        arrays.get("calibration_X"),
    )


def _refuse_unknown(header: dict[str, Any], arrays: dict[str, Array]) -> None:
    known = {"gt2lite", "settings", "feature_names", "calibrator", *SYSTEM_KEYS}
    unknown = header.keys() - known - files.OWN_KEYS
    unknown |= {
        name
        for name in arrays
        if name != "calibration_X"
        and not name.startswith(("scaler/", "calibrator/"))
        and not is_of_systems(name, len(header.get("systems", "1")))
    }
    if unknown:
        raise ValueError(f"it holds {', '.join(sorted(unknown))}, which no model has")


def _read_scaler(found: dict[str, Array], target_transform: str | None) -> Scaler:
    if found.keys() != {field.name for field in fields(Scaler)}:
        raise ValueError(f"a scaler has other parts than {', '.join(found)}")
    x_mean = vector("x_mean", found["x_mean"])
    x_std = vector("x_std", found["x_std"], x_mean.size)
    y_mean, y_std = found["y_mean"], found["y_std"]
    if y_mean.shape or y_std.shape or not (x_std > 0).all() or not y_std > 0:
        raise ValueError("the spreads of a scaler must be positive, and its target one number")
    kind = scaler_kind(target_transform)
    return kind(x_mean, x_std, float(y_mean), float(y_std))


def _read_names(header: dict[str, Any], M: int) -> Names | None:
    if "feature_names" not in header:
        return None
    names = header["feature_names"]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError("feature_names must be a list of text")
    if len(names) != M:
        raise ValueError(f"it names {len(names)} features for {M} inputs")
    return np.asarray(names, dtype=object)


def _read_calibrator(
    header: dict[str, Any], arrays: dict[str, Array], fitted: Fitted
) -> Calibration | None:
    X, state = arrays.get("calibration_X"), part(arrays, "calibrator/")
    if "calibrator" not in header:
        if state or X is not None:
            raise ValueError("it holds calibration data without a calibrator")
        return None
    planes = None if X is None else fitted.planes(X)
    interval = None if planes is None else fitted.family(planes)
    calibrator = restore_calibration(header["calibrator"], state, interval)
    needs_rows = isinstance(calibrator, (SearchCalibrator, TableCalibrator))
    if needs_rows != (planes is not None):
        raise ValueError("calibration_X belongs to the methods table and search, and to no other")
    if planes is not None and len(planes) != calibrator.n_samples:
        raise ValueError(f"{len(planes)} rows for {calibrator.n_samples} calibration samples")
    return calibrator
