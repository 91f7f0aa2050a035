"""The layers of the package: a module imports only from earlier ones."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gt2lite

ROOT = Path(__file__).resolve().parents[1]
# From the ground up. Modules of one line may not import each other, except inside a package.
LAYERS = [
    ["_version", "_validation", "_progress", "_threads"],
    ["splits"],
    ["memberships", "datasets", "metrics"],
    ["_fast"],
    ["reduction"],
    ["system"],
    ["losses"],
    ["training"],
    ["calibration"],
    ["plots"],
    # the upper storey
    ["practice._sklearn", "practice.presets", "practice.calibrators", "practice.columns"],
    ["practice.types"],
    ["practice.frames", "practice.warnings", "practice.splitting"],
    ["practice.printing", "practice.tables"],
    ["practice.distribution", "practice.model"],
    ["practice.settings", "practice.weights"],
    ["practice.selection", "practice.calibrating", "practice.rules", "practice.model_file"],
    ["practice.explanations"],
    ["practice.regressor"],
    ["practice.adaptive", "practice.head", "practice.scoring", "practice.cv_plus"],
    ["practice.plots"],
    ["practice.report"],
    ["report"],
    ["__main__"],
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
HELPERS = set(LAYERS[0])  # may import each other
# These load names of the upper storey on first use, so that users need not know where they live.
DOORS = {"__init__.py", "plots/__init__.py", "practice/__init__.py"}


def room(parts):
    """Return the module of `LAYERS` that a dotted name belongs to."""
    return ".".join(parts[:2]) if parts[0] == "practice" else parts[0]


def imports(text):
    """Yield the modules of gt2lite that a source imports, also inside functions; not for types."""
    tree = ast.parse(text)
    for_types = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for node in ast.walk(block)
    }
    for node in ast.walk(tree):
        if id(node) in for_types:
            continue
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            head, _, rest = name.partition(".")
            if head in ("gt2lite", "study") and rest:
                yield "study" if head == "study" else room(rest.split("."))


def wrong_imports(module, text):
    """Return the modules that `module` imports from its own layer or a later one."""
    found = {name for name in imports(text) if name != module and name in {*LEVEL, "study"}}
    late = {name for name in found if LEVEL.get(name, 99) >= LEVEL[module]}
    return sorted(late - HELPERS if module in HELPERS else late)


FILES = [path.relative_to(ROOT / "gt2lite") for path in (ROOT / "gt2lite").rglob("*.py")]


def test_a_module_imports_only_from_earlier_layers():
    for path in FILES:
        if path.as_posix() in DOORS:
            continue
        module = room(path.with_suffix("").parts)
        text = (ROOT / "gt2lite" / path).read_text(encoding="utf-8")
        assert wrong_imports(module, text) == [], path


@pytest.mark.parametrize(
    ("module", "text"),
    [
        ("losses", "from gt2lite.training import train"),
        ("losses", "def f():\n    import gt2lite.plots as p"),
        ("calibration", "from gt2lite.practice.rules import Rules"),
        ("practice.head", "from gt2lite.practice import scoring"),
        ("practice.report", "from study import paper"),
    ],
)
def test_a_planted_import_is_found(module, text):
    assert wrong_imports(module, text)


def test_the_package_imports_quickly_without_heavy_modules():
    heavy = {"sklearn", "pandas", "matplotlib", "scipy", "joblib"}
    code = f"import sys, gt2lite; print({heavy} & set(sys.modules))"
    command = [sys.executable, "-c", code]
    run = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    assert run.stdout.strip() == "set()"
    assert all(hasattr(gt2lite, name) for name in gt2lite.__all__)


def test_chapters_find_the_study_from_another_folder(tmp_path):
    """An editable install puts the repository on the path, in JupyterLab and Colab as well."""
    hidden = ("PYTHONPATH", "PYTHONHOME")
    environment = {key: value for key, value in os.environ.items() if key not in hidden}
    code = "import gt2lite, study.pages; print(gt2lite.__file__)"
    command = [sys.executable, "-c", code]
    run = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment
    )
    if "No module named 'gt2lite'" in run.stderr:
        pytest.skip("needs an editable install: pip install -e .")
    assert run.returncode == 0, run.stderr


def modules_entered(call):
    """Return the modules of gt2lite whose functions a call runs, in the order of entry."""
    entered, package = {}, os.path.dirname(gt2lite.__file__) + os.sep

    def profile(frame, event, _):
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(package):
            entered[Path(name).relative_to(package).with_suffix("").as_posix()] = None

    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    return list(entered)


def test_predictions_and_calibrations_stay_on_their_way():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    y = X[:, 0] + 0.1 * rng.normal(size=600)
    reg = gt2lite.GT2Regressor.strong(choose=False, n_systems=1, epochs=20)
    walk = modules_entered(lambda: reg.fit_calibrate(X, y))
    assert not {"practice/rules", "practice/explanations"} & set(walk)
    off = {"training", "losses", "practice/rules", "practice/weights", "practice/settings"}
    for ask in (reg.predict, reg.predict_interval):
        walk = modules_entered(lambda ask=ask: ask(X))
        assert not off & set(walk)
        assert len({name.partition("/")[0] if "_fast" in name else name for name in walk}) <= 13
