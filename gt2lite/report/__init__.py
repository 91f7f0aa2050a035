"""Reports on your own table: one call trains, calibrates, measures, and writes a page.

``python -m gt2lite report houses.csv --target price`` calls `report`. It writes three files: a
page that needs no network, predictions for the test rows, and the model. `load` reads the model
again, for new tables; `read` reads a table of any dialect.

The steps are modules: `reading` files, `analysis` (split, fit, measure), the `model` that goes to
a file, and the `page` with its template; `gt2lite.columns` encodes columns.
"""

from __future__ import annotations

import os
import sys
import time as clock
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

try:
    import jinja2  # noqa: F401
    import matplotlib  # noqa: F401
    import pandas  # noqa: F401
    import sklearn  # noqa: F401
except ModuleNotFoundError as error:  # pragma: no cover
    raise ImportError(
        f"gt2lite.report needs {error.name}, which is not installed: pip install 'gt2lite[report]'"
    ) from error

from gt2lite._validation import whole
from gt2lite.columns import TableError
from gt2lite.model_file import write_file
from gt2lite.regressor import percent
from gt2lite.report.analysis import Accuracy, Coverage, Findings, analyse
from gt2lite.report.model import TableModel, frame_to_csv, load
from gt2lite.report.page import number, render
from gt2lite.report.reading import read

__all__ = ["Report", "TableError", "TableModel", "load", "read", "report"]


@dataclass(frozen=True)
class Report:
    """The files and findings of a report; `str` gives the main ones."""

    page: Path  #: the file with the page
    predictions: Path  #: the file with predictions for the test rows
    saved: Path  #: the file with the model
    model: TableModel = field(repr=False)  #: for new tables: ``model.predict(frame)``
    coverages: list[Coverage] = field(repr=False)  #: of the test rows at each level
    accuracies: list[Accuracy] = field(repr=False)  #: model, mean, boosted trees, one width
    findings: Findings = field(repr=False)  #: everything else on the page

    def __str__(self) -> str:
        lines = [
            f"{percent(row.level):>5}%: covers {row.share:.1%} of {row.n_rows:,} test rows "
            f"({row.verdict}, {row.low:.1%} to {row.high:.1%}), "
            f"mean width {number(row.width)}"
            for row in self.coverages
        ]
        errors = ", ".join(f"{a.name} {number(a.rmse)}" for a in self.accuracies[:3])
        return "\n".join(
            [
                *lines,
                f"RMSE: {errors}",
                *(f"warning: {warning}" for warning in self.findings.warnings),
                f"page: {self.page}",
                f"predictions: {self.predictions}",
                f"model: {self.saved}",
            ]
        )


def report(
    table: Any,
    target: str,
    levels: Sequence[float] = (0.8, 0.9, 0.95),
    groups: str | None = None,
    time: str | None = None,
    out: str | os.PathLike[str] | None = None,
    seed: int = 0,
    progress: bool = True,
    *,
    epochs: int | None = None,
) -> Report:
    """Train, calibrate and test a model on a table, and write a page about it.

    The folder `out` gets `report.html`, a page that loads nothing else, `predictions.csv` with the
    test rows, and `model.json`.

    Args:
        table: the path of a CSV, Excel or Parquet file, or a data frame.
        target: the column to predict; it must hold numbers.
        levels: the coverages of the intervals.
        groups: a column whose groups stay together, if new rows come from new groups.
        time: a column to sort by, if new rows come later; `groups` does not count then.
        out: a folder; by default one in the working directory, named after the table.
        seed: the seed of every random choice.
        progress: whether to print progress to stderr.
        epochs: passes over the training rows; None for a number that suits the table.

    Raises:
        TableError: the table cannot be used as asked; the message says what to do.
    """
    begun = clock.monotonic()

    def log(message: str) -> None:
        if progress:
            print(f"[{clock.monotonic() - begun:4.0f} s] {message}", file=sys.stderr, flush=True)

    whole("seed", seed, low=0, high=2**32 - 1)  # the range of scikit-learn's seeds
    log("reading the table ...")
    source = read(table)
    folder = Path(f"{source.name.split('.')[0]}_report") if out is None else Path(out)
    if folder.exists() and not folder.is_dir():
        raise TableError(f"out must be a folder, and {str(folder)!r} is a file")
    found = analyse(source.frame, target, levels, groups, time, seed, log, epochs)
    log("writing the page ...")
    html = render(found, source, seed)
    folder.mkdir(parents=True, exist_ok=True)
    page, predictions, saved = (
        folder / name for name in ("report.html", "predictions.csv", "model.json")
    )
    write_file(page, html.encode())
    write_file(predictions, frame_to_csv(found.test_table()))
    found.model.save(saved)
    log("done")
    return Report(page, predictions, saved, found.model, found.coverages, found.accuracies, found)
