"""Facts about `GT2Regressor`: units, levels, settings, and the conventions of scikit-learn."""

import inspect
import itertools
import subprocess
import sys
import warnings
from dataclasses import asdict, fields

import numpy as np
import pytest

from gt2lite import GT2Regressor
from gt2lite.calibration import CALIBRATORS, CoverageError
from gt2lite.training import Recipe

FAST = {"n_rules": 3, "epochs": 5}


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
    np.testing.assert_array_equal(
        other.predict_interval(X * 4, alpha=0.01)[0], reg.predict_interval(X, alpha=0.01)[0] * 8
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


# ------------------------------------------------------------------ training settings


def test_settings_are_those_of_the_recipe_and_are_spelt_there_only():
    names = [field.name for field in fields(Recipe)]
    parameters = inspect.signature(GT2Regressor).parameters
    own = ["n_systems", "choose", "inputs", "margins", "target_transform"]
    own += ["n_jobs", "verbose", "random_state"]
    assert list(parameters) == [*names, *own]
    assert all(p.kind is inspect.Parameter.KEYWORD_ONLY for p in parameters.values())
    assert sorted(GT2Regressor().get_params()) == sorted(parameters)
    defaults = {"n_systems": 1, "choose": False, "inputs": "scaled", "margins": None}
    defaults |= {"epochs": None, "target_transform": None}
    defaults |= {"n_jobs": None, "verbose": None, "random_state": 0}
    assert GT2Regressor().get_params() == asdict(Recipe()) | defaults
    told = inspect.getdoc(GT2Regressor)
    assert all(f"\n    {name}: " in told for name in [*names, *own])
    with pytest.raises(TypeError, match=r"no setting 'rules', only n_rules, coverage"):
        GT2Regressor(rules=3)
    with pytest.raises(TypeError, match="positional"):
        GT2Regressor(3)


@pytest.mark.parametrize("name", [f.name for f in fields(Recipe) if f.name != "epochs"])
def test_every_setting_reaches_the_recipe(data, name):
    others = {
        **{"n_rules": 2, "coverage": 0.8, "alphas": (0.01, 1.0), "objective": "aligned"},
        **{"smf": "scalar", "batch_size": 7, "learning_rate": 0.5, "keep": "best"},
        **{"bias_correction": "epochs", "schedule": "cosine", "weight_decay": 0.1},
        **{"averaging": 0.5, "start": "joint", "sigma_scale": 2.0, "validation": 0.4},
        **{"patience": 3},
    }
    given = {name: others[name]} | ({"keep": "best"} if name == "patience" else {})
    reg = GT2Regressor(epochs=1, **given).fit(data[0][:20], data[1][:20])
    assert asdict(reg.recipe_) == asdict(Recipe()) | {"epochs": 1} | given


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


def test_a_level_above_the_envelope_names_the_highest(data, calibrated):
    X, _ = data
    with pytest.raises(CoverageError, match=r"0\.9999.*levels up to"):
        calibrated.predict_interval(X, coverage=0.9999)


@pytest.mark.parametrize("alpha", [0, 0.009, 1.01, np.nan, "a"])
def test_a_plane_outside_the_range_is_an_error(data, fitted, alpha):
    with pytest.raises(ValueError, match=r"alpha must be a number in \[0\.01, 1\]"):
        fitted.predict_interval(data[0], alpha=alpha)


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
        f"path = {str(tmp_path / 'm.json')!r}\n"
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
