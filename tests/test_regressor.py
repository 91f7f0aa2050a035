"""`GT2Regressor`: settings, training, prediction, splits, log targets, front pages."""

import copy
import inspect
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gt2lite import GT2Regressor
from gt2lite.metrics import picp
from gt2lite.practice.calibrating import CalibrationPlan, split_rows
from gt2lite.practice.presets import STRONG
from gt2lite.practice.settings import FLAT, read_recipe
from gt2lite.recipe import Recipe
from gt2lite.training import InterruptedTrainingWarning

ROOT = Path(__file__).resolve().parents[1]
FAST = {"n_rules": 3, "epochs": 5, "learning_rate": 0.02}
INNER = {0.0695: 0.95, 0.1529: 0.9, 0.7292: 0.5}  # plane: coverage by the aligned objective


# -------------------------------------------------------------------------------- settings


def test_settings_are_given_by_name_and_described_and_leave_training_to_the_recipe():
    parameters = inspect.signature(GT2Regressor).parameters.values()
    own = {"n_systems": 1, "choose": False, "inputs": "scaled", "margins": None}
    own |= {"target_transform": None, "clip_inputs": False, "columns": None}
    own |= {"n_jobs": None, "verbose": None, "random_state": 0}
    wanted = dict.fromkeys((*FLAT, "recipe")) | own
    assert {p.name: p.default for p in parameters} == GT2Regressor().get_params() == wanted
    assert {p.kind for p in parameters} == {inspect.Parameter.KEYWORD_ONLY}
    described, _ = inspect.getdoc(GT2Regressor).split("Attributes:")  # all of them, in order
    described = re.findall(r"^    (\w[\w, ]*):", described, flags=re.MULTILINE)
    assert ", ".join(described).split(", ") == [p.name for p in parameters]


def recipe_of(n_rows=10**6, **settings):
    return read_recipe(GT2Regressor(**settings).get_params(), n_rows)


def test_small_data_is_trained_for_about_three_thousand_steps():
    assert recipe_of(600).epochs == 334  # 9 batches each
    assert recipe_of(600, recipe=Recipe(weight_decay=0.1)).epochs == 334
    assert recipe_of().epochs == 100
    assert recipe_of(600, epochs=3).epochs == recipe_of(600, recipe=Recipe(epochs=3)).epochs == 3


def test_flat_settings_and_those_of_a_recipe_add_up():
    assert recipe_of() == Recipe()
    finer = Recipe(n_rules=7, schedule="cosine")
    assert recipe_of(recipe=finer) == finer
    assert recipe_of(recipe=finer, n_rules=7, batch_size=8) == replace(finer, batch_size=8)
    with pytest.raises(ValueError, match=r"n_rules is given twice.*n_rules=5.*n_rules=7"):
        GT2Regressor(n_rules=5, recipe=finer).fit(np.zeros((9, 1)), np.zeros(9))
    with pytest.raises(TypeError, match=r"recipe must be a gt2lite\.Recipe"):
        recipe_of(recipe={"n_rules": 3})


@pytest.mark.parametrize("act", [GT2Regressor, GT2Regressor().set_params])
def test_an_unknown_setting_says_where_it_belongs(act):
    with pytest.raises(TypeError, match=r"recipe=Recipe\(weight_decay=0.1, keep='best'\)"):
        act(weight_decay=0.1, keep="best")
    with pytest.raises((TypeError, ValueError), match="speed"):
        act(speed=1)


def test_a_search_may_change_one_setting_of_a_recipe():
    reg = GT2Regressor(recipe=Recipe(schedule="cosine"))
    reg.set_params(recipe__weight_decay=0.1, n_rules=3)
    assert reg.recipe == Recipe(schedule="cosine", weight_decay=0.1) and reg.n_rules == 3
    assert GT2Regressor().set_params(recipe__averaging=0.5).recipe == Recipe(averaging=0.5)
    with pytest.raises(TypeError, match="speed"):
        reg.set_params(recipe__speed=1, n_rules=4)
    assert reg.n_rules == 3


def test_strong_is_a_preset_whose_settings_can_be_given_either_way():
    def resolved(**overrides):
        return recipe_of(**GT2Regressor.strong(**overrides).get_params() | {"epochs": 100})

    assert resolved() == STRONG
    given = {"n_rules": 5, "weight_decay": 0.2, "schedule": "constant"}
    assert resolved(**given) == replace(STRONG, **given)
    assert resolved(recipe=replace(STRONG, **given)) == replace(STRONG, **given)
    assert resolved(recipe=Recipe(weight_decay=0.2)) == Recipe(weight_decay=0.2)
    part = replace(STRONG, schedule="constant", objective="dual")
    assert resolved(recipe=part, n_rules=5, averaging=0.9) == replace(
        part, n_rules=5, averaging=0.9
    )
    assert resolved(objective="dual", alphas=None) == replace(STRONG, objective="dual", alphas=None)
    assert GT2Regressor.strong(epochs=100).epochs == 100 and GT2Regressor.strong().epochs is None
    with pytest.raises(ValueError, match="n_rules is given twice"):
        GT2Regressor.strong(n_rules=3, recipe=Recipe(n_rules=5))
    assert GT2Regressor.strong().set_params(n_rules=4).n_rules == 4  # as a search does


@pytest.mark.parametrize("setting", ["n_rules", "n_systems", "target_transform", "random_state"])
def test_a_bad_setting_is_named_when_fitting(data, setting):
    with pytest.raises(ValueError, match=setting):
        GT2Regressor(**{setting: "odd"}).fit(*data)


def test_the_same_seed_gives_the_same_bits_and_none_other_numbers_each_time(data):
    X, y = data
    first, again, other, free, freed = (
        GT2Regressor(**FAST, random_state=seed).fit(X[:200], y[:200]).predict(X)
        for seed in (1, 1, 2, None, None)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other) and not np.array_equal(free, freed)


# ----------------------------------------------------------------------------- predictions


def test_predictions_are_in_the_units_of_the_target(data):
    X, y = data
    reg = GT2Regressor(n_rules=4, epochs=40, learning_rate=0.03).fit(X[:500], y[:500])
    assert reg.score(X[700:], y[700:]) > 0.8
    for alpha in (0, 0.009, 1.01, np.nan, "a"):
        with pytest.raises(ValueError, match="alpha must be"):
            reg.predict_interval(X, alpha=alpha)


def test_the_aligned_objective_gives_its_inner_planes_a_coverage(data):
    X, y = data
    far = {}  # distance of the inner planes from their levels
    for objective in ("aligned", "dual"):
        reg = GT2Regressor(n_rules=4, epochs=60, learning_rate=0.02, objective=objective).fit(X, y)
        bounds = {level: reg.predict_interval(X, alpha=a) for a, level in INNER.items()}
        far[objective] = sum(abs(picp(y, *bounds[level]) - level) for level in bounds)
    assert far["aligned"] < 0.08 < far["dual"]


# ------------------------------------------------------------ callbacks, progress, Ctrl-C


def watch(epoch, answer=None, error=None):
    """Return a callback that at some call returns an answer or raises an error."""
    calls = []

    def callback(*args):
        calls.append(args)
        if len(calls) == epoch and error is not None:
            raise error
        return answer if len(calls) == epoch else None

    return callback


@pytest.mark.parametrize("settings", [{"choose": True}, {"n_systems": 2, "n_jobs": 2}])
def test_a_callback_that_could_not_be_called_is_refused(data, settings):
    with pytest.raises(ValueError, match="callback must be None if"):
        GT2Regressor(**FAST, **settings).fit(*data, callback=watch(1))


def test_ctrl_c_keeps_the_complete_epochs_with_a_warning(data):
    X, y = data
    reg = GT2Regressor(**FAST).fit(X, -y)
    with pytest.warns(InterruptedTrainingWarning):
        reg.fit(X, y, callback=watch(3, error=KeyboardInterrupt))
    stopped = GT2Regressor(**FAST).fit(X, y, callback=watch(3, answer=True))
    assert len(stopped.history_) == 3
    np.testing.assert_array_equal(reg.predict(X), stopped.predict(X))


def test_of_several_systems_ctrl_c_keeps_the_complete_ones(data):
    X, y = data
    reg = GT2Regressor(**FAST, n_systems=4)
    with pytest.warns(InterruptedTrainingWarning, match="2 of 4") as caught:
        reg.fit(X, y, callback=watch(13, error=KeyboardInterrupt))  # in the third system
    assert caught[0].filename == __file__
    whole = GT2Regressor(**FAST, n_systems=2).fit(X, y)
    np.testing.assert_array_equal(reg.predict(X), whole.predict(X))


def test_progress_is_shown_on_request(data, capsys):
    pytest.importorskip("tqdm")
    for verbose in (None, True, 0):
        GT2Regressor(**FAST, verbose=verbose).fit(*data)
        assert ("training" in capsys.readouterr().err) == (verbose is True)


# --------------------------------------------------------------------------- fit_calibrate


def test_fit_calibrate_is_fit_on_one_part_and_calibrate_on_the_other(data):
    X, y = data
    reg = GT2Regressor(**FAST, random_state=3).fit_calibrate(X, y)
    rows = reg.calibration_rows_
    rest = np.setdiff1d(np.arange(900), rows)
    by_hand = GT2Regressor(**FAST, random_state=3).fit(X[rest], y[rest])
    by_hand.calibrate(X[rows], y[rows])
    np.testing.assert_array_equal(reg.predict_interval(X), by_hand.predict_interval(X))
    np.testing.assert_array_equal(reg.scaler_.x_mean, by_hand.scaler_.x_mean)
    assert reg.calibrator_.n_samples == 225 and (np.diff(rows) > 0).all()


def test_the_split_follows_the_seed():
    def rows(seed):
        return split_rows(900, 0.25, seed, CalibrationPlan()).rows

    np.testing.assert_array_equal(rows(1), rows(1))
    assert not np.array_equal(rows(1), rows(2))
    for generator in (None, np.random.default_rng(5), np.random.RandomState(5)):
        assert not np.array_equal(rows(generator), rows(generator))


@pytest.mark.filterwarnings("ignore::gt2lite.calibration.SmallCalibrationWarning")
def test_each_group_gives_its_share_and_is_calibrated_on_its_own(data):
    X, y = data
    groups = np.array(["rare"] * 100 + ["common"] * 800)
    reg = GT2Regressor(**FAST).fit_calibrate(X, y, groups=groups, share=0.5)
    assert reg.calibrator_.sizes == {"common": 400, "rare": 50}
    rows = reg.calibration_rows_
    assert (groups[rows] == "rare").sum() == 50 and "2 groups" in reg.split_
    lower, upper = reg.predict_interval(X[rows], groups=groups[rows])
    inside = (lower <= y[rows]) & (y[rows] <= upper)
    assert all(inside[groups[rows] == name].mean() >= 0.9 for name in ("rare", "common"))
    small = [0] * 865 + [1] * 32 + [2, 2, 3]  # a quarter of 32 is one too few
    with pytest.raises(ValueError, match=r"32 rows of group 1 leaves 8 .*pool"):
        GT2Regressor(**FAST).fit_calibrate(X, y, groups=small)
    reg = GT2Regressor(**FAST).fit_calibrate(X, y, groups=small, small_groups="pool")
    assert reg.calibrator_.sizes == {0: 216, 1: 8, 2: 1, 3: 1}


@pytest.mark.parametrize(
    ("n", "share", "options", "words", "enough"),
    [
        (34, 0.25, {}, "36 rows", {"n": 36}),
        (30, 0.1, {}, "larger share or at least 90 rows", {"share": 0.3}),
        (15, 0.7, {}, "train on", {"n": 19, "share": 0.474}),
        (60, 0.25, {"sides": "each"}, "76 rows", {"n": 76}),
        (100, 0.25, {"sides": "each", "tails": (0.2, 0.8)}, "196 rows", {"n": 196}),
    ],
)
def test_too_few_rows_are_refused_with_a_number_that_is_enough(n, share, options, words, enough):
    asked = {"n": n, "share": share}
    sides, tails = (
        options.get("sides"),
        {name: options[name] for name in ("tails",) if name in options},
    )
    rest = 0, CalibrationPlan(sides=sides, options=tails)
    with pytest.raises(ValueError, match=words):
        split_rows(*asked.values(), *rest)
    split_rows(*(asked | enough).values(), *rest)


@pytest.mark.parametrize(
    ("bad", "named"),
    [
        *(({"share": 1}, "share"), ({"share": None}, "share"), ({"method": "magic"}, "method")),
        *(({"sides": "left"}, "sides"), ({"groups": ["a"]}, "groups"), ({"speed": 3}, "speed")),
    ],
)
def test_bad_arguments_are_named_before_training(data, bad, named, monkeypatch):
    def train(*args, **options):
        raise AssertionError("it was trained")

    monkeypatch.setattr("gt2lite.practice.selection.train", train)
    with pytest.raises((TypeError, ValueError), match=named):
        GT2Regressor(**FAST).fit_calibrate(*data, **bad)


def test_a_new_fit_or_calibration_drops_what_it_makes_obsolete(data):
    reg = GT2Regressor(**FAST).fit_calibrate(*data)
    for method, calibrated in (("calibrate", True), ("fit", False)):
        getattr(reg, method)(data[0], data[1] + 1)  # other rows
        assert not hasattr(reg, "calibration_rows_") and not hasattr(reg, "split_")
        assert hasattr(reg, "calibrator_") == calibrated


# ----------------------------------------------------------------------------- log targets


@pytest.fixture(scope="module")
def prices():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 2, size=(900, 2))
    return X, np.exp(3 * X[:, 0] + 0.5 * rng.normal(size=900))


@pytest.fixture(scope="module")
def logs(prices):
    X, y = prices
    reg = GT2Regressor(**FAST, target_transform="log")
    return reg.fit_calibrate(X[:600], y[:600])


def test_a_log_target_is_the_system_of_the_logarithms(prices, logs):
    X, y = prices
    by_hand = GT2Regressor(**FAST).fit_calibrate(X[:600], np.log(y[:600]))
    np.testing.assert_array_equal(logs.predict(X), np.exp(by_hand.predict(X)))
    for asked in ({"coverage": 0.9}, {"coverage": [0.5, 0.8]}, {"alpha": 0.01}):
        found = logs.predict_interval(X, **asked)
        np.testing.assert_array_equal(found, np.exp(by_hand.predict_interval(X, **asked)))
    assert logs.calibration_report(0.9) == by_hand.calibration_report(0.9)
    assert str(logs.rules(X, target="price")) == str(by_hand.rules(X, target="log(price)"))
    parts = (reg.explain(X[0], 0.9).estimate.value for reg in (logs, by_hand))
    assert next(parts) == next(parts)


def test_an_open_bound_of_a_log_target_is_zero_or_infinite(prices, logs):
    X, y = prices
    for sides, i, bound in (("lower", 1, np.inf), ("upper", 0, 0.0)):
        ends = copy.copy(logs).calibrate(X[600:], y[600:], sides=sides).predict_interval(X)
        assert (ends[i] == bound).all() and np.isfinite(ends[1 - i]).all()


@pytest.mark.parametrize("method", ["fit", "calibrate", "fit_calibrate"])
def test_a_target_without_a_logarithm_is_named_with_its_row(prices, logs, method):
    X, y = prices
    y = y.copy()
    y[[17, 30]] = 0.0
    with pytest.raises(ValueError, match=r"y must be above 0.*0 in row 17"):
        getattr(logs, method)(X, y)


# -------------------------------------------------------------------------- installations


WITHOUT = """
import pydoc, sys
for name in ("sklearn", "scipy", "pandas", "tqdm", "matplotlib", "joblib", "jinja2"):
    sys.modules[name] = None
import numpy as np
from gt2lite import GT2Regressor, load_dataset
data = load_dataset("pp")
reg = GT2Regressor(n_rules=2, learning_rate=0.05)
assert reg.set_params(epochs=5).get_params()["epochs"] == 5
reg.fit(data.X[:500], data.y[:500]).calibrate(data.X[500:900], data.y[500:900])
lower, upper = reg.predict_interval(data.X, coverage=[0.5, 0.6])
assert lower.shape == (9568, 2) and reg.score(data.X, data.y) < 1
reg.save(sys.argv[1])
assert np.array_equal(GT2Regressor.load(sys.argv[1]).predict(data.X), reg.predict(data.X))
try: GT2Regressor().predict(data.X)
except RuntimeError as error: assert "not fitted" in str(error)
assert "n_rules" in pydoc.render_doc(GT2Regressor)
"""


def test_the_estimator_works_without_optional_libraries(tmp_path):
    command = [sys.executable, "-W", "error", "-c", WITHOUT, tmp_path / "model.json"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


# ----------------------------------------------------------------------------- front pages


@pytest.mark.parametrize("page", ["README.md", "index.md"])
def test_the_code_of_a_front_page_runs_and_prints_what_it_shows(page, monkeypatch, capsys):
    text = (ROOT / page).read_text(encoding="utf-8")
    code, *_ = re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    assert "GT2Regressor.strong(" in code and "calibrate(" in code
    strong, quick = GT2Regressor.strong, {"n_rules": 3, "epochs": 1, "n_systems": 1}
    monkeypatch.setattr(GT2Regressor, "strong", lambda **given: strong(**{**given, **quick}))
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    space = {"X": X[:500], "y": X[:500, 0] + 0.1 * rng.normal(size=500), "X_new": X[500:]}
    exec(code, space)
    lower, upper = space["lower"], space["upper"]
    assert lower.shape == upper.shape and (lower <= upper).all()
    if shown := re.search(r"each \((\d+), (\d+)\)", code):
        assert lower.shape == (int(shown[1]), int(shown[2]))
    if shown := re.search(r"print\(.*\)  # (.*)", code):
        assert capsys.readouterr().out.strip() == shown[1]


@pytest.mark.parametrize("settings", [{}, {"n_systems": 2}, {"n_systems": 2, "margins": 0.5}])
@pytest.mark.parametrize("sides", ["both", "each"])
def test_prediction_and_interval_in_one_call_are_those_of_two(settings, sides):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(450, 2)), columns=["a", "b"])
    y, groups = X["a"] + rng.normal(size=450), np.arange(450) % 2
    reg = GT2Regressor(n_rules=3, epochs=5, **settings).fit(X[:150], y[:150])
    for by in (None, groups):
        reg.calibrate(X[150:], y[150:], sides=sides, groups=None if by is None else by[150:])
        asked = {"coverage": [0.5, 0.9], "groups": None if by is None else by[:150]}
        predicted, *bounds = reg.predict_interval(X[:150], with_prediction=True, **asked)
        np.testing.assert_array_equal(predicted, reg.predict(X[:150]))
        np.testing.assert_array_equal(bounds, reg.predict_interval(X[:150], **asked))
        frame = reg.predict_interval(X[:150], with_prediction=True, as_frame=True, **asked)
        plain = reg.predict_interval(X[:150], as_frame=True, **asked)
        pd.testing.assert_frame_equal(frame.drop(columns="prediction"), plain)
        np.testing.assert_array_equal(frame["prediction"], predicted)
        assert next(iter(frame)) == "prediction"
    predicted, *bounds = reg.predict_interval(X, alpha=0.3, with_prediction=True)
    np.testing.assert_array_equal(predicted, reg.predict(X))
    np.testing.assert_array_equal(bounds, reg.predict_interval(X, alpha=0.3))


def test_weights_in_training_are_refused_by_the_name_of_the_class():
    X, y = np.arange(20.0)[:, None], np.arange(20.0)
    with pytest.raises(TypeError, match=r"GT2Regressor.fit does not support sample_weight.*calib"):
        GT2Regressor().fit(X, y, sample_weight=y)
    with pytest.raises(TypeError, match="unexpected keyword argument 'weights'"):
        GT2Regressor().fit(X, y, weights=y)
