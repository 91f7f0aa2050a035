"""The interface of all calibrators: levels, warnings, refusals and stored states."""

from __future__ import annotations

import json
import pickle
import re
from collections import Counter
from functools import partial

import numpy as np
import pytest
from families import Steps, bands, cone, each_method

from gt2lite.calibration import (
    CALIBRATORS,
    HALVINGS,
    CoverageError,
    SearchCalibrator,
    SmallCalibrationWarning,
    TableCalibrator,
    covers,
)
from gt2lite.memberships import ALPHA_0
from gt2lite.practice.calibrators import (
    RANKED,
    GroupCalibrator,
    RankCalibrator,
    WeightedCalibrator,
    make_calibrator,
    restore,
)

EVERY = {
    **{method: partial(make_calibrator, method, "both", False, {}) for method in CALIBRATORS},
    "two-sided": partial(RankCalibrator, "exact", "each", (0.25, 0.75)),
    "group": partial(GroupCalibrator, "conformal", "each", (0.25, 0.75), "pool"),
    "weighted": partial(WeightedCalibrator, weights=np.linspace(1, 2, 200)),
}
every_kind = pytest.mark.parametrize("kind", EVERY)
GROUPS = ["a", "b"] * 100


def fitted(kind, family, y):
    """Return a calibrator of a kind, and the groups that it is asked with."""
    groups = [GROUPS] if kind == "group" else []
    return EVERY[kind]().fit(family, y, *groups), groups


@pytest.mark.parametrize("method", ["search", "table"])
def test_a_level_above_the_envelope_names_a_level_in_reach(method):
    family = Steps(np.r_[np.linspace(0.02, 1, 91), np.zeros(12)])  # 91 of 103
    calibrator = CALIBRATORS[method]().fit(family, family.y)
    assert calibrator.max_coverage == 91 / 103
    assert calibrator.margin([0.2, 0.3]).tolist() == [0, 0]
    with pytest.raises(CoverageError, match=r"coverage 0\.95") as caught:
        calibrator.alpha([0.5, 0.95])
    (highest,) = re.findall(r"levels up to ([\d.]+);", str(caught.value))
    calibrator.alpha(float(highest))
    with pytest.raises(CoverageError):
        calibrator.alpha(float(highest) + 0.0001)


def test_few_samples_get_a_warning_with_the_resolution():
    family = Steps(np.linspace(0.02, 1, 99))
    with pytest.warns(SmallCalibrationWarning, match=r"1/99 = 0\.01"):
        CALIBRATORS["exact"]().fit(family, family.y)
    family = Steps(np.linspace(0.02, 1, 100))
    CALIBRATORS["exact"]().fit(family, family.y)  # a warning would be an error here


@every_kind
def test_before_fit_every_method_is_an_error(kind):
    calibrator = EVERY[kind]()
    for question in (
        lambda: calibrator.intervals(cone(3)[0], 0.9, ["a"] * 3),
        lambda: calibrator.alpha(0.9),
        lambda: calibrator.report(0.9),
        lambda: calibrator.get_state(),
        lambda: calibrator.coverage(0.5),
        lambda: calibrator.n_samples,
        lambda: calibrator.n_evaluations,
    ):
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
def test_planes_and_coverages_of_levels(method):
    family, y = bands(200)
    calibrator = CALIBRATORS[method]().fit(family, y)
    one, many = calibrator.alpha(0.9), calibrator.alpha([0.5, 0.9])
    assert type(one) is type(calibrator.coverage(0.5)) is type(calibrator.reached(0.9)) is float
    assert many.shape == (2,) and many[1] == one < many[0]
    assert calibrator.n_samples == 200
    for alpha in (ALPHA_0, 0.123, 0.5, 1.0):  # counted, not interpolated
        assert calibrator.coverage(alpha) == covers(y, *family(alpha)).mean()
    for level in (0, 1, -0.1, 90, np.nan, "0.9", True, None):
        with pytest.raises(ValueError, match="coverage must"):
            calibrator.alpha(level)
    for alpha in (0, 0.005, 1.1):
        with pytest.raises(ValueError, match="alpha must"):
            calibrator.coverage(alpha)


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
    if method in RANKED:
        assert calibrator.n_evaluations == HALVINGS + 1  # further levels are free
    else:
        assert set(Counter(family.calls).values()) == {1}  # no plane twice


@pytest.mark.parametrize(
    ("calibrator", "option", "value"),
    [
        *((TableCalibrator, "step", v) for v in (0, 1e-9, 1.5)),
        (TableCalibrator, "interpolation", "cubic"),
        (SearchCalibrator, "start", 0.001),
        *((SearchCalibrator, "step", v) for v in (1e-9, 1.1)),
        *((SearchCalibrator, "shrink", v) for v in (0.0, 0.91)),
        *((SearchCalibrator, "tolerance", v) for v in (-1, float("nan"))),
        (SearchCalibrator, "min_step", 0),
        (RankCalibrator, "method", "search"),
        (GroupCalibrator, "method", "table"),
        (GroupCalibrator, "sides", "left"),
        (GroupCalibrator, "small_groups", "merge"),
        (GroupCalibrator, "tails", (0, 1)),  # with one plane for both bounds
    ],
)
def test_invalid_options_are_refused(calibrator, option, value):
    with pytest.raises(ValueError, match=f"^{option} must"):
        calibrator(**{option: value})


def stored(calibrator):
    meta, arrays = calibrator.get_state()
    arrays = {name: values.tolist() for name, values in arrays.items()}
    return restore(json.loads(json.dumps(meta)), arrays)


@every_kind
@pytest.mark.parametrize("copied", [stored, lambda c: pickle.loads(pickle.dumps(c))])
def test_a_stored_or_pickled_calibrator_gives_the_same_answers(kind, copied):
    family, y = bands(200)
    calibrator, groups = fitted(kind, family, y)
    before = [calibrator.intervals(family, phi, *groups) for phi in (0.5, 0.9)]
    report = repr(calibrator.report(0.9))
    again = copied(calibrator)
    assert repr(again) == repr(calibrator)
    assert len({calibrator, again}) == 2  # equal options do not make two calibrators one
    for phi, ends in zip((0.5, 0.9), before, strict=True):
        np.testing.assert_array_equal(again.intervals(family, phi, *groups), ends)
    assert repr(again.report(0.9)) == report
    assert (again.n_evaluations, again.n_samples) == (calibrator.n_evaluations, 200)


def test_a_stored_search_counts_critical_planes_in_place_of_rows():
    family, y = bands(200)
    y[:2] = family(0.3)[1][:2]  # on the edge of a plane
    given = y.copy()
    search = make_calibrator("search", "both", False, {}).fit(family, given)
    given[:] = 99.0  # changes nothing
    again = stored(search)
    for alpha in (ALPHA_0, 0.3, 0.5, 1.0):
        assert search.coverage(alpha) == again.coverage(alpha) == covers(y, *family(alpha)).mean()
    levels = [0.123, 0.5, 0.9]
    np.testing.assert_array_equal(again.alpha(levels), search.alpha(levels))
    np.testing.assert_array_equal(stored(again).alpha(levels), search.alpha(levels))


@every_kind
def test_an_invalid_state_is_refused(kind):
    family, y = bands(200)
    calibrator, _ = fitted(kind, family, y)
    meta, arrays = calibrator.get_state()
    bad = [
        ({"kind": kind}, arrays),
        ({**meta, "options": {"speed": 1}}, arrays),
        ({**meta, "options": {**meta["options"], "by_group": kind == "group"}}, arrays),
        ({**meta, "more": 1}, arrays),
        (meta, {}),
        (meta, {**arrays, "more": np.ones(3)}),
        (meta, {name: values[:, None] for name, values in arrays.items()}),
        (meta, {name: values * np.nan for name, values in arrays.items()}),
    ]
    if kind in ("table", "search"):
        bad.append((meta, {**arrays, "alpha": arrays["alpha"] - 0.005}))
        bad.extend(
            (meta, {**arrays, "critical_alpha": by * arrays["critical_alpha"]}) for by in (-1, 2)
        )
    else:
        bad.append((meta, {**arrays, "margin": -1 - arrays["margin"]}))
        bad.append((meta, {**arrays, "critical_alpha": arrays["critical_alpha"] + 1}))
        bad.append((meta, {**arrays, "alpha_min": np.array([0.5])}))
    if kind in RANKED:
        bad.append(({**meta, "options": {"tails": [0.5, 0.5]}}, arrays))
    if kind == "group":
        bad.extend((meta, {**arrays, "group": arrays["group"] + d}) for d in (-1, 0.5, 1))
        bad.append((meta, {**arrays, "group": arrays["group"][1:]}))
        for labels in (["a", None], ["a", "a"], ["b", "a"], ["a", "b", "c"]):
            bad.append(({**meta, "labels": labels}, arrays))
        bad.append(({**meta, "options": {"method": "search"}}, arrays))
    for state in bad:
        with pytest.raises(ValueError, match=f"not the state of a {kind} calibrator"):
            restore(*state)
    with pytest.raises(ValueError, match="kind must be one of"):
        restore({**meta, "kind": "other"}, arrays)
