"""What we promise: every promise names tests, and every test that is named exists."""

from __future__ import annotations

import re

from tinybook import ROOT

PAGE = ROOT / "chapters" / "promises.md"
PROMISE = re.compile(r"^(?P<title>[A-Z][^\n]*)\n: (?P<text>(?:[^\n]+\n)+)", re.MULTILINE)
NAMED = re.compile(r"`(tests/[\w/.]+\.py)(?:::(\w+))?`")
WITHOUT = {"Elsewhere"}  # it says what is not promised


def promises():
    return {found["title"]: found["text"] for found in PROMISE.finditer(PAGE.read_text("utf-8"))}


def missing(text):
    """Return the tests that a text names and that do not exist."""
    found = []
    for name, test in NAMED.findall(text):
        path = ROOT / name
        written = path.read_text(encoding="utf-8") if path.is_file() else ""
        if not re.search(rf"^def {test}\(" if test else ".", written, re.MULTILINE):
            found.append(f"{name}::{test}")
    return found


def test_every_promise_names_a_test():
    assert len(promises()) > 15
    untested = [title for title, text in promises().items() if not NAMED.search(text)]
    assert set(untested) == WITHOUT


def test_every_test_that_is_named_exists():
    assert missing(PAGE.read_text(encoding="utf-8")) == []


def test_a_test_that_does_not_exist_is_found():
    named = "`tests/test_scales.py::test_nothing`, `tests/test_none.py::test_x`"
    assert len(missing(named)) == 2
    assert missing("`tests/test_scales.py::test_a_power_of_two_changes_no_digit`") == []
