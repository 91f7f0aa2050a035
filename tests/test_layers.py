"""The folder tells the layer: who may import whom, how many rooms there are, and how large."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from layers import Package, cycle, intruders, long_files, private_names, strangers, wrong_ways

import gt2lite

ROOT = Path(__file__).resolve().parents[1]
OUTER = ("study", "plots", "report", "__main__")
APART = {"report": ("study",), "study": ("report",), "plots": ("report", "study")}
DOORS = ("reduction", "system", "training")
MOST_LINES = 350


@pytest.fixture(scope="module")
def package():
    return Package(ROOT / "gt2lite")


def test_the_method_imports_neither_study_nor_plots_nor_report(package):
    assert wrong_ways(package, OUTER) == []


def test_the_report_and_the_study_know_nothing_of_each_other(package):
    assert strangers(package, APART) == []


def test_the_fast_path_is_entered_by_three_modules_at_most(package):
    assert intruders(package, "_fast", DOORS) == []


def test_imports_do_not_go_in_circles(package):
    assert cycle(package) == []


def test_no_private_name_crosses_a_module(package):
    assert private_names(package) == []


def test_there_are_few_rooms_at_the_top(package):
    assert len(package.public()) <= 16, package.public()
    assert len(gt2lite.__all__) <= 16
    for name in gt2lite.__all__:
        assert hasattr(gt2lite, name)


def test_no_file_is_long():
    folders = [ROOT / name for name in ("gt2lite", "tests", "tools", "benchmarks")]
    assert long_files(folders, MOST_LINES) == []


def test_help_works_on_the_base_install():
    code = (
        "import sys\n"
        "for name in ('matplotlib', 'sklearn', 'scipy', 'pandas', 'joblib', 'mapie'):\n"
        "    sys.modules[name] = None\n"
        "import gt2lite\n"
        "help(gt2lite)\n"
        "help(gt2lite.GT2Regressor)\n"
    )
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert run.returncode == 0, run.stderr
    assert "Calibrated prediction intervals" in run.stdout
    assert "n_rules: number of fuzzy rules" in run.stdout


# ------------------------------------------------------------------- the checker can fail

GOOD = {
    "__init__": "from house._version import __version__",
    "_version": "__version__ = '1'",
    "system": "from house._fast.planes import fire\nfrom house import _version as v\nv.__version__",
    "reduction": "import numpy as np",
    "_fast/__init__": "",
    "_fast/planes": "from ._core import step\ndef fire(): return step._replace()",
    "_fast/_core": "def step(): pass",
    "plots/__init__": "from house import system",
    "report/__init__": "",
    "report/page": "from house.plots import system",
    "__main__": "from house.report import page",
    "study/__init__": "",
    "study/claims": "from house.study import paper\nfrom ..system import fire",
    "study/paper": "if TYPE_CHECKING:\n    import house.study.claims",
}
BAD = {
    "method imports study": {"reduction": "from house.study import paper"},
    "method imports plots lazily": {"reduction": "def f():\n    import house.plots as p"},
    "method imports plots by name": {"reduction": "importlib.import_module('house.plots')"},
    "method imports the study relatively": {"reduction": "from .study import paper"},
    "method imports the report": {"reduction": "from house.report import page"},
    "apart: the report imports the study": {"report/page": "from house.study import paper"},
    "apart: the study imports the report": {
        "study/paper": "def f():\n    import house.report.page"
    },
    "a stranger in the fast path": {"study/paper": "from house._fast.planes import fire"},
    "a stranger through the front": {"study/paper": "from house import _fast"},
    "a circle": {"study/paper": "import house.study.claims"},
    "a lazy circle": {"study/paper": "def f():\n    from house.study import claims"},
    "a circle through the top": {"_version": "from house import nothing"},
    "a private name": {"study/paper": "from house.system import _secret"},
    "a private attribute": {"study/paper": "from house import system as s\ns._secret"},
    "a long file": {"study/paper": "\n" * 351},
}


def complaints(folder):
    house = Package(folder)
    return {
        "layers": wrong_ways(house, OUTER),
        "apart": strangers(house, APART),
        "fast": intruders(house, "_fast", DOORS),
        "circle": cycle(house),
        "private": private_names(house),
        "long": long_files([folder], MOST_LINES),
    }


def build(folder, files):
    for name, text in files.items():
        path = folder / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def test_a_good_house_passes(tmp_path):
    assert not any(complaints(build(tmp_path / "house", GOOD)).values())
    assert Package(tmp_path / "house").public() == [
        "plots",
        "reduction",
        "report",
        "study",
        "system",
    ]


@pytest.mark.parametrize("planted", BAD)
def test_a_planted_fault_is_found_and_named(planted, tmp_path):
    found = complaints(build(tmp_path / "house", GOOD | BAD[planted]))
    kind = {
        "method": "layers",
        "apart:": "apart",
        "stranger": "fast",
        "circle": "circle",
        "private": "private",
    }
    expected = {kind[word] for word in planted.split() if word in kind} or {"long"}
    assert {name for name, said in found.items() if said} == expected, found
