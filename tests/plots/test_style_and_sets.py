"""Figures: they draw what they are given, on the axes they are given."""

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
from gt2lite.memberships import kappa_of, secondary  # noqa: E402

X = np.linspace(-3, 3, 31)
SET = {"c": 0.0, "sigma": 1.0, "s_l": 0.6, "s_r": 0.4}
CUT = {"alpha": 0.3, "x_cut": 0.8}
FLAT = {
    "secondary_membership": lambda ax: plots.secondary_membership(ax, 0.7, 0.6, 0.4, 0.3),
    "at the centre": lambda ax: plots.secondary_membership(ax, 1.0, 0.6, 0.4, 0.3),
    "kappa_curve": lambda ax: plots.kappa_curve(ax, [0.01, 1.0]),
    "alpha_planes": lambda ax: plots.alpha_planes(ax, X, **SET, alphas=[0.01, 0.5]),
    "z_gt2_set": lambda ax: plots.z_gt2_set(ax, X, **SET, **CUT),
}


@pytest.mark.parametrize("draw", FLAT.values(), ids=FLAT)
def test_a_figure_returns_its_axes_with_both_labelled_and_no_title(ax, draw, check_axes):
    check_axes(draw(ax))


def test_the_body_of_a_set_is_drawn_in_three_dimensions():
    figure, axes = plt.subplots(subplot_kw={"projection": "3d"})
    assert plots.z_gt2_surface(axes, X, **SET, **CUT) is axes
    figure.canvas.draw()
    plt.close(figure)


def test_the_marked_plane_ends_where_the_formula_says(ax):
    plots.secondary_membership(ax, 0.7, 0.6, 0.4, 0.3)
    ends = secondary(0.7, kappa_of(0.3), 0.6, 0.4)
    assert_allclose(ax.lines[-1].get_xdata(), ends)
    assert_allclose(ax.lines[-1].get_ydata(), 0.3)


def test_without_matplotlib_the_error_says_what_to_install():
    code = "import sys; sys.modules['matplotlib'] = None; import gt2lite.plots"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "pip install 'gt2lite[plot]'" in done.stderr


def test_no_figure_has_letters_smaller_than_the_style_says():
    """A page at 390 pixels halves a figure: 13 points are 9 pixels there, and less is not read."""
    assert plots.STYLE["font.size"] >= 13
    small = []
    for path in Path(plots.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.keyword) and node.arg in ("fontsize", "labelsize"):
                small.append(f"{path.name}:{node.value.lineno}")
    assert small == []
