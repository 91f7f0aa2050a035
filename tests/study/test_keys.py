"""Facts about keys: every change of what a run computes changes its key, and no other does."""

import ast
import shutil

import pytest

from study import keys
from study.keys import PACKAGE, code_digest, find_closure
from study.plans import tasks
from study.runner import key_of

PROTOCOL = ("study.protocol",)
CLOSURE = find_closure(PROTOCOL).modules


@pytest.fixture
def package(tmp_path):
    """A copy of the package, whose source may be changed."""
    copy = tmp_path / "gt2lite"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__", "data"))
    yield copy
    keys._read.cache_clear()
    code_digest.cache_clear()


def digest(package, code=PROTOCOL):
    keys._read.cache_clear()
    code_digest.cache_clear()
    return code_digest(code, package)


def edit(package, module, change):
    path = keys._path(module, package)
    before = path.read_text()
    path.write_text(change(before))
    assert path.read_text() != before
    return path


class _Other(ast.NodeTransformer):
    """Changes the first number or comparison that decides something, or else adds a line."""

    def __init__(self):
        self.done = False

    def visit_Constant(self, node):
        if not self.done and isinstance(node.value, (int, float)) and node.value is not True:
            self.done = True
            return ast.Constant(node.value + 1)
        return node


def other_behaviour(text):
    tree = _Other().visit(ast.parse(text))
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n_CHANGED = 1\n"


def test_a_copy_has_the_digest_of_the_original(package):
    assert digest(package) == code_digest(PROTOCOL)


@pytest.mark.slow
def test_a_change_of_behaviour_anywhere_in_the_closure_changes_the_key(package):
    plain = digest(package)
    for module in CLOSURE:
        path = keys._path(module, package)
        before = path.read_text()
        edit(package, module, other_behaviour)
        assert digest(package) != plain, module
        path.write_text(before)
    assert digest(package) == plain


def test_no_change_of_a_module_outside_the_closure_changes_it(package):
    plain = digest(package)
    outside = [
        ".".join(["gt2lite", *path.relative_to(package).with_suffix("").parts])
        for path in sorted(package.rglob("*.py"))
        if path.name != "__init__.py"
    ]
    outside = [module for module in outside if module not in CLOSURE]
    assert {"study.store", "study.runner", "study.keys"} < set(outside)
    assert {"study.claims", "gt2lite.plots.style", "gt2lite.regressor"} < set(outside)
    for module in outside:
        edit(package, module, other_behaviour)
    assert digest(package) == plain


def test_docstrings_comments_and_the_order_of_imports_do_not_count(package):
    plain = digest(package)

    def prose(text):
        body = ast.parse(text).body
        first = ast.get_source_segment(text, body[0])
        return text.replace(first, '"""Another docstring."""', 1) + "\n# a comment\n"

    def backwards(text):
        lines = text.splitlines()
        where = [i for i, line in enumerate(lines) if line.startswith("from gt2lite.")]
        where = [i for i in where if not lines[i].endswith("(")]
        for i, line in zip(where, [lines[i] for i in reversed(where)], strict=True):
            lines[i] = line
        return "\n".join(lines) + "\n"

    edit(package, "gt2lite.training", prose)
    edit(package, "study.protocol", backwards)
    edit(
        package,
        "gt2lite.calibration.paper",
        lambda text: text.replace(
            "from gt2lite._validation import Array, between",
            "from gt2lite._validation import between, Array",
        ),
    )
    assert digest(package) == plain


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("import numpy as np", "import numpy as np, autograd.numpy as anp"),
        (
            "from gt2lite.training import init_params",
            "from gt2lite.training import _kmeans as init_params",
        ),
    ],
)
def test_what_is_imported_under_which_name_counts(package, before, after):
    plain = digest(package)
    edit(package, "gt2lite.training", lambda text: text.replace(before, after, 1))
    assert digest(package) != plain


def test_an_import_inside_a_function_counts_and_one_for_type_checkers_does_not(package):
    (package / "extra.py").write_text("FACTOR = 2\n")
    plain = digest(package)
    hint = "\nif TYPE_CHECKING:\n    from gt2lite.extra import FACTOR\n"
    path = edit(package, "gt2lite.metrics", lambda text: text + hint)
    assert digest(package) == plain
    path.write_text(path.read_text() + "\ndef f():\n    from gt2lite.extra import FACTOR\n")
    lazy = digest(package)
    assert lazy != plain
    (package / "extra.py").write_text("FACTOR = 3\n")
    assert digest(package) not in (plain, lazy)


def test_relative_imports_lead_to_the_same_modules(package):
    (package / "study" / "extra.py").write_text(
        "from ..metrics import rmse\nfrom . import design\n"
    )
    found = find_closure(["study.extra"], package).modules
    assert {"gt2lite.metrics", "study.design"} < set(found)


def test_a_name_from_the_front_door_is_refused_because_it_hides_its_home(package):
    (package / "extra.py").write_text("from gt2lite import load_dataset\n")
    with pytest.raises(ValueError, match="by its path"):
        find_closure(["gt2lite.extra"], package)
    with pytest.raises(ValueError, match="no module"):
        find_closure(["gt2lite.nowhere"], package)


def test_versions_of_the_packages_behind_a_run_count_and_those_of_bystanders_do_not(monkeypatch):
    plain = code_digest(PROTOCOL)
    versions = {"numpy": "0", "scipy": "0", "autograd": "0"}
    really = keys._version
    for name in versions:
        monkeypatch.setattr(keys, "_version", lambda p, name=name: "0" if p == name else really(p))
        code_digest.cache_clear()
        assert code_digest(PROTOCOL) != plain, name
    monkeypatch.setattr(keys, "_version", lambda p: pytest.fail(p) if p == "tqdm" else really(p))
    code_digest.cache_clear()
    assert code_digest(PROTOCOL) == plain
    assert really("sklearn") not in ("", "absent") and really("no_such_package") == "absent"
    code_digest.cache_clear()


def test_a_key_depends_on_all_that_is_asked():
    task = tasks(["pp"], [0])[0]
    recipe = type(task.recipe)(epochs=5)
    others = tasks(["pp"], [1])[:1] + tasks(["ww"], [0])[:1] + tasks(["pp"], [0])[1:]
    others += tasks(["pp"], [0], mode="authors")[:1] + tasks(["pp"], [0], recipe=recipe)[:1]
    others += tasks(["pp"], [0], nudge=1)[:1]
    assert len({key_of(t) for t in [task, *others]}) == 8
    assert "data" in task.asked()
