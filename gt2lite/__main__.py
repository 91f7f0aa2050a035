"""Command line: ``gt2lite report`` and ``gt2lite predict``, also as ``python -m gt2lite``."""

from __future__ import annotations

import argparse
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from gt2lite._version import __version__


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return its exit status. Every failure is one line on stderr."""
    for stream in (sys.stdout, sys.stderr):  # a console may lack letters that a table has
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    parser = _parser()
    options = vars(parser.parse_args(arguments))
    command = options.pop("command")
    if command is None:
        print(f"gt2lite {__version__}\n")
        parser.print_help()
        return 0
    result: Path | None = None
    before: tuple[int, int] | None = None
    try:
        run, result = _report(options) if command == "report" else _predict(options)
        before = _state(result)
        with warnings.catch_warnings():
            warnings.showwarning = _print_warning
            run()
    except KeyboardInterrupt:
        # Files take their names all at once, so that one of them tells whether it was too late.
        written = result is not None and before is not None and _state(result) != before
        after = "everything was written before" if written else "nothing was written"
        print(f"gt2lite: stopped, {after}", file=sys.stderr)
        return 130
    except Exception as error:
        words = " ".join(str(error).split())[:1000] or type(error).__name__
        if not isinstance(error, (ImportError, ValueError, OSError, MemoryError)):
            place = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{Path(place.filename).name}, line {place.lineno}"
            words = f"unexpected error ({where}): {type(error).__name__}: {words}"
        print(f"gt2lite: {words}", file=sys.stderr)
        return 1
    return 0


def _print_warning(message: Warning | str, *_: object, **__: object) -> None:
    """Print a warning as one line: the place in the code that it names means nothing to users."""
    print(f"gt2lite: warning: {' '.join(str(message).split())}", file=sys.stderr)


def _state(path: Path) -> tuple[int, int]:
    """Return numbers that are others after a file was written."""
    try:
        found = path.stat()
    except OSError:
        return 0, 0
    return found.st_ino, found.st_mtime_ns


def _bound(text: str) -> float | None:
    return None if text.lower() in ("none", "inf", "-inf") else float(text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="gt2lite",
        description="Prediction intervals for your own table.",
        epilog="Needs the extra: pip install 'gt2lite[report]'",
    )
    parser.add_argument("--version", action="version", version=f"gt2lite {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="command")
    report = commands.add_parser("report", help="train on a table and write a page about it")
    add = report.add_argument
    add("table", help="a CSV, Excel or Parquet file")
    add("--target", required=True, help="the column to predict")
    levels = (0.8, 0.9, 0.95)
    add("--levels", type=float, nargs="+", default=levels, help="default: 0.8 0.9 0.95")
    add("--groups", help="a column whose groups stay together")
    add("--time", help="a column to sort by: the latest rows test")
    add("--keep", nargs="+", default=(), metavar="COLUMN", help="inputs that look useless")
    add("--drop", nargs="+", default=(), metavar="COLUMN", help="columns that are not inputs")
    bounds = "the lowest and highest possible target, such as 0 none"
    add("--bounds", nargs=2, type=_bound, metavar=("LOW", "HIGH"), help=bounds)
    add("--log", action="store_true", help="learn the logarithm of a positive target")
    add("--quick", action="store_true", help="a first look: one system, no choice of settings")
    add("--epochs", type=int, help="passes over the rows; default: by table size")
    add("--seed", type=int, default=0, help="of all random choices; default: 0")
    add("--out", help="a folder; default: named after the table")
    predict = commands.add_parser("predict", help="predict a new table with the model of a report")
    add = predict.add_argument
    add("model", help="model.json from a report")
    add("table", help="a file with the same columns; the target may be absent")
    add("--levels", type=float, nargs="+", help="default: those of the report")
    add("--with-inputs", action="store_true", help="put the columns of the table before the others")
    add("--out", help="a CSV file; default: named after the table")
    for command in (report, predict):
        words = "the sheet of an Excel file; default: the first with the columns asked for"
        command.add_argument("--sheet", help=words)
        command.add_argument("--overwrite", action="store_true", help="replace files of that name")
    return parser


def _report(options: dict[str, Any]) -> tuple[Callable[[], None], Path]:
    """Return a function that makes a report, and one of the files that it writes."""
    from gt2lite.practice.report import default_folder, report

    options["out"] = Path(options["out"] or default_folder(options["table"]))
    return lambda: print(report(**options)), options["out"] / "model.json"


def _predict(options: dict[str, Any]) -> tuple[Callable[[], None], Path]:
    """Return a function that predicts a table, and the file that it writes."""
    from gt2lite.practice.model_file import write_files
    from gt2lite.practice.report import check_output, load
    from gt2lite.practice.report.model import frame_to_csv

    table = options["table"]
    out = Path(options["out"] or f"{Path(table).name.split('.')[0]}_predictions.csv")

    def run() -> None:
        check_output(out, [table, options["model"]], options["overwrite"])
        model = load(options["model"])
        levels, with_inputs = options["levels"], options["with_inputs"]
        frame = model.predict(table, levels, with_inputs=with_inputs, sheet=options["sheet"])
        for note in model.notes:
            print(f"note: {note}", file=sys.stderr)
        write_files({out: frame_to_csv(frame)})
        print(f"{len(frame):,} rows: {out}")

    return run, out


if __name__ == "__main__":
    sys.exit(main())
