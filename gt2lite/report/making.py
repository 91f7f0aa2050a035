"""`report`: a table in; a page, predictions and a model out."""

from __future__ import annotations

import os
import sys
import time as clock
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gt2lite._version import __version__
from gt2lite.model_file import write_file
from gt2lite.report.analysis import Findings, analyse
from gt2lite.report.measuring import Accuracy, Coverage
from gt2lite.report.model import TableModel, percent
from gt2lite.report.page import page, percentage, shown
from gt2lite.report.reading import TableError, read
from gt2lite.report.sections import sections


@dataclass(frozen=True)
class Report:
    """What `report` made; printed, it says the main things.

    Attributes:
        page: the file with the page.
        predictions: the file with predictions for test rows.
        saved: the file with the model.
        model: the model, for new tables: ``model.predict(frame)``.
        coverages: at each level, on test rows.
        accuracies: of this model, the mean, boosted trees, and this model with one width.
        findings: everything else that the page tells.
    """

    page: Path
    predictions: Path
    saved: Path
    model: TableModel = field(repr=False)
    coverages: list[Coverage] = field(repr=False)
    accuracies: list[Accuracy] = field(repr=False)
    findings: Findings = field(repr=False)

    def __str__(self) -> str:
        lines = [
            f"{percent(row.level):>5} %: covers {percentage(row.share)} of {row.n_rows:,} test rows"
            f" ({row.verdict}; luck alone: {percentage(row.low)} to {percentage(row.high)}), "
            f"mean width {shown(row.width)}"
            for row in self.coverages
        ]
        errors = ", ".join(f"{a.name} {shown(a.rmse)}" for a in self.accuracies[:3])
        return "\n".join(
            [
                *lines,
                f"RMSE: {errors}",
                *(f"Mind: {doubt}" for doubt in self.findings.doubts),
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
    """Train, calibrate and judge a model on a table, and write a page about it.

    The page is one file that needs nothing else and no network. Beside it lie predictions for
    the test rows and the model.

    Args:
        table: the path of a CSV, Excel or Parquet file, or a data frame.
        target: the column to predict, numbers.
        levels: the shares of values that intervals are to hold.
        groups: a column whose groups stay together: new rows will come from new groups.
        time: a column to go by: new rows will come later. It goes before `groups`.
        out: a folder; without it one beside you, named after the table.
        seed: of everything that is drawn.
        progress: whether lines tell how far it is.
        epochs: passes over the training rows; None for what suits the table.

    Raises:
        TableError: the table cannot be used as asked; the message says what to do.
    """
    begun = clock.monotonic()

    def say(words: str) -> None:
        if progress:
            print(f"[{clock.monotonic() - begun:4.0f} s] {words}", file=sys.stderr, flush=True)

    say("reading the table ...")
    source = read(table)
    folder = _folder(source.name, out)
    found = analyse(source, target, levels, groups, time, seed, say, epochs)
    say("writing the page ...")
    title = f"{target}: predictions with intervals"
    foot = f"Made by gt2lite {__version__}. This page is complete: it loads nothing."
    html = page(title, sections(found, source, seed), foot)
    folder.mkdir(parents=True, exist_ok=True)
    result = Report(
        folder / "report.html",
        folder / "predictions.csv",
        folder / "model.json",
        found.model,
        found.coverages,
        found.accuracies,
        found,
    )
    write_file(result.page, html.encode())
    write_csv(_judged(found), result.predictions)
    found.model.save(result.saved)
    say("done")
    return result


def _folder(name: str, out: str | os.PathLike[str] | None) -> Path:
    folder = Path(f"{name.split('.')[0]}_report") if out is None else Path(out)
    if folder.exists() and not folder.is_dir():
        raise TableError(f"out: {str(folder)!r} is a file; name a folder")
    return folder


def _judged(found: Findings) -> Any:
    """Return test rows with their target, their prediction and the ends at the levels asked for."""
    names = ["prediction"]
    for level in found.model.levels:
        names += [f"lower_{percent(level)}", f"upper_{percent(level)}"]
    frame = found.predictions[names].copy()
    target = found.model.target if found.model.target not in names else "target"
    frame.insert(0, target, found.y)
    return frame


def write_csv(frame: Any, path: Path) -> None:
    """Write a frame as CSV with its rows named, all of it or nothing."""
    text = frame.to_csv(index_label="row", lineterminator="\n")
    write_file(path, text.encode())
