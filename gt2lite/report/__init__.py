"""Own data in one command: a table in, a page, predictions and a model out.

`report` does it all; ``python -m gt2lite report houses.csv --target price`` calls it. `load`
brings the model back, for new tables. Rooms: `reading` files, `kinds` of columns, `specifying`
what becomes of them, `columns` into numbers, the `model` with its table, `splitting` rows,
`fitting`, `measuring`, all of it in `analysis`; `figures`, `sections` and the `page`; and `making`,
which writes it. Needs pandas, matplotlib and scikit-learn.
"""

try:
    from gt2lite.report.making import Report, report
    from gt2lite.report.model import TableModel, load
    from gt2lite.report.reading import TableError, read
except ModuleNotFoundError as error:  # pragma: no cover
    raise ImportError(
        f"gt2lite.report needs {error.name}, which is not installed: pip install 'gt2lite[report]'"
    ) from error

__all__ = ["Report", "TableError", "TableModel", "load", "read", "report"]
