"""The rules of judgement: the constants fixed beforehand, and each rule at its edge."""

from __future__ import annotations

import inspect
import math

import numpy as np
import pytest
from made_up import record

from gt2lite.calibration import SearchCalibrator
from gt2lite.datasets import DATASETS
from gt2lite.recipe import Recipe
from gt2lite.study import claims, design, judging, paper, plans, statistics
from gt2lite.study.judging import (
    comparable,
    counted,
    every_row,
    in_every_row,
    label,
    matters,
    reaches,
    table_rows,
)
from gt2lite.study.records import Runs
from gt2lite.study.statistics import coverage_p_value, paired_p

stats = pytest.importorskip("scipy.stats")


def with_p(p, n=5, mean=1.0):
    """Differences (n,) of that mean whose paired t-test has that p-value."""
    x = np.arange(n) - (n - 1) / 2
    t = stats.t.isf(p / 2, n - 1)
    return mean + x / x.std(ddof=1) * abs(mean) * math.sqrt(n) / t


# ----------------------------------------------------------- what was fixed beforehand


def test_the_constants_are_those_of_the_text():
    assert statistics.SIGNIFICANCE == judging.SIGNIFICANCE == 0.05
    assert judging.MARGIN == 0.05
    assert claims.SAVING == 10
    assert SearchCalibrator().tolerance == 0.0005
    rules = " ".join(judging.__doc__.split())
    assert "fixed before any run, all at 5 %" in rules
    assert "worse by at most 5 % of the mean" in rules
    assert "a tenth" in inspect.getdoc(claims.CHECKS["cheaper"])


def test_the_design_is_that_of_the_paper():
    settings = paper.settings()
    assert (
        design.LEVELS == (0.90, 0.95) == tuple(sorted({c.level for c in paper.published_cells()}))
    )
    for level in design.LEVELS:
        lower, upper = (settings[f"tau_{end}_{100 * level:.0f}"] for end in ("lower", "upper"))
        assert level == pytest.approx(upper - lower)
    assert design.MODELS == {"baseline": 0.99, "trained_90": 0.90, "trained_95": 0.95}
    assert design.MODELS["baseline"] == settings["baseline_level"]
    assert (settings["table_step"], "linear") == design.PAPER_TABLE
    assert design.METHODS["calibrated"] == "search"
    assert tuple(range(round(settings["repetitions"]))) == plans.SEEDS
    assert (Recipe().n_rules, Recipe().smf) == (10, "per_input")


def test_rows_are_all_data_sets_at_all_levels():
    assert table_rows() == [(name, level) for name in DATASETS for level in (0.90, 0.95)]
    assert len(table_rows()) == 8
    assert [label(*row) for row in table_rows(["ww"])] == ["ww 90 %", "ww 95 %"]


# --------------------------------------------------------------------- in every row


@pytest.mark.parametrize(
    ("gain", "p", "word"),
    [
        (1.0, 0.0499, "holds"),
        (1.0, 0.05, "within chance"),
        (1.0, 0.0501, "within chance"),
        (-1.0, 0.0501, "within chance"),
        (-1.0, 0.05, "within chance"),
        (-1.0, 0.0499, "does not hold"),
        (0.0, 0.0499, "within chance"),
    ],
)
def test_one_row_at_5_per_cent(gain, p, word):
    verdict, numbers, text = every_row({"a": (gain, p)})
    assert verdict == word
    assert numbers["as claimed"] == (gain > 0)
    assert numbers["as claimed beyond chance"] == (word == "holds")
    assert numbers["against beyond chance"] == (word == "does not hold")
    assert (numbers["rows"], numbers["a"], numbers["a p"]) == (1, gain, p)
    assert ("; within chance: a." in text) == (word == "within chance")
    assert ("; against the claim beyond chance: a." in text) == (word == "does not hold")


def test_only_what_speaks_against_is_corrected_for_being_many():
    right = {"a": (1.0, 0.049), "b": (1.0, 0.049)}
    assert every_row(right)[0] == "holds"
    assert every_row(right | {"c": (-1.0, 0.0168)})[0] == "within chance"  # 3 * 0.0168 > 0.05
    assert every_row(right | {"c": (-1.0, 0.0166)})[0] == "does not hold"


def test_gains_are_tested_run_by_run():
    assert in_every_row({"a": with_p(0.0499)})[0] == "holds"
    assert in_every_row({"a": with_p(0.0501)})[0] == "within chance"
    assert in_every_row({"a": with_p(0.0499, mean=-2.0)})[0] == "does not hold"
    _, numbers, _ = in_every_row({"a": with_p(0.0499, mean=-2.0)})
    assert numbers["a"] == pytest.approx(-2) and numbers["a p"] == pytest.approx(0.0499)


# ---------------------------------------------------------------- reaching a level


def runs_at(picp, model="trained", n_test=(400, 100), n_cal=1000):
    """Two seeds on each of two data sets at 90 %; the coverage of PM is given by run."""
    rows = [
        record(dataset=name, seed=seed, model=model, picp=share, n_test=n_test[seed], n_cal=n_cal,
               method="search" if model == "calibrated" else "trained")
        for name in ("ww", "pm")
        for seed, share in enumerate(picp if name == "pm" else (0.9, 0.9))
    ]  # fmt: skip
    method = "search" if model == "calibrated" else "trained"
    return Runs(rows, ()), [(name, model, 0.9, method) for name in ("ww", "pm")]


@pytest.mark.parametrize(("model", "n_cal"), [("trained", None), ("calibrated", [1000, 1000])])
def test_a_level_is_missed_at_5_per_cent_with_holm(model, n_cal):
    p = {k: coverage_p_value(k / 500, 0.9, [400, 100], n_cal) for k in range(350, 450)}
    near = min(k for k in p if 2 * p[k] >= 0.05)  # two rows, so that the smaller p is doubled
    for covered, word in ((near, "holds"), (near - 1, "does not hold")):
        verdict, numbers, text = reaches(*runs_at([(covered - 80) / 400, 0.8], model))
        assert verdict == word
        assert numbers["pm 90 %"] == pytest.approx(covered / 5)  # weighted by the test rows
        assert numbers["pm 90 % p"] == pytest.approx(p[covered])
        assert (numbers["rows"], numbers["missed"]) == (2, word != "holds")
    assert text.startswith("1 of 2 rows miss their level beyond chance: pm 90 % by -")
    assert text.endswith(f"{(near - 1) / 5 - 90:+.2f} points.")


# ---------------------------------------------------------------------- comparable


@pytest.mark.parametrize(
    ("excess", "word"), [(-9.0, "holds"), (4.99, "holds"), (5.0, "holds"), (5.01, "does not hold")]
)
def test_comparable_is_worse_by_5_per_cent_at_most(excess, word):
    verdict, numbers, text = comparable({"a": np.full(5, excess), "b": np.full(5, -10.0)})
    assert verdict == word and numbers["a"] == pytest.approx(excess) and numbers["a p"] == 0
    assert text.startswith(f"At most {excess:+.1f} % (a), where 5 % is allowed")
    assert ("; exceeded beyond chance: a." in text) == (word != "holds")


def test_a_p_value_of_5_per_cent_is_within_chance(monkeypatch):
    monkeypatch.setattr(judging, "paired_p", lambda gap: 0.05)
    assert comparable({"a": np.full(5, 6.0)})[0] == "within chance"
    monkeypatch.setattr(judging, "equal_p", lambda gap, margin: 0.05)
    assert matters({"a": np.full(5, 6.0)}, {"a": 1.0})[0] == "within chance"
    monkeypatch.setattr(judging, "coverage_p_value", lambda *law: 0.025)  # of two rows
    assert reaches(*runs_at([0.9, 0.9]))[0] == "holds"


def test_an_excess_is_beyond_chance_at_5_per_cent_with_holm_over_the_rows():
    alike = {"b": np.array([-1.0, 1.0, 0.0, 2.0, -2.0])}
    for p, word in ((0.0249, "does not hold"), (0.0251, "within chance")):
        verdict, _, text = comparable({"a": with_p(p, mean=6.0), **alike})
        assert verdict == word
    assert text.endswith("; exceeded within chance: a.")


# ------------------------------------------------------------- making a difference


@pytest.mark.parametrize("sign", [-1, 1])
def test_a_difference_matters_beyond_chance_either_way(sign):
    for p, word in ((0.0499, "holds"), (0.0501, "within chance")):
        gap = with_p(p, mean=sign * 1.0)
        verdict, numbers, text = matters({"a": gap}, {"a": 1.0})
        assert verdict == word and numbers["a"] == pytest.approx(sign)
        assert numbers["a p"] == pytest.approx(p) and numbers["rows"] == 1
        assert numbers["beyond chance"] == (word == "holds")
    assert text.endswith("; within chance: a.")


@pytest.mark.parametrize("sign", [-1, 1])
def test_it_does_not_where_it_is_shown_to_be_within_5_per_cent(sign):
    # Half of the margin away from 0: the other half is the room, tested one-sided.
    gap = with_p(0.1, mean=1.0)  # one-sided 0.05
    for factor, word in ((1.02, "within chance"), (0.98, "does not hold")):
        shifted = sign * 1.0 + factor * (gap - 1.0)
        verdict, numbers, text = matters({"a": shifted}, {"a": 40.0})
        assert verdict == word
        assert (numbers["a p of equal"] < 0.05) == (word == "does not hold")
    assert text.endswith("; comparable: a.")


def test_a_difference_beyond_chance_may_be_too_small_to_matter():
    tiny = with_p(0.001, mean=0.1)
    assert paired_p(tiny) < 0.05
    assert matters({"a": tiny}, {"a": 100.0})[0] == "does not hold"
    assert matters({"a": tiny}, {"a": 1.0})[0] == "holds"


def test_equal_rows_are_corrected_for_being_many():
    large = {"b": with_p(0.001, mean=9.0)}
    scale = {"a": 40.0, "b": 1.0}
    for p, word in ((0.0498, "does not hold"), (0.0502, "within chance")):  # one-sided and doubled
        gap = with_p(p, mean=1.0)
        assert matters({"a": gap, **large}, scale)[0] == word
    assert matters(large, scale)[0] == "holds"


# ------------------------------------------------------------------------ counting


def test_a_count_is_all_or_nothing():
    assert counted(4, 4, "It rains", mm=3.0) == (
        "holds",
        {"cases": 4, "as claimed": 4, "mm": 3.0},
        "It rains in 4 of 4 cases.",
    )
    assert counted(3, 4, "It rains")[0] == "does not hold"
    assert counted(0, 4, "It rains")[0] == "does not hold"
