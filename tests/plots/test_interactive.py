"""Interactive figures: their data, and scripts that compute what the library does."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from numpy.testing import assert_allclose

pytest.importorskip("matplotlib", reason="needs the extra `plot`")

from gt2lite import GT2Regressor, plots
from gt2lite.calibration import rank
from gt2lite.memberships import kappa_of, secondary
from gt2lite.practice.model_file import plain
from gt2lite.reduction import type_reduce
from gt2lite.system import Planes
from gt2lite.training import init_params
from study import live, play

FIRINGS = np.array([0.2, 0.4, 0.0, 0.1]), np.array([0.6, 0.8, 0.9, 0.5])
CONSEQUENTS = np.array([4.0, 2.0, 1.0, 3.0])
X = np.linspace(0, 4, 21)
MEAN, SD = np.log1p(2 * X), 0.1 + 0.2 * X
SCORES = np.r_[np.linspace(0.01, 1, 96), 1.1, 1.3, 1.5, 2.0]  # the last four need a margin
KINDS = ["alpha", "set", "switch", "level", "calibrate", "drag", "ranks"]


@pytest.fixture(scope="module")
def sample():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 2))
    params = init_params(X, 4, rng)
    params["a"], params["a0"] = rng.normal(size=(4, 2)), rng.normal(size=4)
    planes = Planes(params, X)
    return planes, planes(1.0)[0] + rng.normal(scale=0.5, size=90)


def draw(n, seed):
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 4, n)
    return x[:, None], np.log1p(2 * x) + (0.1 + 0.2 * x) * rng.normal(size=n)


@pytest.fixture(scope="module")
def reg():
    settings = {"objective": "aligned", "epochs": 40, "learning_rate": 0.02}
    return GT2Regressor(n_rules=3, **settings).fit(*draw(300, 0)).calibrate(*draw(300, 1))


@pytest.fixture(scope="module")
def elements(sample, reg):
    x, y = draw(150, 2)
    made = (
        plots.alpha_slider(*sample, y_name="power < 1", n_shown=20),
        live.set_3d(0.5, 2.0, 0.6, 0.4),
        live.switch_point(*FIRINGS, CONSEQUENTS),
        play.level_band(reg, x[:, 0], y),
        play.calibration_play(reg, X, MEAN, SD),
        play.switch_drag(*FIRINGS, CONSEQUENTS),
        play.rank_play(),
    )
    return dict(zip(KINDS, made, strict=True))


@pytest.mark.parametrize("kind", KINDS)
def test_an_element_is_complete_in_itself(elements, kind):
    text = elements[kind]._repr_html_()
    assert f'data-kind="{kind}"' in text
    assert text.count("<script") == text.count("</script>") == 2
    assert 'src="data:image/png;base64,iVBORw0KGgo' in text
    assert len(elements[kind].alt) > 40
    assert not re.search(r'(src|href)=(?!"data:)|@import|url\(', text), "it needs no other file"
    (data,) = re.findall(r'<script type="application/json">(.*?)</script>', text, re.DOTALL)
    assert json.loads(data) == json.loads(json.dumps(elements[kind].data, default=plain))


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


@pytest.mark.parametrize("kind", ["switch", "drag"])
def test_rules_are_in_the_order_of_their_consequents(elements, kind):
    found = {name: list(values) for name, values in elements[kind].data.items()}
    assert found == {
        "y": [1, 2, 3, 4],
        "f_lower": [0, 0.4, 0.1, 0.2],
        "f_upper": [0.9, 0.8, 0.5, 0.6],
    }


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda reg: plots.alpha_slider(reg, np.zeros(2)), "takes the planes of a system"),
        (lambda reg: live.switch_point([0.7], [0.6], [1.0]), "f_lower"),
        (lambda reg: play.calibration_play(reg, X, MEAN[1:], SD), "mean"),
        (lambda reg: play.level_band(reg, X, MEAN[1:]), "y must"),
        (lambda reg: play.level_band(GT2Regressor(epochs=1).fit(np.eye(9), X[:9]), X, X), "one"),
    ],
)
def test_wrong_arguments_are_refused(reg, call, match):
    with pytest.raises((TypeError, ValueError), match=match):
        call(reg)


def test_the_small_system_of_the_first_chapter_is_a_model():
    slopes, heights, raw = np.array([0.5, 0.2, 0.1]), np.array([0.0, 1.5, 2.0]), np.array([0.3, -1])
    centres = np.array([0.0, 2.0, 4.0])
    found = play.with_system(np.concatenate([slopes, heights, raw]), centres, 1.0)
    s_l, s_r = 1 / (1 + np.exp(-raw))
    mu = np.exp(-((X[:, None] - centres) ** 2) / 2)
    lower, upper = secondary(mu, 0.6, s_l, s_r)
    ends = type_reduce(lower, upper, heights + slopes * (X[:, None] - centres))
    assert_allclose(found.predict_interval(X[:, None], alpha=0.01 ** (0.6**2)), ends, atol=1e-12)


# ------------------------------------------------------------------------- in a browser


@pytest.fixture(scope="module")
def tab(chromium, elements, reg, tmp_path_factory):
    path = tmp_path_factory.mktemp("interactive") / "page.html"
    none = live.switch_point([0.0, 0.0], [1.0, 1.0], [1.0, 2.0])  # no weight at all at 0
    x, y = draw(150, 2)
    scored = play.level_band(reg, x[:, 0], y, scores=SCORES)
    body = "".join(element._repr_html_() for element in [*elements.values(), none, scored])
    head = '<!doctype html><meta charset=utf-8><meta name=viewport content="width=device-width">'
    path.write_text(f"{head}<body>{body}", encoding="utf-8")
    page = chromium.new_page(viewport={"width": 390, "height": 800})
    page.on("pageerror", lambda error: pytest.fail(str(error)))
    page.goto(path.as_uri())
    return page


def element(tab, kind, nth=0):
    return tab.locator(f'.gt2-live[data-kind="{kind}"]').nth(nth)


def move(tab, kind, *values, nth=0):
    """Set the sliders of an element in their order; return its sentences."""
    found = element(tab, kind, nth)
    for slider, value in zip(found.locator("input").all(), values, strict=False):
        slider.fill(str(value))
    return found.locator(".gt2-say").all_inner_texts()


def put(tab, kind, **values):
    """Set sliders by their label; return the sentence."""
    for name, value in values.items():
        label = name.replace("_", " ")
        element(tab, kind).get_by_label(label, exact=True).fill(str(value))
    return element(tab, kind).locator(".gt2-say").inner_text()


def numbers(text):
    return [float(n) for n in re.findall(r"\d+\.\d+|\d+", text.replace("\N{MINUS SIGN}", "-"))]


@pytest.mark.browser
@pytest.mark.parametrize("alpha", [0.01, 0.77, 1.0])
def test_the_alpha_slider_shows_coverage_and_width(tab, sample, alpha):
    planes, y = sample
    lower, upper = planes(alpha)
    shown = numbers(*move(tab, "alpha", alpha))
    assert shown[:3] == [alpha, round(100 * float(((lower <= y) & (y <= upper)).mean()), 1), 90]
    widest = np.subtract(*planes(0.01)).mean()
    assert shown[5] == round(100 * float(np.subtract(lower, upper).mean() / widest))


@pytest.mark.browser
@pytest.mark.parametrize(("alpha", "x"), [(0.01, 0.5), (0.3, 2.5), (1.0, -3.0)])
def test_the_cut_set_shows_its_grades(tab, alpha, x):
    mu = np.exp(-((x - 0.5) ** 2) / 8)
    shown = numbers(*move(tab, "set", alpha, x, 40, 20))
    expected = [mu, alpha, *secondary(mu, kappa_of(alpha), 0.6, 0.4)]
    assert_allclose(shown[1:], expected, atol=0.00501)


@pytest.mark.browser
def test_the_best_switch_points_are_the_endpoints(tab):
    y_l, y_r = type_reduce(*FIRINGS, CONSEQUENTS)
    lower, upper = move(tab, "switch", 1, 3)
    assert f"{y_l:.3f}" in lower and "This is the smallest" in lower
    assert f"{y_r:.3f}" in upper and "This is the largest" in upper
    assert "no rule has any weight" in move(tab, "switch", 0, 0, nth=1)[0]


@pytest.mark.browser
@pytest.mark.parametrize(("Q", "level"), [(1, 50), (9, 90), (10, 90), (18, 95), (99, 99)])
def test_ranks_and_mean_coverage_are_those_of_the_library(tab, Q, level):
    beta = pytest.importorskip("scipy.stats").beta
    shown = put(tab, "ranks", Calibration_rows_Q=Q, Level=level)
    exact, conformal = rank(level / 100, Q), rank(level / 100, Q + 1)
    assert f"rank {exact} of {Q}, mean coverage {100 * exact / (Q + 1):.1f}%" in shown
    if conformal > Q:
        assert f"the rank would be {conformal} of {Q}, so it has no answer" in shown
    else:
        assert f"rank {conformal} of {Q}, mean coverage {100 * conformal / (Q + 1):.1f}%" in shown
    share = float(re.search(r"below the level in (\d+)%", shown)[1])
    assert abs(share - 100 * beta.cdf(level / 100, exact, Q + 1 - exact)) <= 0.51


@pytest.mark.browser
def test_one_switch_point_is_the_lower_endpoint_and_the_misprinted_form_has_none(tab):
    y_l, _ = type_reduce(*FIRINGS, CONSEQUENTS)
    right, wrong = (
        [put(tab, "drag", Before_the_switch=form, Switch_after_rule=k) for k in range(5)]
        for form in (0, 1)
    )
    (best,) = (text for text in right if "this is the lower endpoint" in text)
    assert f"The mean is {y_l:.3f}" in best
    words = f"the lower endpoint is {y_l:.3f}. In this order no switch"
    assert all(words in text for text in wrong)


@pytest.mark.browser
def test_a_switch_point_is_dragged(tab):
    put(tab, "drag", Before_the_switch=0, Switch_after_rule=4)
    element(tab, "drag").scroll_into_view_if_needed()
    box = element(tab, "drag").locator("svg").first.bounding_box()
    tab.mouse.move(box["x"] + 0.9 * box["width"], box["y"] + 60)
    tab.mouse.down()
    tab.mouse.move(box["x"] + 45, box["y"] + 60)
    tab.mouse.up()
    assert int(element(tab, "drag").get_by_label("Switch after rule").input_value()) in (0, 1)


@pytest.mark.browser
@pytest.mark.parametrize("level", [50, 90, 98])
def test_the_band_of_a_level_holds_the_rows_that_the_library_says(tab, reg, level):
    x, y = draw(150, 2)
    lower, upper = reg.predict_interval(x, coverage=level / 100)
    n = int(((lower <= y) & (y <= upper)).sum())
    assert f"The {level}% band holds {n} of 150 new rows" in put(tab, "level", Level=level)
    assert element(tab, "level").locator(".gt2-miss").count() == 150 - n


@pytest.mark.browser
@pytest.mark.parametrize(("level", "score"), [(50, SCORES[50]), (95, SCORES[95]), (98, 1.5)])
def test_a_band_by_scores_is_a_plane_and_beyond_the_lowest_a_margin(tab, reg, level, score):
    x, y = draw(150, 2)
    lower, upper = reg.predict_interval(x, alpha=0.01 ** min(score, 1) ** 2)
    margin = max(score - 1, 0)
    n = int(((lower - margin <= y) & (y <= upper + margin)).sum())
    move(tab, "level", level, nth=1)
    found = element(tab, "level", 1)
    assert f"holds {n} of 150 new rows" in found.locator(".gt2-say").inner_text()
    assert found.locator(".gt2-miss").count() == 150 - n


@pytest.mark.browser
def test_a_band_has_a_plane_or_a_margin_if_there_are_rows_enough(tab, reg):
    assert "there are 8 rows" in put(tab, "calibrate", Calibration_rows_Q=8, Level=90)
    inside = put(tab, "calibrate", Calibration_rows_Q=40, Level=50)
    assert re.search(r"score 21 of 40: the plane kappa = (0\.\d\d|1\.00)\.", inside)
    assert "score 9 of 9" in put(tab, "calibrate", Calibration_rows_Q=9, Level=90)
    _, upper = reg.predict_interval(X[:, None], alpha=0.01)
    beyond = put(tab, "calibrate", Its_target=upper.max() + 0.7)  # within the slider's 0.8
    margin = re.search(r"score 9 of 9: the widest plane and a margin of (\d\.\d\d) on", beyond)[1]
    assert float(margin) >= 0.65


@pytest.mark.browser
def test_draws_follow_the_law_and_more_noise_breaks_it(tab):
    def mean_of_draws(n_hundreds):
        for _ in range(n_hundreds):
            element(tab, "calibrate").get_by_role("button", name="100 times").press("Enter")
        shown = element(tab, "calibrate").locator(".gt2-say").inner_text()
        return float(re.search(r"draws before: ([\d.]+)%", shown)[1])

    put(tab, "calibrate", Calibration_rows_Q=40, Level=90, Noise_of_new_rows=1)
    assert abs(mean_of_draws(3) - 100 * 37 / 41) < 1.2  # four standard errors of 303 draws
    put(tab, "calibrate", Noise_of_new_rows=2)
    assert mean_of_draws(1) < 75


@pytest.mark.browser
def test_rows_that_are_moved_far_widen_the_band_only_when_they_are_many(tab):
    put(tab, "calibrate", Calibration_rows_Q=40, Level=90, Noise_of_new_rows=1)
    shares = []
    for row in range(1, 6):
        shown = put(tab, "calibrate", Row_to_move=row, Its_target=6)
        shares.append(float(re.search(r"covers ([\d.]+)%", shown)[1]))
    assert shares[0] < 99 < shares[-1]  # five rows of forty are more than the level allows


@pytest.mark.browser
def test_nothing_is_wider_than_a_phone_and_no_text_is_tiny(tab):
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390
    sizes = tab.evaluate(
        """() => [...document.querySelectorAll("svg text")].map((node) =>
          parseFloat(getComputedStyle(node).fontSize) * node.getScreenCTM().a)"""
    )
    assert min(sizes) >= 9
