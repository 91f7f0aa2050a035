"""The built book in a real browser, with the network refused.

The pages are those of `make book`; without them, or after a change of code, the tests skip.
"""

from __future__ import annotations

import importlib
import re
import shutil
import subprocess
from importlib.util import find_spec
from urllib.parse import unquote, urlsplit

import pytest
from tinybook import ROOT, source

if any(find_spec(name) is None for name in ("axe_playwright_python", "playwright")):
    pytest.skip("needs axe-playwright-python: pip install --group dev", allow_module_level=True)

from visits import visit

book = importlib.import_module("book")
bs4 = importlib.import_module("bs4")
browser = importlib.import_module("builder.browser")
paper = importlib.import_module("builder.paper")

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(browser.find_chromium() is None, reason="no Chromium or Chrome on the PATH"),
]

CHAPTERS = source.chapters(ROOT)
PAGES = [p.relative_to(ROOT).with_suffix("").as_posix() for p in source.documents(ROOT)]
# pages of the reference come from one template and are long: one stands for all without figures
VISITED = [page for page in PAGES if "/api/" not in page]
VISITED += ["chapters/api/estimators", "chapters/api/plots", "search"]
# between them these have every kind of element
THOROUGHLY = {"index", "search", "chapters/small_system", "chapters/statistics", "chapters/play"}
THOROUGHLY |= {"chapters/api/plots"}


@pytest.mark.parametrize("page", VISITED)
def test_a_page_has_nothing_to_complain_about(page, site, chromium):
    """No error, no other host, no raw markup, whole on a phone and on paper."""
    assert visit(chromium, site, page, page in THOROUGHLY) == {}


HOSTS = {"image.test", "style.test", "frame.test", "socket.test", "pieces.test"}
FAULTY = r"""<!doctype html><html data-theme="dark">
<div style="width: 2000px">wide</div><article class="bd-article">
<p>A $raw$ \formula.</p><span class="math">unset</span>
<div style="overflow: hidden; width: 99px"><p style="width: 900px">cut</p></div>
<p style="font-size: 5px; color: #ddd; background: #eee">tiny and pale</p>
<div style="width: 99px"><table><tr><td style="min-width: 900px">off paper</td></tr></table></div>
<table style="table-layout: fixed; width: 40px"><tr><td style="overflow-wrap: anywhere">broken_word
</td></tr></table><img src="https://image.test/x.png"><p style="background: url(http://style.test/x.png)">x</p>
<iframe src="http://frame.test/"></iframe></article>
<script>new WebSocket("ws://socket.test/"); fetch(["http:", "", "pieces.test", ""].join("/"));
throw Error("planted");</script>"""


def test_a_visit_finds_every_kind_of_fault(tmp_path, chromium):
    (tmp_path / "faulty.html").write_text(FAULTY)
    found = visit(chromium, tmp_path, "faulty", thorough=True)
    assert {urlsplit(address).netloc for address in found["requests to other hosts"]} == HOSTS
    assert len(found) == 15, sorted(found)


# Between pages


def test_every_link_and_anchor_leads_somewhere_and_every_picture_has_words(site):
    pages, anchors = {}, {}
    for path in site.rglob("*.html"):
        page = pages[path] = bs4.BeautifulSoup(path.read_text(), "html.parser")
        anchors[path] = {tag[key] for key in ("id", "name") for tag in page.select(f"[{key}]")}
    broken = []
    for path, page in pages.items():
        for link in page.select("a[href]"):
            parts = urlsplit(link["href"])
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchor = unquote(parts.fragment)
            if not target.exists() or (anchor and anchor not in anchors.get(target, {anchor})):
                broken.append(f"{path.name}: {link['href']}")
        broken += [f"{path.name}: no words: {img}" for img in page("img") if not img.get("alt")]
    assert broken == []


def test_a_page_offers_its_executed_notebook_and_says_how_to_run_it(site):
    for chapter in CHAPTERS:
        text = (site / f"{chapter.document}.html").read_text()
        assert f"make chapter NAME={chapter.name}" in re.sub(r"<[^>]*>", "", text)
        download = f"_sources/{chapter.document}.ipynb"
        assert f'{download}"' in text
        ran = [c for c in source.read_notebook(site / download)["cells"] if "outputs" in c]
        assert all(cell["execution_count"] for cell in ran)
        assert any(cell["outputs"] for cell in ran)


def test_a_figure_follows_the_theme_and_a_press_enlarges_it(site, chromium):
    with chromium.new_page(color_scheme="dark") as tab:
        tab.goto((site / "chapters" / "type2_sets.html").as_uri())
        shown = tab.locator("a.book-figure:visible")
        links = [link.get_attribute("href") for link in shown.all()]
        assert links and all(link.endswith("-dark.png") for link in links)
        shown.first.click()
        box = tab.locator(".book-zoom")
        assert box.locator("img").bounding_box()["width"] > 800
        tab.keyboard.press("Escape")
        box.wait_for(state="hidden")


def test_search_works_from_a_folder_of_files(site, chromium):
    with chromium.new_page() as tab:
        tab.goto(f"{(site / 'search.html').as_uri()}?q=membership")
        chapter = tab.locator("#search-results li", has_text="type-2 sets")  # they come one by one
        chapter.first.wait_for(timeout=10_000)


def test_without_scripts_a_still_figure_stands_in(site, chromium):
    with chromium.new_page(java_script_enabled=False) as tab:
        tab.goto((site / "chapters" / "play.html").as_uri())
        still = tab.locator(".gt2-live img.gt2-still").all()
        assert len(still) == tab.locator(".gt2-live").count() > 0
        for picture in still:
            assert picture.is_visible() and picture.bounding_box()["height"] > 100


# The PDF


def pages_of(pdf):
    """The text of each page."""
    if shutil.which("pdftotext") is None:
        pytest.skip("needs pdftotext, of poppler-utils")
    text = subprocess.run(["pdftotext", "-layout", pdf, "-"], capture_output=True, text=True)
    return text.stdout.split("\f")[:-1]


ONE_PAGE = """<!doctype html><title>Book</title>
<nav class="bd-links" hidden><p class="caption">Start</p>
</nav><article><section><h1>Book</h1><a href="index.html#b">to B</a><a href="gone.html">gone</a>
<div class="toctree-wrapper">
<span id="document-chapters/a"></span><section id="a"><h2>Alpha</h2>
<details><summary>Answer</summary><p>Forty-two</p></details>
<section id="b"><h3>An id twice</h3></section>
<p style="height: 300mm">long</p></section>
<span id="document-chapters/b"></span><section id="b"><h2>Beta</h2></section>
<span id="document-chapters/api/c"></span><section id="c"><h2>Gamma</h2></section>
</div></section></article>"""


def test_the_printed_book_has_a_cover_and_contents_with_the_pages_of_chapters(tmp_path, chromium):
    page, pdf = tmp_path / "page.html", tmp_path / "book.pdf"
    page.write_text(ONE_PAGE)
    paper.print_book(chromium, page, pdf, ROOT)
    cover, contents, *rest = pages_of(pdf)
    assert cover.split()[0] == "gt2lite" and "CC BY 4.0" in cover
    listed = dict(re.findall(r"(Alpha|Beta|Gamma)\s+(\d+)", contents))
    found = {text.split()[0]: number for number, text in enumerate(rest, 3)}
    assert listed == {name: str(found[name]) for name in ("Alpha", "Beta")}
    assert found["Beta"] > found["Alpha"] + 1, "Alpha has more than one page"
    assert "Forty-two" in rest[found["Alpha"] - 3], "nothing unfolds on paper"
    assert all(text.split()[-1] == str(n) for n, text in enumerate(rest, 3)), "page numbers"


def test_without_a_browser_the_answer_comes_before_the_work(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(browser, "find_chromium", lambda: None)
    assert book.main(["pdf"], root=tmp_path) == 1
    assert "apt-get install chromium" in capsys.readouterr().err
