"""The little that Sphinx has to be told: which scripts and styles the pages need.

The pages load nothing from elsewhere, and the repository carries no copy of anybody's
library: MathJax and Plotly come out of the installed packages at build time.
MathJax is one file that needs no fonts. Plotly is put there for the pages that ask
for it, as ``_static/plotly.min.js``, and is added to none.
"""

from __future__ import annotations

import shutil
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

STYLE = Path(__file__).with_name("book.css")
SCRIPTS = {"sphinx-mathjax-offline": "tex-svg-full.js", "plotly": "plotly.min.js"}


def installed_file(package: str, name: str) -> Path:
    """Return the file called `name` of an installed `package`."""
    for path in distribution(package).files or []:
        if path.name == name:
            return Path(str(path.locate()))
    raise FileNotFoundError(f"the installed package {package!r} has no file {name!r}")


def copy_files(app: Any) -> None:
    """Copy scripts and style into the static files of the pages."""
    if app.builder.format == "html":
        target = Path(app.outdir) / "_static"
        target.mkdir(parents=True, exist_ok=True)
        for package, name in SCRIPTS.items():
            shutil.copy(installed_file(package, name), target / name)
        shutil.copy(STYLE, target / STYLE.name)


def setup(app: Any) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("builder-inited", copy_files)
    app.add_css_file(STYLE.name)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
