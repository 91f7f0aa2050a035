"""What all four calibrators share: one interface, and storage."""

from __future__ import annotations

import json
import pickle
import re
from collections import Counter

import numpy as np
import pytest
from families import Bands, Steps, each_method, of_the_paper

from gt2lite.calibration import (
    CALIBRATORS,
    HALVINGS,
    CoverageError,
    GroupCalibrator,
    SearchCalibrator,
    SmallCalibrationWarning,
    TableCalibrator,
    TwoSidedCalibrator,
    covers,
)
from gt2lite.memberships import ALPHA_0

# ----------------------------------------------------------------- the interface


@of_the_paper
def test_a_level_above_the_envelope_names_a_level_that_has_an_answer(method):
    family = Steps(np.r_[np.linspace(0.02, 1, 91), np.zeros(12)])  # 91 of 103
    calibrator = CALIBRATORS[method]().fit(family, family.y)
    assert calibrator.max_coverage == 91 / 103
    with pytest.raises(CoverageError, match=r"coverage 0\.95 .*lower level, train") as caught:
        calibrator.alpha([0.5, 0.95])
    (highest,) = re.findall(r"levels up to ([\d.]+);", str(caught.value))
    calibrator.alpha(float(highest))
    with pytest.raises(CoverageError):
        calibrator.alpha(float(highest) + 0.0001)


@of_the_paper
def test_an_envelope_that_covers_nothing_answers_nothing(method):
    family = Steps(np.zeros(100))
    calibrator = CALIBRATORS[method]().fit(family, family.y)
    assert calibrator.max_coverage == 0
    with pytest.raises(CoverageError, match=r"coverage 0\.01 "):
        calibrator.alpha(0.01)


@each_method
def test_few_samples_get_a_warning_with_the_resolution(method):
    family = Steps(np.linspace(0.02, 1, 99))
    with pytest.warns(SmallCalibrationWarning, match=r"only 99 .* 1/99 = 0\.01"):
        CALIBRATORS[method]().fit(family, family.y)
    family = Steps(np.linspace(0.02, 1, 100))
    CALIBRATORS[method]().fit(family, family.y)  # a warning would be an error here


@each_method
def test_before_fit_every_question_is_an_error(method):
    calibrator = CALIBRATORS[method]()
    asked = (
        lambda: calibrator.alpha(0.9),
        lambda: calibrator.coverage(0.5),
        lambda: calibrator.reached(0.9),
        lambda: calibrator.max_coverage,
        lambda: calibrator.n_samples,
        lambda: calibrator.n_evaluations,
        lambda: calibrator.get_state(),
    )
    for question in asked:
        with pytest.raises(RuntimeError, match="call fit first"):
            question()


@each_method
def test_a_fit_that_fails_leaves_no_calibrator_behind(method):
    family = Steps(np.linspace(0.02, 1, 100))
    calibrator = CALIBRATORS[method]().fit(family, family.y)
    with pytest.raises(ValueError, match="lower must"):
        calibrator.fit(family, np.zeros(101))
    with pytest.raises(RuntimeError, match="call fit first"):
        calibrator.alpha(0.9)


@each_method
@pytest.mark.parametrize("level", [0, 1, -0.1, 90, np.nan, "0.9", True, None])
def test_a_level_that_is_no_level_is_an_error(method, level):
    family = Steps(np.linspace(0.02, 1, 100))
    calibrator = CALIBRATORS[method]().fit(family, family.y)
    with pytest.raises(ValueError, match=r"coverage must be a number in \(0, 1\)"):
        calibrator.alpha(level)


@each_method
def test_a_plane_outside_the_range_is_an_error(method):
    family = Steps(np.linspace(0.02, 1, 100))
    calibrator = CALIBRATORS[method]().fit(family, family.y)
    for alpha in (0, 0.005, 1.1):
        with pytest.raises(ValueError, match=r"alpha must be a number in \[0\.01, 1\]"):
            calibrator.coverage(alpha)


@each_method
def test_one_level_gives_a_number_and_many_give_an_array(method):
    family = Bands(200, spread=0.3)
    calibrator = CALIBRATORS[method]().fit(family, family.y)
    one, many = calibrator.alpha(0.9), calibrator.alpha([0.5, 0.9])
    assert type(one) is float
    assert many.shape == (2,)
    assert many[1] == one < many[0]
    assert type(calibrator.coverage(0.5)) is type(calibrator.reached(0.9)) is float
    assert calibrator.n_samples == 200


@each_method
def test_coverage_is_counted_not_interpolated(method):
    family = Bands(200, spread=0.3)
    calibrator = CALIBRATORS[method]().fit(family, family.y)
    for alpha in (ALPHA_0, 0.123, 0.5, 1.0):
        assert calibrator.coverage(alpha) == covers(family.y, *family(alpha)).mean()


@each_method
def test_every_evaluation_is_counted_once(method):
    family = Steps(np.linspace(0.02, 1, 150))
    calibrator = CALIBRATORS[method]().fit(family, family.y)
    after_fit = {"table": 11, "search": 1, "exact": HALVINGS + 1, "conformal": HALVINGS + 1}
    assert calibrator.n_evaluations == len(family.calls) == after_fit[method]
    for level in (0.9, 0.333, 0.9):
        calibrator.alpha(level)
        calibrator.reached(level)
        assert calibrator.n_evaluations == len(family.calls)
    if method in ("table", "search"):
        assert set(Counter(family.calls).values()) == {1}  # no plane twice
    else:
        assert calibrator.n_evaluations == HALVINGS + 1  # further levels are free


@pytest.mark.parametrize(
    ("calibrator", "options"),
    [
        (TableCalibrator, {"step": 0}),
        (TableCalibrator, {"interpolation": "cubic"}),
        (SearchCalibrator, {"start": 0.001}),
        (SearchCalibrator, {"shrink": 1.0}),
        (SearchCalibrator, {"tolerance": -1}),
        (SearchCalibrator, {"min_step": 0}),
    ],
)
def test_an_option_that_would_not_work_is_an_error(calibrator, options):
    with pytest.raises(ValueError, match=f"^{next(iter(options))} must be"):
        calibrator(**options)


# ----------------------------------------------------------------------- storage


def stored_and_restored(calibrator, path, interval=None):
    meta, arrays = calibrator.get_state()
    np.savez(path, **arrays)
    with np.load(path, allow_pickle=False) as file:
        return type(calibrator).from_state(json.loads(json.dumps(meta)), dict(file), interval)


@each_method
def test_a_stored_calibrator_gives_the_same_answers_without_the_system(method, tmp_path):
    family = Bands(200, spread=0.3)
    calibrator = CALIBRATORS[method]().fit(family, family.y)
    asked = np.array([0.5, 0.9])
    planes = calibrator.alpha(asked)
    reached = calibrator.reached(0.9)
    again = stored_and_restored(calibrator, tmp_path / "state.npz")
    assert again.alpha(asked).tolist() == planes.tolist()
    assert again.reached(0.9) == reached
    assert again.max_coverage == calibrator.max_coverage
    assert again.n_evaluations == calibrator.n_evaluations
    assert again.n_samples == 200


def test_options_are_stored_too(tmp_path):
    family = Bands(200)
    search = SearchCalibrator(start=0.2, tolerance=np.float32(0.25)).fit(family, family.y)
    assert repr(stored_and_restored(search, tmp_path / "state.npz")) == repr(search)


def test_a_restored_search_needs_the_system_for_a_new_level(tmp_path):
    family = Bands(200, spread=0.3)
    search = SearchCalibrator().fit(family, family.y)
    search.alpha(0.9)
    alone = stored_and_restored(search, tmp_path / "state.npz")
    with pytest.raises(RuntimeError, match="restore it with the intervals"):
        alone.alpha(0.123)
    assert stored_and_restored(search, tmp_path / "state.npz", family).alpha(0.123) == search.alpha(
        0.123
    )


@each_method
def test_a_foreign_state_is_an_error(method):
    family = Bands(200)
    calibrator = CALIBRATORS[method]().fit(family, family.y)
    meta, arrays = calibrator.get_state()
    bad = [
        ({**meta, "kind": "other"}, arrays),
        ({"kind": method}, arrays),
        ({**meta, "options": {"speed": 1}}, arrays),
        (meta, {}),
        (meta, {name: values[:, None] for name, values in arrays.items()}),
        (meta, {name: values * np.nan for name, values in arrays.items()}),
    ]
    for state in bad:
        with pytest.raises(ValueError, match=f"not the state of a {method} calibrator"):
            CALIBRATORS[method].from_state(*state)


@each_method
def test_a_calibrator_can_be_pickled_if_its_intervals_can(method):
    family = Bands(200, spread=0.3)
    calibrator = CALIBRATORS[method]().fit(family, family.y)
    again = pickle.loads(pickle.dumps(calibrator))
    assert again.alpha(0.9) == calibrator.alpha(0.9)


def test_a_target_changed_after_fit_changes_nothing():
    family = Bands(200, spread=0.3)
    y = family.y.copy()
    search = SearchCalibrator().fit(family, y)
    y[:] = 99.0
    assert search.coverage(0.5) == covers(family.y, *family(0.5)).mean()


@pytest.mark.parametrize("kind", [*CALIBRATORS.values(), TwoSidedCalibrator, GroupCalibrator])
def test_two_calibrators_are_two_however_alike_their_options(kind):
    one, other = kind(), kind()
    assert one != other
    assert len({one, other}) == 2
