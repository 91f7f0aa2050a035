"""What the tests of the book share."""

from __future__ import annotations

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
