"""Slides out of the built pages: one file for each chapter, for a beamer, without a network.

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

from bs4 import BeautifulSoup, NavigableString, Tag  # which comes with the theme

_HERE = Path(__file__).parent
_END = re.compile(r"(?<=[.!?])(?=\s)|(?<=[.!?])$|:$")
_POINTS = 4  # sentences on a slide
_CODE_LINES = 14  # more do not fit
_WHOLE = "figure, .cell_output, .pst-scrollable-table-container, div.proof"
_FOLDED = ".dropdown, .toggle, .tag_hide-input"
_SKIPPED = {"Exercises", "Solutions", "What to read next"}


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


def blocks(section: Tag) -> Iterator[tuple[str, str]]:
    """Yield what a section itself holds: ("point", "formula" or "whole", HTML)."""
    for part in section.find_all(recursive=False):
        if part.css.match(_FOLDED):
            continue
        if part.name == "p":
            yield "point", first_sentence(part)
        elif part.name in ("ul", "ol"):
            for item in part.find_all("li", recursive=False):
                yield "point", first_sentence(item.p or item)
        elif part.css.match("div.math"):
            yield "formula", str(part)
        elif part.css.match(_WHOLE):
            yield "whole", str(part)
        elif part.css.match(".cell"):
            for piece in part.select(".cell_input, .cell_output"):
                lines = piece.get_text().strip().count("\n") + 1
                if piece.css.match(".cell_output") or lines <= _CODE_LINES:
                    yield "whole", str(piece)


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
        made += [head + text for text in _packed(section)] or [head]
    return made


def _packed(section: Tag) -> Iterator[str]:
    held: list[str] = []  # what stands together: sentences, and the formulas between them
    for kind, text in [*blocks(section), ("end", "")]:
        if held and (kind in ("whole", "end") or len(held) == _POINTS):
            yield "".join(held).replace("</ul><ul>", "")
            held = []
        if kind == "point":
            held.append(f"<ul><li>{text}</li></ul>")
        elif kind == "formula":
            held.append(text)
        elif kind == "whole":
            yield text


def write_slides(html: Path, folder: Path, names: list[str]) -> list[Path]:
    """Write the slides of some chapters and return their files.

    Args:
        html: the built pages.
        folder: for the slides; what was there is replaced.
        names: of the chapters, such as "small_system".
    """
    shutil.rmtree(folder, ignore_errors=True)
    for name in ("_static", "_images"):
        shutil.copytree(html / name, folder / name)
    for name in ("slides.css", "slides.js"):
        shutil.copy(_HERE / name, folder / "_static")
    written = []
    for name in names:
        page = (html / "chapters" / f"{name}.html").read_text(encoding="utf-8")
        settings = re.search(r"<script>window\.MathJax = .*?</script>", page, re.DOTALL)
        made = slides_of(page)
        title = BeautifulSoup(made[0], "html.parser").h1.get_text()
        body = "".join(f'<section class="slide">{slide}</section>' for slide in made)
        text = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>
<meta name="viewport" content="width=device-width">
<link rel="stylesheet" href="_static/pygments.css">
<link rel="stylesheet" href="_static/slides.css">
{settings.group() if settings else ""}
<script defer src="_static/tex-svg-full.js"></script>
<script defer src="_static/slides.js"></script>
</head><body><main>{body}</main></body></html>
"""
        written.append(folder / f"{name}.html")
        written[-1].write_text(text, encoding="utf-8")
    return written
