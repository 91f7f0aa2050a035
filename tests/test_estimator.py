"""Facts about `GT2Regressor`: units, levels, files, and scikit-learn's conventions."""

import io
import itertools
import json
import subprocess
import sys
import warnings
import zipfile

import numpy as np
import pytest

from gt2lite import GT2Regressor
from gt2lite._files import FileFormatError
from gt2lite.calibration import CALIBRATORS, CoverageError

FAST = {"n_rules": 3, "epochs": 5}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 3)) * [1.0, 100.0, 1e-3] + [0.0, 5000.0, 1.0]
    z = (X - [0.0, 5000.0, 1.0]) / [1.0, 100.0, 1e-3]
    y = 1e4 + 500 * (z[:, 0] + np.sin(2 * z[:, 1]) + 0.3 * rng.normal(size=900))
    return X, y


@pytest.fixture(scope="module")
def fitted(data):
    X, y = data
    return GT2Regressor(n_rules=4, epochs=100, learning_rate=0.02).fit(X[:500], y[:500])


@pytest.fixture
def calibrated(data, fitted, request):
    X, y = data
    method = getattr(request, "param", "search")
    return fitted.calibrate(X[500:700], y[500:700], method=method)


# ---------------------------------------------------------------------- predictions


def test_predicts_in_the_units_of_the_target(data, fitted):
    X, y = data
    assert fitted.score(X[700:], y[700:]) > 0.8
    assert abs(fitted.predict(X[700:]).mean() - y[700:].mean()) < 100


def test_other_units_give_the_same_predictions_in_those_units(data):
    X, y = data
    reg = GT2Regressor(**FAST).fit(X[:300], y[:300])
    # powers of two, so that scaling is exact and the same bits must come out
    other = GT2Regressor(**FAST).fit(X[:300] * 4, y[:300] * 8)
    np.testing.assert_array_equal(other.predict(X * 4), reg.predict(X) * 8)
    np.testing.assert_array_equal(other.predict_interval(X * 4)[0], reg.predict_interval(X)[0] * 8)


def test_without_alpha_the_interval_is_that_of_the_trained_envelope(data, fitted):
    X, _ = data
    np.testing.assert_array_equal(
        fitted.predict_interval(X), fitted.predict_interval(X, alpha=0.01)
    )


def test_intervals_shrink_as_alpha_grows_down_to_a_point(data, fitted):
    X, _ = data
    widths = [np.subtract(*fitted.predict_interval(X, alpha=a)[::-1]) for a in (0.01, 0.3, 0.7, 1)]
    for wide, narrow in itertools.pairwise(widths):
        assert (wide >= narrow - 1e-9).all()
    assert (widths[-1] == 0).all()


@pytest.mark.parametrize("calibrated", CALIBRATORS, indirect=True)
def test_every_method_reaches_its_level_on_the_calibration_set(data, calibrated):
    X, y = data
    lower, upper = calibrated.predict_interval(X[500:700], coverage=0.8)
    covered = np.mean((lower <= y[500:700]) & (y[500:700] <= upper))
    # the table interpolates between planes, the others are within a sample or the rank rule
    assert covered == pytest.approx(
        0.8, abs=0.05 if calibrated.calibrator_.method == "table" else 0.01
    )


def test_one_level_gives_a_row_and_several_give_a_column_for_each(data, calibrated):
    X, _ = data
    one = calibrated.predict_interval(X, coverage=0.8)
    many = calibrated.predict_interval(X, coverage=[0.5, 0.8])
    assert one[0].shape == (900,) and many[0].shape == (900, 2)
    np.testing.assert_array_equal(many[0][:, 1], one[0])
    np.testing.assert_array_equal(many[1][:, 1], one[1])
    assert calibrated.predict_interval(X, coverage=np.array([0.8]))[0].shape == (900, 1)


def test_options_reach_the_calibrator(data, fitted):
    X, y = data
    fitted.calibrate(X[500:700], y[500:700], method="table", step=0.25)
    assert len(fitted.calibrator_.table) == 5


# ------------------------------------------------- past the envelope, sides, groups


KINDS = {
    "both": {},
    "each": {"sides": "each"},
    "groups": {"groups": True},
    "all": {"sides": "each", "groups": True, "small_groups": "pool"},
}


def names_of(X):
    return np.where(X[:, 0] > 0, "right", "left")


@pytest.mark.parametrize("method", ["exact", "conformal"])
@pytest.mark.parametrize("kind", KINDS)
def test_levels_past_the_envelope_are_reached_in_own_units(data, fitted, method, kind):
    X, y = data
    groups, options = names_of(X[500:]), dict(KINDS[kind])
    if options.pop("groups", False):
        options["groups"] = groups
    fitted.calibrate(X[500:], y[500:], method=method, **options)
    asked = groups if "groups" in options else None
    lower, upper = fitted.predict_interval(X[500:], coverage=[0.5, 0.98], groups=asked)
    inside = (lower <= y[500:, None]) & (y[500:, None] <= upper)
    assert (inside.mean(axis=0) >= [0.5, 0.98]).all()
    envelope = fitted.predict_interval(X[500:])
    assert np.mean((envelope[0] <= y[500:]) & (y[500:] <= envelope[1])) < 0.98
    if kind == "groups":  # each of them on its own
        for name in ("left", "right"):
            assert inside[groups == name, 1].mean() >= 0.98
    rows = fitted.calibration_report(0.98)
    assert [row.group for row in rows] == (["left", "right"] if asked is not None else [None])
    reached = sum(row.reached * row.n_samples for row in rows) / 400
    assert reached == pytest.approx(inside[:, 1].mean(), abs=1e-12)


def test_a_margin_is_told_in_own_units_and_added_to_the_lowest_plane(data, fitted):
    X, y = data
    far = y[500:].copy()
    far[::20] += 1e5  # out of reach of every plane
    fitted.calibrate(X[500:], far, method="exact")
    (row,) = fitted.calibration_report(0.99)
    assert np.isnan(row.alpha) and 9e4 < row.margin < 1.1e5
    planes = fitted._planes(X)
    lower, upper = (fitted.scaler_.inverse_y(end) for end in planes(planes.alpha_min))
    np.testing.assert_allclose(
        fitted.predict_interval(X, coverage=0.99), [lower - row.margin, upper + row.margin]
    )


@pytest.mark.parametrize("method", ["table", "search"])
@pytest.mark.parametrize(
    ("option", "named"), [({"sides": "each"}, "sides='each'"), ({"groups": ["a"] * 400}, "groups")]
)
def test_the_methods_of_the_paper_know_neither_sides_nor_groups(
    data, fitted, method, option, named
):
    X, y = data
    with pytest.raises(ValueError, match=rf'^{named} .*"exact" or "conformal", got .*{method}'):
        fitted.calibrate(X[500:], y[500:], method=method, **option)


def test_groups_in_the_wrong_place_are_an_error(data, fitted):
    X, y = data
    groups = names_of(X)
    fitted.calibrate(X[500:], y[500:], method="exact", groups=groups[500:])
    with pytest.raises(ValueError, match="groups are missing"):
        fitted.predict_interval(X, coverage=0.9)
    with pytest.raises(ValueError, match=r"row of 900 labels, got shape \(899,\)"):
        fitted.predict_interval(X, coverage=0.9, groups=groups[1:])
    with pytest.raises(ValueError, match="got 'up'"):
        fitted.predict_interval(X[:1], coverage=0.9, groups=["up"])
    with pytest.raises(ValueError, match="groups belong to a coverage"):
        fitted.predict_interval(X, groups=groups)
    with pytest.raises(ValueError, match="sides must be one of 'both', 'each', got 'left'"):
        fitted.calibrate(X[500:], y[500:], method="exact", sides="left")
    fitted.calibrate(X[500:], y[500:], method="exact")
    with pytest.raises(ValueError, match="not by groups"):
        fitted.predict_interval(X, coverage=0.9, groups=groups)


def test_a_calibration_that_fails_leaves_the_old_one(data, fitted):
    X, y = data
    old = fitted.calibrate(X[500:], y[500:], method="exact").calibrator_
    with pytest.raises(ValueError, match="row of 400 labels"):
        fitted.calibrate(X[500:], y[500:], method="exact", groups=["a"])
    assert fitted.calibrator_ is old


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_calibration_survives_the_file(data, fitted, kind, tmp_path):
    X, y = data
    options = dict(KINDS[kind])
    asked = None
    if options.pop("groups", False):
        options["groups"], asked = names_of(X[500:]), names_of(X)
    fitted.calibrate(X[500:], y[500:], method="conformal", **options).save(tmp_path / "m.npz")
    loaded = GT2Regressor.load(tmp_path / "m.npz")
    for coverage in (0.5, [0.8, 0.98]):
        np.testing.assert_array_equal(
            loaded.predict_interval(X, coverage=coverage, groups=asked),
            fitted.predict_interval(X, coverage=coverage, groups=asked),
        )
    assert repr(loaded.calibration_report(0.9)) == repr(fitted.calibration_report(0.9))


# ------------------------------------------------------------------ training settings


def test_small_data_is_trained_for_about_three_thousand_steps(data):
    X, y = data
    assert len(GT2Regressor(n_rules=2).fit(X[:600], y[:600]).history_) == 334  # 9 batches each
    assert len(GT2Regressor(n_rules=2, epochs=3).fit(X[:600], y[:600]).history_) == 3


def test_the_same_seed_gives_the_same_bits_and_another_does_not(data):
    X, y = data
    first, again, other = (
        GT2Regressor(**FAST, random_state=seed).fit(X[:200], y[:200]).predict(X)
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_no_seed_gives_other_numbers_each_time(data):
    X, y = data
    reg = GT2Regressor(**FAST, random_state=None)
    assert not np.array_equal(reg.fit(X, y).predict(X), reg.fit(X, y).predict(X))


def test_the_aligned_objective_gives_its_inner_planes_a_coverage(data):
    X, y = data
    dual, aligned = (
        GT2Regressor(n_rules=4, epochs=100, learning_rate=0.02, objective=name).fit(
            X[:700], y[:700]
        )
        for name in ("dual", "aligned")
    )

    def distance(reg):  # of the inner planes from the levels 95, 90 and 50 %
        total = 0.0
        for alpha, level in ((0.0695, 0.95), (0.1529, 0.90), (0.7292, 0.50)):
            lower, upper = reg.predict_interval(X[:700], alpha=alpha)
            total += abs(np.mean((lower <= y[:700]) & (y[:700] <= upper)) - level)
        return total

    assert distance(aligned) < 0.08 < distance(dual)


def test_fitting_again_forgets_the_calibration(data):
    X, y = data
    reg = GT2Regressor(**FAST).fit(X[:300], y[:300]).calibrate(X[300:], y[300:])
    reg.fit(X[:300], y[:300])
    assert not hasattr(reg, "calibrator_")


# ------------------------------------------------------------------------- bad input


def test_a_level_before_calibration_says_what_to_call(data):
    X, y = data
    reg = GT2Regressor(**FAST).fit(X, y)
    with pytest.raises(RuntimeError, match="calibrate"):
        reg.predict_interval(X, coverage=0.9)


def test_a_level_above_the_envelope_names_the_highest(data, calibrated):
    X, _ = data
    with pytest.raises(CoverageError, match=r"0\.9999.*levels up to"):
        calibrated.predict_interval(X, coverage=0.9999)


@pytest.mark.parametrize("alpha", [0, 0.009, 1.01, np.nan, "a"])
def test_a_plane_outside_the_range_is_an_error(data, fitted, alpha):
    with pytest.raises(ValueError, match=r"alpha must be a number in \[0\.01, 1\]"):
        fitted.predict_interval(data[0], alpha=alpha)


def test_plane_and_level_together_are_an_error(data, calibrated):
    with pytest.raises(ValueError, match="not both"):
        calibrated.predict_interval(data[0], alpha=0.5, coverage=0.9)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("n_rules", 0),
        ("n_rules", 2.5),
        ("coverage", 1.0),
        ("alphas", (0.5, 1.0)),
        ("epochs", -1),
        ("batch_size", 0),
        ("learning_rate", 0),
        ("smf", "none"),
        ("objective", "mse"),
        ("random_state", "seed"),
    ],
)
def test_a_bad_setting_is_named_when_fitting(data, setting, value):
    with pytest.raises(ValueError, match=setting):
        GT2Regressor(**{setting: value}).fit(*data)


def test_an_unknown_method_names_the_known_ones(data, fitted):
    with pytest.raises(ValueError, match="'table', 'search', 'exact', 'conformal'"):
        fitted.calibrate(*data, method="magic")


def test_missing_values_are_named_with_their_place(data):
    X, y = data
    X = X.copy()
    X[7, 1] = np.nan
    with pytest.raises(ValueError, match=r"X contains NaN at index \(7, 1\)"):
        GT2Regressor(**FAST).fit(X, y)


# -------------------------------------------------------------------- data frames


def test_data_frames_keep_their_names_and_their_order(data):
    pd = pytest.importorskip("pandas")
    X, y = data
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    reg = GT2Regressor(**FAST).fit(frame, pd.Series(y))
    assert list(reg.feature_names_in_) == ["a", "b", "c"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(reg.predict(frame), GT2Regressor(**FAST).fit(X, y).predict(X))
    with pytest.raises(ValueError, match="same order"):
        reg.predict(frame[["b", "a", "c"]])
    with pytest.raises(ValueError, match=r"now missing:\n- c"):
        reg.predict(frame[["a", "b"]])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        reg.predict(X)


# ------------------------------------------------------------------ save and load


@pytest.mark.parametrize("calibrated", CALIBRATORS, indirect=True)
def test_a_loaded_model_says_the_same_at_levels_old_and_new(data, calibrated, tmp_path):
    X, _ = data
    calibrated.predict_interval(X[:3], coverage=0.8)
    calibrated.save(tmp_path / "model.npz")
    loaded = GT2Regressor.load(tmp_path / "model.npz")
    assert loaded.get_params() == calibrated.get_params()
    np.testing.assert_array_equal(loaded.predict(X), calibrated.predict(X))
    np.testing.assert_array_equal(
        loaded.predict_interval(X, coverage=[0.8, 0.7]),
        calibrated.predict_interval(X, coverage=[0.8, 0.7]),
    )
    assert loaded.calibrator_.reached(0.6) == calibrated.calibrator_.reached(0.6)


@pytest.mark.parametrize(
    "settings", [{"smf": "scalar"}, {"alphas": [0.01, 0.4]}, {"objective": "aligned"}]
)
def test_every_kind_of_model_survives_the_file(data, settings, tmp_path):
    X, y = data
    reg = GT2Regressor(**FAST, **settings, random_state=None).fit(X, y)
    reg.save(str(tmp_path / "model"))  # any name will do, and is kept
    assert [p.name for p in tmp_path.iterdir()] == ["model"]
    np.testing.assert_array_equal(GT2Regressor.load(tmp_path / "model").predict(X), reg.predict(X))


def test_settings_changed_after_the_fit_do_not_change_the_model(data, tmp_path):
    X, y = data
    reg = GT2Regressor(**FAST).fit(X, y)
    before = reg.predict(X)
    reg.set_params(alphas=(0.01,), n_rules=9, smf="scalar")
    np.testing.assert_array_equal(reg.predict(X), before)
    reg.save(tmp_path / "m.npz")
    loaded = GT2Regressor.load(tmp_path / "m.npz")
    np.testing.assert_array_equal(loaded.predict(X), before)
    assert loaded.n_rules == 3 and loaded.alphas is None


def test_settings_may_be_numbers_of_numpy(data, tmp_path):
    X, y = data
    settings = {"n_rules": np.int64(2), "coverage": np.float32(0.9), "random_state": np.int64(3)}
    reg = GT2Regressor(epochs=np.int32(4), batch_size=np.int64(50), **settings).fit(X, y)
    reg.calibrate(X, y, method="table", step=np.float64(0.5)).save(tmp_path / "m.npz")
    loaded = GT2Regressor.load(tmp_path / "m.npz")
    np.testing.assert_array_equal(loaded.predict(X), reg.predict(X))
    assert loaded.random_state == 3 and loaded.calibrator_.step == 0.5


def test_names_survive_the_file(data, tmp_path):
    pd = pytest.importorskip("pandas")
    X, y = data
    reg = GT2Regressor(**FAST).fit(pd.DataFrame(X, columns=["año", "b", "c"]), y)
    reg.save(tmp_path / "m.npz")
    assert list(GT2Regressor.load(tmp_path / "m.npz").feature_names_in_) == ["año", "b", "c"]


@pytest.fixture
def model_file(data, tmp_path):
    X, y = data
    path = tmp_path / "model.npz"
    GT2Regressor(**FAST).fit(X, y).calibrate(X, y, method="exact").save(path)
    return path


def _rewrite(path, change):
    """Change header or arrays of a model file, and write it as a sound archive."""
    with np.load(path) as archive:
        arrays = dict(archive)
    header = json.loads(arrays["header"].tobytes())
    change(header, arrays)
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    np.savez(path, **arrays)


def test_a_truncated_file_is_refused_at_any_length(model_file):
    content = model_file.read_bytes()
    for length in np.linspace(0, len(content) - 1, 60).astype(int):
        model_file.write_bytes(content[:length])
        with pytest.raises(FileFormatError, match=r"model\.npz"):
            GT2Regressor.load(model_file)


def test_a_flipped_bit_never_goes_unnoticed_in_the_data(model_file):
    content = bytearray(model_file.read_bytes())
    with zipfile.ZipFile(io.BytesIO(bytes(content))) as archive:
        entry = archive.getinfo("params/c.npy")
    content[entry.header_offset + 30 + len("params/c.npy") + 200] ^= 1
    model_file.write_bytes(bytes(content))
    with pytest.raises(FileFormatError, match="damaged"):
        GT2Regressor.load(model_file)


@pytest.mark.parametrize(
    "change",
    [
        lambda header, arrays: arrays.pop("params/c"),
        lambda header, arrays: arrays.update({"params/c": arrays["params/c"][:2]}),
        lambda header, arrays: arrays.update({"params/a": arrays["params/a"] * np.nan}),
        lambda header, arrays: arrays.update({"params/a": np.array("text")}),
        lambda header, arrays: arrays.update({"scaler/x_std": np.ones(7)}),
        lambda header, arrays: header.pop("settings"),
        lambda header, arrays: header["settings"].update(no_such_setting=1),
        lambda header, arrays: header["settings"].update(n_rules=7),
        lambda header, arrays: header["settings"].update(smf="scalar"),
        lambda header, arrays: header["calibrator"].update(method="magic"),
        lambda header, arrays: header.update(calibrator=[]),
        lambda header, arrays: header.update(feature_names=["one"]),
        lambda header, arrays: header.update(format="another program"),
        lambda header, arrays: header.update(version=2),
    ],
)
def test_a_file_that_does_not_fit_together_is_refused(model_file, change):
    _rewrite(model_file, change)
    with pytest.raises(FileFormatError, match=r"model\.npz"):
        GT2Regressor.load(model_file)


def test_a_foreign_file_is_refused(tmp_path):
    path = tmp_path / "model.npz"
    np.savez(path, x=np.ones(3))
    with pytest.raises(FileFormatError, match="no header"):
        GT2Regressor.load(path)
    path.write_text("just text")
    with pytest.raises(FileFormatError, match=r"no \.npz"):
        GT2Regressor.load(path)
    with pytest.raises(FileNotFoundError):
        GT2Regressor.load(tmp_path / "nothing.npz")


def test_no_code_of_a_file_is_run(model_file, tmp_path):
    class Trap:
        def __reduce__(self):
            return (open, (str(tmp_path / "sprung"), "w"))

    _rewrite(model_file, lambda header, arrays: arrays.update({"params/a": np.array([Trap()])}))
    (tmp_path / "sprung").unlink(missing_ok=True)
    with pytest.raises(FileFormatError):
        GT2Regressor.load(model_file)
    assert not (tmp_path / "sprung").exists()


def test_a_failed_save_leaves_the_old_file(model_file, data, monkeypatch):
    before = model_file.read_bytes()

    def full_disk(*args, **kwargs):
        raise OSError("no space left on device")

    monkeypatch.setattr(np, "savez", full_disk)
    with pytest.raises(OSError, match="no space"):
        GT2Regressor(**FAST).fit(*data).save(model_file)
    assert model_file.read_bytes() == before
    assert list(model_file.parent.iterdir()) == [model_file]


def test_an_unfitted_model_cannot_be_saved(tmp_path):
    with pytest.raises((RuntimeError, ValueError), match="not fitted"):
        GT2Regressor().save(tmp_path / "m.npz")


# ------------------------------------------------------------- imports and the core


def _python(code):
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False
    )


def test_importing_the_package_loads_neither_sklearn_nor_matplotlib_nor_numpy():
    run = _python(
        "import sys, gt2lite; print({'sklearn', 'matplotlib', 'scipy', 'numpy'} & set(sys.modules))"
    )
    assert run.stdout.strip() == "set()", run.stderr


def test_the_estimator_works_where_scikit_learn_is_not_installed(tmp_path):
    run = _python(
        "import sys\n"
        "for name in ('sklearn', 'scipy', 'pandas', 'tqdm', 'matplotlib', 'joblib'):\n"
        "    sys.modules[name] = None\n"
        "import numpy as np\n"
        "from gt2lite import GT2Regressor, load_dataset\n"
        "data = load_dataset('pp')\n"
        "reg = GT2Regressor(n_rules=2, learning_rate=0.05)\n"
        "print(reg, reg.set_params(epochs=40).get_params()['epochs'])\n"
        "reg.fit(data.X[:500], data.y[:500]).calibrate(data.X[500:900], data.y[500:900])\n"
        "lower, upper = reg.predict_interval(data.X, coverage=[0.5, 0.6])\n"
        "print(lower.shape, reg.score(data.X, data.y))\n"
        f"path = {str(tmp_path / 'm.npz')!r}\n"
        "reg.save(path)\n"
        "print(np.array_equal(GT2Regressor.load(path).predict(data.X), reg.predict(data.X)))\n"
        "try: GT2Regressor().predict(data.X)\n"
        "except RuntimeError as error: print(error)\n"
        "try: reg.set_params(rules=3)\n"
        "except ValueError as error: print(error)\n"
    )
    assert run.returncode == 0, run.stderr
    lines = run.stdout.splitlines()
    assert lines[0] == "GT2Regressor(n_rules=2, epochs=40, learning_rate=0.05) 40"
    assert lines[1].startswith("(9568, 2)")
    assert lines[2] == "True"
    assert "not fitted yet" in lines[3]
    assert "Invalid parameter 'rules'" in lines[4]
