"""Facts about model files that are whole and hold what cannot be: refused when they are loaded."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from test_model_files import _rewrite

from gt2lite import GT2Regressor
from gt2lite.model_file import FileFormatError

KEPT = Path(__file__).parents[1] / "model_files" / "v2"


def put(name, value):
    return lambda header, arrays: arrays.update({name: np.asarray(value, dtype=float)})


def times(name, factor):
    return lambda header, arrays: arrays.update({name: arrays[name] * factor})


def plus(name, term):
    return lambda header, arrays: arrays.update({name: arrays[name] + term})


def head(**values):
    return lambda header, arrays: header.update(values)


def setting(**values):
    return lambda header, arrays: header["settings"].update(values)


def calibration(**values):
    return lambda header, arrays: header["calibrator"].update(values)


def option(**values):
    return lambda header, arrays: header["calibrator"]["options"].update(values)


ANY = {
    "a target without spread": put("scaler/y_std", 0.0),
    "a negative spread": put("scaler/y_std", -1.0),
    "a target of two columns": put("scaler/y_mean", [1.0, 2.0]),
    "an input without spread": times("scaler/x_std", 0),
    "an input with a negative spread": times("scaler/x_std", -1),
    "another part of the scaler": put("scaler/z", 1.0),
    "sets without width": times("params/raw_sigma", 0),
    "sets too narrow to compute with": times("params/raw_sigma", 1e-320),
    "an array that no model has": put("extra", 1.0),
    "a line that no header has": head(extra=1),
    "settings that are none": head(settings=3),
    "a list of rules": setting(n_rules=[2]),
    "rules without end": setting(n_rules=10**400),
    "a seed that is text": setting(random_state="x"),
    "a negative seed": setting(random_state=-1),
    "epochs below one": setting(epochs=-1),
    "a rate out of bounds": setting(learning_rate=1e300),
    "names that are a number": head(feature_names=3),
    "names that are no text": head(feature_names=[1, None]),
}
UNCALIBRATED = {
    "calibration data without a calibrator": put("calibrator/x", [1.0]),
    "calibration rows without a calibrator": put("calibration_X", [[1.0, 2.0]]),
}
BY_PLANES = {
    "more covered than there are": plus("calibrator/n_covered", 10**6),
    "fewer covered than none": times("calibrator/n_covered", -1),
    "half a sample covered": plus("calibrator/n_covered", 0.5),
    "planes above 1": times("calibrator/alpha", 5),
    "one plane many times": times("calibrator/alpha", 0),
    "rows that do not match": lambda h, a: a.update(calibration_X=a["calibration_X"][:5]),
    "columns that do not match": lambda h, a: a.update(calibration_X=a["calibration_X"][:, :1]),
    "no rows": lambda h, a: a.pop("calibration_X"),
    "another option": option(zz=1),
    "another line": calibration(zz=1),
}
BY_RANK = {
    "sides that are none": times("calibrator/side", 5),
    "a margin where a plane covers": plus("calibrator/margin", 1),
    "no lowest plane": times("calibrator/alpha_min", 0),
    "rows that are not needed": put("calibration_X", [[1.0, 2.0]]),
    "another array": put("calibrator/zz", [1.0]),
    "another line": calibration(zz=1),
}
GROUPED = {
    "a group that has no name": plus("calibrator/group", 1),
    "half a group": plus("calibrator/group", 0.5),
    "groups without end": times("calibrator/group", 1e300),
    "one name twice": calibration(labels=["a", "a"]),
    "names in one word": calibration(labels="ab"),
    "names that are lists": calibration(labels=[[1], [2]]),
    "no names": calibration(labels=None),
    "a name without samples": calibration(labels=["a", "b", "c", "d", "e"]),
}
CASES = [
    (kind, what, change)
    for kind, changes in {
        "none": ANY | UNCALIBRATED,
        "search": BY_PLANES | {"a search without end": option(min_step=5e-324)},
        "table": BY_PLANES | {"a table without end": option(step=1e-9)},
        "exact": BY_RANK,
        "conformal": BY_RANK,
        "each_side": BY_RANK,
        "groups": BY_RANK | GROUPED,
    }.items()
    for what, change in changes.items()
]


@pytest.mark.parametrize(
    ("kind", "change"), [pytest.param(k, c, id=f"{k}: {w}") for k, w, c in CASES]
)
def test_a_value_that_cannot_be_is_refused_when_the_file_is_loaded(tmp_path, kind, change):
    path = tmp_path / "model.npz"
    shutil.copy(KEPT / f"{kind}.npz", path)
    GT2Regressor.load(path)
    _rewrite(path, lambda header, arrays: None)
    GT2Regressor.load(path)  # it is not the rewriting that is refused
    _rewrite(path, change)
    with pytest.raises(FileFormatError, match="damaged"):
        GT2Regressor.load(path)
