"""Slides of the lectures in `teaching/slides/`: HTML beside the pages of the book.

A lecture is a Markdown file whose slides are parted by lines ``---``. A slide has a heading, with
its minutes in braces, a sentence, a formula, and a figure of the book by its name; what follows
``Note:`` is for the speaker, and the key N shows it. Figures are those of the executed chapters, so
that they agree with the pages; `method` is the drawing of the method in assets/.
"""

from __future__ import annotations

import base64
import re
import shutil
from collections.abc import Mapping
from html import escape
from pathlib import Path
from string import Template
from typing import Any, NamedTuple

from markdown_it import MarkdownIt  # installed with Jupyter Book, as is the other
from mdit_py_plugins.dollarmath import dollarmath_plugin

from builder.source import BookError, read_notebook

_HERE = Path(__file__).parent
_FIGURE = re.compile(r"!\[\]\(([\w-]+)\)")
_HEAD = re.compile(r"\A(#{1,2}) (.+?)(?: \{(\d+)\})?\n")


class Figure(NamedTuple):
    """A figure of an executed chapter, or the drawing of the method."""

    content: bytes
    alt: str
    kind: str = "png"


class Slide(NamedTuple):
    """A slide as HTML, its minutes, and the speaker's note as HTML."""

    html: str
    minutes: int
    note: str


def figures(executed: Path) -> dict[str, Figure]:
    """Return the figures of all executed chapters in a folder, by name."""
    found = {}
    for path in sorted(executed.rglob("*.ipynb")):
        for cell in read_notebook(path)["cells"]:
            settings = cell["metadata"].get("mystnb", {})
            name = settings.get("figure", {}).get("name")
            for output in cell.get("outputs", []) if name else []:
                png = output.get("data", {}).get("image/png")
                if png:
                    alt = settings.get("image", {}).get("alt", "")
                    found[name] = Figure(base64.b64decode(png), " ".join(alt.split()))
    return found


def read_lecture(text: str, known: Mapping[str, Figure], where: str) -> list[Slide]:
    """Return the slides of a lecture; a figure that is not known is an error."""
    markdown = MarkdownIt().enable("table").use(dollarmath_plugin, renderer=_formula)

    def figure(match: re.Match[str]) -> str:
        name = match[1]
        if name not in known:
            raise BookError(f"{where}: there is no figure {name!r}")
        source = f"images/{name}.{known[name].kind}"
        return f'<figure><img src="{source}" alt="{escape(known[name].alt)}"></figure>'

    slides = []
    for part in re.split(r"^---\n", text, flags=re.MULTILINE):
        part = part.strip() + "\n"
        shown, _, note = part.partition("\nNote:")
        head = _HEAD.match(shown)
        if head is None or not note.strip():
            raise BookError(f"{where}: a slide needs a heading and a note: {shown[:60]!r}")
        marks, title, minutes = head.groups()
        body = markdown.render(f"{marks} {title}\n{shown[head.end() :]}")
        body = re.sub(r'<p><img src="([\w-]+)" alt="[^"]*"\s*/?></p>', r"![](\1)", body)
        body = _FIGURE.sub(figure, body)
        slides.append(Slide(body, int(minutes or 0), markdown.render(note.strip())))
    return slides


def _formula(content: str, options: Mapping[str, Any]) -> str:
    left, right = (r"\[", r"\]") if options["display_mode"] else (r"\(", r"\)")
    return f"{left}{escape(content)}{right}"


def write_slides(root: Path, html: Path, executed: Path) -> list[Path]:
    """Write the slides of all lectures beside the pages in `html`, and return their files."""
    target, known = html / "slides", figures(executed)
    shutil.rmtree(target, ignore_errors=True)
    (target / "images").mkdir(parents=True)
    for path in root.glob("assets/method.svg"):
        drawing = path.read_text(encoding="utf-8")
        title = drawing.partition("<title>")[2].partition("</title>")[0]
        known["method"] = Figure(drawing.encode(), title, "svg")
    for name in ("slides.css", "slides.js"):
        shutil.copy(_HERE / name, target)
    template = Template((_HERE / "slides.html").read_text(encoding="utf-8"))
    page = next((html / "chapters").glob("type2_sets.html"), html / "index.html")
    mathjax = re.search(
        r"<script>window\.MathJax = .*?</script>", page.read_text(encoding="utf-8"), re.DOTALL
    )
    made = []
    for path in sorted((root / "teaching" / "slides").glob("*.md")):
        slides = read_lecture(path.read_text(encoding="utf-8"), known, path.name)
        for file in {
            f for slide in slides for f in re.findall(r'src="(images/[^"]+)"', slide.html)
        }:
            (target / file).write_bytes(known[Path(file).stem].content)
        made.append(target / f"{path.stem}.html")
        made[-1].write_text(
            template.substitute(
                title=re.sub("<[^>]+>", "", slides[0].html.partition("</h1>")[0]).strip(),
                mathjax=mathjax[0] if mathjax else "",
                slides="\n".join(map(_section, slides)),
            ),
            encoding="utf-8",
        )
    return made


def _section(slide: Slide) -> str:
    minutes = f'<p class="minutes">{slide.minutes} min</p>' if slide.minutes else ""
    note = f'<aside class="note">{slide.note}</aside>'
    return f'<section class="slide">{slide.html}{minutes}{note}</section>'
