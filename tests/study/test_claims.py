"""Each claim on made-up runs where it must hold, where it must not, and where chance rules."""

from __future__ import annotations

import dataclasses
import math
from types import SimpleNamespace

import numpy as np
import pytest
from made_up import NOISE, curve, finer, is_, verdict, when, world
from study.calibrated import cheap

from gt2lite.datasets import DATASETS
from study import cells as cells_module
from study import claims as module
from study import other_claims, paper
from study.claims import CHECKS, check_claims


def near_level(r):  # trained as well as calibrated, to the sample
    return {"picp": r.level}


HOLDING = {
    "training-captures-level": world(when(near_level, model="trained")),
    "finer-table": world(tables=[finer(0.002)]),
    "interpolation-matters": world(tables=[curve(0.004), curve(0.01, "pchip")]),
}
FIXED = {  # whatever the runs are
    "needs-retraining": "does not hold",
    "scalable": "holds",
    "high-dimensional": "does not hold",
    "union-of-planes": "does not hold",
    "no-closed-form": "holds",
    "search-beats-table": "does not hold",
    "both-directions": "does not hold",
    "text-matches-tables": "does not hold",
}
for claim in paper.claims():  # all others hold in the world as it is
    if claim.id not in (*FIXED, "distribution-costly"):
        HOLDING.setdefault(claim.id, world())

FAILING = {
    "no-retraining": world(when({"alpha": 0.009}, dataset="pp", level=0.95, method="exact")),
    "any-level": world(when({"alpha": 0.009}, dataset="aids", level=0.90, method="exact")),
    "reaches-levels": world(when({"picp": 0.93}, model="calibrated", dataset="pm", level=0.95)),
    "superior-uq": world(
        when(lambda r: {"interval_score": 2.2 + NOISE[r.seed]}, model="calibrated", dataset="pp")
    ),
    "cheaper": world(when({"calibrate_seconds": 5.0}, dataset="pp", method="search")),
    "plane-sets-coverage": world(
        when({"alpha": 0.2}, model="calibrated", dataset="ww", level=0.95, method="exact")
    ),
    "fig1-table": world(when({"picp": 0.93}, dataset="pp", level=0.90, method="table")),
    "training-captures-level": world(),
    "envelope-99": world(when({"picp": 0.975}, model="baseline", dataset="aids")),
    "finer-table": world(tables=[finer(0.02)]),
    "interpolation-matters": world(tables=[curve(0.01)]),
    "search-ends": world(
        when(lambda r: {"reached": r.level + 0.001}, dataset="aids", method="search")
    ),
    "reaches-ww": world(when({"picp": 0.92}, dataset="ww", level=0.90, method="search")),
    "wider": world(when({"pinaw": 0.9}, model="calibrated", dataset="aids", level=0.95)),
    "wider-fig3": world(when({"pinaw": 0.9}, model="calibrated", dataset="pp", level=0.95)),
    "bold-again": world(when({"pinaw": 0.9}, model="calibrated", dataset="aids", level=0.95)),
    "comparable-rmse": world(
        lambda r: {"rmse": 1.1} if is_(r, dataset="pm") and r.model != "trained" else None
    ),
    "comparable-score": world(when({"interval_score": 2.2}, model="calibrated", dataset="pm")),
}
FAILING |= {
    f"better-{dataset}": world(
        when(lambda r: {"picp": r.level + 0.05}, model="calibrated", dataset=dataset)
    )
    for dataset in ("pm", "aids", "pp")
}
FAILING["better-everywhere"] = FAILING["better-aids"]


def test_there_is_a_check_for_each_claim_and_a_case_for_each_check():
    ids = [claim.id for claim in paper.claims()]
    assert [v.id for v in check_claims(world())] == ids
    assert set(CHECKS) == set(ids)
    patched = {"bold-is-best", "parameter-count", "distribution-costly"}
    assert set(FAILING) | set(FIXED) | patched == set(ids)


@pytest.mark.parametrize("claim", FIXED)
def test_what_runs_do_not_decide_is_as_it_is(claim):
    found = verdict(claim, world())
    assert found.verdict == FIXED[claim] and found.explanation.endswith(".")
    assert found.numbers or found.explanation.startswith("By argument: ")


@pytest.mark.parametrize("claim", HOLDING)
def test_holds(claim):
    found = verdict(claim, HOLDING[claim])
    assert found.verdict == "holds", found.explanation
    assert found.numbers


@pytest.mark.parametrize("claim", FAILING)
def test_does_not_hold(claim):
    found = verdict(claim, FAILING[claim])
    assert found.verdict == "does not hold", found.explanation
    assert found.numbers


@pytest.mark.parametrize("claim", ["finer-table", "interpolation-matters"])
def test_what_the_records_cannot_tell_is_not_testable(claim):
    found = verdict(claim, world())
    assert found.verdict == "not testable" and found.explanation.endswith(".")


def test_numbers_are_plain_and_verdicts_are_four():
    def noisy_row(r):
        return {"pinaw": 1.0 + 100 * NOISE[r.seed]} if is_(r, "calibrated", "ww", 0.90) else None

    found = check_claims(world(noisy_row, tables=[curve(0.01)]))
    assert {v.verdict for v in found} == {"holds", "does not hold", "within chance", "not testable"}
    for v in found:
        assert all(isinstance(x, (int, float)) and math.isfinite(x) for x in v.numbers.values())


# ---------------------------------------------------------------------- within chance


def test_a_gain_that_the_seeds_do_not_share_is_within_chance():
    def edit(r):
        if is_(r, "trained", "pp", 0.90):  # as near to the level as the calibrated model
            return {"picp": 0.9 + NOISE[r.seed]}
        return None

    records = world(edit)
    assert verdict("better-pp", records).verdict == "within chance"
    everywhere = verdict("better-everywhere", records)
    assert everywhere.verdict == "within chance"
    assert everywhere.numbers["as claimed beyond chance"] == 7
    assert "within chance: pp 90 %. On these tables alone" in everywhere.explanation
    assert verdict("better-pm", records).verdict == "holds"


@pytest.mark.parametrize("gain", [0.01, -0.01])
def test_one_noisy_row_neither_refutes_nor_passes(gain):
    def edit(r):
        if is_(r, "calibrated", "ww", 0.90):
            return {"pinaw": 1.0 + gain + 100 * NOISE[r.seed]}
        return None

    found = verdict("wider", world(edit))
    assert found.verdict == "within chance"
    assert found.numbers["as claimed"] == (8 if gain > 0 else 7)


def test_a_mean_within_1_point_of_its_level_reaches_it():
    near = world(when(lambda r: {"picp": r.level - 0.009}, model="calibrated"))
    assert verdict("reaches-levels", near).verdict == "holds"
    trained = verdict("training-captures-level", world(when(near_level, model="trained")))
    assert trained.verdict == "holds" and trained.numbers["rows"] == 12
    off = world(when({"picp": 0.978}, model="baseline", dataset="ww"))
    assert "ww 99 % by -1.20 points" in verdict("envelope-99", off).explanation


def test_a_single_run_far_from_its_level_is_seen_and_smaller_sets_excuse_more():
    def far(r):  # five runs of 1000 and 1000 samples: coverage of 90 % has a std of 1.3 points
        one = is_(r, "calibrated", "ww", 0.90) and r.seed == 1
        return {"picp": 0.945} if one else {}

    found = verdict("reaches-ww", world(far))
    assert found.verdict == "does not hold" and found.numbers["runs beyond chance"] == 1
    assert "of 10 runs 1 beyond chance: ww 90 % seed 1 (94.50 %)" in found.explanation
    small = verdict("reaches-ww", world(lambda r: far(r) | {"n_cal": 100, "n_test": 100}))
    assert small.verdict == "within chance" and small.numbers["runs beyond chance"] == 0


def test_comparable_is_a_margin_of_5_per_cent():
    def times(factor, noise=1.0):
        def edit(r):
            if is_(r, dataset="ww") and r.model != "trained":
                return {"rmse": factor + noise * NOISE[r.seed]}
            return None

        return world(edit)

    assert verdict("comparable-rmse", times(1.04)).verdict == "holds"
    assert verdict("comparable-rmse", times(1.06)).verdict == "does not hold"
    assert verdict("comparable-rmse", times(1.06, noise=200)).verdict == "within chance"
    assert verdict("comparable-rmse", times(1.049, noise=3)).verdict == "within chance"
    assert verdict("comparable-rmse", times(0.5)).verdict == "holds"  # better is no worse


# ------------------------------------------------------------------- single statements


@pytest.mark.parametrize(("times", "word"), [(9.9, "does not hold"), (10.1, "holds")])
def test_cheap_is_ten_times_as_quick(times, word):
    records = world(when({"calibrate_seconds": 0.01}, model="calibrated"))
    edit = when({"calibrate_seconds": 1 / times}, dataset="pm", method="search")
    records = [dataclasses.replace(r, train_seconds=1.0, **edit(r) or {}) for r in records]
    assert verdict("cheaper", records).verdict == word


def test_the_saving_counts_the_baseline_too():
    numbers = verdict("cheaper", world()).numbers
    assert numbers["pp 90 % times"] == pytest.approx(12 / 0.1)
    assert numbers["pp both levels times"] == pytest.approx(2 * 12 / (12 + 2 * 0.1))
    least = cheap(numbers | {"pm 95 % times": 7.0, "ww both levels times": 1.5})
    assert least == (8, 8, 8, 7.0, 1.5)


def test_the_text_on_pp_contradicts_its_own_claim(monkeypatch):
    found = verdict("text-matches-tables", world())
    assert (found.numbers["cases"], found.numbers["as claimed"]) == (8, 6)
    assert "aids 90 % (calibrated; by the text it wins)" in found.explanation
    assert "pp 90 % (calibrated; by the text it loses)" in found.explanation
    wrong = ("aids", "pp")
    good = [v for v in paper.text_values() if v.dataset not in wrong or v.level != 0.90]
    monkeypatch.setattr(paper, "text_values", lambda: good)
    monkeypatch.setattr(module, "text_values", lambda: good)
    assert verdict("text-matches-tables", world()).verdict == "holds"


def test_a_bold_value_that_is_not_the_best_is_seen(monkeypatch):
    cells = [
        c._replace(bold=not c.bold) if c.dataset == "pp" else c for c in paper.published_cells()
    ]
    monkeypatch.setattr(cells_module, "published_cells", lambda: cells)
    found = verdict("bold-is-best", world())
    assert found.verdict == "does not hold" and found.numbers["as claimed"] == 18


def test_both_levels_must_have_a_plane_of_their_own():
    same = verdict("no-retraining", world(when({"alpha": 0.1}, dataset="pp", method="exact")))
    assert same.verdict == "does not hold" and same.numbers["as claimed"] == 15


@pytest.mark.parametrize(
    ("times", "word"), [(1.99, "does not hold"), (2.0, "holds"), (2.5, "holds")]
)
def test_expensive_is_twice_a_training_on_every_set(monkeypatch, times, word):
    found = {"ww": 3.0, "pp": times}
    rows = [SimpleNamespace(dataset=name) for name in found]
    monkeypatch.setattr(other_claims, "rows_of", lambda name: rows)
    monkeypatch.setattr(
        other_claims, "contest", lambda rows, names: SimpleNamespace(times=found[names[0]])
    )
    judged = verdict("distribution-costly", world())
    assert judged.verdict == word and judged.numbers["pp"] == times
    assert "WW 3.0, PP" in judged.explanation


def test_without_runs_of_it_a_cost_is_not_testable(monkeypatch):
    def missing(name):
        raise FileNotFoundError(name)

    monkeypatch.setattr(other_claims, "rows_of", missing)
    assert verdict("distribution-costly", world()).verdict == "not testable"


@pytest.mark.parametrize(("power", "word"), [(1.1, "holds"), (1.11, "does not hold")])
@pytest.mark.parametrize("varied", ["rows", "inputs"])
def test_planes_must_grow_in_proportion_to_the_problem(monkeypatch, power, word, varied):
    def line(what, size):
        steep = power if (what, size) == ("interval", varied) else 1.0
        time = {"exponent": 3.0 if size == "rules" else steep, "fixed": 0.0}
        more = {"off_a_straight_line": 0.0, "memory": {"exponent": 0.0}}
        return {"what": what, "varied": size, "sizes": [1, 2], "time": time, **more}

    names = [("interval", size) for size in ("rows", "inputs", "rules")] + [("step", "batch")]
    stored = {"results": {"lines": [line(*name) for name in names]}}
    monkeypatch.setattr(other_claims, "bench", lambda name: stored)
    assert verdict("scalable", world()).verdict == word


@pytest.mark.parametrize(
    ("inputs", "rows", "word"),
    [
        (100, 9999, "holds"),
        (99, 9999, "does not hold"),
        (99, 990, "holds"),
        (99, 991, "does not hold"),
    ],
)
def test_high_dimensional_is_100_inputs_or_one_for_10_rows(monkeypatch, inputs, rows, word):
    told = {f"{name}_inputs": inputs for name in DATASETS}
    told |= {f"{name}_rows": rows for name in DATASETS}
    monkeypatch.setattr(other_claims, "settings", lambda: told)
    assert verdict("high-dimensional", world()).verdict == word


def test_a_search_with_less_to_choose_would_be_seen(monkeypatch):
    found = verdict("search-beats-table", world())
    assert (found.numbers["table choices"], found.numbers["search choices"]) == (2, 4)
    assert found.numbers["pm 90 %"] == pytest.approx(1)  # points nearer to the level
    monkeypatch.setattr(other_claims, "SEARCH_ARGUMENTS", ("start",))
    assert verdict("search-beats-table", world()).verdict == "holds"


def test_no_search_ever_sees_both_directions_improve():
    rng = np.random.default_rng(0)
    for _ in range(200):
        critical = np.sort(rng.choice([*rng.random(5), *rng.random(30)], size=30))
        level, planes = rng.random(), np.sort(rng.random(3))
        below, here, above = (abs(np.mean(critical >= alpha) - level) for alpha in planes)
        assert not (below < here and above < here)


def test_a_system_with_other_parameters_is_seen(monkeypatch):
    shapes = module.param_shapes
    assert verdict("parameter-count", world()).numbers["ww"] == 22 * 11 + 10 * 12
    monkeypatch.setattr(module, "param_shapes", lambda P, M, smf: shapes(P, M, "scalar"))
    assert verdict("parameter-count", world()).verdict == "does not hold"


# -------------------------------------------------------------------------- the errors


def test_a_level_out_of_reach_leaves_its_claims_untestable_and_the_others_as_they_are():
    gone = dict.fromkeys(("alpha", "picp", "pinaw", "interval_score"), math.nan) | {"reached": 0.85}
    records = world(when(gone, model="calibrated", dataset="aids", level=0.90))
    found = {v.id: v for v in check_claims(records)}
    assert found["better-aids"].verdict == "not testable"
    assert "aids calibrated 0.9 (search)" in found["better-aids"].explanation
    assert found["plane-sets-coverage"].verdict == "not testable"
    assert found["better-pm"].verdict == found["bold-is-best"].verdict == "holds"


def test_incomplete_records_are_named():
    records = world()
    with pytest.raises(ValueError, match=r"lack ww calibrated 0.9 \(table\); .* and 2 more$"):
        check_claims([r for r in records if r.method != "table"])
    with pytest.raises(ValueError, match=r"lack pm baseline 0.99 \(trained\)$"):
        check_claims([r for r in records if not is_(r, "baseline", "pm")])
    with pytest.raises(ValueError, match=r"at least 2 seeds of mode 'default', got \[0\]"):
        check_claims([r for r in records if r.seed == 0])
    with pytest.raises(ValueError, match=r"spline.*twice for seed 0"):
        check_claims(world(tables=[curve(0.01), curve(0.02)]))
