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
from typing import Any

from bs4 import BeautifulSoup, NavigableString, Tag  # which comes with the theme

_HERE = Path(__file__).parent
_END = re.compile(r"(?<=[.!?])(?=\s)|(?<=[.!?])$|:$")
_POINTS = 4  # sentences on a slide
_CODE_LINES = 14  # more do not fit
_WHOLE = "figure, .cell_output, .pst-scrollable-table-container, div.proof"
_LEFT_OUT = ".exercise, .solution, .dropdown, .sd-dropdown, .toggle, .tag_hide-input, script, style"
_SKIPPED = {"Exercises", "Solutions", "What to read next"}


def first_sentence(paragraph: Tag) -> str:
    """Return the HTML of a paragraph up to the end of its first sentence.

    >>> first_sentence(BeautifulSoup("<p>One <b>and. Two</b> are. Three is.</p>", "html.parser").p)
    'One <b>and. Two</b> are.'
    """
    taken: list[str] = []
    for part in paragraph.contents:
        if isinstance(part, NavigableString):
            text = str(part)
            found = _END.search(text)
            if found:
                return "".join([*taken, escape(text[: found.start()], quote=False)])
            taken.append(escape(text, quote=False))
        else:
            taken.append(str(part))
    return "".join(taken)


def blocks(section: Tag) -> Iterator[tuple[str, str]]:
    """Yield what a section itself holds: ("point", "formula" or "whole", HTML)."""
    for part in section.find_all(recursive=False):
        if part.name == "section" or re.fullmatch("h[1-6]", part.name) or _matches(part, _LEFT_OUT):
            continue
        if part.name == "p":
            yield "point", first_sentence(part)
        elif part.name in ("ul", "ol"):
            for item in part.find_all("li", recursive=False):
                yield "point", first_sentence(item.p or item)
        elif _matches(part, "div.math"):
            yield "formula", str(part)
        elif _matches(part, _WHOLE):
            yield "whole", str(part)
        elif "cell" in part.get("class", []):
            yield from _cell(part)


def _matches(part: Tag, selector: str) -> bool:
    return bool(part.css.match(selector))


def _cell(cell: Tag) -> Iterator[tuple[str, str]]:
    code = cell.select_one(".cell_input")
    if code and len(code.get_text().strip().splitlines()) <= _CODE_LINES:
        yield "whole", str(code)
    shown = cell.select_one(".cell_output")
    if shown:
        yield "whole", str(shown)


def slides_of(page: str) -> list[str]:
    """Return the slides of a built page, as HTML."""
    article = BeautifulSoup(page, "html.parser").select_one("article")
    if article is None:
        return []
    for link in article.select("a"):
        if link.get_text().strip() in ("#", "¶"):
            link.decompose()  # the mark beside a heading
        else:
            link.unwrap()
    for picture in article.select("img[src]"):
        picture["src"] = re.sub(r"^(\.\./)+", "", str(picture["src"]))
    made: list[str] = []
    for section in article.select("section"):
        heading = section.find(re.compile("h[1-4]"), recursive=False)
        if heading is None or re.sub(r"^[\d.]+\s*", "", heading.get_text().strip()) in _SKIPPED:
            continue
        made += _pack(heading.decode_contents(), blocks(section), section.parent is article)
    return made


def _pack(title: str, parts: Iterator[tuple[str, str]], is_first: bool) -> Iterator[str]:
    level = "h1" if is_first else "h2"
    head = f"<{level}>{title}</{level}>"
    held: list[str] = []  # what stands together: sentences, and the formulas between them
    shown = False
    for kind, text in [*parts, ("end", "")]:
        if held and (kind in ("whole", "end") or len(held) == _POINTS):
            yield head + "".join(held).replace("</ul><ul>", "")
            held, shown = [], True
        if kind == "point":
            held.append(f"<ul><li>{text}</li></ul>")
        elif kind == "formula":
            held.append(text)
        elif kind == "whole":
            yield head + text
            shown = True
    if not shown:
        yield head


def write_slides(html: Path, folder: Path, names: list[str]) -> list[Path]:
    """Write the slides of some chapters and return their files.

    Args:
        html: the built pages.
        folder: for the slides; what was there is replaced.
        names: of the chapters, such as "small_system".
    """
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(html / "_static", folder / "_static")
    if (html / "_images").is_dir():
        shutil.copytree(html / "_images", folder / "_images")
    for name in ("slides.css", "slides.js"):
        shutil.copy(_HERE / name, folder / "_static" / name)
    written = []
    for name in names:
        page = (html / "chapters" / f"{name}.html").read_text(encoding="utf-8")
        made = slides_of(page)
        heading = BeautifulSoup(made[0] if made else "", "html.parser").h1
        title = heading.get_text() if heading else name
        (folder / f"{name}.html").write_text(_document(title, made, page), encoding="utf-8")
        written.append(folder / f"{name}.html")
    return written


def _document(title: str, made: list[str], page: str) -> str:
    told: Any = re.search(r"<script>window\.MathJax = .*?</script>", page, re.DOTALL)
    links = "".join(
        f'<link rel="stylesheet" href="_static/{name}">' for name in ("pygments.css", "slides.css")
    )
    scripts = '<script defer src="_static/tex-svg-full.js"></script>'
    scripts += '<script defer src="_static/slides.js"></script>'
    body = "".join(f'<section class="slide">{slide}</section>' for slide in made)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width">{links}{told.group() if told else ""}'
        f"{scripts}</head><body><main>{body}</main></body></html>\n"
    )
