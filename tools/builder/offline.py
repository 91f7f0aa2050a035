"""Check that built pages load nothing from another host.

Every build makes this check. It reads the attributes of tags, style sheets, and the string that
follows a loading call in scripts. It cannot see an address that a script composes at run time: for
that the tests open pages in a browser with the network refused (`tests/book/visits.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from bs4 import BeautifulSoup  # installed with the theme

# A browser takes \ for / and skips white space; "//host" and "https:host" are addresses, too.
_OUTSIDE = re.compile(r"\s*(?:(?:https?|wss?|ftp):|[\\/]{2})", re.IGNORECASE)
_CSS_URL = re.compile(r"""(?:url\(|@import)\s*["']?\s*((?:https?:|//)[^"')\s;]*)""", re.IGNORECASE)
_CALL = re.compile(
    r"""(?:\b(?:fetch|import|importScripts|WebSocket|EventSource|Worker|open|load)\s*\(\s*
    |\.\s*(?:src|href|location)\s*=\s*|\bfrom\s+)["'`]((?:https?:|wss?:|//)[^"'`]*)""",
    re.VERBOSE,
)
# Attributes that are text, names, or links that a reader has to click.
_HARMLESS = re.compile(
    r"alt|cite|class|content|id|label|name|placeholder|title|value|aria-.*|xmlns.*"
)
_PAGE_LINKS = {"alternate", "author", "canonical", "help", "license", "next", "prev", "search"}


def outside_loads(html: Path) -> Iterator[str]:
    """Yield the addresses on other hosts that pages, style sheets and scripts would load."""
    for pattern, read in {"*.html": in_page, "*.css": in_style, "*.js": in_script}.items():
        for path in sorted(html.rglob(pattern)):
            for address in read(path.read_text(encoding="utf-8", errors="replace")):
                yield f"{path.relative_to(html)}: {address}"


def in_page(text: str) -> Iterator[str]:
    """Yield what a page with the source `text` would load from another host."""
    for tag in BeautifulSoup(text, "html.parser").find_all(True):
        if tag.name in ("style", "script"):
            yield from (in_style if tag.name == "style" else in_script)(tag.get_text())
        clicked = tag.name in ("a", "area")
        named = tag.name == "link" and set(tag.get_attribute_list("rel")) <= _PAGE_LINKS
        for name, value in tag.attrs.items():
            words = " ".join(value) if isinstance(value, list) else value
            if name == "style":
                yield from in_style(words)
            elif name.startswith("on"):
                yield from in_script(words)
            elif name.endswith("srcset"):
                yield from filter(_OUTSIDE.match, re.split(r"[\s,]+", words))
            elif not (_HARMLESS.fullmatch(name) or named or (clicked and name.endswith("href"))):
                yield from filter(_OUTSIDE.match, [words])


def in_style(text: str) -> Iterator[str]:
    """Yield the addresses that a style sheet loads from another host."""
    yield from _CSS_URL.findall(re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL))


def in_script(text: str) -> Iterator[str]:
    """Yield addresses on other hosts next to a call or an assignment that loads them."""
    yield from _CALL.findall(text)
