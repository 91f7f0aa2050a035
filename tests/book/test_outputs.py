"""What a cell puts out as Markdown is part of the page: tables with a number, to refer to."""

from __future__ import annotations

import json
import re

import pytest
import yaml
from tinybook import ROOT, cell, compiled, notebook, write_book

TABLE = r""":::{table} Of {doc}`two`, `code` and $\alpha$.
:name: tab-x

| $\alpha$ | $\lvert b \rvert$ |
|:---|--:|
| 1 | a \| b |
:::
"""


@pytest.fixture
def book_with_a_table(tmp_path):
    """A book whose first chapter puts a table out, and whose pages all refer to it."""
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    ours = config["sphinx"]["config"]
    chosen = {key: ours[key] for key in ("nb_render_markdown_format", "numfig")}
    parse, off = config["parse"], {"execute_notebooks": "off"}
    tiny = {"title": "Tiny", "parse": parse, "execute": off, "sphinx": {"config": chosen}}
    write_book(tmp_path, yaml.safe_dump(tiny))
    parameters = cell("code", "parameters", "seed = 1  # a seed", "parameters")
    shown = cell("code", "shown", "table()", "remove-input")
    data = {"text/markdown": TABLE, "text/plain": "a table"}
    shown["outputs"] = [{"output_type": "display_data", "metadata": {}, "data": data}]
    for name, cells in {"one": [shown], "two": []}.items():
        title = cell("markdown", "title", f"# {name}\n\nSee {{numref}}`tab-x`.")
        content = json.dumps(notebook(title, parameters, *cells))
        (tmp_path / "chapters" / f"{name}.ipynb").write_text(content)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("builder", "files"),
    [("html", ["chapters/one.html", "chapters/two.html"]), ("singlehtml", ["index.html"])],
)
def test_a_table_that_a_cell_puts_out_is_numbered_and_referred_to(
    book_with_a_table, builder, files
):
    html = compiled(book_with_a_table, builder)
    texts = [(html / name).read_text(encoding="utf-8") for name in files]
    assert '<table class="table" id="tab-x">' in texts[0]
    number = re.search(r'caption-number">(Table \d+) </span>', texts[0])[1]
    linked = rf'href="[\w.]*#tab-x"><span class="std std-numref">{number}</span>'
    assert sum(len(re.findall(linked, text)) for text in texts) == 2
    assert "a | b</p></td>" in texts[0]
