"""Run the chapter "Your own data" on a table of yours, by papermill.

CSV=houses.csv TARGET=price LEVELS="0.8 0.9 0.95" python tools/own.py

GROUP and TIME name a column each, where rows come in families or in an order. The variables are
how make hands on what a user wrote, whatever characters it holds. Out come the executed chapter
under _build/runs/, and a page, predictions and a model under _build/own/.
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
    """Return the parameters of the chapter that the variables stand for.

    >>> told = {"CSV": "houses.csv", "TARGET": "price", "LEVELS": "0.9"}
    >>> parameters(told, Path("/x"))["levels"]
    [0.9]

    Raises:
        BookError: a variable is absent, or is not what it should be.
    """
    for name in ("CSV", "TARGET"):
        if not given.get(name):
            raise BookError(f"which {name}? For example: make own CSV=houses.csv TARGET=price")
    table = Path(given["CSV"]).expanduser().absolute()
    result: Parameters = {
        "csv": str(table),
        "target": given["TARGET"],
        "out": str(root / "_build" / "own" / table.stem),
    }
    try:
        levels = [float(word) for word in given.get("LEVELS", "").replace(",", " ").split()]
    except ValueError:
        raise BookError(
            f'LEVELS must be numbers such as "0.8 0.9", got {given["LEVELS"]!r}'
        ) from None
    result |= {"levels": levels} if levels else {}
    for variable, name in (("GROUP", "groups"), ("TIME", "time")):
        if given.get(variable):
            result[name] = given[variable]
    return result


def run_own(root: Path) -> None:
    """Run the chapter on the table that the environment names."""
    given = parameters(os.environ, root)
    if not Path(given["csv"]).is_file():
        raise BookError(f"there is no file {given['csv']!r}")
    run_chapter(root, CHAPTER, given)
    print(f"own: {Path(given['out']) / 'report.html'}")


def main(root: Path = ROOT) -> int:
    """Run the chapter; return 0 if all went well."""
    return finish("own", lambda: run_own(root))


if __name__ == "__main__":
    sys.exit(main())
