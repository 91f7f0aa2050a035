"""The keys of field and tuning: what changes a result changes the key, and nothing else does."""

from __future__ import annotations

import shutil

import pytest

from gt2lite.training import Recipe
from study.field.boosted import SharedMean
from study.field.contestants import CONTESTANTS
from study.field.runs import Entry
from study.field.shared import SharedTraining
from study.keys import PACKAGE, find_closure, run_key
from study.tuning.trial import Trial


def code_of(name):
    return Entry("aids", 0, contestant=CONTESTANTS[name]).code


RUNS = {name: code_of(name) for name in CONTESTANTS}
RUNS["shared"] = SharedTraining("aids", 0, "random", Recipe()).code
RUNS["mean"] = SharedMean("aids", 0).code
RUNS["trial"] = Trial("aids", 0, Recipe()).code

ESTIMATED = {"paper", "aligned", "strong"}
LEVELWISE = {"it2", "direct", "direct_85", "sqr"}  # and who takes a function from there
FUZZY = ESTIMATED | LEVELWISE | {"head"}
RIVALS = set(CONTESTANTS) - FUZZY
BOOSTED = {"gb_cqr", "gb_split", "gb_normalised"}
ALL = set(RUNS)

CHANGES = [
    # file, before, after, whose keys must change
    ("calibration/base.py", "math.ceil(n * plain", "math.floor(n * plain", ALL - {"shared"}),
    ("metrics.py", "(lower <= y) & (y <= upper)", "(lower < y) & (y <= upper)",
     ALL - {"shared", "mean"}),
    ("study/field/shared.py", 'if self.rows != "train"', 'if self.rows == "train"',
     LEVELWISE | {"shared"}),
    ("study/field/boosted.py", "PATIENCE = 50", "PATIENCE = 51",
     RIVALS | {"head", "mean"}),
    ("study/field/forest.py", "N_TREES, N_TRIAL_TREES = 200", "N_TREES, N_TRIAL_TREES = 201",
     {"forest"}),
    ("study/field/linear.py", "PENALTIES = (0.0, 0.003", "PENALTIES = (0.0, 0.004", {"linear_cqr"}),
    ("study/field/margins.py", "FLOOR = 0.05", "FLOOR = 0.2", set(CONTESTANTS) | {"mean"}),
    ("study/field/estimated.py", '"hybrid": 0.5', '"hybrid": 0.6', ESTIMATED | {"head"}),
    ("study/field/fuzzy.py", "ends.append(planes(ALPHA_0))", "ends.append(planes(2 * ALPHA_0))",
     LEVELWISE),
    ("study/field/head.py", "random_state=setting.seed)", "random_state=0)", {"head"}),
    ("study/field/public.py", "MOST_GAPS = 0.25", "MOST_GAPS = 0.3",
     set(CONTESTANTS) | {"shared", "mean"}),
    ("study/field/runs.py", "SLACK = 1e-9", "SLACK = 1e-8", set(CONTESTANTS)),
    ("study/field/conditional.py", 'side="left"', 'side="right"', set(CONTESTANTS)),
    ("study/design.py", "LEVELS = (0.90, 0.95)", "LEVELS = (0.90, 0.94)", ALL - {"shared"}),
    ("study/tuning/trial.py", "JUDGING = 0.2", "JUDGING = 0.3", {"trial"}),
    ("system.py", 'np.abs(params["raw_sigma"])', 'params["raw_sigma"]', ALL - RIVALS - {"mean"}),
]  # fmt: skip

NO_CHANGES = [
    ("study/field/contestants.py", 'Linear("linear_cqr", "linear quantiles")', ""),
    ("study/field/tables.py", "def title", "def heading"),
    ("study/field/plans.py", "def entries", "def all_entries"),
    ("study/tuning/walk.py", "n_rules=30", "n_rules=31"),
    ("study/runner.py", "time.sleep(0.2)", "time.sleep(0.3)"),
    ("study/store.py", "LEFTOVER_SECONDS = 60.0", "LEFTOVER_SECONDS = 61.0"),
    ("study/results.py", "METRICS = (", "NAMES = ("),
    ("study/stored.py", "BIN_LEVEL = 0.90", "BIN_LEVEL = 0.95"),
    ("study/field/runs.py", '"""What came of an entry."""', '"""What became of it."""  # once'),
    (
        "study/field/boosted.py",
        "from study.field.contestant import Chosen, Contestant, Entered, Get",
        "from study.field.contestant import Get, Entered, Contestant, Chosen",
    ),
]


def keys_of(package):
    return {name: run_key(code, {"asked": name}, package) for name, code in RUNS.items()}


def moved(tmp_path, file, before, after):
    """Return whose keys a change moves."""
    target = tmp_path / "changed" / PACKAGE.name
    shutil.copytree(PACKAGE, target, ignore=shutil.ignore_patterns("__pycache__"))
    text = (target / file).read_text(encoding="utf-8")
    assert before in text
    (target / file).write_text(text.replace(before, after), encoding="utf-8")
    here, there = keys_of(PACKAGE), keys_of(target)
    return {name for name in RUNS if here[name] != there[name]}


@pytest.mark.parametrize(
    ("file", "before", "after", "whose"), CHANGES, ids=[c[1][:40] for c in CHANGES]
)
def test_what_changes_a_result_changes_its_key_and_those_of_no_others(
    tmp_path, file, before, after, whose
):
    assert moved(tmp_path, file, before, after) == whose


@pytest.mark.parametrize(("file", "before", "after"), NO_CHANGES, ids=lambda v: str(v)[:40])
def test_what_changes_no_result_changes_no_key(tmp_path, file, before, after):
    assert moved(tmp_path, file, before, after) == set()


def test_no_run_depends_on_the_list_of_contestants_or_on_what_runs_and_keeps_it():
    aside = {"field.contestants", "field.plans", "field.tables", "runner", "store", "keys"}
    aside |= {"results", "stored", "tuning.walk"}
    for name, code in RUNS.items():
        found = find_closure(code)
        assert not {f"study.{module}" for module in aside} & set(found.modules), name
        assert ("sklearn" in found.packages) >= (name in RIVALS)
        assert "mapie" not in found.packages
