"""Sphinx extension of the book: scripts and styles, repairs of pages, the API reference.

The pages load nothing from other hosts, and the repository carries no copy of a third-party
library: MathJax, one file that needs no fonts, is taken from the installed package at build time.
The reference is made by autodoc and Napoleon; short names in docstrings become links, and generated
members are left out.
"""

from __future__ import annotations

import re
from importlib.metadata import files
from pathlib import Path
from typing import Any

from sphinx.util.nodes import make_refnode

# A page that is opened as a file may not read others: search then lists them without excerpts.
FILE_SEARCH = (
    'if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;'
)
_STYLE, _SCRIPT = (Path(__file__).with_name(name) for name in ("book.css", "book.js"))
_MATHJAX = ("sphinx-mathjax-offline", "tex-svg-full.js")


def add_static_files(app: Any, config: Any) -> None:
    """Let Sphinx copy script, style and MathJax beside the pages."""
    (mathjax,) = (path for path in files(_MATHJAX[0]) or [] if path.name == _MATHJAX[1])
    config.html_static_path += [str(path) for path in (_STYLE, _SCRIPT, mathjax.locate())]


def share_handlers(app: Any) -> None:
    """Let the one long page that is printed show all that the many pages show.

    sphinx-exercise registers its nodes for ``singlehtml`` by that name, and Sphinx then no
    longer looks at what others registered for ``html``.
    """
    handlers = app.registry.translation_handlers
    handlers["singlehtml"] = {**handlers.get("html", {}), **handlers.get("singlehtml", {})}


def mend(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Repair what checkers of accessibility object to.

    Entries of the bibliography have a role that was withdrawn, and long signatures are lists that
    lack their terms: the former become items, the latter lines.
    """
    text = context.get("body", "").replace('role="doc-biblioentry"', 'role="listitem"')
    context["body"] = re.sub(r'<dt class="sig .*?</dt>', _as_lines, text, flags=re.DOTALL)


def _as_lines(found: re.Match[str]) -> str:
    text = re.sub(r"</?dl>", "", found.group())
    return text.replace("<dd>", '<span class="sig-line">').replace("</dd>", "</span>")


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
    app.connect("html-page-context", mend)
    app.connect("autodoc-skip-member", skip_generated)
    app.connect("missing-reference", find_by_short_name)
    app.add_css_file(_STYLE.name)
    app.add_js_file(_SCRIPT.name, loading_method="defer")
    app.add_js_file(None, body=FILE_SEARCH)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
