"""What a phone of 390 pixels and a sheet of paper show, asked of the page itself."""

from __future__ import annotations

from gt2lite.plots import STYLE

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
    const shown = box.matches(".press-scrolls") && style.maskImage !== "none";
    if (!(scrolls && shown))
      found.push(`${box.tagName}.${box.className}: ${box.textContent.trim().slice(0, 60)}`);
  }
  return found;
}"""

# Text below 9 pixels: that of the page, that of drawings (whose scale counts), and that of
# pictures. Letters in a picture cannot be measured, but all figures are drawn with one size of
# letters or a larger one (`tests/plots/test_style_and_sets.py`): what a page does to a picture's
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
