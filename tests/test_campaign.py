"""The campaign in short: nothing is wrong, and each of its checks finds a planted defect."""

import importlib
import sys
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from gt2lite import datasets
from gt2lite.calibration import Scores, SearchCalibrator
from gt2lite.system import Planes

pytest.importorskip("pandas", reason="needs the extra `dev`")
pytest.importorskip("scipy", reason="needs SciPy")

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools" / "campaign"))
calibration, cases, estimator, guarantee, threads = map(
    importlib.import_module, ("calibration", "cases", "estimator", "guarantee", "threads")
)
campaign = importlib.import_module("run")


def judged(part, indexes, seed=0):
    """Return what is wrong with some cases of a part, by kind."""
    found = {}
    for index in indexes:
        verdict = cases.judge(part.case, seed, index)
        if verdict.wrong:
            found.setdefault(verdict.kind, []).append(verdict.wrong)
    return found


# ------------------------------------------------------------------ nothing is wrong


def test_estimators_stand_a_hundred_cases():
    assert judged(estimator, range(108)) == {}


def test_calibrators_stand_a_hundred_cases():
    assert judged(calibration, range(120)) == {}


@pytest.mark.slow
def test_threads_change_no_bit_of_a_training():
    pytest.importorskip("threadpoolctl")
    (tally,) = threads.run(2, 0)
    assert (tally.cases, tally.wrong) == (2, 0), tally.told


def test_a_hundred_redraws_keep_the_guarantee_and_a_control_is_found_out():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert guarantee.both_sides(guarantee.synthetic(0), 100, 0) == [""]
        assert "below the level" in guarantee.exact_at_a_small_set(150, 0)


@pytest.mark.slow
def test_every_setting_of_the_guarantee_is_kept_and_both_controls_are_found_out():
    n = len(guarantee.POOLS) * len(guarantee.SETTINGS) + len(guarantee.CONTROLS)
    assert [tally.told for tally in guarantee.run(100, 1)] == [[]] * n


# -------------------------------------------------------------- checks that can fail


def of_kind(part, name, n):
    """Return the indexes of the first cases of a kind."""
    turn = [kind.__name__ for kind in part.KINDS].index(name)
    return range(turn, turn + n * len(part.KINDS), len(part.KINDS))


def test_a_scaler_that_squares_before_it_divides_is_found(monkeypatch):
    def moments(name, X):
        with np.errstate(all="ignore"):
            mean, std = X.mean(axis=0), X.std(axis=0)
        return mean, np.where(std == 0, 1.0, std)

    monkeypatch.setattr(datasets, "_moments", moments)
    assert judged(estimator, of_kind(estimator, "scales", 6))
    assert judged(estimator, of_kind(estimator, "extremes", 12))


def test_planes_that_are_not_nested_are_found(monkeypatch):
    right = Planes.__call__

    def wrong(self, alpha):
        lower, upper = right(self, alpha)
        return (lower - 1e-12, upper) if np.ndim(alpha) == 0 and alpha == 0.5 else (lower, upper)

    monkeypatch.setattr(Planes, "__call__", wrong)
    found = judged(estimator, of_kind(estimator, "degenerate", 4))
    assert "plane 0.5 leaves plane 0.4" in found["degenerate"][0]


@pytest.mark.parametrize("ranks", [-1, 1])
@pytest.mark.parametrize("kind", ["ranked", "each_side", "groups"])
def test_a_calibrator_that_is_off_by_one_rank_is_found(monkeypatch, kind, ranks):
    right = Scores.cut

    def wrong(self, k):
        return right(self, min(max(k + ranks, 1), len(self)))

    monkeypatch.setattr(Scores, "cut", wrong)
    assert judged(calibration, of_kind(calibration, kind, 12))


def test_a_search_beyond_its_bound_is_found(monkeypatch):
    monkeypatch.setattr(SearchCalibrator, "most_evaluations", lambda self: 0)
    (words,) = judged(calibration, of_kind(calibration, "search", 8)).values()
    assert "0 is the bound" in words[0]


def planted(monkeypatch, act):
    right = estimator.GT2Regressor.predict

    def predict(self, X):
        act()
        return right(self, X)

    monkeypatch.setattr(estimator.GT2Regressor, "predict", predict)
    (words,) = judged(estimator, of_kind(estimator, "degenerate", 1)).values()
    return words[0]


def test_a_changed_state_a_warning_and_a_crash_are_found(monkeypatch):
    before = np.geterr()
    assert "state of NumPy" in planted(monkeypatch, lambda: np.seterr(over="raise"))
    assert np.geterr() == before  # so that the next case is not struck
    assert "state of NumPy" in planted(monkeypatch, np.random.rand)
    warn = warnings.warn
    assert "RuntimeWarning" in planted(monkeypatch, lambda: warn("overflow", RuntimeWarning, 2))
    assert "ZeroDivisionError" in planted(monkeypatch, lambda: 1 / 0)


def test_an_error_without_the_name_of_its_argument_is_found(monkeypatch):
    def read_table(X):
        raise ValueError("something is wrong")

    monkeypatch.setattr("gt2lite.regressor.read_table", read_table)
    found = judged(estimator, of_kind(estimator, "no_numbers", 6))
    assert "does not name X" in " ".join(found["no numbers"])


def test_bad_input_that_is_accepted_is_found():
    with pytest.raises(cases.Wrong, match="was accepted"):
        cases.expect_refusal(lambda: None, "X")


def test_a_case_that_never_ends_is_found(monkeypatch):
    monkeypatch.setattr(cases, "PATIENCE", 1)

    def endless(seed, index):
        while True:
            pass

    assert "more than 1 seconds" in cases.judge(endless, 0, 0).wrong


def test_threads_that_change_a_bit_are_found(monkeypatch):
    pytest.importorskip("threadpoolctl")
    monkeypatch.setattr(threads, "digests", lambda n, cases, seed: ["same", str(n > 2)])
    (tally,) = threads.run(2, 0)
    assert (tally.answered, tally.wrong) == (1, 1)


def test_the_law_is_told_from_its_neighbours():
    n, level = guarantee.N, Fraction(9, 10)
    rng = np.random.default_rng(0)

    def counts(k):
        return rng.binomial(guarantee.M, rng.beta(k, n + 1 - k, size=1000))

    assert guarantee.agrees(counts(54), level, n) == ""
    assert "below the level" in guarantee.agrees(counts(53), level, n)
    assert "not the law's" in guarantee.agrees(counts(55), level, n)
    assert guarantee.agrees(counts(55), level, n, at_least=True) == ""


# ----------------------------------------------------------------------- the command


def test_what_is_wrong_is_told_with_the_command_that_shows_it(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(campaign, "RESULTS", tmp_path)
    monkeypatch.setattr(SearchCalibrator, "most_evaluations", lambda self: 0)
    assert campaign.main(["--part", "calibration", "--scale", "0.0006", "--jobs", "1"]) == 1
    told = capsys.readouterr().out
    again, *_ = [line.split("again: ")[1] for line in told.splitlines() if "again: " in line]
    assert again.startswith("python tools/campaign/run.py --part calibration --seed 0 --index ")
    assert "\n0 wrong" not in told
    with pytest.raises(cases.Wrong):
        campaign.main(again.split()[2:])
    assert list(tmp_path.iterdir()) == []  # a part is no campaign


def test_the_counts_of_a_whole_campaign_are_kept(monkeypatch, tmp_path):
    monkeypatch.setattr(campaign, "RESULTS", tmp_path)
    found = [cases.Tally("kind", 3, 1, 2)]
    monkeypatch.setattr(campaign, "run_part", lambda *_: found)
    assert campaign.main(["--jobs", "1"]) == 0
    kept = (tmp_path / "campaign.json").read_text()
    assert all(word in kept for word in ("commit", "date", "machine", "make long", "guarantee"))
