"""Fixtures that several folders share, and settings that must stand before any import."""

from __future__ import annotations

import importlib
import os

import numpy as np
import pytest
from javascript import import_browser, skip_without

# scikit-learn skips one of its checks of estimators unless SciPy was told this at import.
os.environ.setdefault("SCIPY_ARRAY_API", "1")


@pytest.fixture(scope="session")
def data():
    """900 rows with inputs in mixed units, and their targets."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=(900, 3))
    y = 1e4 + 500 * (z[:, 0] + np.sin(2 * z[:, 1]) + 0.3 * rng.normal(size=900))
    return z * [1.0, 100.0, 1e-3] + [0.0, 5000.0, 1.0], y


@pytest.fixture
def ax():
    """Axes in the look of the book, drawn at the end."""
    plt = pytest.importorskip("matplotlib.pyplot", reason="needs the extra `plot`")
    plots = importlib.import_module("gt2lite.plots")
    with plt.style.context(plots.STYLE):
        figure, axes = plt.subplots()
        yield axes
        figure.canvas.draw()  # a figure that cannot be drawn is no figure
        plt.close(figure)


@pytest.fixture
def check_axes(ax):
    """Tell whether a figure function returned its axes, both labelled, without a title."""

    def check(returned):
        assert returned is ax
        assert ax.get_xlabel()
        assert ax.get_ylabel()
        assert not ax.get_title()

    return check


@pytest.fixture(scope="module")
def chromium():
    """A browser without a window."""
    browser = import_browser()
    if browser is None:
        skip_without("Chromium or Chrome on the PATH, and the extras `book` and `dev`")
    with browser.chromium() as opened:
        yield opened
