"""The API reference: every public module has its page, made of its docstrings."""

from __future__ import annotations

import importlib
import re
from collections import Counter

import pytest
from tinybook import ROOT

reference = importlib.import_module("builder.sphinx_ext")
source = importlib.import_module("builder.source")

PAGES = sorted(p for p in (ROOT / "chapters" / "api").iterdir() if p.suffix in (".md", ".ipynb"))


def prose(page):
    if page.suffix == ".md":
        return page.read_text(encoding="utf-8")
    return "\n".join(source.text_of(cell) for cell in source.read_notebook(page)["cells"])


def test_every_public_module_is_documented_once():
    text = "\n".join(prose(page) for page in PAGES)
    found = re.findall(r"^\.\. automodule:: (gt2lite\S*)", text, re.MULTILINE)
    public = [name for name, _ in reference.public_modules("gt2lite") if name != "gt2lite"]
    assert Counter(found) == Counter(public)


def test_the_table_of_contents_lists_every_page():
    assert sorted(path for path in source.documents(ROOT) if path.parent.name == "api") == PAGES


def test_a_module_is_listed_by_its_first_sentence(tmp_path):
    path = tmp_path / "module.py"
    path.write_text('"""One that is\nbroken. And `another`.\n\nMore."""\n', encoding="utf-8")
    assert reference.first_sentence(path) == "One that is broken."
    path.write_text("x = 1\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"module\.py has no docstring"):
        reference.first_sentence(path)


@pytest.mark.slow
def test_the_reference_holds_the_methods_of_the_estimators_and_nothing_private(site):
    texts = [(site / f"chapters/api/{page.stem}.html").read_text() for page in PAGES]
    names = set(re.findall(r'id="gt2lite\.([\w.]+)"', "".join(texts)))
    for kind in ("regressor.GT2Regressor", "head.IntervalHead"):
        for method in ("fit", "calibrate", "fit_calibrate", "predict_interval", "save", "load"):
            assert f"{kind}.{method}" in names
    assert not [name for name in names if re.search(r"(^|\.)_", name)]
    assert "Alias for field number" not in "".join(texts)
    assert "set_fit_request" not in "".join(texts)
