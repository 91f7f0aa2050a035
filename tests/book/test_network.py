"""The pages load nothing from another host, in a real browser with the network refused."""

from __future__ import annotations

import importlib
from importlib.util import find_spec

import pytest
import tinybook  # noqa: F401  # finds the tools, or skips
from visits import VISITED, asked_outside, served

browser = importlib.import_module("builder.browser")

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        browser.find_chromium() is None or find_spec("playwright") is None,
        reason="needs playwright, and Chromium or Chrome on the PATH",
    ),
]

HOST = "outside.test"
PLANTED = {
    "nothing": "<img src='none.png'>",
    "image": f'<img src="https://{HOST}/x.png">',
    "style": f'<p style="background: url(http://{HOST}/x.png)">x</p>',
    "frame": f'<iframe src="http://{HOST}/"></iframe>',
    "web socket": f"<script>new WebSocket('ws://{HOST}/')</script>",
    "address in pieces": f"<script>fetch(['http:', '', '{HOST}', ''].join('/'))</script>",
}


@pytest.mark.parametrize(
    ("name", "way"), [*((name, "file") for name in PLANTED), ("nothing", "http"), ("image", "http")]
)
def test_the_browser_shows_every_request_to_another_host(tmp_path, chromium, name, way):
    page = tmp_path / "index.html"
    page.write_text(f'<!doctype html><meta charset="utf-8"><title>x</title>{PLANTED[name]}')
    with served(tmp_path) as server:
        asked = asked_outside(chromium, server, tmp_path, page, way)
    assert any(HOST in address for address in asked) == (name != "nothing")


def test_pages_that_are_not_visited_otherwise_ask_no_other_host(site, chromium):
    seen = {site / f"{name}.html" for name in VISITED}
    with served(site) as server:
        for page in sorted(set(site.rglob("*.html")) - seen):
            assert asked_outside(chromium, server, site, page, "file") == [], page.name
