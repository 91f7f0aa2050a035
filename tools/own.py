"""Run the chapter "Your own data" on your own table, by papermill.

CSV=houses.csv TARGET=price LEVELS="0.8 0.9 0.95" python tools/own.py

GROUP and TIME name a column each, if rows belong together or come in an order. Environment
variables pass on what the user wrote after `make own`, whatever characters it has. The executed
chapter goes to _build/runs/; page, predictions and model go to _build/own/. Without the chapter
the command is ``python -m gt2lite report``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from book import ROOT, finish, run_chapter
from builder.source import BookError, Parameters

CHAPTER = "own_data"


def parameters(given: Mapping[str, str], root: Path) -> Parameters:
    """Return the parameters of the chapter from environment variables; check those needed here."""
    for name in ("CSV", "TARGET"):
        if not given.get(name):
            raise BookError(f"{name} is missing; for example: make own CSV=houses.csv TARGET=price")
    table = Path(given["CSV"]).expanduser().absolute()
    if not table.is_file():
        raise BookError(f"CSV: there is no file {str(table)!r}")
    words = given.get("LEVELS", "").replace(",", " ").split()
    try:
        levels = [float(word) for word in words]
    except ValueError:
        raise BookError(f'LEVELS must be numbers such as "0.8 0.9", got {words}') from None
    out = root / "_build" / "own" / table.stem
    wanted = {"csv": str(table), "target": given["TARGET"], "levels": levels, "out": str(out)}
    wanted |= {"groups": given.get("GROUP"), "time": given.get("TIME")}
    return {name: value for name, value in wanted.items() if value}


def run_own(root: Path) -> None:
    """Run the chapter on the table that the environment names."""
    given = parameters(os.environ, root)
    run_chapter(root, CHAPTER, given)
    print(f"own: {Path(given['out']) / 'report.html'}")


if __name__ == "__main__":
    sys.exit(finish("own", lambda: run_own(ROOT)))
