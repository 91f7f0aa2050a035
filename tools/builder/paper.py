"""The book as one PDF: cover, contents with page numbers, vector figures.

The page is printed twice: Chromium cannot number references to pages, so the first copy yields the
pages on which chapters begin.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

_STYLE, _SCRIPT = (Path(__file__).with_name(name) for name in ("paper.css", "paper.js"))
_NUMBER = """(pages) => document.querySelectorAll(".paper-page").forEach((node, i) => {
  node.textContent = pages[i];
})"""
_PRINTED = {"width": 627, "height": 900}  # what the margins leave of A4, in pixels


def cover(root: Path) -> dict[str, Any]:
    """Return what the cover says, from ``CITATION.cff``."""
    citation = yaml.safe_load((root / "CITATION.cff").read_text(encoding="utf-8"))
    title, _, subtitle = citation["title"].partition(": ")
    paper = citation["references"][0]
    writers = " and ".join(f"{a['given-names']} {a['family-names']}" for a in paper["authors"])
    return {
        "title": title,
        "subtitle": subtitle[0].upper() + subtitle[1:],
        "lines": [
            f"The paper: {writers}, “{paper['title']}”, {paper['conference']['name']}.",
            f"Version {citation['version']}, {citation['date-released']}. Text and figures are "
            "under CC BY 4.0, code under the MIT licence.",
            "The book for the browser has more: figures that move, all code, the reference of the "
            "library, and the longest tables.",
        ],
    }


def print_book(browser: Any, page: Path, target: Path, root: Path) -> None:
    """Print the one long page of the book to the PDF `target`."""
    tab = browser.new_page(color_scheme="light", viewport=_PRINTED)
    tab.set_default_timeout(0)
    tab.emulate_media(media="print")
    tab.goto(page.resolve().as_uri())
    tab.add_style_tag(path=_STYLE)
    tab.evaluate("window.MathJax && MathJax.startup.promise")
    chapters = tab.evaluate(_SCRIPT.read_text(encoding="utf-8"), cover(root))
    settings = {"print_background": True, "prefer_css_page_size": True}
    first = pages_of_anchors(tab.pdf(**settings))
    tab.evaluate(_NUMBER, [first[chapter] for chapter in chapters])
    tab.pdf(path=target, outline=True, tagged=True, **settings)
    tab.close()


def pages_of_anchors(pdf: bytes) -> dict[str, int]:
    """Return the pages on which the anchors of links stand, in a PDF that Chromium wrote."""
    page_objects = re.findall(rb"(\d+) 0 obj\s*<</Type /Page\s", pdf)
    numbers = {name: number for number, name in enumerate(page_objects, 1)}
    anchors = re.findall(rb"/([^\s/<>\[\]]+) \[(\d+) 0 R /XYZ", pdf)
    return {name.decode(): numbers[page] for name, page in anchors if page in numbers}
