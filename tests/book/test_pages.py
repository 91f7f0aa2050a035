"""The built book in a real browser, with the network refused.

The pages are those of `make book`; without them, or after a change of code, the tests skip.
"""

from __future__ import annotations

import importlib
import json
import re
from html.parser import HTMLParser
from importlib.util import find_spec
from urllib.parse import unquote, urlsplit

import pytest
from tinybook import ROOT, source
from visits import VISITED, address, look

if any(find_spec(name) is None for name in ("axe_playwright_python", "playwright")):
    pytest.skip("needs the extra `dev`: pip install 'gt2lite[dev]'", allow_module_level=True)

book = importlib.import_module("book")
browser = importlib.import_module("builder.browser")

CHAPTERS = source.chapters(ROOT)
MOVES = re.compile(
    r"\b(alpha_slider|set_3d|switch_point|calibration_play|switch_drag|rank_play|level_band)\("
)
MOVING = [chapter.document for chapter in CHAPTERS if MOVES.search("\n".join(chapter.code))]

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(browser.find_chromium() is None, reason="no Chromium or Chrome on the PATH"),
]


# Every page


@pytest.mark.parametrize("page", VISITED)
def test_a_page_has_nothing_to_complain_about(page, site, chromium):
    """No error, no other host, no raw markup, accessible, whole on a phone and on paper."""
    found = look(chromium, site, page)
    assert {kind: faults for kind, faults in found.items() if faults} == {}


# Between pages


class Links(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.links, self.anchors, self.alts = [], set(), []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.anchors |= {values[key] for key in ("id", "name") if values.get(key)}
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        if tag == "img":
            self.alts.append(values.get("alt"))


def test_every_link_and_anchor_leads_somewhere(site):
    read = {path: Links(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    broken = []
    for path, page in read.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchor = unquote(parts.fragment)
            known = target.exists() and (
                not anchor or target not in read or anchor in read[target].anchors
            )
            if not known:
                broken.append(f"{path.relative_to(site)}: {link}")
    assert broken == []


def test_every_picture_has_words(site):
    for path in site.rglob("*.html"):
        alts = Links(path.read_text(encoding="utf-8")).alts
        assert all(alts), f"{path.name} has a picture without alt text"


def test_search_works_from_a_folder_of_files(site, chromium):
    tab = chromium.new_page()
    tab.goto(f"{address(site, 'search')}?q=membership")
    chapter = tab.locator("#search-results li", has_text="type-2 sets")  # they come one by one
    chapter.first.wait_for(timeout=10_000)
    tab.close()


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.name)
def test_a_page_offers_its_executed_notebook_and_says_how_to_run_it(site, chapter):
    page = (site / f"{chapter.document}.html").read_text(encoding="utf-8")
    assert f"make chapter NAME={chapter.name}" in re.sub(r"<[^>]*>", "", page)
    name = f"_sources/{chapter.document}.ipynb"
    (download,) = {link for link in Links(page).links if link.endswith(name)}
    offered = json.loads(
        (site / f"{chapter.document}.html").parent.joinpath(download).resolve().read_text()
    )
    ran = [cell for cell in offered["cells"] if cell["cell_type"] == "code"]
    assert all(cell["execution_count"] for cell in ran)
    assert any(cell["outputs"] for cell in ran)


def test_the_home_page_has_a_live_picture_and_three_doors(site):
    text = (site / "index.html").read_text(encoding="utf-8")
    assert "gt2-live" in text
    assert all(f">\n{door}" in text for door in ("Read", "Use", "Teach"))


# What moves


def test_some_page_moves():
    assert MOVING


@pytest.mark.parametrize("page", MOVING)
def test_every_slider_changes_the_picture_by_keyboard(site, chromium, page):
    tab = chromium.new_page(viewport={"width": 1200, "height": 900})
    tab.goto(address(site, page))
    sliders = tab.locator(".gt2-live input[type=range]").all()
    assert sliders
    for slider in sliders:
        element = slider.locator("xpath=ancestor::div[contains(@class, 'gt2-live')]")
        picture = element.locator(".gt2-panels").first
        assert slider.evaluate("node => node.labels[0].textContent.trim()")
        slider.focus()
        before = picture.inner_html(), slider.get_attribute("aria-valuetext")
        at_end = slider.evaluate("node => node.value === node.max")
        slider.press("ArrowLeft" if at_end else "ArrowRight")
        after = picture.inner_html(), slider.get_attribute("aria-valuetext")
        assert after[0] != before[0]
        assert after[1] != before[1]
    assert all(tab.locator(".gt2-live [aria-live=polite]").all_inner_texts())
    assert not tab.locator(".gt2-still").first.is_visible()
    tab.close()


@pytest.mark.parametrize("page", MOVING)
def test_without_scripts_a_still_figure_stands_in(site, chromium, page):
    tab = chromium.new_page(java_script_enabled=False)
    tab.goto(address(site, page))
    still = tab.locator(".gt2-live img.gt2-still")
    assert still.count() == tab.locator(".gt2-live").count() > 0
    for picture in still.all():
        assert picture.is_visible()
        assert picture.bounding_box()["height"] > 100
        assert picture.get_attribute("alt")
    tab.close()


# The PDF


def test_a_page_is_printed(tmp_path, chromium):
    page = tmp_path / "page.html"
    page.write_text("<!doctype html><title>One</title><h1>One</h1>")
    browser.print_page(chromium, page, tmp_path / "one.pdf")
    assert (tmp_path / "one.pdf").read_bytes().startswith(b"%PDF")


def test_without_a_browser_the_answer_comes_before_the_work(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(browser, "find_chromium", lambda: None)
    assert book.main(["pdf"], root=tmp_path) == 1
    assert "apt-get install chromium" in capsys.readouterr().err
