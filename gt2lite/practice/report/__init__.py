"""Reports on your own table: one call trains, calibrates, measures, and writes a page.

``gt2lite report houses.csv --target price`` calls `report`. It writes three files: a
page that needs no network, predictions for the test rows, and the model. `load` reads the model
again, for new tables; `read` reads a table of any dialect.

The steps are modules: `reading` files, `checks` of what their cells say, `analysis` (split, fit,
measure), `alerts`, the `model` that goes to a file, and the `page` with its template;
`gt2lite.practice.columns` encodes columns.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time as clock
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

try:
    import jinja2  # noqa: F401
    import matplotlib  # noqa: F401
    import pandas as pd
    import sklearn  # noqa: F401
except ModuleNotFoundError as error:  # pragma: no cover
    raise ImportError(
        f"gt2lite.report needs {error.name}, which is not installed: pip install 'gt2lite[report]'"
    ) from error

from gt2lite.practice import model_file
from gt2lite.practice.columns import Frame, TableError
from gt2lite.practice.frames import percent
from gt2lite.practice.report.analysis import Accuracy, Coverage, Findings, Request, analyse
from gt2lite.practice.report.model import TableModel, frame_to_csv, load
from gt2lite.practice.report.page import number, render
from gt2lite.practice.report.reading import read

__all__ = ["Report", "TableError", "TableModel", "load", "read", "report"]

FILES = ("report.html", "predictions.csv", "model.json")


@dataclass(frozen=True)
class Report:
    """The files and findings of a report; `str` gives the main ones."""

    page: Path  #: the file with the page
    predictions: Path  #: the file with predictions for the test rows
    saved: Path  #: the file with the model
    model: TableModel = field(repr=False)  #: for new tables: ``model.predict(frame)``
    coverages: list[Coverage] = field(repr=False)  #: of the test rows at each level
    accuracies: list[Accuracy] = field(repr=False)  #: see `Findings`
    findings: Findings = field(repr=False)  #: everything else on the page

    def __str__(self) -> str:
        ours, trees = self.accuracies[:2]
        columns = {
            "level": [f"{percent(row.level)}%" for row in self.coverages],
            "covered": [f"{row.share:.1%}" for row in self.coverages],
            "verdict": [row.verdict for row in self.coverages],
            "mean width": [number(row.width) for row in self.coverages],
            "interval score": [number(score) for score in ours.scores],
            "boosted trees": [number(score) for score in trees.scores],
        }
        if len(self.accuracies) > 4:  # a base was of use in training
            columns["systems and base"] = [number(score) for score in self.accuracies[4].scores]
        errors = ", ".join(f"{a.name} {number(a.rmse)}" for a in self.accuracies[:3])
        lines = [
            f"Intervals of {self.coverages[0].n_rows:,} test rows:",
            pd.DataFrame(columns).to_string(index=False),
            f"RMSE: {errors}",
            f"exchangeable: {self.findings.order.words}",
            *(f"alert: {alert}" for alert in self.findings.alerts),
            *(f"file: {path}" for path in (self.page, self.predictions, self.saved)),
        ]
        return "\n".join(lines)


def report(
    table: str | os.PathLike[str] | Frame,
    target: str,
    levels: Sequence[float] = (0.8, 0.9, 0.95),
    groups: str | None = None,
    time: str | None = None,
    out: str | os.PathLike[str] | None = None,
    seed: int = 0,
    progress: bool = True,
    *,
    epochs: int | None = None,
    keep: Sequence[str] = (),
    drop: Sequence[str] = (),
    bounds: tuple[float | None, float | None] | None = None,
    log: bool = False,
    quick: bool = False,
    sheet: str | None = None,
    overwrite: bool = False,
) -> Report:
    """Train, calibrate and test a model on a table, and write a page about it.

    The folder `out` gets `report.html`, a page that loads nothing else, `predictions.csv` with the
    test rows, and `model.json`: all three at the end, or none.

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
        keep: columns that are inputs although they look useless, such as numbers that count rows.
        drop: columns that are not inputs.
        bounds: the lowest and the highest possible target, such as ``(0, None)``.
        log: whether to learn the logarithm of the target, which must be positive.
        quick: whether to train one system without a choice of settings, for a first look.
        sheet: the sheet of an Excel file.
        overwrite: whether to replace the files of an earlier report.

    Raises:
        TableError: the table cannot be used as asked; the message says what to do.
    """
    begun = clock.monotonic()

    def say(message: str) -> None:
        if progress:
            print(f"[{clock.monotonic() - begun:4.0f} s] {message}", file=sys.stderr, flush=True)

    request = Request(target, levels, groups, time, seed, epochs, keep, drop, bounds, log, quick)
    is_file = isinstance(table, (str, os.PathLike))
    folder = default_folder(table if is_file else "table") if out is None else Path(out)
    page, predictions, model = files = [folder / name for name in FILES]
    with _made(folder):
        for file in files:  # what cannot be written is refused before anything is computed
            check_output(file, [table] if is_file else [], overwrite)
        say("reading the table ...")
        source = read(table, target, sheet)
        found = analyse(source.frame, request, say, progress)
        found = replace(found, alerts=[*source.alerts, *found.alerts])
        say("writing the page ...")
        contents: dict[str | os.PathLike[str], bytes] = {
            page: render(found, source).encode(),
            predictions: frame_to_csv(found.test_table()),
            model: found.model.encode(),
        }
        model_file.write_files(contents)
    say("done")
    return Report(page, predictions, model, found.model, found.coverages, found.accuracies, found)


@contextlib.contextmanager
def _made(folder: Path) -> Iterator[None]:
    """Make a folder; a new one is removed again if the block fails and leaves nothing in it."""
    is_new = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TableError(f"out must be a folder: {error}") from None
    try:
        yield
    except BaseException:
        if is_new:
            with contextlib.suppress(OSError):  # there are files in it: too late
                folder.rmdir()
        raise


def default_folder(table: str | os.PathLike[str]) -> Path:
    """Return the folder of a report if none is named: houses_report for houses.csv.

    >>> default_folder("data/houses.csv").name
    'houses_report'
    """
    return Path(f"{Path(table).name.split('.')[0]}_report")


def check_output(path: Path, inputs: Sequence[str | os.PathLike[str]], overwrite: bool) -> None:
    """Raise an error if a file cannot be written: an input, a file that is there, no file."""
    if any(path.exists() and os.path.exists(name) and path.samefile(name) for name in inputs):
        raise TableError(f"out: {str(path)!r} is read, so it cannot be written: name another one")
    if os.path.lexists(path) and not overwrite:
        raise TableError(f"out: there is {str(path)!r} already: name another, or add --overwrite")
    model_file.check_writable(path)
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise TableError(f"out: there is no permission to write into {str(path.parent)!r}")
