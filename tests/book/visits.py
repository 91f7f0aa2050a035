"""One visit of a page in a browser without a network, for all that the tests check on it.

A visit is made on a phone, where most faults show, on paper, on a desk, and there in both themes
with the eyes of an audit of accessibility, unless the page is very long. A thorough one applies all
rules of the audit to a page of any length, and looks at a tablet, too.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit

from gt2lite.plots import STYLE

PHONE, PAPER, TABLET, DESK = 390, 673, 768, 1400  # pixels; A4 without its margins
NOWHERE = "http://127.0.0.1:9"  # a proxy that answers nothing
FIGURE_FONT = STYLE["font.size"] * STYLE["figure.dpi"] / 72  # in pixels of the figure
SIDEWAYS = "pixels to scroll sideways at {}"
HIDDEN = "cut at {} without a visible way to the rest"
BROKEN = "words broken at {}"
OVER = "document.documentElement.scrollWidth - window.innerWidth"
STILL = "*, ::before, ::after { transition: none !important; animation: none !important; }"
WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
AUDITED = 6000  # elements; what is longer repeats rows of tables and entries of the reference
ELEMENTS = "document.querySelectorAll('article.bd-article *').length"
CONTRAST = ["color-contrast", "image-alt", "link-name"]
UNFOLDED = """() => new Promise((done) => {
  for (const node of document.querySelectorAll("details")) node.open = true;
  requestAnimationFrame(() => requestAnimationFrame(done));
})"""

# Text that should have become a formula, wherever a reader would see it.
RAW = r"""() => {
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = [];
  while (walk.nextNode()) {
    const node = walk.currentNode;
    if (!/\\[a-zA-Z(\[]|\$[^$\s][^$]*\$|\{(glue|eq|cite|numref|doc)/.test(node.data)) continue;
    if (!node.parentElement.closest("script, style, pre, code, mjx-container"))
      found.push(node.data.trim());
  }
  return found;
}"""

UNSET = """() => [...document.querySelectorAll(".math")].filter(
  (node) => !node.querySelector("mjx-container") || node.querySelector("[data-mjx-error]")
).map((node) => node.textContent)"""

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
  for (const picture of document.querySelectorAll("article.bd-article img.dark-light")) {
    if (!picture.clientWidth || !picture.naturalWidth) continue;
    const size = (2 * figureFont * picture.clientWidth) / picture.naturalWidth;
    if (size < 9) found.push(`${size.toFixed(1)} px: ${picture.alt.slice(0, 40)}`);
  }
  return found;
}"""

# Words of tables and of code, up to 20 letters, that go on in the next line: columns too narrow.
SPLIT = r"""() => {
  const found = [], range = document.createRange();
  for (const box of document.querySelectorAll("article.bd-article :is(td, th, code)")) {
    if (box.closest("pre, .toggle-hidden") || !box.clientHeight && !box.getClientRects().length)
      continue;
    const walk = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) {
      const node = walk.currentNode;
      if (node.parentElement.closest("mjx-container, svg, style, script")) continue;
      for (const word of node.data.matchAll(/[\p{L}\d_]+/gu)) {
        if (word[0].length > 20) continue;
        range.setStart(node, word.index);
        range.setEnd(node, word.index + word[0].length);
        const tops = [...range.getClientRects()].map((line) => Math.round(line.top));
        if (new Set(tops).size > 1) found.push(word[0]);
      }
    }
  }
  return [...new Set(found)];
}"""

# Tables, formulas and pictures that are wider than a printed page.
OFF_PAPER = """() => {
  const found = [];
  const edge = document.querySelector("article.bd-article")?.getBoundingClientRect().right;
  for (const node of document.querySelectorAll(
      "article.bd-article table, article.bd-article .math svg, article.bd-article img")) {
    if (node.closest(".toggle-hidden, .gt2-live") || !node.getClientRects().length) continue;
    const over = Math.round(node.getBoundingClientRect().right - edge);
    if (over > 2) found.push(`${node.tagName}, ${over} px: ${node.textContent.slice(0, 60)}`);
  }
  return found;
}"""


def audit(tab, rules):
    """Return what axe objects to; MathJax answers for its formulas."""
    from axe_playwright_python.sync_playwright import Axe

    options = {"runOnly": rules, "resultTypes": ["violations"], "preload": False}
    found = Axe().run(tab, {"exclude": [["mjx-container"]]}, options).response["violations"]
    return [f"{fault['id']}: {node['html'][:120]}" for fault in found for node in fault["nodes"]]


def is_own(address, folder):
    """Tell whether `address` is a file of the folder, or part of the page itself."""
    parts = urlsplit(address)
    if parts.scheme == "file":
        return not parts.netloc and Path(unquote(parts.path)).is_relative_to(folder)
    return parts.scheme in ("data", "blob", "about")


def visit(chromium, folder, page, thorough=False):
    """Open a page of `folder` as a file, with the network shut, and return its faults by kind."""
    url = (folder / f"{page}.html").as_uri()
    found, asked, errors = {}, [], []
    phone = {"viewport": {"width": PHONE, "height": 900}, "color_scheme": "light"}
    with chromium.new_context(proxy={"server": NOWHERE}, **phone) as context:
        context.on("request", lambda request: asked.append(request.url))
        tab = context.new_page()
        tab.on("websocket", lambda socket: asked.append(socket.url))
        tab.on("console", lambda m: errors.append(m.text) if m.type == "error" else None)
        tab.on("pageerror", lambda error: errors.append(str(error)))
        tab.goto(url)
        tab.evaluate("window.MathJax && MathJax.startup.promise")
        tab.add_style_tag(content=STILL)
        tab.evaluate(UNFOLDED)
        found["raw markup"] = tab.evaluate(RAW)
        found["formulas that are not set"] = tab.evaluate(UNSET)
        found[HIDDEN.format(PHONE)] = tab.evaluate(CUT)
        found[BROKEN.format(PHONE)] = tab.evaluate(SPLIT)
        found["text below 9 pixels on a phone"] = tab.evaluate(TINY, FIGURE_FONT)
        found[SIDEWAYS.format(PHONE)] = tab.evaluate(OVER)
        tab.set_viewport_size({"width": PAPER, "height": 900})
        tab.emulate_media(media="print")
        found["wider than a printed page"] = tab.evaluate(OFF_PAPER)
        tab.emulate_media(media="screen")
        if thorough:
            tab.set_viewport_size({"width": TABLET, "height": 900})
            found[SIDEWAYS.format(TABLET)] = tab.evaluate(OVER)
        tab.set_viewport_size({"width": DESK, "height": 900})
        tab.evaluate(UNFOLDED)  # and two frames, in which boxes note that they scroll
        found[SIDEWAYS.format(DESK)] = tab.evaluate(OVER)
        found[HIDDEN.format(DESK)] = tab.evaluate(CUT)
        found[BROKEN.format(DESK)] = tab.evaluate(SPLIT)
        if thorough or tab.evaluate(ELEMENTS) <= AUDITED:
            found["not accessible, light"] = audit(tab, WCAG if thorough else CONTRAST)
            tab.emulate_media(color_scheme="dark")
            tab.wait_for_function("document.documentElement.dataset.theme === 'dark'")
            found["not accessible, dark"] = audit(tab, CONTRAST)
    assert url in asked, f"{url} was not opened"
    found["errors in the console"] = errors
    found["requests to other hosts"] = [a for a in asked if not is_own(a, folder)]
    return {kind: faults for kind, faults in found.items() if faults}
