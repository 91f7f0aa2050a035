"""The browser that prints the book and that the tests look at it with.

It is the system's own Chromium, driven by playwright, which needs no download of its own.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from builder.source import BookError

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
# A sandbox needs rights that a container does not give.
_FLAGS = "--no-sandbox --disable-gpu --disable-background-networking --disable-sync --no-first-run"


def find_chromium() -> str | None:
    """Return the path of the system's Chromium, if it has one."""
    return next((path for path in map(shutil.which, _NAMES) if path), None)


@contextmanager
def chromium() -> Iterator[Any]:
    """Yield a browser without a window; raise a `BookError` if there is no Chromium."""
    from playwright.sync_api import sync_playwright

    path = find_chromium()
    if path is None:
        raise BookError(
            "this needs Chromium or Chrome, and there is none here. "
            "Debian, Ubuntu: apt-get install chromium; macOS: brew install --cask chromium"
        )
    with (
        sync_playwright() as driver,
        driver.chromium.launch(executable_path=path, args=_FLAGS.split()) as browser,
    ):
        yield browser


def print_page(browser: Any, page: Path, target: Path) -> None:
    """Print the page at `page`, on the paper that its style asks for, once its formulas are set."""
    tab = browser.new_page(color_scheme="light")
    tab.goto(page.resolve().as_uri())
    tab.evaluate("window.MathJax && MathJax.startup.promise")
    tab.pdf(
        path=target, print_background=True, outline=True, tagged=True, prefer_css_page_size=True
    )
    tab.close()
