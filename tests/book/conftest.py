"""Fixtures of the tests of the book."""

from __future__ import annotations

import importlib

import pytest


@pytest.fixture
def tiny(tmp_path):
    """A book with two chapters, which need not be good ones."""
    from tinybook import write_book  # skips where the extra `book` is not installed

    write_book(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def executed():
    """The folder of the executed chapters of the full book, if it is of this state of the code."""
    from tinybook import ROOT, source

    execute = importlib.import_module("builder.execute")
    inputs, folder = execute.shared_inputs(ROOT), ROOT / "_build" / "executed" / "full"
    for chapter in source.chapters(ROOT):
        output = folder / f"{chapter.document}.ipynb"
        if not execute.Job(chapter, {}, output, output, inputs).is_current():
            pytest.skip("needs the built book of this state of the code: make book")
    return folder


@pytest.fixture(scope="session")
def site(executed):
    """The folder of the built pages."""
    html = executed.parents[1] / "html"
    if not (html / "index.html").is_file():
        pytest.skip("needs the built book: make book")
    return html
