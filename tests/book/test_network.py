"""The pages ask nobody else for anything, in a real browser with the network refused."""

from __future__ import annotations

import importlib
import re
from importlib.util import find_spec

import pytest
from planted import HOST, NOT_BY_ITSELF, PLANTED, plant
from tinybook import ROOT
from visits import VISITED
from watch import asked_outside, served

browser = importlib.import_module("builder.browser")

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        browser.find_chromium() is None or find_spec("playwright") is None,
        reason="needs playwright, and Chromium or Chrome on the PATH",
    ),
]


FETCHED = [name for name in PLANTED if name not in NOT_BY_ITSELF]
# by http the browser is watched in the same way: some of the forms show that it is
WAYS = [*((name, "file") for name in FETCHED), *((name, "http") for name in FETCHED[::6])]


@pytest.mark.parametrize(("name", "way"), WAYS)
def test_the_browser_shows_every_request_to_another_host(tmp_path, chromium, name, way):
    page = plant(tmp_path, PLANTED[name])
    with served(tmp_path) as server:
        asked = asked_outside(chromium, server, tmp_path, page, way, scale=2)
    assert any(HOST in address for address in asked)


@pytest.mark.parametrize("way", ["file", "http"])
def test_a_page_that_keeps_to_itself_asks_nobody(tmp_path, chromium, way):
    page = plant(tmp_path, "<img src='none.png'>")
    with served(tmp_path) as server:
        assert asked_outside(chromium, server, tmp_path, page, way) == []


def one_of_each(pages):
    """Return pages that load, between them, every kind of file and script that any page loads."""
    kinds, found = set(), []
    for page in pages:
        text = page.read_text(encoding="utf-8")
        loaded = set(re.findall(r"<(?:script|link|iframe|video|object)\b[^>]*>", text))
        classes = set(re.findall(r'class="([^"]*(?:press|gt2|cell_output|thebe|sd-)[^"]*)"', text))
        loaded = {tag for tag in loaded if not re.search(r'rel="(?:next|prev)"', tag)}  # no loads
        here = {re.sub(r"(?:\.\./)+", "", tag) for tag in loaded} | classes
        if not here <= kinds:
            kinds |= here
            found.append(page)
    return found


@pytest.mark.parametrize(("way", "scale"), [("file", 1), ("http", 2)])
def test_no_page_of_the_book_asks_another_host(site, chromium, way, scale):
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > len(list((ROOT / "chapters").glob("*.ipynb")))
    # most have been opened as files by `test_a_page_asks_no_other_host`; by http, what a page
    # asks for depends on its scripts and pictures: one page with each of them is enough
    seen = {site / f"{name}.html" for name in VISITED}
    pages = [p for p in pages if p not in seen] if way == "file" else one_of_each(pages)
    with served(site) as server:
        asked = {
            page.relative_to(site).as_posix(): found
            for page in pages
            if (found := asked_outside(chromium, server, site, page, way, scale))
        }
    assert asked == {}
