"""Command line: ``python -m gt2lite report`` and ``python -m gt2lite predict``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from gt2lite._version import __version__


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return its exit status."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.command is None:
        print(f"gt2lite {__version__}\n")
        parser.print_help()
        return 0
    try:
        return _report(options) if options.command == "report" else _predict(options)
    except (ImportError, ValueError, OSError) as error:
        print(f"gt2lite: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("gt2lite: interrupted", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m gt2lite",
        description="Prediction intervals for your own table.",
        epilog="Needs the extra: pip install 'gt2lite[report]'",
    )
    parser.add_argument("--version", action="version", version=f"gt2lite {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="command")
    report = commands.add_parser("report", help="train on a table and write a page about it")
    report.add_argument("table", help="a CSV, Excel or Parquet file")
    report.add_argument("--target", required=True, help="the column to predict")
    report.add_argument(
        "--levels", type=float, nargs="+", default=[0.8, 0.9, 0.95], help="default: 0.8 0.9 0.95"
    )
    report.add_argument("--groups", help="a column whose groups stay together")
    report.add_argument("--time", help="a column to sort by: the latest rows test")
    report.add_argument("--out", help="a folder; default: named after the table")
    report.add_argument("--seed", type=int, default=0, help="of all random choices; default: 0")
    report.add_argument("--epochs", type=int, help="passes over the rows; default: by table size")
    predict = commands.add_parser("predict", help="predict a new table with the model of a report")
    predict.add_argument("model", help="model.json from a report")
    predict.add_argument("table", help="a file with the same columns; the target may be absent")
    predict.add_argument("--out", default="predictions.csv", help="default: predictions.csv")
    predict.add_argument("--levels", type=float, nargs="+", help="default: those of the report")
    return parser


def _report(options: argparse.Namespace) -> int:
    from gt2lite.report import report

    made = report(
        options.table,
        options.target,
        options.levels,
        options.groups,
        options.time,
        options.out,
        options.seed,
        epochs=options.epochs,
    )
    print(made)
    return 0


def _predict(options: argparse.Namespace) -> int:
    from gt2lite.model_file import write_file
    from gt2lite.report import load
    from gt2lite.report.model import frame_to_csv

    model = load(options.model)
    frame = model.predict(options.table, options.levels)
    for note in model.notes:
        print(f"note: {note}", file=sys.stderr)
    write_file(options.out, frame_to_csv(frame))
    print(f"{len(frame):,} rows: {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
