"""The layers of the package: a module imports only from earlier ones."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from modules import draw, imports, room

import gt2lite

ROOT = Path(__file__).resolve().parents[1]
# From the ground up. Modules of one line may not import each other, except inside a package.
LAYERS = [
    ["_version", "_validation", "_progress", "_threads"],
    ["splits"],
    ["memberships", "parameters", "datasets", "metrics"],
    ["_fast"],
    ["reduction"],
    ["system"],
    ["losses"],
    ["recipe"],
    ["training"],
    ["calibration"],
    ["plots"],
    # the upper layer
    ["practice._sklearn", "practice.presets", "practice.columns", "practice.martingales"],
    ["practice.calibrators", "practice.margins"],
    ["practice.types"],
    ["practice.frames", "practice.warnings", "practice.splitting", "practice.families"],
    ["practice.printing", "practice.tables", "practice.gaussian_process"],
    ["practice.bases", "practice.distribution", "practice.model"],
    ["practice.joining", "practice.settings", "practice.weights"],
    ["practice.selection", "practice.calibrating", "practice.rules", "practice.model_file"],
    ["practice.explanations"],
    ["practice.regressor"],
    ["practice.adaptive", "practice.head", "practice.scoring", "practice.cv_plus"],
    ["practice.exchangeability", "practice.shift"],
    ["practice.plots"],
    ["practice.report"],
    ["report"],
    ["__main__"],
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
HELPERS = set(LAYERS[0])  # may import each other
# These load names of the upper layer on first use, so that users need not know where they live.
DOORS = {"__init__.py", "plots/__init__.py", "practice/__init__.py"}


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


def test_the_picture_of_modules_is_that_of_the_code():
    shown = (ROOT / "assets" / "modules.svg").read_text(encoding="utf-8")
    assert shown == draw(ROOT), "draw it again: make pictures"


# Underscore names belong to one class or module

PUBLIC = {"_replace", "_asdict", "_fields", "_repr_html_", "_getframe"}  # of Python and Jupyter
HELPER_MODULES = {"_fast", "_validation", "_threads", "_progress", "_version", "_sklearn"}


def is_private(name):
    return name.startswith("_") and not name.startswith("__") and name not in PUBLIC


def is_own(value):
    """Tell whether an expression is `self`, `cls` or `super()`."""
    return ast.unparse(value) in ("self", "cls", "super()")


def defined_in(node):
    """Return the names that a class defines, in its body or as attributes of `self`."""
    names = set()
    for inside in ast.walk(node):
        if isinstance(inside, ast.FunctionDef | ast.ClassDef):
            names.add(inside.name)
        elif isinstance(inside, ast.Name | ast.Attribute) and isinstance(inside.ctx, ast.Store):
            if isinstance(inside, ast.Name):
                names.add(inside.id)
            elif is_own(inside.value):
                names.add(inside.attr)
    return names


def private_doors(node, own=frozenset()):
    """Yield the underscore names of other classes and modules that a source uses."""
    if isinstance(node, ast.ClassDef):
        own = own | {node.name} | defined_in(node)
    if isinstance(node, ast.Attribute) and is_private(node.attr):
        another_of_this_class = isinstance(node.value, ast.Name) and node.attr in own
        if not (another_of_this_class or is_own(node.value)):
            yield ast.unparse(node)
    elif isinstance(node, ast.Import | ast.ImportFrom):
        whole = [getattr(node, "module", None) or "", *(alias.name for alias in node.names)]
        words = set(".".join(whole).split(".")) - HELPER_MODULES
        if any(map(is_private, words)):
            yield ast.unparse(node)
    for child in ast.iter_child_nodes(node):
        yield from private_doors(child, own)


def test_no_module_uses_private_names_of_another():
    for path in [*(ROOT / "gt2lite").rglob("*.py"), *(ROOT / "study").rglob("*.py")]:
        assert list(private_doors(ast.parse(path.read_text(encoding="utf-8")))) == [], path


@pytest.mark.parametrize(
    "text",
    [
        "def f(reg): return reg._state",
        "class A:\n    def f(self): return self.b._state",
        "class A:\n    _state = 1\nclass B:\n    def f(self, other): return other._state",
        "from gt2lite.system import _ends",
        "from gt2lite._hidden import ends",
        "from gt2lite.system import Planes as P, _ends",
        "import gt2lite.system as system\nsystem._ends()",
    ],
)
def test_a_planted_use_of_a_private_name_is_found(text):
    assert list(private_doors(ast.parse(text)))


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


def test_the_reading_order_in_contributing_states_the_sizes():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`[`\w, ]+`) \| (\d+) \|", text, re.MULTILINE)
    named = [name for names, _ in rows for name in re.findall(r"\w+", names)]
    assert named == [
        name for name in reading_order() if name not in ("datasets", "splits", "plots")
    ]
    for names, lines in rows:
        files = [ROOT / "gt2lite" / f"{name}.py" for name in re.findall(r"\w+", names)]
        found = sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files)
        assert found == pytest.approx(int(lines), rel=0.1), names


def reading_order():
    """Return the modules in the order in which the docstring of the package names them."""
    words = re.findall(r"`(\w+)`", gt2lite.__doc__)
    return words[: words.index("practice")]


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
        assert len({name.partition("/")[0] if "_fast" in name else name for name in walk}) <= 14
