"""Check that built pages load nothing from another host.

Every build makes this check. It reads the attributes of tags, style sheets, and the string that
follows a loading call in our own scripts. It cannot see an address that a script composes at run
time: for that the tests open every page in a browser with the network refused
(`tests/book/test_network.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from bs4 import BeautifulSoup  # installed with the theme

# A browser takes \ for / and skips white space; "//host" and "https:host" are addresses, too.
_OUTSIDE = re.compile(r"\s*(?:(?:https?|wss?|ftp):|[\\/]{2})", re.IGNORECASE)
_CSS_URL = re.compile(
    r"""(?:url\(|@import)\s*["']?\s*((?:https?:|ftp:|//)[^"')\s;]*)""", re.IGNORECASE
)
_CALL = re.compile(
    r"""\b(?:fetch|import|importScripts|WebSocket|EventSource|Worker|sendBeacon|open|load|getScript)
    \s*\(\s*["'`]((?:https?:|wss?:|//)[^"'`]*)"""
    r"""|(?:\.\s*(?:src|href|data|action|location)\s*=\s*|\bfrom\s+)["'`]((?:https?:|//)[^"'`]*)""",
    re.VERBOSE,
)
# Attributes that are text, names, or links that a reader has to click.
_HARMLESS = re.compile(
    r"alt|cite|class|content|id|label|name|placeholder|title|value|aria-.*|xmlns.*"
)
_PAGE_LINKS = {"alternate", "author", "canonical", "help", "license", "next", "prev", "search"}


def outside_loads(html: Path) -> Iterator[str]:
    """Yield the addresses on other hosts that pages, style sheets and scripts would load."""
    readers = {".html": in_page, ".css": in_style, ".js": in_script, ".mjs": in_script}
    for path in sorted(html.rglob("*")):
        read = readers.get(path.suffix.lower())
        if read is not None and path.is_file():
            found = read(path.read_text(encoding="utf-8", errors="replace"))
            yield from (f"{path.relative_to(html)}: {address}" for address in found)


def in_page(text: str) -> Iterator[str]:
    """Yield what a page with the source `text` would load from another host."""
    for tag in BeautifulSoup(text, "html.parser").find_all(True):
        if tag.name == "style":
            yield from in_style(tag.get_text())
        elif tag.name == "script":
            yield from in_script(tag.get_text())
        clicked = tag.name in ("a", "area")
        named = tag.name == "link" and set(tag.get_attribute_list("rel")) <= _PAGE_LINKS
        refresh = tag.name == "meta" and str(tag.get("http-equiv", "")).lower() == "refresh"
        for name, value in tag.attrs.items():
            words = " ".join(value) if isinstance(value, list) else str(value)
            if name == "srcdoc":
                yield from in_page(words)
            elif name == "style":
                yield from in_style(words)
            elif name.startswith("on"):
                yield from in_script(words)
            elif refresh and name == "content":
                yield from filter(_OUTSIDE.match, re.split(r"url\s*=\s*", words, flags=re.I)[1:])
            elif name in ("srcset", "imagesrcset", "ping"):
                yield from filter(_OUTSIDE.match, re.split(r"[\s,]+", words))
            elif _HARMLESS.fullmatch(name) or named or (clicked and name.endswith("href")):
                continue
            elif _OUTSIDE.match(words):
                yield words


def in_style(text: str) -> Iterator[str]:
    """Yield the addresses that a style sheet loads from another host."""
    yield from (found[1] for found in _CSS_URL.finditer(re.sub(r"/\*.*?\*/", "", text, flags=re.S)))


def in_script(text: str) -> Iterator[str]:
    """Yield addresses on other hosts next to a call or an assignment that loads them."""
    yield from (found[1] or found[2] for found in _CALL.finditer(text))
