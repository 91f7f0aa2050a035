"""Ctrl-C or a lack of memory at any line of fit, calibrate and save: the old state, or the new one.

An exception is raised at the first and at the last visit of every line of the package (in `make
test`: of some of them). Predictions, intervals and the bytes of the saved model are compared.
"""

from __future__ import annotations

import copy
import os
import sys
import warnings
from collections import Counter

import numpy as np
import pytest
from hypothesis import settings

import gt2lite
from gt2lite import GT2Regressor, IntervalHead
from gt2lite.practice.cv_plus import CVPlusRegressor

pytestmark = pytest.mark.filterwarnings("ignore")

PACKAGE = os.path.dirname(gt2lite.__file__) + os.sep
FEW = 10  # strikes for each case in `make test`
RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 2))
Y = X[:, 0] + 0.3 * RNG.normal(size=80)
SYSTEM = GT2Regressor(n_rules=2, epochs=1, batch_size=40)


def head():
    linear_model = pytest.importorskip("sklearn.linear_model")
    return IntervalHead(linear_model.Ridge(), SYSTEM, cv=2)


def transformed():
    preprocessing = pytest.importorskip("sklearn.preprocessing")
    return GT2Regressor(**SYSTEM.get_params() | {"columns": preprocessing.StandardScaler()})


MODELS = {
    "regressor": lambda: copy.deepcopy(SYSTEM),
    "head": head,
    "cv plus": lambda: CVPlusRegressor(SYSTEM, n_folds=2),
    "transformed": transformed,
}


def run(call, strike=None):
    """Call with a count of visited lines; raise an error at one visit: (line, number, error)."""
    visits = Counter()

    def trace(frame, event, _):
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        if event == "line":
            place = frame.f_code.co_filename, frame.f_lineno
            visits[place] += 1
            if strike is not None and strike[:2] == (place, visits[place]):
                raise strike[2]
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    except (KeyboardInterrupt, MemoryError):
        assert strike is not None
    finally:
        sys.settrace(before)
    return visits


def strikes(visits):
    """Yield the visits to strike at, with one of the two errors."""
    every = sorted({(place, n) for place, count in visits.items() for n in (1, count)})
    if settings().max_examples < 1000:
        chosen = np.random.default_rng(len(every)).choice(len(every), FEW, replace=False)
        every = [every[i] for i in chosen]
    for i, (place, n) in enumerate(every):
        yield place, n, (KeyboardInterrupt, MemoryError)[i % 2]


def state(model, path):
    """Return all that can be seen of a fitted model, as bytes."""
    asked = {} if hasattr(model, "promised") or hasattr(model, "split_") else {"alpha": 0.5}
    found = model.predict(X), *model.predict_interval(X, **asked)
    saved = b""
    if hasattr(model, "head_") or not hasattr(model, "columns_"):  # transformers are not saved
        getattr(model, "head_", model).save(path)
        saved = path.read_bytes()
    return [array.tobytes() for array in found], saved, getattr(model, "split_", None)


@pytest.mark.parametrize("method", ["fit", "calibrate", "fit_calibrate"])
@pytest.mark.parametrize("kind", MODELS)
def test_a_strike_at_any_line_leaves_the_old_state_or_the_new_one(tmp_path, kind, method):
    path = tmp_path / "model.json"
    fitted = MODELS[kind]()
    if not hasattr(fitted, method):
        pytest.skip(f"{kind} has no {method}")
    getattr(fitted, "fit_calibrate", fitted.fit)(X, Y)
    old, renewed = state(fitted, path), copy.deepcopy(fitted)
    visits = run(lambda: getattr(renewed, method)(X[::-1], -Y))
    new = state(renewed, path)
    assert old != new
    for strike in strikes(visits):
        model = copy.deepcopy(fitted)
        run(lambda model=model: getattr(model, method)(X[::-1], -Y), strike)
        assert state(model, path) in (old, new), strike


@pytest.mark.parametrize("kind", ["regressor", "cv plus"])
def test_a_strike_at_any_line_of_save_leaves_the_old_file_or_the_new_one(tmp_path, kind):
    path = tmp_path / "model.json"
    model = MODELS[kind]().fit(X, Y)
    visits = run(lambda: model.save(path))
    new = path.read_bytes()
    for strike in strikes(visits):
        path.write_bytes(b"old")
        run(lambda: model.save(path), strike)
        assert path.read_bytes() in (b"old", new), strike
        assert os.listdir(tmp_path) == ["model.json"], strike


def test_warnings_as_errors_keep_the_old_calibration():
    reg = copy.deepcopy(SYSTEM).fit(X[:60], Y[:60]).calibrate(X[60:], Y[60:])
    before = vars(reg).copy()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning):
            reg.calibrate(X[:60], Y[:60])
    assert vars(reg) == before
