"""What pages would load from elsewhere, as far as it can be read off their files.

Every build makes this check, with or without a browser. It reads every attribute of every tag,
style sheets inside and beside the pages, and in scripts the addresses that stand next to a call
that loads. It cannot see an address that a script puts together from pieces, takes from data or
makes up at run time: for that the tests open every page in a real browser with the network
refused (tests/book/test_network.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from html.parser import HTMLParser
from pathlib import Path

Attributes = dict[str, str]

# Browsers take \ for /, skip tabs and line ends, and need no // after a scheme they know.
_OUTSIDE = re.compile(r"(?:https?|wss?|ftp):|[\\/]{2}", re.IGNORECASE)
# What an attribute may hold because nobody fetches it: text, names, and links to click on.
_TEXT = re.compile(r"alt|cite|class|content|id|label|name|placeholder|title|value|aria-.*|xmlns.*")
_LINKS = {("a", "href"), ("a", "xlink:href"), ("area", "href")}
_NAMES_A_PAGE = {"alternate", "author", "canonical", "help", "license", "next", "prev", "search"}
_SRCSETS = {"srcset", "imagesrcset"}
_REFRESH = re.compile(r"^[\s\d.]*[;,]?\s*(?:url\s*=)?\s*[\"']?(.*)", re.IGNORECASE | re.DOTALL)

_STRING = r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'"""
_CSS = re.compile(
    rf"""/\*.*?\*/|@namespace[^;]*;|(?P<string>{_STRING})|\burl\(\s*(?P<bare>[^"'\s][^)]*)\)""",
    re.IGNORECASE | re.DOTALL,
)
_CSS_ESCAPE = re.compile(r"\\(?:([0-9a-fA-F]{1,6})\s?|(.))", re.DOTALL)

_QUOTED = r"""(["'`])(?P<address>(?:https?:|wss?:|ftp:|[\\/]{2})(?:(?!\1).)*)\1"""
_CALLS = (
    r"\b(?:fetch|import|importScripts|sendBeacon|open|WebSocket|EventSource|Worker|SharedWorker"
    r"|Audio|Request|assign|replace|getJSON|ajax|load|getScript)\s*\(\s*(?:[\"']\w+[\"']\s*,\s*)?"
)
_ASSIGNMENTS = (
    r"(?:\.\s*(?:src|srcset|href|data|poster|action|location)|\blocation)\s*=\s*"
    r"|\bsetAttribute(?:NS)?\s*\([^()]*?,\s*|\bimport\s+(?:[\w*\s{},$]+\s+from\s+)?"
    r"|\bexport\s+[\w*\s{},$]+\s+from\s+"
)
_SCRIPT = re.compile(f"(?:{_CALLS}|{_ASSIGNMENTS}){_QUOTED}")
_RULES = re.compile(_QUOTED)  # in JSON that tells the browser what to load


def outside_fetches(html: Path) -> Iterator[str]:
    """Yield, for each page, style sheet and script, what it would load from another host."""
    readers = {".html": in_page, ".css": in_style, ".js": in_script, ".mjs": in_script}
    for path in sorted(html.rglob("*")):
        read = readers.get(path.suffix.lower())
        if read is not None and path.is_file():
            found = read(path.read_text(encoding="utf-8", errors="replace"))
            yield from (f"{path.relative_to(html)}: {address}" for address in found)


def is_outside(address: str) -> bool:
    r"""Tell whether a browser would look for `address` on another host.

    >>> [is_outside(a) for a in ("pic.png", "#top", "data:,x", "//host/x", r"\\host", "https:host")]
    [False, False, False, True, True, True]
    """
    return _OUTSIDE.match(re.sub(r"[\t\r\n]", "", address).lstrip()) is not None


def in_page(text: str) -> list[str]:
    """Return what the page with the source `text` would load from another host."""
    reader = _Reader()
    reader.feed(text)
    reader.close()
    return reader.outside


def in_style(text: str) -> list[str]:
    """Return the same for a style sheet: the texts and the ``url()`` that point outside."""
    found = []
    for token in _CSS.finditer(text):
        address = token["string"][1:-1] if token["string"] else token["bare"] or ""
        address = _CSS_ESCAPE.sub(_character, address)
        found += [address] if is_outside(address) else []
    return found


def _character(escape: re.Match[str]) -> str:
    return escape[2] if escape[1] is None else chr(min(int(escape[1], 16), 0x10FFFF))


def in_script(text: str) -> list[str]:
    """Return the same for a script: addresses that stand next to a call that loads."""
    return [found["address"] for found in _SCRIPT.finditer(text)]


class _Reader(HTMLParser):
    """Collects what a page would load from elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.outside: list[str] = []
        self._inside = ""
        self._type = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Look at the attributes of a tag."""
        values = {name: value or "" for name, value in attrs}
        self._inside, self._type = tag, values.get("type", "").strip().lower()
        for name, value in values.items():
            self.outside += _in_attribute(tag, name, value, values)

    def handle_data(self, data: str) -> None:
        """Look at the text of a style sheet or a script inside the page."""
        if self._inside == "style":
            self.outside += in_style(data)
        elif self._inside == "script" and self._type in ("importmap", "speculationrules"):
            self.outside += [found["address"] for found in _RULES.finditer(data)]
        elif self._inside == "script":
            self.outside += in_script(data)

    def handle_endtag(self, tag: str) -> None:
        """Leave a style sheet or a script."""
        self._inside = ""


def _in_attribute(tag: str, name: str, value: str, values: Attributes) -> Iterable[str]:
    """Return what the attribute `name` of a tag would load, or send, without a reader's click."""
    if name == "srcdoc":
        return in_page(value)
    if name == "style":
        return in_style(value)
    if name.startswith("on"):
        return in_script(value)
    if name in _SRCSETS:
        return filter(is_outside, re.split(r"[\s,]+", value))
    if name == "ping":
        return filter(is_outside, value.split())
    if tag == "meta" and name == "content":
        refresh = values.get("http-equiv", "").strip().lower() == "refresh"
        return filter(is_outside, _REFRESH.findall(value) if refresh else [])
    if _TEXT.fullmatch(name) or (tag, name) in _LINKS:
        return []
    if tag == "link" and set(values.get("rel", "").lower().split()) <= _NAMES_A_PAGE:
        return []
    styled = in_style(value) if "url(" in value.lower() else []
    return [*filter(is_outside, [value]), *styled]
