"""What a browser sees on a page of the book: one visit, for all that the tests ask of it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import phone
from tinybook import ROOT, source
from watch import SCROLLED, served, watched

PAGES = [p.relative_to(ROOT).with_suffix("").as_posix() for p in source.documents(ROOT)]
# pages of the reference come from one template and are long: two stand for all
VISITED = [page for page in PAGES if "/api/" not in page]
VISITED += ["chapters/api/estimator", "chapters/api/study", "search", "genindex"]


def address(site, page):
    return (site / f"{page}.html").as_uri()


@dataclass
class Visit:
    """What a browser saw on a page."""

    errors: list[str]
    outside: list[str]  # what it asked of others
    raw: list[str]
    unset: int
    overflow: list[int]  # pixels, at 390, 768 and 1400
    cut: list[str]  # on a phone, without a visible way to the rest
    tiny: list[str]  # on a phone, text below 9 pixels
    off_paper: list[str]  # wider than a printed page
    light: list[str]
    dark: list[str]


# Text that should have become a formula, wherever a reader would see it.
RAW_LATEX = r"""() => {
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = [];
  while (walk.nextNode()) {
    const node = walk.currentNode;
    if (node.parentElement.closest("script, style, pre, code, mjx-container")) continue;
    if (/\\[a-zA-Z(\[]|\$[^$\s][^$]*\$|\{(glue|eq|cite|numref|doc)/.test(node.data))
      found.push(node.data.trim());
  }
  return found;
}"""
UNSET_MATHS = """() => [...document.querySelectorAll(".math")].filter(
  (node) => !node.querySelector("mjx-container")).length
  + document.querySelectorAll("[data-mjx-error], mjx-merror").length"""
PHONE, PAPER = 390, 673  # pixels; A4 without its margins
DRAWN = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
UNFOLDED = """() => new Promise((done) => {
  for (const node of document.querySelectorAll("details")) node.open = true;
  requestAnimationFrame(() => requestAnimationFrame(done));
})"""
STILL = "*, ::before, ::after { transition: none !important; animation: none !important; }"
WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]


def axe(tab, rules):
    from axe_playwright_python.sync_playwright import Axe

    context = {"exclude": [["mjx-container"]]}  # MathJax answers for those
    found = Axe().run(
        tab, context, {"runOnly": rules, "resultTypes": ["violations"], "preload": False}
    )
    return [
        f"{violation['id']}: {node['html'][:120]}"
        for violation in found.response["violations"]
        for node in violation["nodes"]
    ]


# Formulas, code, rows of tables and strokes of drawings are thousands of nodes of a few kinds: the
# first ones stand for all.
THINNED = """() => {
  for (const kind of ["mjx-container", ".highlight pre"])
    [...document.querySelectorAll(kind)].slice(2).forEach((node) => node.replaceChildren("..."));
  for (const body of document.querySelectorAll("tbody"))
    [...body.rows].slice(4).forEach((row) => row.remove());
  for (const drawing of document.querySelectorAll("svg"))
    [...drawing.querySelectorAll("path, line, circle, rect, polyline, use")].slice(8)
      .forEach((stroke) => stroke.remove());
}"""


def look(chromium, site, page) -> dict[str, Any]:
    """Open a page as a file, with the network shut, and return what there is to see, a `Visit`."""
    desk = {"viewport": {"width": 1400, "height": 900}, "color_scheme": "light"}
    errors: list[str] = []
    url = address(site, page)
    with served(site) as server, watched(chromium, server, site, url, **desk) as (tab, outside):
        tab.on("console", lambda m: errors.append(m.text) if m.type == "error" else None)
        tab.on("pageerror", lambda error: errors.append(str(error)))
        tab.goto(url)
        tab.evaluate("window.MathJax && MathJax.startup.promise")
        tab.evaluate(SCROLLED)
        tab.add_style_tag(content=STILL)
        raw, unset = tab.evaluate(RAW_LATEX), tab.evaluate(UNSET_MATHS)
        overflow = []
        for width in (390, 768, 1400):
            tab.set_viewport_size({"width": width, "height": 900})
            overflow.append(tab.evaluate("document.documentElement.scrollWidth") - width)
            if width == PHONE:
                tab.evaluate(UNFOLDED)
                cut, tiny = tab.evaluate(phone.CUT), tab.evaluate(phone.TINY, phone.FIGURE_FONT)
        tab.set_viewport_size({"width": PAPER, "height": 900})
        tab.emulate_media(media="print")
        off_paper = tab.evaluate(phone.OFF_PAPER)
        tab.emulate_media(media="screen")
        tab.set_viewport_size({"width": 1400, "height": 900})
        tab.evaluate(DRAWN)
        tab.evaluate(THINNED)
        light = axe(tab, WCAG)
        tab.emulate_media(color_scheme="dark")
        tab.wait_for_function("document.documentElement.dataset.theme === 'dark'")
        dark = axe(tab, ["color-contrast"])
    found = Visit(errors, outside, raw, unset, overflow, cut, tiny, off_paper, light, dark)
    return asdict(found)
