"""The API reference: every public module has its page, made of its docstrings."""

from __future__ import annotations

import importlib
import re
from collections import Counter

from tinybook import ROOT

reference = importlib.import_module("builder.sphinx_ext")
source = importlib.import_module("builder.source")

PAGES = sorted(p for p in (ROOT / "chapters" / "api").iterdir() if p.suffix in (".md", ".ipynb"))


def test_every_public_module_is_documented_once():
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    found = re.findall(r"\.\. automodule:: (gt2lite[\w.]*)", text)
    assert Counter(found) == Counter(reference.public_modules("gt2lite"))


def test_the_table_of_contents_lists_every_page():
    assert sorted(path for path in source.documents(ROOT) if path.parent.name == "api") == PAGES


def test_the_reference_holds_the_methods_of_the_estimators_and_nothing_private(site):
    texts = [(site / f"chapters/api/{page.stem}.html").read_text() for page in PAGES]
    names = set(re.findall(r'id="gt2lite\.([\w.]+)"', "".join(texts)))
    for kind in ("regressor.GT2Regressor", "head.IntervalHead"):
        for method in ("fit", "calibrate", "fit_calibrate", "predict_interval", "save", "load"):
            assert f"{kind}.{method}" in names
    assert not [name for name in names if re.search(r"(^|\.)_", name)]
    assert "Alias for field number" not in "".join(texts)
    assert "set_fit_request" not in "".join(texts)
