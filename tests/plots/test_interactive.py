"""Pictures that move: what they carry, and that their sliders say what the library computes."""

from __future__ import annotations

import importlib
import json
import re
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

pytest.importorskip("matplotlib", reason="needs the extra `plot`")

from gt2lite import plots
from gt2lite.memberships import kappa_of, secondary
from gt2lite.reduction import type_reduce
from gt2lite.system import Planes
from gt2lite.training import init_params

FIRINGS = np.array([0.2, 0.4, 0.0, 0.1]), np.array([0.6, 0.8, 0.9, 0.5])
CONSEQUENTS = np.array([4.0, 2.0, 1.0, 3.0])


@pytest.fixture(scope="module")
def sample():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 2))
    params = init_params(X, 4, rng)
    params["a"], params["a0"] = rng.normal(size=(4, 2)), rng.normal(size=4)
    planes = Planes(params, X)
    return planes, planes(1.0)[0] + rng.normal(scale=0.5, size=90)


@pytest.fixture(scope="module")
def elements(sample):
    return {
        "alpha": plots.alpha_slider(*sample, y_name="power < 1", n_shown=20),
        "set": plots.set_3d(0.5, 2.0, 0.6, 0.4),
        "switch": plots.switch_point(*FIRINGS, CONSEQUENTS),
    }


KINDS = ["alpha", "set", "switch"]


@pytest.mark.parametrize("kind", KINDS)
def test_an_element_is_complete_in_itself(elements, kind):
    text = elements[kind]._repr_html_()
    assert f'data-kind="{kind}"' in text
    assert text.count("<script") == text.count("</script>") == 2
    assert elements[kind].still.startswith(b"\x89PNG")
    assert len(elements[kind].alt) > 40
    assert not re.search(r'(src|href)=(?!"data:)|@import|url\(', text)
    (data,) = re.findall(r'<script type="application/json">(.*?)</script>', text, re.DOTALL)
    assert json.loads(data) == json.loads(json.dumps(elements[kind].data))


def test_the_same_call_yields_the_same_bytes():
    first, second = (plots.set_3d(0.0, 1.0, 0.6, 0.4)._repr_html_() for _ in range(2))
    assert first == second


def test_the_alpha_slider_counts_all_and_draws_some(elements, sample):
    planes, y = sample
    data = elements["alpha"].data
    for k in (0, 29, 99):
        lower, upper = planes((k + 1) / 100)
        assert data["covered"][k] == ((lower <= y) & (y <= upper)).sum()
        assert_allclose(data["width"][k], (upper - lower).mean(), atol=1e-6)
    assert data["total"] == 90
    assert np.shape(data["lower"]) == (100, 20)
    assert (np.diff(data["lower"][-1]) >= 0).all(), "not in the order of the predictions"
    assert (np.diff(data["lower"], axis=0) >= 0).all(), "not nested"


def test_few_samples_are_all_drawn():
    X = np.array([[0.0], [1.0]])
    planes = Planes(init_params(X, 2, np.random.default_rng(0)), X)
    assert len(plots.alpha_slider(planes, np.zeros(2)).data["y"]) == 2


def test_rules_are_in_the_order_of_their_consequents(elements):
    data = elements["switch"].data
    assert data["y"] == [1.0, 2.0, 3.0, 4.0]
    assert data["f_lower"] == [0.0, 0.4, 0.1, 0.2]
    assert data["f_upper"] == [0.9, 0.8, 0.5, 0.6]


def test_wrong_firings_are_an_error():
    with pytest.raises(ValueError, match="f_lower"):
        plots.switch_point([0.7], [0.6], [1.0])


# In a browser: the script draws and tells what the library says


@pytest.fixture(scope="module")
def page(elements, tmp_path_factory):
    if find_spec("playwright") is None:
        pytest.skip("needs the extra `dev`: pip install 'gt2lite[dev]'")
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
    browser = importlib.import_module("builder.browser")
    if browser.find_chromium() is None:
        pytest.skip("needs Chromium or Chrome on the PATH")
    path = tmp_path_factory.mktemp("interactive") / "page.html"
    body = "".join(element._repr_html_() for element in elements.values())
    path.write_text(f"<!doctype html><meta charset=utf-8><body>{body}", encoding="utf-8")
    with browser.chromium() as opened:
        tab = opened.new_page()
        tab.on("pageerror", lambda error: pytest.fail(str(error)))
        tab.goto(path.as_uri())
        yield tab


def move(page, kind, values):
    """Set the sliders of an element; return the words and the picture that come of it."""
    element = page.locator(f'.gt2-live[data-kind="{kind}"]')
    for slider, value in zip(element.locator("input").all(), values, strict=False):
        slider.fill(str(value))
    return element.locator(".gt2-say").all_inner_texts(), element.locator("svg").all_inner_texts()


def numbers(text):
    return [float(n) for n in re.findall(r"\d+\.\d+|\d+", text.replace("\N{MINUS SIGN}", "-"))]


@pytest.mark.browser
@pytest.mark.parametrize("alpha", [0.01, 0.3, 0.77, 1.0])
def test_the_alpha_slider_tells_the_coverage(page, sample, alpha):
    planes, y = sample
    lower, upper = planes(alpha)
    (text,), _ = move(page, "alpha", [alpha])
    told = numbers(text)
    assert told[:3] == [alpha, round(100 * float(((lower <= y) & (y <= upper)).mean()), 1), 90]
    widest = np.subtract(*planes(0.01)).mean()
    assert told[5] == round(100 * float(np.subtract(lower, upper).mean() / widest))


@pytest.mark.browser
@pytest.mark.parametrize(("alpha", "x"), [(0.01, 0.5), (0.3, 2.5), (1.0, -3.0)])
def test_the_cut_set_tells_its_grades(page, alpha, x):
    mu = np.exp(-((x - 0.5) ** 2) / 8)
    ends = secondary(mu, kappa_of(alpha), 0.6, 0.4)
    (text,), _ = move(page, "set", [alpha, x, 40, 20])
    assert_allclose(numbers(text)[1:], [mu, alpha, *ends], atol=0.00501)


@pytest.mark.browser
def test_the_best_switch_points_are_the_ends_of_the_type_reduced_set(page):
    y_l, y_r = type_reduce(*FIRINGS, CONSEQUENTS)
    for k in range(5):
        (lower, upper), _ = move(page, "switch", [k, k])
        assert f"{y_l:.3f}" in lower
        assert f"{y_r:.3f}" in upper
    assert "This is the smallest" in move(page, "switch", [1, 0])[0][0]
    assert "This is the largest" in move(page, "switch", [0, 3])[0][1]


@pytest.mark.browser
def test_where_no_rule_has_weight_there_is_no_mean(tmp_path, page):
    element = plots.switch_point([0.0, 0.0], [1.0, 1.0], [1.0, 2.0])
    path = tmp_path / "page.html"
    path.write_text(f"<!doctype html><meta charset=utf-8>{element._repr_html_()}", encoding="utf-8")
    tab = page.context.browser.new_page()
    tab.goto(path.as_uri())
    (lower, _), _ = move(tab, "switch", [0, 0])
    assert "no rule has any weight" in lower
    assert "The smallest, 1.000, is at switch point 1" in lower
    tab.close()
