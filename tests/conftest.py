"""Fixtures that several folders share, and settings that must stand before any import."""

from __future__ import annotations

import importlib
import json
import os
import time

import pytest

# scikit-learn skips one of its checks of estimators unless SciPy was told this at import.
os.environ.setdefault("SCIPY_ARRAY_API", "1")


@pytest.fixture(scope="session")
def once(tmp_path_factory, request):
    """What is made once in a run of the tests: the first worker makes it, the others wait."""
    shared = tmp_path_factory.getbasetemp()
    if hasattr(request.config, "workerinput"):
        shared = shared.parent

    def get(name, make):
        place = shared / name.replace("/", "-")
        made = place / "made.json"
        try:
            place.mkdir()
        except FileExistsError:
            while not made.exists():
                time.sleep(0.1)
        else:
            said = {"error": "it failed in the test that came first"}
            try:
                said = {"value": make()}
            finally:
                (place / "draft").write_text(json.dumps(said), encoding="utf-8")
                (place / "draft").rename(made)  # complete from the moment it is there
        said = json.loads(made.read_text(encoding="utf-8"))
        assert "value" in said, f"{name}: {said['error']}"
        return said["value"]

    return get


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


@pytest.fixture(scope="module", params=["matrix products", "running sums"])
def either_sum(request):
    """Either way to sum in type reduction, which is otherwise chosen by the number of rules."""
    switching = importlib.import_module("gt2lite._fast.switching")
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "running sums":
            patch.setattr(switching, "MATRIX_SUMS_UP_TO", 0)
        yield
