"""The page that goes through the paper: what it names exists, and nothing is left out."""

import importlib
import re
from collections import Counter
from functools import reduce
from pathlib import Path

import pytest

from study import claims, paper

ROOT = Path(__file__).resolve().parents[2]
ITEMS, CLAIMS = paper.items(), paper.claims()
PAGES = [path for path in (ROOT / "chapters").rglob("*") if path.suffix in (".md", ".ipynb")]
BOOK = "\n".join(path.read_text(encoding="utf-8") for path in PAGES).replace('\\"', '"')


def found(name):
    """Return the object with a dotted name, of which the longest possible part is a module."""
    words = name.split(".")
    for n in range(len(words), 0, -1):
        try:
            module = importlib.import_module(".".join(words[:n]))
        except ModuleNotFoundError:
            continue
        return reduce(getattr, words[n:], module)
    raise AssertionError(f"no module in {name}")


@pytest.mark.parametrize("name", sorted({name for one in ITEMS.code for name in one.split()}))
def test_every_function_exists(name):
    assert callable(found(name))


def test_every_test_exists():
    named = {test for one in [*ITEMS.tests, *CLAIMS.tests] for test in one.split()}
    assert len(named) > 50
    for file in {test.split("::")[0] for test in named}:
        present = re.findall(r"^def (test_\w+)\(", (ROOT / file).read_text("utf-8"), re.MULTILINE)
        assert {test for test in named if test.split("::")[0] == file} <= {
            f"{file}::{name}" for name in present
        }


@pytest.mark.parametrize("label", sorted({*ITEMS.label, *CLAIMS.label}))
def test_every_label_is_defined_in_the_book(label):
    forms = [f"({label})=", f"$$ ({label})", f":label: {label}", f'"name": "{label}"']
    if label.startswith("tab-"):
        forms += [f'"{label[4:]}"']  # the first argument of `study.pages.table`
    assert sum(form in BOOK for form in forms) == 1, label


def test_a_comment_on_a_departure_has_its_item_and_its_file_the_function():
    comments = Counter()
    for path in [*ROOT.glob("gt2lite/**/*.py"), *ROOT.glob("study/**/*.py")]:
        where = path.relative_to(ROOT).as_posix()
        comments[where] += len(re.findall(r"\bDeviation: ", path.read_text(encoding="utf-8")))
    own = ITEMS[ITEMS.deviation != ""]
    assert Counter(own.deviation) == +comments
    for one in own.itertuples():
        module = one.deviation.removesuffix(".py").replace("/", ".")
        assert one.code.startswith(f"{module}."), one.place
        assert one.verdict != "as printed" and one.note


def test_equations_algorithms_figures_and_tables_of_the_paper_are_complete():
    said = " ".join(ITEMS.place[ITEMS.kind == "equation"])
    assert sorted(map(int, re.findall(r"\((\d+)\)", said))) == list(range(1, 22))
    for kind, names in {
        "algorithm": {f"Algorithm {i}" for i in range(1, 5)},
        "figure": {f"Fig. {i}" for i in (1, 2, 3)},
        "table": {"Table I", "Table II"},
    }.items():
        assert names <= {*ITEMS.place[ITEMS.kind == kind]}


def test_what_differs_from_the_print_says_how_and_has_a_test():
    assert {*ITEMS.verdict} == {"as printed", "misprint", "departure", "left open", "remade here"}
    differs = ITEMS[~ITEMS.verdict.isin(["as printed", "remade here"])]
    assert (differs.note != "").all()
    assert (ITEMS.tests != "").all()
    assert (CLAIMS.tests[CLAIMS.id.isin(claims.CHECKS)] != "").all()
