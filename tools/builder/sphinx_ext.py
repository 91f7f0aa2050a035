"""Sphinx extension of the book: scripts and styles, repairs of pages, the API reference.

The pages load nothing from other hosts, and the repository carries no copy of a third-party
library: MathJax, one file that needs no fonts, is taken from the installed package at build time.
The reference is made by autodoc and Napoleon; short names in docstrings become links, generated
members are left out, and ``module-list`` lists the modules of a package by their first sentences.
"""

from __future__ import annotations

import ast
import re
import shutil
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList
from sphinx.util.nodes import make_refnode

# A page that is opened as a file may not read others: search then lists them without excerpts.
FILE_SEARCH = (
    'if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;'
)
STYLE = Path(__file__).with_name("book.css")
SCRIPT = Path(__file__).with_name("book.js")
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
        for path in (STYLE, SCRIPT):
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


# --------------------------------------------------------------------------- reference

PACKAGES = Path(__file__).resolve().parents[2]
_NAMED = {"function", "class", "exception", "data", "module"}  # what a short name may mean
_APART = "study."  # its modules have words of their own
_GENERATED = "Alias for field number"  # all that a NamedTuple says of its fields
_SIGNATURE = re.compile(r'<dt class="sig .*?</dt>', re.DOTALL)


def public_modules(package: str) -> Iterator[tuple[str, Path]]:
    """Yield name and file of each public module of `package`, itself among them, in order."""
    root = PACKAGES.joinpath(*package.split("."))
    for path in sorted(root.rglob("*.py"), key=lambda path: path.with_suffix("").parts):
        parts = path.relative_to(PACKAGES).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        if not any(part.startswith("_") for part in parts):
            yield ".".join(parts), path


def first_sentence(path: Path) -> str:
    """Return the first sentence of a module's docstring, as one line.

    Raises:
        ValueError: where the module has none.
    """
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    if not text:
        raise ValueError(f"{path} has no docstring")
    paragraph = " ".join(text.split("\n\n")[0].split())
    return re.split(r"(?<=\.)\s(?=[A-Z`])", paragraph)[0]


class ModuleList(Directive):
    """``module-list``: the public modules of a package, each with its first sentence."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return a module and a paragraph for each."""
        lines = []
        for name, path in public_modules(self.arguments[0]):
            lines += [f".. py:module:: {name}", "", f"**{name}**", f"   {first_sentence(path)}", ""]
        inside = nodes.Element()
        self.state.nested_parse(StringList(lines, self.arguments[0]), 0, inside)
        return inside.children


def skip_generated(
    app: Any, what: str, name: str, member: Any, skip: bool, options: Any
) -> bool | None:
    """Leave out members that Python or scikit-learn put into a class, not its author."""
    said = getattr(member, "__doc__", None) or ""
    home = getattr(member, "__module__", None) or ""
    return True if said.startswith(_GENERATED) or home.startswith("sklearn.") else None


def find_by_short_name(app: Any, env: Any, node: Any, inside: Any) -> Any:
    """Return a link for a name that is given without its module, where one thing is called so."""
    if node.get("refdomain") != "py":
        return None
    domain = env.get_domain("py")
    wanted = node["reftarget"]
    ends = (f".{wanted}", "." + wanted.rpartition(".")[2])  # as named, or imported into a package
    for end in ends if wanted.startswith("gt2lite.") else ends[:1]:
        found = [
            (name, entry)
            for name, entry in domain.objects.items()
            if name.endswith(end) and entry.objtype in _NAMED and not name.startswith(_APART)
        ]
        if len(found) == 1:
            name, entry = found[0]
            return make_refnode(
                app.builder, node["refdoc"], entry.docname, entry.node_id, inside, name
            )
    return None


def mend_signatures(
    app: Any, page: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Make lines of the lists in which Sphinx writes long signatures: those lack their terms."""
    if "body" in context:
        context["body"] = _SIGNATURE.sub(_as_lines, context["body"])


def _as_lines(found: re.Match[str]) -> str:
    text = re.sub(r"<dd>", '<span class="sig-line">', found.group())
    return re.sub(r"</dd>", "</span>", re.sub(r"</?dl>", "", text))


def setup(app: Any) -> dict[str, Any]:
    """Register with Sphinx."""
    app.setup_extension("sphinx.ext.autodoc")
    app.setup_extension("sphinx.ext.napoleon")
    app.add_directive("module-list", ModuleList)
    app.connect("autodoc-skip-member", skip_generated)
    app.connect("missing-reference", find_by_short_name)
    app.connect("html-page-context", mend_signatures)
    app.connect("builder-inited", copy_files)
    app.connect("builder-inited", share_handlers)
    app.connect("html-page-context", mend_roles)
    app.add_css_file(STYLE.name)
    app.add_js_file(SCRIPT.name, loading_method="defer")
    app.add_js_file(None, body=FILE_SEARCH)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
