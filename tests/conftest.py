"""What tests share: settings that must stand before any import, and the book, run once."""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from pathlib import Path

import pytest

# scikit-learn skips one of its checks of estimators unless SciPy was told this at import.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

ROOT = Path(__file__).resolve().parents[1]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Let one test build the book at once, and all others that need it come last.

    So one worker builds while another one tests, and none has to wait for the book.
    """
    late = [item for item in items if "quick_run" in getattr(item, "fixturenames", ())]
    builder = next((item for item in late if "site" in item.fixturenames), None)
    others = {id(item) for item in late}
    items[:] = [
        *([builder] if builder else []),
        *(item for item in items if id(item) not in others),
        *(item for item in late if item is not builder),
    ]


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


@pytest.fixture(scope="session")
def quick_run(once):
    """A folder with all chapters executed in the quick profile, and the errors by chapter.

    Chapters that have not changed since the last time are not executed again.
    """
    sys.path.insert(0, str(ROOT / "tools"))
    book = importlib.import_module("book")
    build = ROOT / "_build" / "check" / "_build"  # Jupyter Book insists on the last name

    def execute():
        failed = book.execute(ROOT, build, "quick")
        return {run.job.chapter.name: run.error for run in failed}

    return build, once("quick-run", execute)


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
