"""The rules of judgement: the constants fixed beforehand, and each rule at its edge."""

from __future__ import annotations

import inspect
import math

import numpy as np
import pytest
from made_up import record

from gt2lite.calibration import SearchCalibrator
from gt2lite.datasets import DATASETS
from gt2lite.training import Recipe
from study import (
    cells,
    claims,
    design,
    judging,
    other_claims,
    paper,
    plans,
    samples,
    statistics,
)
from study.judging import (
    comparable,
    counted,
    every_row,
    in_every_row,
    label,
    matters,
    reaches,
    table_rows,
)
from study.records import Runs
from study.statistics import corrected_t, coverage_p_value, paired_half

stats = pytest.importorskip("scipy.stats")


def with_p(p, n=5, mean=1.0, ratio=15 / 70):
    """Differences (n,) of that mean whose two-sided test over re-splits has that p-value."""
    x = np.arange(n) - (n - 1) / 2
    t = stats.t.isf(p / 2, n - 1)
    return mean + x / x.std(ddof=1) * abs(mean) / (t * math.sqrt(1 / n + ratio))


# ----------------------------------------------------------- what was fixed beforehand


def test_the_constants_are_those_of_the_text():
    assert statistics.SIGNIFICANCE == judging.SIGNIFICANCE == 0.05
    assert (judging.MARGIN, judging.LEVEL_MARGIN) == (0.05, 1.0)
    assert claims.SAVING == 10
    assert (other_claims.EXPENSIVE, other_claims.LINEAR) == (2.0, 1.1)
    assert cells.MARGINS == ((5.0, 1.0), (10.0, 2.0))
    assert samples.DRAWS == 100_000 and design.TEST_OVER_TRAIN == 15 / 70
    assert SearchCalibrator().tolerance == 0.0005
    rules = " ".join(judging.__doc__.split())
    assert "fixed before the run of 50 seeds, at 5 %" in rules
    assert "worse by no more than 5 % of the mean" in rules
    assert "mean coverage is within 1 point of it" in rules
    assert "5 % of their RMSE or PINAW and 1 point of PICP" in " ".join(cells.__doc__.split())
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
    assert tuple(range(50)) == plans.ALL_SEEDS
    assert settings["test_share"] / settings["train_share"] == pytest.approx(design.TEST_OVER_TRAIN)
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


def test_the_interval_of_this_table_stands_beside_that_of_re_splits():
    # Beyond chance for the table at hand, and not for tables of its kind.
    gains = with_p(0.0499, ratio=0.0)
    verdict, numbers, text = in_every_row({"a": gains})
    assert verdict == "within chance" and numbers["as claimed for this table"] == 1
    assert text.endswith("within chance: a. On these tables alone, beyond chance in 1.")
    assert numbers["a half"] == pytest.approx(corrected_t(gains, 15 / 70)[1])
    assert numbers["a half here"] == pytest.approx(paired_half(gains))
    again = in_every_row({"a": with_p(0.0501, ratio=0.0)})[1]
    assert again["as claimed for this table"] == 0


# ---------------------------------------------------------------- reaching a level


def runs_at(off, model="trained", n=1000, level=0.9):
    """Runs on WW at their level, and on PM so many points from it (seeds,)."""
    method = "search" if model == "calibrated" else "trained"
    rows = [
        record(dataset=name, seed=seed, model=model, method=method, n_test=n, n_cal=n, level=level,
               picp=level + (points / 100 if name == "pm" else 0))
        for name in ("ww", "pm")
        for seed, points in enumerate(off)
    ]  # fmt: skip
    return Runs(rows, ()), [(name, model, level, method) for name in ("ww", "pm")]


@pytest.mark.parametrize("sign", [-1, 1])
def test_a_mean_is_shown_to_be_within_1_point_by_two_one_sided_tests(sign):
    for p, word in ((0.0998, "holds"), (0.1002, "within chance")):  # one-sided 0.05
        off = sign * (1 - with_p(p, mean=0.4, ratio=0.0))  # 0.4 below 1 point
        verdict, numbers, text = reaches(*runs_at(off))
        assert verdict == word and numbers["pm 90 %"] == pytest.approx(90 + sign * 0.6)
        assert numbers["pm 90 % p of near"] == pytest.approx(p / 2)
        assert (numbers["rows"], numbers["shown"]) == (2, 2 if word == "holds" else 1)
    assert text.endswith("in 1 of 2 rows; within chance: pm 90 %.")


@pytest.mark.parametrize("sign", [-1, 1])
def test_a_mean_is_missed_beyond_1_point_with_holm_over_the_rows(sign):
    for p, word in ((0.0498, "does not hold"), (0.0502, "within chance")):  # one-sided, doubled
        off = sign * (1 + with_p(p, mean=0.4, ratio=0.0))
        verdict, numbers, text = reaches(*runs_at(off, n=100))
        assert verdict == word and numbers["missed"] == (word == "does not hold")
        assert (f"farther off: pm 90 % by {sign * 1.4:+.2f} points" in text) == numbers["missed"]


@pytest.mark.parametrize("model", ["trained", "calibrated"])
def test_a_single_run_is_missed_by_its_law_with_holm_over_all_runs(model):
    n_cal = [1000] if model == "calibrated" else None
    p = {k: coverage_p_value(k / 1000, 0.9, [1000], n_cal) for k in range(800, 900)}
    near = min(k for k in p if 40 * p[k] >= 0.05)  # two rows of 20 runs
    for covered, n_missed in ((near, 0), (near - 1, 1)):
        off = np.zeros(20)
        off[3] = covered / 10 - 90
        verdict, numbers, text = reaches(*runs_at(off, model))
        assert (numbers["runs"], numbers["runs beyond chance"]) == (40, n_missed)
        assert (verdict == "does not hold") == bool(n_missed)
    assert f"of 40 runs 1 beyond chance: pm 90 % seed 3 ({(near - 1) / 10:.2f} %)" in text


def test_many_runs_are_counted_and_the_worst_named():
    _, numbers, text = reaches(*runs_at(np.linspace(8, 9.9, 20)))
    assert numbers["runs beyond chance"] == 20
    assert "pm 90 % seed 19 (99.90 %)" in text and text.endswith("and 14 more.")


# ---------------------------------------------------------------------- comparable


@pytest.mark.parametrize(
    ("excess", "word"), [(-9.0, "holds"), (4.99, "holds"), (5.0, "holds"), (5.01, "does not hold")]
)
def test_comparable_is_worse_by_5_per_cent_at_most(excess, word):
    verdict, numbers, text = comparable({"a": np.full(5, excess), "b": np.full(5, -10.0)})
    assert verdict == word and numbers["a"] == numbers["a upper"] == pytest.approx(excess)
    assert f"the worst is a with {excess:+.1f} %, at most {excess:+.1f} %" in text
    assert ("; worse beyond chance: a." in text) == (word != "holds")


def test_the_upper_bound_counts_and_not_the_mean():
    for p, word in ((0.0998, "holds"), (0.1002, "within chance")):  # one-sided 0.05
        verdict, numbers, text = comparable({"a": 5 - with_p(p, mean=2.0)})
        assert verdict == word and numbers["a"] == pytest.approx(3)
        assert numbers["a p"] == pytest.approx(p / 2)
        assert (numbers["a upper"] <= 5) == (word == "holds")
    assert text.endswith("; within chance: a.")


def test_an_excess_is_beyond_chance_at_5_per_cent_with_holm_over_the_rows():
    alike = {"b": np.array([-1.0, 1.0, 0.0, 2.0, -2.0])}
    for p, word in ((0.0498, "does not hold"), (0.0502, "within chance")):  # one-sided, doubled
        verdict, _, _ = comparable({"a": 5 + with_p(p, mean=1.0), **alike})
        assert verdict == word


# ------------------------------------------------------------ a choice that matters


@pytest.mark.parametrize("sign", [-1, 1])
def test_an_alternative_matters_beyond_5_per_cent_either_way(sign):
    quiet = {"b": np.zeros(5)}
    for p, word in ((0.0498, "holds"), (0.0502, "within chance")):  # one-sided, of two
        gap = sign * (5 + with_p(p, mean=1.0))
        verdict, numbers, text = matters({"a": gap, **quiet}, 100.0)
        assert verdict == word and numbers["a"] == pytest.approx(sign * 6)
        assert numbers["a p"] == pytest.approx(p / 2) and numbers["alternatives"] == 2
        assert numbers["that matter"] == (word == "holds")
    assert text == "No alternative is shown to change the mean by more than 5 %."


@pytest.mark.parametrize("sign", [-1, 1])
def test_no_choice_matters_where_all_are_shown_to_be_within_5_per_cent(sign):
    quiet = {"b": np.zeros(5)}
    for p, word in ((0.0998, "does not hold"), (0.1002, "within chance")):  # one-sided 0.05
        gap = sign * (5 - with_p(p, mean=2.0))
        verdict, numbers, _ = matters({"a": gap, **quiet}, 100.0)
        assert verdict == word and numbers["a p of equal"] == pytest.approx(p / 2)


def test_a_difference_beyond_chance_may_be_too_small_to_matter():
    tiny = with_p(0.001, mean=0.1)
    assert matters({"a": tiny}, 100.0)[0] == "does not hold"
    assert matters({"a": tiny}, 0.5)[0] == "holds"


# ------------------------------------------------------------------------ counting


def test_a_count_is_all_or_nothing():
    assert counted(4, 4, "It rains", mm=3.0) == (
        "holds",
        {"cases": 4, "as claimed": 4, "mm": 3.0},
        "It rains in 4 of 4 cases.",
    )
    assert counted(3, 4, "It rains")[0] == "does not hold"
    assert counted(0, 4, "It rains")[0] == "does not hold"
