"""What is told of SQR and aligned training follows from the rows."""

import pytest

from study.sqr_findings import COMPARED, contest, lines, misses
from study.sqr_runs import RaceRecord


def row(dataset, seed, model, form, level, **values):
    plain = {
        "n_train": 70,
        "n_cal": 15,
        "n_test": 15,
        "rmse": 0.5,
        "picp": level,
        "pinaw": 0.4,
        "interval_score": 1.0,
        "crps": 0.3,
        "calibration_error": 0.02,
        "crossed": 0.25 if model == "sqr" else 0.0,
        "epochs": 300 + seed if model == "sqr" else 100,
        "best_epoch": 100 + seed,
        "steps": 600 if model == "sqr" else 200,
        "train_cpu_seconds": 30.0 if model == "sqr" else 3.0,
    }
    names = {"dataset": dataset, "seed": seed, "model": model, "form": form, "level": level}
    return RaceRecord(**(plain | names | values))


def planted(**better):
    """Return rows in which the aligned system differs from SQR by what is given."""
    return [
        row(dataset, seed, model, form, level, **(better if model == "aligned" else {}))
        for dataset in ("ww", "pm", "aids", "pp")
        for seed in (0, 1)
        for model in ("sqr", "aligned")
        for form in ("raw", "conformal")
        for level in (0.90, 0.95)
    ]


def test_a_line_is_the_mean_over_the_seeds():
    rows = [row("pp", seed, "sqr", "raw", 0.9, picp=0.8 + seed / 10) for seed in (0, 1)]
    rows += [row("pp", seed, "aligned", "raw", 0.9) for seed in (0, 1)]
    sqr, aligned = lines(rows, 0.9, "raw")
    assert (sqr.dataset, sqr.model, sqr.picp) == ("PP", "SQR", pytest.approx(85))
    assert (aligned.model, aligned.seconds, aligned.epochs) == ("aligned", 3.0, 100)
    assert sqr.calibration_error == pytest.approx(2)


def test_the_contest_counts_pairs_without_aids():
    found = contest(planted(pinaw=0.3, interval_score=1.1, crps=0.3))
    assert (found.seeds, found.pairs, found.splits) == (2, 12, 6)
    assert (found.width, found.width_won) == ("25.0\xa0% narrower", 12)
    assert (found.interval_score, found.interval_score_won) == ("10.0\xa0% larger", 0)
    assert (found.crps, found.crps_won) == ("equal", 0)
    assert (found.times, found.steps) == (pytest.approx(10), pytest.approx(3))
    assert (found.epochs_low, found.epochs_high) == (300, 301)
    assert (found.kept_low, found.kept_high) == (100, 101)
    assert "aids" not in COMPARED


def test_misses_are_those_of_the_raw_forms():
    sqr, aligned = misses(planted(picp=0.85))
    assert (sqr.lowest, sqr.highest, sqr.crossed) == (
        "0.0 points above",
        "0.0 points above",
        "25.0\xa0%",
    )
    assert (aligned.lowest, aligned.highest) == ("10.0 points below", "5.0 points below")
