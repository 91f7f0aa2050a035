"""The little that Sphinx has to be told: scripts and styles of the pages, a few repairs.

The pages load nothing from elsewhere, and the repository carries no copy of anybody's
library: MathJax, one file that needs no fonts, comes out of the installed package at
build time.
"""

from __future__ import annotations

import shutil
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

# A page that is opened as a file may not read others: search then lists them without excerpts.
FILE_SEARCH = (
    'if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;'
)
STYLE = Path(__file__).with_name("book.css")
WIDE = Path(__file__).with_name("wide.js")
MATHJAX = ("sphinx-mathjax-offline", "tex-svg-full.js")


def installed_file(package: str, name: str) -> Path:
    """Return the file called `name` of an installed `package`."""
    for path in distribution(package).files or []:
        if path.name == name:
            return Path(str(path.locate()))
    raise FileNotFoundError(f"the installed package {package!r} has no file {name!r}")


def copy_files(app: Any) -> None:
    """Copy script and style into the static files of the pages."""
    if app.builder.format == "html":
        target = Path(app.outdir) / "_static"
        target.mkdir(parents=True, exist_ok=True)
        shutil.copy(installed_file(*MATHJAX), target / MATHJAX[1])
        for path in (STYLE, WIDE):
            shutil.copy(path, target / path.name)


def share_handlers(app: Any) -> None:
    """Let the one long page that is printed show all that the many pages show.

    sphinx-exercise registers its nodes for ``singlehtml`` by that name, and Sphinx then no
    longer looks at what others registered for ``html``.
    """
    handlers = app.registry.translation_handlers
    handlers["singlehtml"] = {**handlers.get("html", {}), **handlers.get("singlehtml", {})}


def mend_roles(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Call the entries of the bibliography items: docutils gives them a role since withdrawn."""
    if "body" in context:
        context["body"] = context["body"].replace('role="doc-biblioentry"', 'role="listitem"')


def setup(app: Any) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("builder-inited", copy_files)
    app.connect("builder-inited", share_handlers)
    app.connect("html-page-context", mend_roles)
    app.add_css_file(STYLE.name)
    app.add_js_file(WIDE.name, loading_method="defer")
    app.add_js_file(None, body=FILE_SEARCH)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
