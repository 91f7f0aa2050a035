"""Facts about model files: what is read is what was written, or it is refused."""

import contextlib
import copy
import hashlib
import importlib
import json
import math
import os
import socket
import tracemalloc
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from planted_system import make

from gt2lite import GT2Regressor
from gt2lite.practice import model_file
from gt2lite.practice.cv_plus import CVPlusRegressor
from gt2lite.practice.model_file import FileFormatError, read

SMALL = {"n_rules": 2, "epochs": 20, "learning_rate": 0.1, "batch_size": 16}
LEVELS = [0.6, 0.7]
CALIBRATIONS = {
    "none": None,
    "search": {"method": "search"},
    "table": {"method": "table"},
    "exact": {"method": "exact"},
    "conformal": {"method": "conformal"},
    "each side": {"method": "conformal", "sides": "each"},
    "tails": {"method": "conformal", "sides": "each", "tails": (0.2, 0.8)},
    "upper": {"method": "exact", "sides": "upper"},
    "groups": {"method": "conformal", "groups": True},
    "weights": {"sides": "each", "sample_weight": np.linspace(0, 2, 200)},
    "rules": {"method": "conformal", "groups": "rules", "min_rows": 1},
    "group tails": {"method": "exact", "sides": "each", "tails": (0.3, 0.7), "groups": True},
}


def groups_of(X):
    return np.where(X[:, 0] < 0, "low", "high")


def draw():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(260, 2))
    return X, 100 + 20 * X[:, 0] - 5 * X[:, 1] + 3 * rng.normal(size=260)


def calibrated(name, **settings):
    X, y = draw()
    reg = make(**SMALL | settings).fit(X[:60], y[:60])
    if (options := CALIBRATIONS[name]) is not None:
        options = dict(options)
        if options.get("groups") is True:
            options["groups"] = groups_of(X[60:])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # groups are small here
            reg.calibrate(X[60:], y[60:], **options)
    return reg


def save(model, path):
    model.save(path)
    return path


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """The file of a regressor for each calibration."""
    folder = tmp_path_factory.mktemp("models")
    return {name: save(calibrated(name), folder / f"{name}.json") for name in IMPOSSIBLE}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.json"


def seal(body, kind="regressor", version=1):
    """Return a file with the right digest around any content."""
    digest = hashlib.sha256(body).hexdigest()
    head = {"format": "gt2lite model", "version": version, "kind": kind, "gt2lite": "0.1.0"}
    return json.dumps(head | {"sha256": digest})[:-1].encode() + b', "content":\n' + body + b"\n}\n"


# ------------------------------------------------------------------ round trips


SETTINGS = [
    {"smf": "scalar", "alphas": [0.01, 0.4]},
    {"objective": "aligned"},
    {"inputs": "ranks", "margins": 0.5, "n_systems": 2},
    {"target_transform": "log", "random_state": None},
    {"n_rules": np.int64(3), "coverage": np.float32(0.9), "random_state": np.int64(3)},
    {"choose": True, "n_systems": 2, "epochs": 3, "clip_inputs": True},
]


@pytest.mark.parametrize(
    ("name", "settings"),
    [*((name, {}) for name in CALIBRATIONS), *(("conformal", one) for one in SETTINGS)],
)
def test_a_loaded_regressor_predicts_the_same_bits_at_old_and_new_levels(name, settings, path):
    X, _ = draw()
    reg = calibrated(name, **settings)
    asked = {"alpha": 0.01} if name == "none" else {"coverage": LEVELS}
    if "group" in name:
        asked["groups"] = groups_of(X)
    first = reg.predict_interval(X, **asked)
    reg.save(path)
    again = GT2Regressor.load(path)
    np.testing.assert_array_equal(again.predict(X), reg.predict(X))
    np.testing.assert_array_equal(again.predict_interval(X, **asked), first)
    for attribute in ("chosen_", "margins_", "sides_"):
        assert getattr(again, attribute) == getattr(reg, attribute)
    assert again.get_params() == reg.get_params()
    if name != "none":
        asked["coverage"] = 0.65  # a level that was not asked for before
        np.testing.assert_array_equal(
            again.predict_interval(X, **asked), reg.predict_interval(X, **asked)
        )
        assert str(again.calibration_report(0.65)) == str(reg.calibration_report(0.65))


def test_what_was_fitted_keeps_the_settings_it_was_fitted_with(path):
    X, y = draw()
    reg = GT2Regressor(**SMALL | {"epochs": 2}, n_systems=2).fit(X, y)
    before, settings = reg.predict(X), reg.get_params()
    reg.set_params(n_rules=9, n_systems=0, target_transform="log", random_state=-1)
    with pytest.raises(ValueError, match="n_systems"):
        reg.fit(X, y)
    again = GT2Regressor.load(save(reg, path))
    np.testing.assert_array_equal(again.predict(X), before)
    assert again.get_params() == settings


def test_a_cv_plus_regressor_and_names_of_columns_come_back(path):
    pd = pytest.importorskip("pandas")
    X, y = draw()
    X = pd.DataFrame(X, columns=["año", "\ud800"])
    reg = CVPlusRegressor(GT2Regressor(**SMALL), n_folds=4).fit(X[:90], y[:90])
    again = CVPlusRegressor.load(save(reg.set_params(n_folds=0, random_state=-1), path))
    np.testing.assert_array_equal(again.predict(X), reg.predict(X))
    np.testing.assert_array_equal(again.predict_interval(X), reg.predict_interval(X))
    np.testing.assert_array_equal(again.fold_, reg.fold_)
    assert again.promised(0.9) == reg.promised(0.9) and again.n_folds == 4
    assert list(again.feature_names_in_) == ["año", "\ud800"]


def test_odd_floats_are_read_as_they_were_written(path):
    values = np.array([-0.0, 5e-324, 0.1, 1 / 3, 1e308, 2.0**53 + 2])
    content = {"array": values, "half": Fraction(1, 2), "n": np.int64(3), "yes": np.bool_(True)}
    model_file.write(path, "cv plus", content)
    found = read(path, "cv plus")
    assert np.array(found.pop("array")).tobytes() == values.tobytes()
    assert found == {"half": 0.5, "n": 3, "yes": True}
    for value in (np.nan, np.inf, 1j, np.zeros(2, "datetime64[s]"), object()):
        with pytest.raises((TypeError, ValueError)):
            model_file.write(path.with_name("other"), "cv plus", {"a": value})
    assert list(path.parent.iterdir()) == [path]


# ------------------------------------------------------------------ writing


def test_a_write_that_fails_half_way_leaves_the_old_file(path, monkeypatch):
    path.write_text("old")

    def full_disk(number):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space"):
        model_file.write(path, "regressor", {"a": 1})
    assert path.read_text() == "old" and list(path.parent.iterdir()) == [path]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no umask and few links")
def test_permissions_and_links_are_kept_and_any_name_is_exactly_the_one_given(tmp_path, path):
    before = os.umask(0o027)
    try:
        model_file.write(path, "cv plus", {})
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o640
    path.chmod(0o600)
    link = tmp_path / "link"
    link.symlink_to(path)
    model_file.write(link, "cv plus", {"a": 1})
    assert link.is_symlink() and path.stat().st_mode & 0o777 == 0o600
    assert read(path, "cv plus") == {"a": 1}
    path.unlink()  # a link to nothing, and the longest name that there is
    for place in (link, tmp_path / ("m" * 255)):
        model_file.write(place, "cv plus", {"a": 2})
        assert read(place, "cv plus") == {"a": 2}
    assert {entry.name for entry in tmp_path.iterdir()} == {"link", path.name, "m" * 255}


def test_what_is_no_regular_file_is_neither_written_nor_changed(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        model_file.write(tmp_path / "nowhere" / "model.json", "cv plus", {})
    with pytest.raises(IsADirectoryError):
        model_file.write(tmp_path, "cv plus", {})
    with pytest.raises((RuntimeError, ValueError), match="not fitted"):
        GT2Regressor().save(tmp_path / "m.json")
    if not hasattr(os, "mkfifo"):
        return
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(tmp_path / "socket"))
        before = sorted((entry.name, entry.lstat().st_mode) for entry in tmp_path.iterdir())
        for name in ("pipe", "loop", "socket", os.devnull):
            with pytest.raises(OSError, match="regular file"):
                model_file.write(tmp_path / name, "cv plus", {})
            with pytest.raises(FileFormatError):
                GT2Regressor.load(tmp_path / name)
        assert before == sorted((entry.name, entry.lstat().st_mode) for entry in tmp_path.iterdir())


# ------------------------------------------------------------------ damage


def test_a_flipped_or_missing_byte_is_refused_or_changes_nothing(path):
    model_file.write(path, "cv plus", {"a": [1.5, 2.25], "text": "año" + "[{" * 40 + '"'})
    whole, content = path.read_bytes(), read(path, "cv plus")
    loaded = 0
    for place in range(len(whole)):
        for data in (
            whole[:place] + bytes([whole[place] ^ (1 << place % 8)]) + whole[place + 1 :],
            whole[:place] + whole[place + 1 :],
            whole[:place],
        ):
            path.write_bytes(data)
            try:
                assert read(path, "cv plus") == content
                loaded += 1  # the release that wrote it does not matter
            except FileFormatError:
                pass
    assert loaded <= 2 * len("0.1.0")


REFUSED = [  # bytes of a file, and words of the error; first JSON with the right digest
    (seal(b'{"a": 1, "a": 1}'), "duplicate key"),
    (seal(b'{"a": NaN}'), "NaN"),
    (seal(b'{"a": [-Infinity]}'), "Infinity"),
    (seal(b'{"a": 1e999}'), "64-bit"),
    (seal(b'{"a": ' + b"[" * 10**6), "RecursionError"),
    (seal(b'{"a": ' + b"[" * 30 + b"]" * 30 + b"}"), "lacks the entry"),
    (seal(b"[1, 2]"), "not an object"),
    (seal(b'{"a": ' + b"9" * 5000 + b"}"), "digits"),
    (seal(b'{"a": 1,}'), "Expecting"),
    (seal(b'{"a": "\xff"}'), "utf-8"),
    (b"", "begin and end"),
    (b"PK\x03\x04", "begin and end"),
    (b'{"content": {}}', "begin and end"),
    (seal(b"{}") + b" ", "begin and end"),
    (seal(b"{}", version=2), "version 2.*newer"),
    (seal(b"{}", version=0), "version 0"),
    (seal(b"{}", kind="cv plus"), "it is a 'cv plus'"),
    (seal(b"{}").replace(b"{}", b"{ }"), "SHA-256"),
]


@pytest.mark.parametrize(("data", "match"), REFUSED, ids=[match for _, match in REFUSED])
def test_what_is_no_model_file_of_this_kind_and_version_is_refused(path, data, match):
    path.write_bytes(data)
    with pytest.raises(FileFormatError, match=match) as caught:
        GT2Regressor.load(path)
    assert str(path) in str(caught.value)


def test_a_large_file_is_refused_before_it_takes_memory(path, monkeypatch):
    monkeypatch.setattr(model_file, "MAX_BYTES", 10**6)
    with pytest.raises(ValueError, match="1,000,000"):
        model_file.write(path, "regressor", {"a": np.zeros(500_000)})
    with path.open("wb") as file:
        file.truncate(10**10)
    tracemalloc.start()
    try:
        with pytest.raises(FileFormatError, match="1,000,000 bytes"):
            GT2Regressor.load(path)
        assert tracemalloc.get_traced_memory()[1] < 10**7
    finally:
        tracemalloc.stop()


# ------------------------------------------------------------------ impossible values


def put(*keys, value):
    """Return a change of content: the value at a path of keys is replaced, or computed."""

    def change(content):
        *way, last = keys
        for key in way:
            content = content[key]
        content[last] = value(content.get(last)) if callable(value) else value

    return change


def each(function):
    return lambda values: [function(value) for value in values]


SYSTEM, ARRAYS, STATE = ("systems", 0), ("calibration", "arrays"), ("calibration", "state")
IMPOSSIBLE = {  # by the calibration of the file
    "none": {
        "target without spread": put("scaler", "y_std", value=0.0),
        "input without spread": put("scaler", "x_std", value=[0.0, 1.0]),
        "input of almost no spread": put("scaler", "x_std", value=[1e-310, 1.0]),
        "input of endless spread": put("scaler", "x_std", value=[1.0, 1e308]),
        "input of endless mean": put("scaler", "x_mean", value=[1.0, -1e308]),
        "target of almost no spread": put("scaler", "y_std", value=1e-310),
        "target of endless spread": put("scaler", "y_std", value=1e308),
        "target of endless mean": put("scaler", "y_mean", value=1e308),
        "endless consequents": put(*SYSTEM, "params", "a0", value=[1e308, -1e308]),
        "endless slopes": put(*SYSTEM, "params", "a", value=[[1e308] * 2] * 2),
        "predictions that are infinite together": lambda content: (
            put(*SYSTEM, "params", "a0", value=[1e20, 1e20])(content),
            put("scaler", "y_std", value=1e299)(content),
        ),
        "endless margins": put("margins", value={"power": 0.0, "usual": 1e308}),
        "another part of the scaler": put("scaler", "z", value=1.0),
        "one input more": put("scaler", value={"x_mean": [0.0] * 3, "x_std": [1.0] * 3}),
        "sets without width": put(*SYSTEM, "params", "raw_sigma", value=[[1e-320] * 2] * 2),
        "ragged parameters": put(*SYSTEM, "params", "c", value=[[1.0], [1.0, 2.0]]),
        "text as numbers": put(*SYSTEM, "params", "a0", value=["1", "2"]),
        "another shape": put(*SYSTEM, "params", "a0", value=[1.0]),
        "other inputs": put(*SYSTEM, "inputs", value="squares"),
        "other recipe": put(*SYSTEM, "recipe", "zz", value=1),
        "no rows of a rule": put(*SYSTEM, "leads", value=[0.5, 1]),
        "ranks that nobody needs": put("ranks", value=[[0.0, 0.0], [1.0, 1.0]]),
        "limits that fall": put("limits", value=[[1.0, 1.0], [0.0, 0.0]]),
        "three limits": put("limits", value=[[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]),
        "other planes": put("planes", value=[0.5]),
        "no systems": put("systems", value=[]),
        "an unknown entry": put("extra", value=1),
        "unknown setting": put("settings", "zz", value=3),
        "endless rules": put("settings", "n_rules", value=10**400),
        "an unknown part of a recipe": put("settings", "recipe", value={"zz": 1}),
        "a negative seed": put("settings", "random_state", value=-1),
        "names that are no text": put("features", value=[1, None]),
        "too few names": put("features", value=["a"]),
        "margins of another power": put("margins", value={"power": 2.0, "usual": 1.0}),
        "a candidate without a score": put("candidates", value=[{"kept": True}]),
        "a calibration without its arrays": put("calibration", value={"state": {}}),
    },
    "search": {
        "critical planes above 1": put(*ARRAYS, "critical_alpha", value=each(lambda a: a + 1)),
        "planes above 1": put(*ARRAYS, "alpha", value=each(lambda a: a + 1)),
        "one plane many times": put(*ARRAYS, "alpha", value=each(lambda a: 0)),
        "planes beyond the envelope": put(*ARRAYS, "alpha_min", value=[0.005]),
        "no end": put(*STATE, "options", "min_step", value=5e-324),
    },
    "table": {
        "no critical planes": put(*ARRAYS, "critical_alpha", value=[]),
        "another option": put(*STATE, "options", "zz", value=1),
        "no end": put(*STATE, "options", "step", value=1e-9),
    },
    "exact": {
        "a margin where a plane covers": put(*ARRAYS, "margin", value=each(lambda m: m + 1)),
        "no lowest plane": put(*ARRAYS, "alpha_min", value=[0.0]),
        "another lowest plane than that of the systems": put(*ARRAYS, "alpha_min", value=[1e-300]),
        "a lowest plane just below that of the systems": put(
            *ARRAYS, "alpha_min", value=each(lambda a: a * (1 - 1e-6))
        ),
        "planes that miss on no side": put(*ARRAYS, "side", value=each(lambda s: 0)),
        "another array": put(*ARRAYS, "zz", value=[1.0]),
        "another kind": put(*STATE, "kind", value="magic"),
    },
    "each side": {
        "sides that are none": put(*ARRAYS, "side", value=each(lambda s: 5 * s + 5)),
        "another entry": put(*STATE, "zz", value=1),
    },
    "weights": {
        "a weight below 0": put(*ARRAYS, "weight", value=each(lambda w: w - 1)),
        "weights of fewer rows": put(*ARRAYS, "weight", value=[1.0]),
        "another method": put(*STATE, "options", "method", value="exact"),
    },
    "groups": {
        "a group without a name": put(*ARRAYS, "group", value=each(lambda g: g + 1)),
        "half a group": put(*ARRAYS, "group", value=each(lambda g: g + 0.5)),
        "one name twice": put(*STATE, "labels", value=["a", "a"]),
        "names that are lists": put(*STATE, "labels", value=[[1], [2]]),
        "a name without samples": put(*STATE, "labels", value=["a", "b", "c"]),
        "names that are not those of rules": put("rule_groups", value={"system": 0, "own": []}),
    },
    "rules": {
        "a rule without a group of its own": put("rule_groups", "own", value=[1]),
        "no rules with a group of their own": put("rule_groups", "own", value=[]),
        "a rule named twice": put("rule_groups", "own", value=[1, 1, 2]),
        "rules that fall": put("rule_groups", "own", value=[2, 1]),
        "a rule that is none": put("rule_groups", "own", value=[1, 2, 3]),
        "a system that is none": put("rule_groups", "system", value=1),
        "rows that were not counted": put(*SYSTEM, "leads", value=None),
        "labels of other rules": put(*STATE, "labels", value=[7, 8]),
        "labels that are names": put(*STATE, "labels", value=["1", "2"]),
    },
}


def assert_each_refused(path, load, kind, content, changes):
    """Rewritten, the content is read; after any of the changes, by name, it is refused."""
    model_file.write(path, kind, content)
    load(path)
    accepted = []
    for name, change in changes.items():
        changed = copy.deepcopy(content)
        change(changed)
        model_file.write(path, kind, changed)
        with contextlib.suppress(FileFormatError):
            load(path)
            accepted.append(name)
    assert not accepted


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_an_impossible_value_is_refused(saved, path, name):
    content = read(saved[name], "regressor")
    assert_each_refused(path, GT2Regressor.load, "regressor", content, IMPOSSIBLE[name])


def test_a_cv_plus_file_that_contradicts_itself_is_refused(path):
    X, y = draw()
    CVPlusRegressor(GT2Regressor(**SMALL), n_folds=2).fit(X[:41], y[:41]).save(path)
    other = model_file.pack_regressor(GT2Regressor(**SMALL).fit(np.eye(40)[:, :5], y[:40]))
    changes = {
        "a row without a fold": put("fold", value=each(lambda fold: 9 if fold < 0 else fold)),
        "a fold without rows": put("folds", value=lambda folds: [*folds, folds[0]]),
        "planes above 1": put("folds", 1, "scores", "critical_alpha", value=each(lambda a: a + 2)),
        "systems of other inputs": put("folds", 1, "regressor", value=other),
        "an unknown entry": put("folds", 1, "scores", "zz", value=[1.0]),
        "another lowest plane": put("folds", 0, "scores", "alpha_min", value=[1e-300]),
        "planes that miss on no side": put("folds", 0, "scores", "side", value=each(lambda s: 0)),
    }
    assert_each_refused(path, CVPlusRegressor.load, "cv plus", read(path, "cv plus"), changes)


def test_columns_that_are_not_those_of_the_table_are_refused(path):
    pd = pytest.importorskip("pandas")
    X, y = draw()
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(c=np.where(X[:, 0] > 0, "x", "z"))
    reg = GT2Regressor(columns="auto", **SMALL).fit(frame, y)
    changes = {
        "another name of a column": put("columns", 1, "name", value="q"),
        "another feature": put("features", value=["a", "q", "c"]),
        "features in another order": put("features", value=["b", "a", "c"]),
        "categories that are an object": put("columns", 2, "categories", value={"x": 1, "z": 2}),
        "rare categories that are text": put("columns", 2, "rare", value="pq"),
        "fillings that are an object": put("columns", 0, "fill", value={}),
        "parts that are text": put("columns", 0, "parts", value=""),
    }
    content = read(save(reg, path), "regressor")
    assert_each_refused(path, GT2Regressor.load, "regressor", content, changes)
    frame = frame.set_axis([0, 1, 2], axis=1)  # names that are numbers are not stored
    bare = GT2Regressor(columns="auto", **SMALL).fit(frame, y)
    again = GT2Regressor.load(save(bare, path))
    np.testing.assert_array_equal(again.predict(frame), bare.predict(frame))


# ------------------------------------------------------------------ schema


def test_every_file_fits_the_schema_which_names_every_entry_and_refuses_others(saved, path):
    jsonschema, pd = pytest.importorskip("jsonschema"), pytest.importorskip("pandas")
    text = Path(model_file.__file__).with_name("model.schema.json").read_text(encoding="utf-8")
    jsonschema.Draft202012Validator.check_schema(json.loads(text))
    schema = jsonschema.Draft202012Validator(json.loads(text))
    X, y = draw()
    reg = calibrated("conformal", choose=True, n_systems=2, epochs=2, inputs="ranks")
    CVPlusRegressor(GT2Regressor(**SMALL), n_folds=2).fit(X[:41], y[:41]).save(folds := path)
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(c=np.where(X[:, 0] > 0, "x", "z"))
    spec = importlib.import_module("gt2lite.practice.columns").specify(
        frame.assign(y=y), np.arange(60), "y"
    )
    report, table = pytest.importorskip("gt2lite.practice.report"), path.with_name("table")
    encoded = GT2Regressor(**SMALL).fit(spec.encode(frame).inputs, y)
    report.TableModel(encoded, spec, "y", (0.9,), (0.0, math.inf)).save(table)
    for file in [*saved.values(), folds, table, save(reg, path.with_name("chosen"))]:
        schema.validate(json.loads(file.read_bytes()))
    for what in ("text as numbers", "other inputs", "no systems", "an unknown entry",
                 "names that are no text", "margins of another power",
                 "input of almost no spread", "target of endless mean"):  # fmt: skip
        file = json.loads(saved["none"].read_bytes())
        IMPOSSIBLE["none"][what](file["content"])
        assert not schema.is_valid(file), what
