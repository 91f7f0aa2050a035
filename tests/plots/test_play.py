"""Pictures to play with: what they carry, and that the script computes what the library does."""

from __future__ import annotations

import importlib
import re
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="needs the extra `plot`")

from gt2lite import plots
from gt2lite.calibration import rank
from gt2lite.reduction import type_reduce

X = np.linspace(0, 4, 21)
KAPPAS = np.linspace(0, 1, 11)
MEAN, SD = np.log1p(2 * X), 0.1 + 0.2 * X
UPPER = MEAN + 2.5 * KAPPAS[:, None] * SD
LOWER = 2 * MEAN - UPPER
FIRINGS = np.array([0.2, 0.1, 0.5, 0.2]), np.array([0.5, 0.9, 0.7, 0.8])
Y = np.array([3.5, 1.0, 2.0, 4.0])


@pytest.fixture(scope="module")
def elements():
    return {
        "calibrate": plots.calibration_play(X, KAPPAS, LOWER, UPPER, MEAN, SD),
        "drag": plots.switch_drag(*FIRINGS, Y),
        "ranks": plots.rank_play(),
    }


@pytest.mark.parametrize("kind", ["calibrate", "drag", "ranks"])
def test_an_element_is_complete_in_itself(elements, kind):
    text = elements[kind]._repr_html_()
    assert f'data-kind="{kind}"' in text
    assert text.count("<script") == text.count("</script>") == 2
    assert not re.search(r'(src|href)=(?!"data:)|@import|url\(', text)
    assert len(elements[kind].alt) > 40


def test_planes_that_are_not_nested_are_refused():
    with pytest.raises(ValueError, match="planes are nested"):
        plots.calibration_play(X, KAPPAS, UPPER, LOWER, MEAN, SD)


def test_ends_of_another_shape_are_refused_by_name():
    with pytest.raises(ValueError, match=r"upper must have the shape \(11, 21\), got \(10, 21\)"):
        plots.calibration_play(X, KAPPAS, LOWER, UPPER[1:], MEAN, SD)


# In a browser


@pytest.fixture(scope="module")
def tab(elements, tmp_path_factory):
    if find_spec("playwright") is None:
        pytest.skip("needs the extra `dev`: pip install 'gt2lite[dev]'")
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
    browser = importlib.import_module("builder.browser")
    if browser.find_chromium() is None:
        pytest.skip("needs Chromium or Chrome on the PATH")
    path = tmp_path_factory.mktemp("play") / "page.html"
    body = "".join(element._repr_html_() for element in elements.values())
    head = '<!doctype html><meta charset=utf-8><meta name=viewport content="width=device-width">'
    path.write_text(f"{head}<body>{body}", encoding="utf-8")
    with browser.chromium() as opened:
        page = opened.new_page(viewport={"width": 390, "height": 800})
        page.on("pageerror", lambda error: pytest.fail(str(error)))
        page.goto(path.as_uri())
        yield page


def element(tab, kind):
    return tab.locator(f'.gt2-live[data-kind="{kind}"]')


def put(tab, kind, **values):
    """Set sliders by their label; return what is told then."""
    for name, value in values.items():
        label = name.replace("_", " ")
        element(tab, kind).get_by_label(label, exact=True).fill(str(value))
    return element(tab, kind).locator(".gt2-say").inner_text()


@pytest.mark.browser
@pytest.mark.parametrize(("Q", "level"), [(1, 50), (9, 90), (10, 90), (19, 95), (18, 95), (99, 99)])
def test_ranks_and_mean_coverage_are_those_of_the_library(tab, Q, level):
    said = put(tab, "ranks", Calibration_rows_Q=Q, Level=level)
    exact, conformal = rank(level / 100, Q), rank(level / 100, Q + 1)
    assert f"rank {exact} of {Q}, mean coverage {100 * exact / (Q + 1):.1f} %" in said
    if conformal > Q:
        assert f"the rank would be {conformal} of {Q}, so it has no answer" in said
    else:
        assert f"rank {conformal} of {Q}, mean coverage {100 * conformal / (Q + 1):.1f} %" in said


@pytest.mark.browser
def test_the_share_of_calibrations_below_the_level_is_that_of_the_beta_law(tab):
    beta = pytest.importorskip("scipy.stats").beta
    for Q, level in ((10, 90), (50, 80), (100, 95)):
        said = put(tab, "ranks", Calibration_rows_Q=Q, Level=level)
        k = rank(level / 100, Q)
        told = float(re.search(r"below the level in (\d+) %", said)[1])
        assert abs(told - 100 * beta.cdf(level / 100, k, Q + 1 - k)) <= 0.51


@pytest.mark.browser
def test_one_switch_point_is_the_lower_end_and_the_misprinted_form_has_none(tab):
    y_l, _ = type_reduce(*FIRINGS, Y)
    told = [put(tab, "drag", Before_the_switch=0, Switch_after_rule=k) for k in range(5)]
    best = [text for text in told if "this is the lower end" in text]
    assert len(best) == 1
    assert f"The mean is {y_l:.3f}" in best[0]
    wrong = [put(tab, "drag", Before_the_switch=1, Switch_after_rule=k) for k in range(5)]
    assert all(f"the lower end is {y_l:.3f}. In this order no switch" in text for text in wrong)


@pytest.mark.browser
def test_a_switch_point_is_dragged(tab):
    put(tab, "drag", Before_the_switch=0, Switch_after_rule=4)
    box = element(tab, "drag").locator("svg").first.bounding_box()
    tab.mouse.move(box["x"] + 0.9 * box["width"], box["y"] + 60)
    tab.mouse.down()
    tab.mouse.move(box["x"] + 45, box["y"] + 60)
    tab.mouse.up()
    slider = element(tab, "drag").get_by_label("Switch after rule")
    assert int(slider.input_value()) in (0, 1)


@pytest.mark.browser
def test_too_few_rows_have_no_band_and_enough_have_one(tab):
    assert "The rank would be 9, and there are 8 rows" in put(
        tab, "calibrate", Calibration_rows_Q=8, Level=90
    )
    assert "goes up to score 9 of 9" in put(tab, "calibrate", Calibration_rows_Q=9, Level=90)


@pytest.mark.browser
def test_a_band_says_its_plane_or_the_margin_beyond_the_widest_one(tab):
    inside = put(tab, "calibrate", Calibration_rows_Q=40, Level=50)
    assert re.search(r"score 21 of 40: the plane kappa = (0\.\d\d|1\.00)\.", inside)
    put(tab, "calibrate", Calibration_rows_Q=9, Level=90)
    beyond = put(tab, "calibrate", Its_target=UPPER.max() + 0.7)  # within the slider's 0.8
    margin = re.search(r"score 9 of 9: the widest plane and a margin of (\d\.\d\d) on", beyond)[1]
    assert float(margin) >= 0.65


@pytest.mark.browser
def test_draws_follow_the_law_and_more_noise_breaks_it(tab):
    put(tab, "calibrate", Calibration_rows_Q=40, Level=90, Noise_of_new_rows=1)
    hundred = element(tab, "calibrate").get_by_role("button", name="100 times")
    for _ in range(3):
        hundred.press("Enter")
    said = element(tab, "calibrate").locator(".gt2-say").inner_text()
    law = float(re.search(r"law has the mean ([\d.]+) %", said)[1])
    assert law == round(100 * 37 / 41, 1)
    mean = float(re.search(r"draws before: ([\d.]+) %", said)[1])
    assert abs(mean - law) < 1.2  # four standard errors of 303 draws
    put(tab, "calibrate", Noise_of_new_rows=2)
    hundred.press("Enter")
    said = element(tab, "calibrate").locator(".gt2-say").inner_text()
    assert float(re.search(r"draws before: ([\d.]+) %", said)[1]) < 75


@pytest.mark.browser
def test_rows_that_are_moved_far_widen_the_band_only_when_they_are_many(tab):
    put(tab, "calibrate", Calibration_rows_Q=40, Level=90, Noise_of_new_rows=1)
    shares = []
    for row in range(1, 6):
        said = put(tab, "calibrate", Row_to_move=row, Its_target=6)
        shares.append(float(re.search(r"covers ([\d.]+) %", said)[1]))
    assert shares[-1] > 99  # five rows out of forty: more than the level allows
    assert shares[0] < 99


@pytest.mark.browser
def test_nothing_is_wider_than_a_phone_and_no_text_is_tiny(tab):
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390
    sizes = tab.evaluate(
        """() => [...document.querySelectorAll("svg text")].map((node) =>
          parseFloat(getComputedStyle(node).fontSize) * node.getScreenCTM().a)"""
    )
    assert sizes
    assert min(sizes) >= 9
