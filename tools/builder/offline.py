"""Check that built pages load nothing from another host.

Every build makes this check. It reads the attributes of tags, and everywhere the address that
follows a loading call of a style sheet or a script. It cannot see an address that a script composes
at run time: for that the tests open pages in a browser with the network refused
(`tests/book/visits.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from bs4 import BeautifulSoup  # installed with the theme

# A browser takes \ for / and skips white space; "//host" and "https:host" are addresses, too.
_OUTSIDE = re.compile(r"\s*(?:(?:https?|wss?|ftp):|[\\/]{2})", re.IGNORECASE)
_URL = re.compile(r"""(?:url\(|@import)\s*["']?\s*((?:https?:|//)[^"')\s;]*)""", re.IGNORECASE)
_CALL = re.compile(
    r"""(?:\b(?:fetch|import|importScripts|WebSocket|EventSource|Worker|open|load)\s*\(\s*
    |\.\s*(?:src|href|location)\s*=\s*|\bfrom\s+)["'`]((?:https?:|wss?:|//)[^"'`]*)""",
    re.VERBOSE,
)
# Attributes that are text, names, or links that a reader has to click.
_HARMLESS = re.compile(
    r"alt|cite|class|content|id|label|name|placeholder|style|title|value|aria-.*|on.*|xmlns.*"
)
_PAGE_LINKS = {"alternate", "author", "canonical", "help", "license", "next", "prev", "search"}


def outside_loads(html: Path) -> Iterator[str]:
    """Yield the addresses on other hosts that pages, style sheets and scripts would load."""
    for path in sorted(html.rglob("*")):
        if path.suffix in (".html", ".css", ".js"):
            text = path.read_text(encoding="utf-8", errors="replace")
            found = _URL.findall(re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL))
            found += _CALL.findall(text)
            if path.suffix == ".html":
                found += _in_attributes(text)
            for address in found:
                yield f"{path.relative_to(html)}: {address}"


def _in_attributes(text: str) -> Iterator[str]:
    for tag in BeautifulSoup(text, "html.parser").find_all(True):
        clicked = tag.name in ("a", "area")
        named = tag.name == "link" and set(tag.get_attribute_list("rel")) <= _PAGE_LINKS
        for name, value in tag.attrs.items():
            if _HARMLESS.fullmatch(name) or named or (clicked and name.endswith("href")):
                continue
            words = " ".join(value) if isinstance(value, list) else value
            parts = re.split(r"[\s,]+", words) if name.endswith("srcset") else [words]
            yield from filter(_OUTSIDE.match, parts)
