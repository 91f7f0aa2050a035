"""Repairs of pages: colours of dark figures, numbers, data frames, code, previews."""

from __future__ import annotations

import colorsys
import importlib
from types import SimpleNamespace

import numpy as np
import pytest
import tinybook  # noqa: F401  skips without the extra `book`
from numpy.testing import assert_allclose

from gt2lite.plots import style

dark = importlib.import_module("builder.dark")
ext = importlib.import_module("builder.sphinx_ext")

PALETTE = (*style.COLORS, style.VERMILION, style.BLACK, style.GREY)


def rgb(color):
    return np.array([[int(color[i : i + 2], 16) for i in (1, 3, 5)]]) / 255


def luminance(color):
    return np.where(color <= 0.04045, color / 12.92, ((color + 0.055) / 1.055) ** 2.4) @ [
        0.2126, 0.7152, 0.0722
    ]  # fmt: skip


def contrast(one, other):
    low, high = sorted(float(luminance(color)[0]) for color in (one, other))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("color", PALETTE)
def test_a_colour_keeps_its_hue_and_stands_out_on_the_dark_page(color):
    before, page = rgb(color), dark.PAGE[None]
    after = dark.darken(before)
    assert contrast(after, page) > min(contrast(before, np.ones((1, 3))), 3)
    hues = [colorsys.rgb_to_hsv(*one[0]) for one in (before, after)]
    if hues[0][1] > 0.1:  # not grey
        assert abs(hues[0][0] - hues[1][0]) < 1 / 24


@pytest.mark.parametrize("color", PALETTE)
def test_what_is_half_transparent_on_white_is_so_on_the_dark_page(color):
    half = dark.darken(0.5 * rgb(color) + 0.5)
    assert_allclose(half, 0.5 * dark.darken(rgb(color)) + 0.5 * dark.PAGE, atol=1e-12)


def test_pages_without_a_number_count_from_1_and_chapters_keep_theirs():
    start, chapter = {"a": (4,), "b": (5,)}, {"c": (2, 1), "d": (2, 2)}
    env = SimpleNamespace(toc_fignumbers={"start": {"figure": start}, "two": {"figure": chapter}})
    ext.number_by_page(None, env)
    assert env.toc_fignumbers["start"]["figure"] == {"a": (1,), "b": (2,)}
    assert env.toc_fignumbers["two"]["figure"] == chapter


def mended(body, page="page"):
    config = SimpleNamespace(root_doc="index", html_title="Book", html_baseurl="https://x.test/")
    app = SimpleNamespace(builder=SimpleNamespace(name="html"), config=config)
    context = {"body": body, "title": "Title"}
    ext.mend(app, page, "", context, None)
    return context


def test_columns_of_words_in_a_data_frame_are_on_the_left():
    body = """<table border="1" class="dataframe"><thead><tr><th></th><th>n</th><th>word</th></tr>
</thead><tbody><tr><th>0</th><td>-1.5</td><td>a</td></tr></tbody></table>"""
    text = mended(body)["body"]
    assert text.count('class="book-words"') == 2
    assert '<td class="book-words">a</td>' in text


def test_long_code_may_break_after_punctuation_only():
    text = mended('<code><span class="pre">reg.predict_interval(X)</span></code>')["body"]
    assert "reg.<wbr>predict_<wbr>interval(<wbr>X)" in text


def test_a_figure_is_there_for_both_themes_and_links_to_itself():
    text = mended('<img alt="words" src="../_images/ab.png" style="width: 9px" />')["body"]
    for name in ("ab.png", "ab-dark.png"):
        assert f'href="../_images/{name}"' in text
        assert f'src="../_images/{name}"' in text
    assert text.count('alt="words"') == 2


def test_a_page_says_what_it_is_about_and_the_first_is_not_called_twice():
    first = mended(
        "<p>Short.</p><p>Intervals of <b>any</b> level &amp; more, in 40 letters.</p>", "index"
    )
    assert first["title"] == "Book: Intervals of any level & more, in 40 letters."
    assert first["docstitle"] == ""
    said = 'name="description" content="Intervals of any level &amp; more, in 40 letters."'
    assert said in first["metatags"]
    assert 'property="og:image" content="https://x.test/_static/headline.png"' in first["metatags"]
