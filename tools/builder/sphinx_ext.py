"""Sphinx extension of the book: scripts, styles, repairs of pages, dark figures, the reference.

The pages load nothing from other hosts, and the repository carries no copy of a third-party
library: MathJax, one file that needs no fonts, is taken from the installed package at build time.
The reference is made by autodoc and Napoleon; short names in docstrings become links, and generated
members are left out.
"""

from __future__ import annotations

import re
import textwrap
from html import escape, unescape
from importlib.metadata import files
from pathlib import Path
from typing import Any

from bs4 import BeautifulSoup  # installed with the theme
from sphinx.util.nodes import make_refnode

from builder.dark import write_all

# A page that is opened as a file may not read others: search then lists them without excerpts.
FILE_SEARCH = (
    'if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;'
)
_STYLE, _SCRIPT = (Path(__file__).with_name(name) for name in ("book.css", "book.js"))
_MATHJAX = ("sphinx-mathjax-offline", "tex-svg-full.js")


def add_static_files(app: Any, config: Any) -> None:
    """Let Sphinx copy script, style and MathJax beside the pages; name the book under its logo."""
    config.html_theme_options["logo"] = {"text": config.html_title, "alt_text": "Nested bands"}
    (mathjax,) = (path for path in files(_MATHJAX[0]) or [] if path.name == _MATHJAX[1])
    preview = Path(app.srcdir, "assets", "headline.png")  # the picture in previews of links
    paths = (_STYLE, _SCRIPT, mathjax.locate(), *([preview] if preview.is_file() else []))
    config.html_static_path += [str(path) for path in paths]


def share_handlers(app: Any) -> None:
    """Let the one long page that is printed show all that the many pages show.

    sphinx-exercise registers its nodes for ``singlehtml`` by that name, and Sphinx then no
    longer looks at what others registered for ``html``.
    """
    handlers = app.registry.translation_handlers
    handlers["singlehtml"] = {**handlers.get("html", {}), **handlers.get("singlehtml", {})}


def number_by_page(app: Any, env: Any) -> None:
    """Count figures, tables and exercises of a page without a chapter number from 1."""
    for kinds in env.toc_fignumbers.values():
        for kind, numbers in kinds.items():
            if all(len(number) == 1 for number in numbers.values()):
                kinds[kind] = {name: (i,) for i, name in enumerate(numbers, start=1)}


# --------------------------------------------------------------------------- pages

_FRAME = re.compile(r'<table [^>]*class="dataframe".*?</table>', re.DOTALL)
_PICTURE = re.compile(  # Sphinx links some of them
    r'(?:<a class="[^"]*image-reference" [^>]*>)?'
    r'<img ([^>]*?)src="((?:\.\./)*_images/[^"]+)\.png"([^>]*?) ?/?>(?:</a>)?'
)
_LONG_CODE = re.compile(r'(?<=<span class="pre">)[^<]{12,}(?=</span>)')
_NUMBER = re.compile(r"[-+]?[\d.,]+(e[-+]?\d+)?%?|[-+]?inf|nan|NaN|")
_VIEWPORT = re.compile(r'<meta name="viewport"[^>]*>')


def mend(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Repair a page: what the theme and the extensions leave invalid, cut or unreadable.

    Entries of the bibliography have a role that was withdrawn, long signatures are lists that lack
    their terms, exercises share one id, and data frames have no style. Code may break after
    punctuation. A figure gets its dark variant and a link that enlarges it.
    """
    body = context.get("body", "").replace('role="doc-biblioentry"', 'role="listitem"')
    body = re.sub(r'<dt class="sig .*?</dt>', _as_lines, body, flags=re.DOTALL)
    body = re.sub(r' id="(exercise|solution|proof)-content"', "", body)
    body = _LONG_CODE.sub(lambda found: re.sub(r"([._/(,=-])(?=\w)", r"\1<wbr>", found[0]), body)
    body = _FRAME.sub(_styled, body)
    if app.builder.name == "html":
        body = _PICTURE.sub(_for_both_themes, body)
    context["body"] = body
    about = _first_words(body)
    if page == app.config.root_doc and about:  # instead of the book's name twice
        context["title"], context["docstitle"] = f"{app.config.html_title}: {about}", ""
    tags = _preview(context.get("title", ""), about, app.config.html_baseurl)
    context["metatags"] = _VIEWPORT.sub("", context.get("metatags", "")) + tags


def _as_lines(found: re.Match[str]) -> str:
    text = re.sub(r"</?dl>", "", found.group())
    return text.replace("<dd>", '<span class="sig-line">').replace("</dd>", "</span>")


def _styled(found: re.Match[str]) -> str:
    """Return a data frame as a table of the theme; columns of text are aligned on the left."""
    frame = BeautifulSoup(found[0], "html.parser").table
    frame["class"] = "table book-frame"
    del frame["border"]
    rows = [row.find_all(["th", "td"]) for row in frame.find_all("tr")]
    for column in zip(*rows, strict=True) if len({len(row) for row in rows}) == 1 else ():
        if not all(_NUMBER.fullmatch(cell.get_text()) for cell in column if cell.name == "td"):
            for cell in column:
                cell["class"] = "book-words"
    return str(frame)


def _for_both_themes(found: re.Match[str]) -> str:
    before, source, after = found.groups()
    shown = []
    for kind, name in (("light", source), ("dark", f"{source}-dark")):
        # the theme filters pictures in the dark unless they have this class
        picture = f'<img class="dark-light" loading="lazy" {before}src="{name}.png"{after}/>'
        shown.append(f'<a class="book-figure book-{kind}" href="{name}.png">{picture}</a>')
    return "".join(shown)


def _first_words(body: str) -> str:
    """Return the start of the first paragraph that is more than a few words, as plain text."""
    paragraphs = re.findall(r"<p>(.*?)</p>", body, flags=re.DOTALL)
    texts = (" ".join(re.sub(r"<[^>]*>", "", text).split()) for text in paragraphs)
    about = next((text for text in texts if len(text) > 40), "")
    return textwrap.shorten(unescape(about), 200, placeholder=" ...")


def _preview(title: str, about: str, address: str) -> str:
    """Return the tags from which search engines and messengers make a preview of a page."""
    title = unescape(re.sub(r"<[^>]*>", "", title))
    tags = {"og:site_name": "gt2lite", "og:type": "article", "og:title": title}
    tags |= {"description": about, "og:description": about} if about else {}
    tags |= {"og:image": f"{address}_static/headline.png"} if address else {}
    return "".join(
        f'\n    <meta {"property" if name.startswith("og:") else "name"}="{name}" '
        f'content="{escape(text)}" />'
        for name, text in tags.items()
    )


def finish(app: Any, error: Exception | None) -> None:
    """Write the dark figures; leave one of the theme's viewport tags in each page."""
    if error or app.builder.name != "html":
        return
    folder = Path(app.outdir)
    write_all(folder.glob("_images/*.png"))
    for path in folder.rglob("*.html"):
        head, end, rest = path.read_text(encoding="utf-8").partition("</head>")
        for tag in _VIEWPORT.findall(head)[1:]:
            head = head.replace(tag, "", 1)
        path.write_text(head + end + rest, encoding="utf-8")


# --------------------------------------------------------------------------- reference

_NAMED = {"function", "class", "exception", "data", "module"}  # what a short name may mean
_GENERATED = "Alias for field number"  # all that a NamedTuple says of its fields


def skip_generated(
    app: Any, what: str, name: str, member: Any, skip: bool, options: Any
) -> bool | None:
    """Leave out members that Python or scikit-learn put into a class, not its author."""
    said = getattr(member, "__doc__", None) or ""
    home = getattr(member, "__module__", None) or ""
    return True if said.startswith(_GENERATED) or home.startswith("sklearn.") else None


def find_by_short_name(app: Any, env: Any, node: Any, inside: Any) -> Any:
    """Return a link for a name that is given without its module, if only one thing has it."""
    wanted = node["reftarget"]
    ends = [wanted]
    if wanted.startswith("gt2lite."):
        ends.append(wanted.rpartition(".")[2])  # a name imported into a package
    for end in ends if node.get("refdomain") == "py" else []:
        known = env.get_domain("py").objects.items()
        found = [(n, e) for n, e in known if n.endswith(f".{end}") and e.objtype in _NAMED]
        if len(found) == 1:
            [(name, entry)] = found
            place = (node["refdoc"], entry.docname, entry.node_id)
            return make_refnode(app.builder, *place, inside, name)
    return None


def setup(app: Any) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("config-inited", add_static_files)
    app.connect("builder-inited", share_handlers)
    app.connect("env-check-consistency", number_by_page)
    app.connect("html-page-context", mend)
    app.connect("build-finished", finish)
    app.connect("autodoc-skip-member", skip_generated)
    app.connect("missing-reference", find_by_short_name)
    app.add_css_file(_STYLE.name)
    app.add_js_file(_SCRIPT.name, loading_method="defer")
    app.add_js_file(None, body=FILE_SEARCH)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
