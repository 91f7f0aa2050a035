"""Facts about what `GT2Regressor` says of its own accord: missed levels, narrow envelopes."""

import math
import warnings

import numpy as np
import pytest

from gt2lite import GT2Regressor
from gt2lite.regressor import (
    MissedLevelWarning,
    NarrowEnvelopeWarning,
    binomial_tail,
    is_far,
    is_narrow,
)

LEVELS = [0.5, 0.8, 0.9]
NAN = float("nan")


@pytest.fixture(scope="module")
def system():
    """A system, and 400 rows that it has not seen."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    y = X[:, 0] + 0.1 * rng.normal(size=600)
    reg = GT2Regressor(n_rules=3, epochs=60, learning_rate=0.02).fit(X[:200], y[:200])
    return reg, X[200:], y[200:]


@pytest.fixture
def stalled(system):
    """A search that is not allowed to move: the plane it starts from is its answer to all."""
    reg, X, y = system
    options = {"method": "search", "start": 0.1, "step": 1e-6, "min_step": 1e-6}
    return reg.calibrate(X, y, **options), X, y


def told(act, kind):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        act()
    return [str(w.message) for w in caught if issubclass(w.category, kind)]


# ------------------------------------------------------------------------- missed levels


def test_a_search_that_gives_one_interval_for_all_levels_says_so(stalled):
    reg, X, _ = stalled
    words = told(lambda: reg.predict_interval(X, LEVELS), MissedLevelWarning)
    lower, _ = reg.predict_interval(X, LEVELS)
    same = np.ptp(lower, axis=1).max()
    assert same < 1e-3 * np.ptp(lower[:, 0])
    reached = {level: reg.calibration_report(level)[0].reached for level in LEVELS}
    missed = [level for level in LEVELS if abs(reached[level] - level) > 0.02]
    assert len(missed) >= 2  # one interval cannot be right for three levels
    assert len(words) == len(missed)
    for level, said in zip(missed, words, strict=True):
        assert f"coverage {level:g} was asked for" in said
        assert f"{reached[level]:.1%} of the 400 calibration rows" in said
        assert 'method="conformal"' in said and 'method="exact"' in said


def test_a_level_is_told_once_and_again_after_a_new_calibration(stalled):
    reg, X, y = stalled
    options = {"method": "search", "start": 0.1, "step": 1e-6, "min_step": 1e-6}

    def ask():
        return told(lambda: reg.predict_interval(X, 0.5), MissedLevelWarning)

    assert len(ask()) == 1
    assert ask() == []
    assert len(told(lambda: reg.predict_interval(X, 0.6), MissedLevelWarning)) == 1
    assert len(told(lambda: reg.predict_interval(X, [0.5, 0.4]), MissedLevelWarning)) == 1  # 0.4
    reg.calibrate(X, y, **options)
    assert len(ask()) == 1


def test_the_warning_names_the_line_of_the_user(stalled):
    reg, X, _ = stalled
    with pytest.warns(MissedLevelWarning) as caught:
        reg.predict_interval(X, 0.5)
    assert caught[0].filename == __file__


def test_a_loaded_model_warns_as_well(stalled, tmp_path):
    reg, X, _ = stalled
    reg.save(tmp_path / "m.json")
    loaded = GT2Regressor.load(tmp_path / "m.json")
    with pytest.warns(MissedLevelWarning, match=r"coverage 0\.5 was asked"):
        loaded.predict_interval(X, 0.5)


def test_a_coarse_table_says_that_it_missed(system):
    reg, X, y = system
    reg.calibrate(X, y, method="table", step=1.0)
    with pytest.warns(MissedLevelWarning, match="few planes"):
        reg.predict_interval(X, 0.7)


@pytest.mark.parametrize("method", ["exact", "conformal"])
@pytest.mark.parametrize("options", [{}, {"sides": "each"}, {"groups": True}])
def test_what_comes_as_near_as_it_can_says_nothing(system, method, options):
    reg, X, y = system
    groups = ["a", "b"] * 200 if options.get("groups") else None
    reg.calibrate(X, y, method, **{**options, "groups": groups})
    for level in (0.05, *LEVELS, 0.95):
        ask = {"coverage": level, "groups": groups}
        assert told(lambda ask=ask: reg.predict_interval(X, **ask), MissedLevelWarning) == []


@pytest.mark.parametrize("groups", [None, ["a"] * 300 + ["b"] * 100])
def test_ties_that_push_conformal_above_its_level_are_told_as_such(system, groups):
    reg, X, _ = system
    y = reg.predict_interval(X, alpha=1)[0]  # met exactly: every plane covers all of them
    reg.calibrate(X, y, groups=groups)
    with pytest.warns(MissedLevelWarning, match="few values") as caught:
        reg.predict_interval(X, 0.5, groups=groups)
    said = str(caught[0].message)
    worst = max(row.reached for row in reg.calibration_report(0.5))
    assert worst > 0.8 and f"covers {worst:.1%} of" in said and "wider" in said
    assert ("(1 more groups likewise)" in said) == (groups is not None)


def test_a_group_that_takes_the_planes_of_all_is_no_missed_level(system):
    reg, X, y = system
    groups = ["big"] * 395 + ["small"] * 5
    with pytest.warns(UserWarning, match="fewer than 100"):
        reg.calibrate(X, y, groups=groups, small_groups="pool")
    assert told(lambda: reg.predict_interval(X, 0.9, groups=groups), MissedLevelWarning) == []


@pytest.mark.parametrize(
    ("reached", "level", "n", "method", "each", "far"),
    [
        (0.921, 0.9, 1000, "search", False, True),
        (0.879, 0.9, 1000, "table", False, True),
        (0.919, 0.9, 1000, "search", False, False),
        (0.94, 0.9, 40, "search", False, False),  # less than two rows
        (0.96, 0.9, 40, "search", False, True),
        (0.951, 0.9, 1000, "exact", False, True),
        (0.949, 0.9, 1000, "conformal", False, False),
        (0.5, 0.9, 1000, "conformal", False, False),  # cannot be, and is not ours to tell
        (1.0, 0.9, 9, "conformal", False, False),
        (0.96, 0.9, 50, "conformal", True, False),  # three rows, each end rounds
        (0.96, 0.9, 50, "conformal", False, True),
        (NAN, 0.9, 50, "conformal", False, False),
    ],
)
def test_far_is_what_the_rule_says(reached, level, n, method, each, far):
    assert is_far(reached, level, n, method, each) is far


# ----------------------------------------------------------------------- narrow envelopes


@pytest.mark.parametrize("method", ["search", "table", "exact", "conformal"])
def test_an_envelope_that_covers_far_less_is_told_with_both_numbers(system, method):
    reg, X, _ = system
    lower, upper = reg.predict_interval(X, alpha=0.01)
    outside = np.where(np.arange(400) % 3 == 0, upper + 1, (lower + upper) / 2)
    with pytest.warns(NarrowEnvelopeWarning) as caught:
        reg.calibrate(X, outside, method=method)
    said = str(caught[0].message)
    assert "trained to cover 99.0%, and covers 66.5% of the 400" in said
    assert all(word in said for word in ("n_rules", "weight_decay", 'keep="validation"', "rows"))
    assert caught[0].filename == __file__
    inside = (lower + upper) / 2
    assert told(lambda: reg.calibrate(X, inside, method=method), NarrowEnvelopeWarning) == []


@pytest.mark.parametrize("options", [{"sides": "each"}, {"groups": ["a", "b"] * 200}])
def test_every_kind_of_calibration_looks_at_the_envelope(system, options):
    reg, X, y = system
    with pytest.warns(NarrowEnvelopeWarning, match=r"covers 0\.0%"):
        reg.calibrate(X, y + 1e3, **options)


def test_what_learns_by_heart_is_found_out():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(320, 30)), rng.normal(size=320)
    reg = GT2Regressor.strong(n_rules=30, epochs=40)
    with pytest.warns(NarrowEnvelopeWarning, match=r"trained to cover 99\.0%"):
        reg.fit_calibrate(X, y, share=0.5)


@pytest.mark.parametrize(
    ("k", "n", "p", "narrow"),
    [
        (650, 1000, 0.99, True),
        (945, 1000, 0.99, False),  # beyond chance, and of no weight in practice
        (935, 1000, 0.99, True),
        (9, 10, 0.99, False),  # chance 0.1
        (7, 10, 0.99, True),  # chance 1e-4
        (0, 3, 0.5, False),  # chance 1/8
        (0, 10, 0.5, True),  # chance 1/1024
        (1000, 1000, 0.99, False),
    ],
)
def test_narrow_is_what_the_rule_says(k, n, p, narrow):
    assert is_narrow(k, n, p) is narrow


@pytest.mark.parametrize(("n", "p"), [(1, 0.3), (12, 0.5), (60, 0.99), (400, 0.9)])
def test_the_chance_is_the_sum_of_its_terms(n, p):
    terms = [math.comb(n, j) * p**j * (1 - p) ** (n - j) for j in range(n + 1)]
    for k in range(math.ceil(n * p)):
        assert binomial_tail(k, n, p) == pytest.approx(sum(terms[: k + 1]), rel=1e-10, abs=1e-200)


def test_the_chance_in_a_million_trials_is_quickly_found():
    assert binomial_tail(989_000, 10**6, 0.99) < 1e-20
    assert 0.4 < binomial_tail(989_999, 10**6, 0.99) < 0.6
