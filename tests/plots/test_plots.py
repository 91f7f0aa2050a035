"""Figures: each can be drawn with labels and without a title, and shows the right numbers."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

matplotlib = pytest.importorskip("matplotlib", reason="needs the extra `plot`")
matplotlib.use("agg")
plt = pytest.importorskip("matplotlib.pyplot")

from gt2lite import plots  # noqa: E402
from gt2lite.calibration import ExactCalibrator  # noqa: E402
from gt2lite.memberships import ALPHA_0, kappa_of  # noqa: E402
from gt2lite.plots.method import staircase  # noqa: E402
from gt2lite.reduction import enumerate_weights  # noqa: E402
from study import figures  # noqa: E402

X = np.linspace(-3, 3, 31)
SET = {"c": 0.0, "sigma": 1.0, "s_l": 0.6, "s_r": 0.4}
CUT = {"alpha": 0.3, "x_cut": 0.8}
SYSTEM = {
    "c": np.array([[-1.0], [1.0]]),
    "raw_sigma": np.ones((2, 1)),
    "raw_l": np.zeros(1),
    "raw_r": np.zeros(1),
    "a": np.array([[1.0], [-2.0]]),
    "a0": np.array([0.0, 0.5]),
}
FIRINGS = np.array([0.2, 0.1, 0.4]), np.array([0.6, 0.5, 0.8]), np.array([1.0, 4.0, 2.0])
BANDS = {"wide": (X - 2, X + 2), "narrow": (X - 1, X + 1)}
Y = np.linspace(-1.1, 1.1, 201)  # some lie outside every plane


def interval(alpha):
    kappa = np.broadcast_to(kappa_of(alpha), Y.shape)
    return -kappa, kappa


EXACT = ExactCalibrator().fit(interval, Y)
CRITICAL = EXACT.critical_alpha
SERIES = {"a": np.array([0.9, 0.8]), "b": np.array([0.7, 1.0])}

BOTH_LABELLED = [
    (plots.rule_sets, X, SYSTEM, 0.01),
    (plots.plane_bands, X, SYSTEM, [0.01, 0.5]),
    (figures.chosen_weights, *FIRINGS),
    (plots.points_along, X, X, {"curve": (X, X**2)}),
    (plots.bands_along, X, BANDS, X),
    (plots.coverage_curves, {"one": CRITICAL}),
]


@pytest.mark.parametrize(("draw", "arguments"), [(d, a) for d, *a in BOTH_LABELLED])
def test_a_figure_returns_its_axes_with_both_labelled_and_no_title(ax, check_axes, draw, arguments):
    check_axes(draw(ax, *arguments))


@pytest.mark.parametrize("name", ["alpha_planes", "z_gt2_set", "z_gt2_surface"])
def test_a_set_can_be_drawn(name):
    projection = "3d" if name == "z_gt2_surface" else None
    figure, axes = plt.subplots(subplot_kw={"projection": projection})
    options = {"alphas": [0.01, 0.5]} if name == "alpha_planes" else CUT
    module = figures if projection else plots
    assert getattr(module, name)(axes, X, **SET, **options) is axes
    assert axes.get_xlabel() and axes.get_ylabel()
    figure.canvas.draw()
    plt.close(figure)


def test_without_matplotlib_the_error_says_what_to_install():
    code = "import sys; sys.modules['matplotlib'] = None; import gt2lite.plots"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "pip install 'gt2lite[plot]'" in done.stderr


def test_no_figure_has_letters_smaller_than_the_style_says():
    """A page at 390 pixels halves a figure: 13 points are 9 pixels there, and less is not read."""
    assert plots.STYLE["font.size"] >= 13
    for path in Path(plots.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            assert getattr(node, "arg", None) not in ("fontsize", "labelsize"), path.name


# ------------------------------------------------------------------- sets and inference


@pytest.mark.parametrize("end", ["lower", "upper"])
def test_the_chosen_weights_lead_to_the_endpoint(ax, end):
    figures.chosen_weights(ax, *FIRINGS, end)
    y, w = ax.lines[0].get_data()
    expected = enumerate_weights(*FIRINGS)[end == "upper"]
    assert np.average(y, weights=w) == pytest.approx(expected, abs=1e-12)
    assert_allclose(ax.lines[1].get_xdata(), expected)


@pytest.mark.parametrize(
    ("draw", "arguments", "match"),
    [
        (figures.chosen_weights, (*FIRINGS, "middle"), "end"),
        (plots.rule_sets, (X, SYSTEM | {"c": np.zeros((2, 3))}, 0.1), "one input"),
    ],
)
def test_wrong_arguments_are_refused(ax, draw, arguments, match):
    with pytest.raises(ValueError, match=match):
        draw(ax, *arguments)


# ------------------------------------------------------------------------- calibration


def test_the_staircase_is_the_coverage_of_every_plane(ax):
    alpha, coverage = staircase(CRITICAL)
    assert alpha[0] == ALPHA_0 and alpha[-1] == 1
    assert_allclose(coverage, [EXACT.coverage(a) for a in alpha])
    plots.coverage_curves(ax, {"one": CRITICAL})
    assert ax.lines[0].get_drawstyle() == "steps-pre", "between two steps the upper one counts"


def test_coverage_of_bins_is_in_percent_with_a_band_of_two_standard_deviations(ax):
    plots.bin_coverage(ax, SERIES, ["narrow", "wide"], 0.9, sizes=[100, 400])
    level, a, b = ax.lines
    assert_allclose(level.get_ydata(), 90)
    assert_allclose([a.get_ydata(), b.get_ydata()], [[90, 80], [70, 100]])
    assert a.get_marker() != b.get_marker(), "colour alone must not tell them apart"
    place, height = ax.collections[0].get_paths()[0].vertices.T
    assert_allclose([height[place == 0].min(), height[place == 1].max()], [84, 93])
