"""The reference: every public module has its page, and the pages come out of docstrings."""

from __future__ import annotations

import importlib
import re
import shutil
from collections import Counter

import pytest
from tinybook import ROOT, pages

reference = importlib.import_module("builder.sphinx_ext")
source = importlib.import_module("builder.source")

PAGES = sorted((ROOT / "chapters" / "api").glob("*.md"))
PUBLIC = [name for name, _ in reference.public_modules("gt2lite")]


def documented():
    """Return how often each module is on a page, by itself or in the list of a package."""
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    alone = re.findall(r"^\.\. automodule:: (\S+)", text, re.MULTILINE)
    listed = re.findall(r"^\.\. module-list:: (\S+)", text, re.MULTILINE)
    return Counter([*alone, *(n for one in listed for n, _ in reference.public_modules(one))])


def test_every_public_module_is_documented_once():
    assert documented() == Counter(name for name in PUBLIC if name != "gt2lite")


def test_the_table_of_contents_lists_every_page():
    assert sorted(path for path in source.documents(ROOT) if path.parent.name == "api") == PAGES


def test_private_modules_are_not_public():
    assert "gt2lite.calibration.base" in PUBLIC
    assert not [name for name in PUBLIC if "._" in name]


@pytest.mark.parametrize(
    ("docstring", "first"),
    [
        ("One sentence.", "One sentence."),
        ("One that is\nbroken. And `another`.", "One that is\nbroken."),
        ("See e.g. this one: it goes on.\n\nMore.", "See e.g. this one: it goes on."),
    ],
)
def test_a_module_is_told_by_its_first_sentence(tmp_path, docstring, first):
    path = tmp_path / "module.py"
    path.write_text(f'"""{docstring}"""\n', encoding="utf-8")
    assert reference.first_sentence(path) == first.replace("\n", " ")


def test_a_module_without_a_docstring_is_named(tmp_path):
    path = tmp_path / "module.py"
    path.write_text("x = 1\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"module\.py has no docstring"):
        reference.first_sentence(path)


@pytest.fixture(scope="module")
def compiled(once, tmp_path_factory):
    """The folder of the compiled pages of the reference, in a book of their own."""

    def make():
        root = tmp_path_factory.mktemp("reference")
        stage, build = root / "stage", root / "_build"
        shutil.copytree(ROOT / "chapters" / "api", stage / "chapters" / "api")
        for name in ("_config.yml", "references.bib"):
            shutil.copy(ROOT / name, stage)
        build.mkdir()
        names = [f"chapters/api/{page.stem}" for page in PAGES]
        text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
        for other in re.findall(r"\{doc\}`/([\w/]+)`", text):  # pages that are not here
            (stage / f"{other}.md").write_text(f"# {other}\n", encoding="utf-8")
            names.append(other)
        (stage / "index.md").write_text("# Reference\n", encoding="utf-8")
        toc = ["format: jb-book", "root: index", "chapters:"]
        toc += [f"- file: {name}" for name in dict.fromkeys(names)]
        (stage / "_toc.yml").write_text("\n".join(toc), encoding="utf-8")
        html = pages.compile_pages(stage, build)  # with warnings as errors
        return {page.stem: (html / f"chapters/api/{page.stem}.html").read_text() for page in PAGES}

    return once("reference", make)


def public_names(thing):
    """Yield what the project itself gives `thing`, a class: without what scikit-learn adds."""
    for name in dir(thing):
        home = getattr(getattr(thing, name), "__module__", None) or ""
        if not name.startswith("_") and home.startswith("gt2lite"):
            yield name


@pytest.mark.slow
def test_the_estimator_page_holds_every_public_name_and_method(compiled):
    estimator = importlib.import_module("gt2lite.estimator")
    names = list(estimator.__all__)
    for kind in (estimator.GT2Regressor, estimator.IntervalHead):
        methods = list(public_names(kind))
        assert "predict_interval" in methods
        names += [f"{kind.__name__}.{method}" for method in methods]
    ids = set(re.findall(r'id="gt2lite\.estimator\.([\w.]+)"', compiled["estimator"]))
    assert sorted(set(names) - ids) == []


@pytest.mark.slow
def test_the_estimator_has_its_settings_methods_and_links(compiled):
    page = compiled["estimator"]
    signature = re.search(r'id="gt2lite.regressor.GT2Regressor">.*?</dt>', page, re.DOTALL)
    assert "n_rules" in signature.group()
    assert "random_state" in signature.group()
    assert 'href="#gt2lite.training.Recipe"' in page
    assert 'href="training.html#gt2lite.training.init_params"' in page
    assert "&gt;&gt;&gt; " in page


@pytest.mark.slow
def test_a_name_that_a_package_hands_on_leads_to_its_home(compiled):
    assert 'href="#gt2lite.calibration.ranked.TwoSidedCalibrator"' in compiled["calibration"]
    # a method is called so, and a module of the study
    assert 'href="study.html#module-study.field.margins"' not in compiled["calibration"]


@pytest.mark.slow
def test_nothing_private_or_generated_shows(compiled):
    asked = re.findall(r"autoclass:: (\S+)", "".join(page.read_text() for page in PAGES))
    for page in compiled.values():
        found = re.findall(r'id="(gt2lite\.(?:[\w.]+\.)?_[\w.]*)"', page)
        assert [name for name in found if not name.startswith(tuple(asked))] == []
        assert "Alias for field number" not in page
        assert "set_fit_request" not in page


@pytest.mark.slow
def test_the_study_lists_its_modules(compiled):
    for name in PUBLIC:
        if name.startswith("study"):
            assert f'id="module-{name}"' in compiled["study"]
