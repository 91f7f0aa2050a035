"""What pages would load from elsewhere, read off their files."""

from __future__ import annotations

import importlib

import pytest
import tinybook  # noqa: F401  # finds the tools, or skips
from planted import HOST, PLANTED, UNREADABLE, plant

outside = importlib.import_module("builder.offline")


@pytest.mark.parametrize("name", [name for name in PLANTED if name not in UNREADABLE])
def test_the_files_show_what_they_would_load(tmp_path, name):
    plant(tmp_path, PLANTED[name])
    found = list(outside.outside_fetches(tmp_path))
    assert found
    assert all(HOST in address.replace("\n", "") for address in found)


HARMLESS = """
<a href="https://host/">x</a><a href="#x" title="https://host/">x</a>
<link rel="canonical" href="https://host/"><img src="x.png" alt="http://host/">
<svg xmlns="http://www.w3.org/2000/svg"><a xlink:href="https://host/"><g fill="url(#x)"/></a></svg>
<meta property="og:url" content="https://host/"><meta http-equiv="refresh" content="5; url=x.html">
<form action="search.html"><input value="https://host/"></form>
<img src="data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg'/>" srcset="a.png 1x, b.png 2x">
<p style="background: url(pic.png)" onclick="location.href = 'next.html'">https://host/</p>
<script>const home = "https://host/"; // see https://host/
document.createElementNS("http://www.w3.org/2000/svg", "g"); fetch("x.json");</script>
"""
HARMLESS_STYLE = """
@namespace svg "http://www.w3.org/2000/svg";  /* url(https://host/) */
a { background: url(pic.png) } b { background: url("data:image/svg+xml,<svg xmlns='http://w3'/>") }
"""


def test_links_names_and_texts_are_fine(tmp_path):
    plant(tmp_path, HARMLESS)
    (tmp_path / "x.css").write_text(HARMLESS_STYLE)
    assert list(outside.outside_fetches(tmp_path)) == []


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_a_script_makes_up_is_left_to_the_browser(tmp_path, name):
    plant(tmp_path, PLANTED[name])
    assert list(outside.outside_fetches(tmp_path)) == []
