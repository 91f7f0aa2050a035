"""One visit of a page in a browser with the network refused, for all that the tests check.

A server on the loopback is two things at once: it serves a folder, and it is the proxy of the
browser. As a proxy it refuses every request and records it, so that nothing leaves unseen.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager, suppress
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from tinybook import ROOT, source

from gt2lite.plots import STYLE

PAGES = [p.relative_to(ROOT).with_suffix("").as_posix() for p in source.documents(ROOT)]
# pages of the reference come from one template and are long: one stands for all without figures
VISITED = [page for page in PAGES if "/api/" not in page]
VISITED += ["chapters/api/estimators", "chapters/api/plots", "search"]

# The accessibility audit takes seconds a page; these have every kind of element between them.
AUDITED = {
    *("index", "search", "chapters/small_system", "chapters/results", "chapters/quick_start"),
    *("chapters/play", "chapters/lab", "chapters/glossary", "chapters/api/estimators"),
}


def address(site, page):
    return (site / f"{page}.html").as_uri()


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


# ------------------------------------------------------- on a phone and on paper

# Every box of the text whose content is wider than it is, without a visible way to the rest: a box
# that scrolls, that the keyboard reaches, and that fades out or has a word beside it.
CUT = """() => {
  const found = [];
  const silent = "mjx-assistive-mml, svg, script, style, .toggle-hidden, button";
  for (const box of document.querySelectorAll("article.bd-article, article.bd-article *")) {
    if (box.closest(silent) || !box.clientWidth) continue;
    const style = getComputedStyle(box);
    if (style.overflowX === "visible" || box.clientWidth <= 2) continue;
    const picture = box.matches("mjx-container") && box.querySelector("svg");
    const wide = picture ? picture.getBoundingClientRect().width : box.scrollWidth;
    if (box.matches(".math") || wide <= box.clientWidth + 1) continue;
    const scrolls = ["auto", "scroll"].includes(style.overflowX) && box.tabIndex >= 0;
    const shown = box.matches(".book-scrolls") && style.maskImage !== "none";
    if (!(scrolls && shown))
      found.push(`${box.tagName}.${box.className}: ${box.textContent.trim().slice(0, 60)}`);
  }
  return found;
}"""

# Text below 9 pixels: that of the page, that of drawings (whose scale counts), and that of
# pictures. Letters in a picture cannot be measured, but all figures are drawn with one size of
# letters or a larger one (`tests/plots/test_plots.py`): what a page does to a picture's
# width it does to them.
TINY = """(figureFont) => {
  const found = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const [node, parent] = [walk.currentNode, walk.currentNode.parentElement];
    if (!node.data.trim() || parent.closest("script, style, noscript, mjx-container")) continue;
    if (!parent.getClientRects().length) continue;
    const scale = parent.ownerSVGElement ? parent.getScreenCTM().a : 1;
    const size = parseFloat(getComputedStyle(parent).fontSize) * scale;
    if (size && size < 9) found.push(`${size.toFixed(1)} px: ${node.data.trim().slice(0, 40)}`);
  }
  for (const picture of document.querySelectorAll(".cell_output img:not(.gt2-still)")) {
    if (!picture.clientWidth || !picture.naturalWidth) continue;
    const size = (2 * figureFont * picture.clientWidth) / picture.naturalWidth;
    if (size < 9) found.push(`${size.toFixed(1)} px: ${picture.alt.slice(0, 40)}`);
  }
  return found;
}"""

FIGURE_FONT = STYLE["font.size"] * STYLE["figure.dpi"] / 72
"""The size of letters in figures, in pixels of the figure."""

OFF_PAPER = """() => {
  const found = [];
  const edge = document.querySelector("article.bd-article")?.getBoundingClientRect().right ?? 1e9;
  for (const node of document.querySelectorAll(
      "article.bd-article table, article.bd-article .math svg, article.bd-article img")) {
    if (node.closest(".toggle-hidden, .gt2-live") || !node.getClientRects().length) continue;
    const over = Math.round(node.getBoundingClientRect().right - edge);
    if (over > 2) found.push(`${node.tagName}, ${over} px: ${node.textContent.slice(0, 60)}`);
  }
  return found;
}"""


# ------------------------------------------------------------------ the network

SETTLED = 300  # milliseconds after which a page has asked for what it asks by itself
SCROLLED = """async () => {
  const step = window.innerHeight;
  for (let y = 0; y <= document.documentElement.scrollHeight; y += step) {
    window.scrollTo(0, y);
    await new Promise(requestAnimationFrame);
  }
}"""


class _Handler(SimpleHTTPRequestHandler):
    """Serves its folder; refuses and writes down what is meant for another host."""

    def parse_request(self):
        read = super().parse_request()
        outside = read and (self.command == "CONNECT" or not self.path.startswith("/"))
        if outside:
            self.server.refused.append(self.path)
            self.send_error(403)
        return read and not outside

    def log_message(self, *words):
        pass


@contextmanager
def served(folder):
    """Serve `folder` on the loopback, and refuse the rest of the world."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, directory=str(folder)))
    server.refused = []
    thread = threading.Thread(target=server.serve_forever, args=[0.02], daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def is_own(address, folder, host):
    """Tell whether `address` belongs to the page: a file of the folder, or of its server."""
    parts = urlsplit(address)
    if parts.scheme == "file":
        return not parts.netloc and Path(unquote(parts.path)).is_relative_to(folder)
    return parts.scheme in ("data", "blob", "about") or (
        parts.scheme == "http" and parts.netloc == host
    )


@contextmanager
def watched(chromium, server, folder, url, **settings):
    """Yield a new tab for the page at `url`, and a list of what the browser will have asked of
    others, sorted, which is filled when the tab is closed.

    Args:
        chromium: the browser.
        server: the one that `served` gave.
        folder: the pages.
        url: the page that is to be opened.
        settings: of the tab, such as `viewport`.
    """
    host = f"127.0.0.1:{server.server_port}"
    asked, outside = [], []
    server.refused.clear()
    proxy = {"server": f"http://{host}", "bypass": host}
    context = chromium.new_context(proxy=proxy, **settings)
    context.on("request", lambda request: asked.append(request.url))
    tab = context.new_page()
    tab.on("websocket", lambda socket: asked.append(socket.url))
    try:
        yield tab, outside
    finally:
        context.close()
    assert url in asked, f"{url} was not opened"
    found = {address for address in asked if not is_own(address, folder, host)}
    outside += sorted(found | set(server.refused))


def asked_outside(chromium, server, folder, page, way, scale=1):
    """Open a page of `folder` and return what the browser asked of others, sorted.

    Args:
        chromium: the browser.
        server: the one that `served` gave.
        folder: the pages.
        page: the file of a page, below `folder`.
        way: "file" or "http".
        scale: pixels of the screen per pixel of the page, which chooses among pictures.
    """
    from playwright.sync_api import Error

    base = folder.as_uri() if way == "file" else f"http://127.0.0.1:{server.server_port}"
    url = f"{base}/{page.relative_to(folder).as_posix()}"
    with watched(chromium, server, folder, url, device_scale_factor=scale) as (tab, outside):
        with suppress(Error):  # of a page that goes elsewhere by itself: that is written down
            tab.goto(url)
            tab.evaluate("window.MathJax && MathJax.startup && MathJax.startup.promise")
            tab.evaluate(SCROLLED)
        tab.wait_for_timeout(SETTLED)
    return outside


# ---------------------------------------------------------------------- the visit


def look(chromium, site, page) -> dict[str, Any]:
    """Open a page as a file, with the network shut, and return its faults by kind."""
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
                cut, tiny = tab.evaluate(CUT), tab.evaluate(TINY, FIGURE_FONT)
        tab.set_viewport_size({"width": PAPER, "height": 900})
        tab.emulate_media(media="print")
        off_paper = tab.evaluate(OFF_PAPER)
        tab.emulate_media(media="screen")
        tab.set_viewport_size({"width": 1400, "height": 900})
        tab.evaluate(DRAWN)
        light = dark = []
        if page in AUDITED:
            tab.evaluate(THINNED)
            light = axe(tab, WCAG)
            tab.emulate_media(color_scheme="dark")
            tab.wait_for_function("document.documentElement.dataset.theme === 'dark'")
            dark = axe(tab, ["color-contrast"])
    return {
        "errors in the console": errors,
        "requests to other hosts": outside,
        "raw markup": raw,
        "formulas that are not set": unset,
        "pixels to scroll sideways at 390, 768 and 1400": [n for n in overflow if n],
        "cut on a phone without a visible way to the rest": cut,
        "text below 9 pixels on a phone": tiny,
        "wider than a printed page": off_paper,
        "not accessible, light": light,
        "not accessible, dark": dark,
    }
