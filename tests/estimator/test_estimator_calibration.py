"""Facts about `GT2Regressor.calibrate`: levels, sides, groups, in the units of the target."""

import numpy as np
import pytest

from gt2lite import GT2Regressor

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
    envelope = fitted.predict_interval(X[500:], alpha=0.01)
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
        fitted.predict_interval(X, alpha=0.5, groups=groups)
    with pytest.raises(ValueError, match=r"sides must be one of 'both', .*, got 'left'"):
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
    fitted.calibrate(X[500:], y[500:], method="conformal", **options).save(tmp_path / "m.json")
    loaded = GT2Regressor.load(tmp_path / "m.json")
    for coverage in (0.5, [0.8, 0.98]):
        np.testing.assert_array_equal(
            loaded.predict_interval(X, coverage=coverage, groups=asked),
            fitted.predict_interval(X, coverage=coverage, groups=asked),
        )
    assert repr(loaded.calibration_report(0.9)) == repr(fitted.calibration_report(0.9))
