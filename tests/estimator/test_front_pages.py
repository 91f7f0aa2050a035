"""The lines of code on the front pages run as they stand, with a system that trains quickly."""

import re
from pathlib import Path

import numpy as np
import pytest

from gt2lite import GT2Regressor

ROOT = Path(__file__).resolve().parents[2]
QUICK = {"n_rules": 3, "epochs": 3, "batch_size": 64}


def code_of(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    block, *_ = re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    return block


@pytest.fixture(scope="module")
def known():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    return {"X": X[:500], "y": X[:500, 0] + 0.1 * rng.normal(size=500), "X_new": X[500:]}


@pytest.mark.parametrize("page", ["README.md", "index.md"])
def test_the_code_of_a_front_page_runs_and_says_what_it_says(page, known, monkeypatch, capsys):
    code = code_of(page)
    assert "GT2Regressor.strong(" in code and "calibrate(" in code
    strong = GT2Regressor.strong
    monkeypatch.setattr(GT2Regressor, "strong", lambda **given: strong(**{**given, **QUICK}))
    space = dict(known)
    exec(code, space)
    lower, upper = space["lower"], space["upper"]
    assert lower.shape == upper.shape and (lower <= upper).all()
    if shown := re.search(r"each \((\d+), (\d+)\)", code):
        assert lower.shape == (int(shown[1]), int(shown[2]))
    if shown := re.search(r"print\(.*\)  # (.*)", code):
        assert capsys.readouterr().out.strip() == shown[1]


@pytest.mark.parametrize("page", ["README.md", "index.md"])
def test_a_front_page_says_whose_recipe_the_plain_one_is(page):
    text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
    assert "`GT2Regressor()` is the paper's recipe" in text
    assert "takes longer" in text
