"""Slides out of pages: what becomes of a section, and that they run in a browser."""

from __future__ import annotations

import importlib

import pytest
import tinybook  # noqa: F401  # finds the tools, or skips

slides = importlib.import_module("builder.slides")
browser = importlib.import_module("builder.browser")

PAGE = """<html><head><script>window.MathJax = {"a": 1}</script></head><body><article>
<section><h1>Sets<a class="headerlink" href="#x">#</a></h1>
<p>A set has a <a href="y.html">grade</a>, 0.5 &lt; 1. More of it.</p>
<div class="math">\\(a\\)</div><p>Then:</p>
<div class="exercise admonition"><p>Why?</p></div>
<section><h2>1.1. Planes</h2>
<div class="cell"><div class="cell_input"><pre>x = 1</pre></div>
<div class="cell_output"><figure><img alt="A bell." src="../_images/a.png"></figure></div></div>
<ul><li>One. And more.</li><li><p>Two.</p></li><li>Three</li><li>Four</li><li>Five</li></ul>
</section>
<section><h2>Exercises</h2><p>Not here.</p></section>
<section><h2>Empty</h2></section>
</section></article></body></html>"""


def test_a_section_becomes_sentences_formulas_and_whole_pieces_in_their_order():
    assert slides.slides_of(PAGE) == [
        "<h1>Sets</h1><ul><li>A set has a grade, 0.5 &lt; 1.</li></ul>"
        '<div class="math">\\(a\\)</div><ul><li>Then</li></ul>',
        '<h2>1.1. Planes</h2><div class="cell_input"><pre>x = 1</pre></div>',
        '<h2>1.1. Planes</h2><div class="cell_output"><figure>'
        '<img alt="A bell." src="_images/a.png"/></figure></div>',
        "<h2>1.1. Planes</h2><ul><li>One.</li><li>Two.</li><li>Three</li><li>Four</li></ul>",
        "<h2>1.1. Planes</h2><ul><li>Five</li></ul>",
        "<h2>Empty</h2>",
    ]


def test_long_code_stays_in_the_book():
    assert "x = 1" not in "".join(slides.slides_of(PAGE.replace("x = 1", "x = 1\n" * 15)))


@pytest.fixture
def made(tmp_path):
    (tmp_path / "html" / "_static").mkdir(parents=True)
    (tmp_path / "html" / "chapters").mkdir()
    (tmp_path / "html" / "chapters" / "one.html").write_text(PAGE)
    (path,) = slides.write_slides(tmp_path / "html", tmp_path / "slides", ["one"])
    return path


def test_a_file_brings_style_script_and_the_settings_of_formulas(made):
    text = made.read_text()
    assert 'window.MathJax = {"a": 1}' in text
    assert "<title>SetsA set has" not in text
    for name in ("slides.css", "slides.js"):
        assert (made.parent / "_static" / name).is_file()
        assert f"_static/{name}" in text
    assert "http" not in text


@pytest.mark.browser
@pytest.mark.skipif(browser.find_chromium() is None, reason="no Chromium or Chrome on the PATH")
def test_keys_walk_through_the_slides(made, chromium):
    tab = chromium.new_page()
    tab.goto(made.as_uri())
    count = tab.locator(".press-count")
    for key, told in [("ArrowRight", "2 / 6"), ("End", "6 / 6"), ("ArrowRight", "6 / 6"),
                      ("ArrowLeft", "5 / 6"), ("Home", "1 / 6")]:  # fmt: skip
        tab.keyboard.press(key)
        assert count.inner_text() == told
        assert tab.locator(".slide:visible").count() == 1
    tab.goto(made.as_uri() + "#3")
    tab.reload()
    assert count.inner_text() == "3 / 6"
    tab.close()
