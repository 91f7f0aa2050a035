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


@pytest.fixture
def tiny_with_commands(tiny):
    """The same with make and tools of its own."""
    from tinybook import add_commands

    add_commands(tiny)
    return tiny


@pytest.fixture(scope="session")
def site(once, quick_run):
    """The folder of the built pages, in the quick profile."""
    from tinybook import ROOT, pages

    build, failed = quick_run
    assert not failed, failed

    def compile_pages():
        executed = build / "executed" / "quick"
        pages.stage(ROOT, executed, build / "stage", banner=pages.QUICK_BANNER)
        pages.compile_pages(build / "stage", build)

    once("site", compile_pages)
    return build / "html"


@pytest.fixture(scope="module")
def chromium():
    """A browser without a window."""
    with importlib.import_module("builder.browser").chromium() as opened:
        yield opened
