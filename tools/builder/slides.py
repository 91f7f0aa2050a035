"""Slides out of the built pages: one file for each chapter, for offline presentation.

A section becomes a few slides: of each paragraph its first sentence, then each formula, figure,
table, theorem and short piece of code as it stands on the page. Exercises and solutions stay in the
book. Nothing is written twice: who mends a chapter mends its slides.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from html import escape
from pathlib import Path
from string import Template

from bs4 import BeautifulSoup, NavigableString, Tag  # installed with the theme

_HERE = Path(__file__).parent
_END = re.compile(r"(?<=[.!?])(?=\s)|(?<=[.!?])$|:$")
_POINTS = 4  # sentences and formulas on a slide
_CODE_LINES = 14  # more do not fit
_WHOLE = "figure, .cell_output, .pst-scrollable-table-container, div.proof"
_FOLDED = ".dropdown, .toggle, .tag_hide-input"
_SKIPPED = {"Exercises", "Solutions", "What to read next"}


def write_slides(html: Path, folder: Path, names: list[str]) -> list[Path]:
    """Write the slides of the chapters called `names` to `folder` and return their files."""
    shutil.rmtree(folder, ignore_errors=True)
    for name in ("_static", "_images"):
        shutil.copytree(html / name, folder / name)
    for name in ("slides.css", "slides.js"):
        shutil.copy(_HERE / name, folder / "_static")
    template = Template((_HERE / "slides.html").read_text(encoding="utf-8"))
    for name in names:
        page = (html / "chapters" / f"{name}.html").read_text(encoding="utf-8")
        mathjax = re.search(r"<script>window\.MathJax = .*?</script>", page, re.DOTALL)
        slides = "".join(f'<section class="slide">{slide}</section>' for slide in slides_of(page))
        title = BeautifulSoup(slides, "html.parser").h1.get_text()
        parts = {"title": escape(title), "mathjax": mathjax[0] if mathjax else "", "slides": slides}
        (folder / f"{name}.html").write_text(template.substitute(parts), encoding="utf-8")
    return [folder / f"{name}.html" for name in names]


def slides_of(page: str) -> list[str]:
    """Return the slides of a built page, as HTML."""
    article = BeautifulSoup(page, "html.parser").article
    for mark in article.select("a.headerlink"):
        mark.decompose()
    for link in article.select("a"):
        link.unwrap()
    for picture in article.select("img[src]"):
        picture["src"] = picture["src"].removeprefix("../")
    made: list[str] = []
    for section in article.select("section"):
        heading = section.find(re.compile("h[1-4]"), recursive=False)
        if heading is None or re.sub(r"^[\d.]+\s*", "", heading.get_text().strip()) in _SKIPPED:
            continue
        level = "h1" if section.parent is article else "h2"
        head = f"<{level}>{heading.decode_contents()}</{level}>"
        slides = [""]
        held = 0  # points on the last slide
        for text, whole in _blocks(section):
            if slides[-1] and (whole or held == _POINTS):
                slides.append("")
                held = 0
            slides[-1] += text
            held = _POINTS if whole else held + 1  # nothing follows a whole piece
        made += [head + text.replace("</ul><ul>", "") for text in slides]
    return made


def _blocks(section: Tag) -> Iterator[tuple[str, bool]]:
    """Yield what a section itself holds, as HTML, and whether it needs a slide for itself."""
    for part in section.find_all(recursive=False):
        if part.css.match(_FOLDED):
            continue
        if part.name in ("p", "ul", "ol"):
            for item in [part] if part.name == "p" else part.find_all("li", recursive=False):
                yield f"<ul><li>{first_sentence(item.p or item)}</li></ul>", False
        elif part.css.match("div.math"):
            yield str(part), False
        elif part.css.match(_WHOLE):
            yield str(part), True
        elif part.css.match(".cell"):
            for piece in part.select(".cell_input, .cell_output"):
                lines = piece.get_text().strip().count("\n") + 1
                if piece.css.match(".cell_output") or lines <= _CODE_LINES:
                    yield str(piece), True


def first_sentence(paragraph: Tag) -> str:
    """Return the HTML of a paragraph up to the end of its first sentence.

    >>> first_sentence(BeautifulSoup("<p>One <b>and. Two</b> are. Three is.</p>", "html.parser").p)
    'One <b>and. Two</b> are.'
    """
    taken = ""
    for part in paragraph.contents:
        if isinstance(part, NavigableString):
            found = _END.search(part)
            if found:
                return taken + escape(part[: found.start()], quote=False)
            taken += escape(part, quote=False)
        else:
            taken += str(part)
    return taken
