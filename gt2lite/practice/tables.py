"""Tables and targets of users: arrays and data frames, checked against those of training."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeGuard

import numpy as np
from numpy.typing import NDArray

from gt2lite._validation import Array, IntArray, find_wrong, matrix, numbers, one_of, vector, warn
from gt2lite.practice._sklearn import sklearn_or
from gt2lite.practice.frames import frame_of
from gt2lite.practice.types import Encoded, Encoding, Frame, RawTable, Table, Target, Transformer

Names = NDArray[np.object_]


class Rows(NamedTuple):
    """Rows of a table to train or calibrate on."""

    values: RawTable  # numbers (N, M), or a table that is yet to be encoded
    names: Names | None = None  # of the columns, if these are text
    table: RawTable = None  # the same rows in the form that the base of a head takes

    def take(self, rows: IntArray) -> Rows:
        """Return some of the rows."""
        table = None if self.table is None else take_rows(self.table, rows)
        return Rows(take_rows(self.values, rows), self.names, table)


def read_table(X: Table, columns: str | Transformer | None = None) -> Rows:
    """Return the rows of a table of numbers (N, M).

    A data frame with gaps, text or dates is refused. If `columns` is "auto", it is returned as a
    pandas frame, to be encoded by `gt2lite.practice.columns`; if it is a transformer, which takes
    what it takes, the table is returned as it is.
    """
    if is_transformer(columns):
        return Rows(raw_table(X), _column_names(X))
    if columns is not None:
        one_of("columns", columns, ("auto",))
    if hasattr(X, "toarray") or hasattr(X, "tocsr"):
        raise TypeError(
            "X is sparse, and sparse data is not supported: convert it by X.toarray(); in a "
            "pipeline set sparse_output=False of the encoder, sparse_threshold=0 of a "
            "ColumnTransformer"
        )
    if type(X).__name__ == "LazyFrame":
        raise TypeError("X is a lazy frame, which holds no numbers yet: pass X.collect()")
    try:
        values = matrix("X", X)
    except (TypeError, ValueError) as error:
        wrong = _wrong_column(X)
        if wrong is None or columns is None:
            raise wrong or error from None
        values = pandas_frame(X)
    return Rows(values, _column_names(X))


def _wrong_column(X: RawTable) -> TypeError | ValueError | None:
    """Return an error about the first column of a data frame that is not numeric, if any."""
    found = {}
    for j, name in enumerate(getattr(X, "columns", ())):
        column = X.iloc[:, j] if hasattr(X, "iloc") else X[name]
        if (wrong := find_wrong(f"X: column {name!r}", column)) is not None:
            found[repr(name)] = wrong
    if len(found) < 2:
        return next(iter(found.values()), None)
    first, *others = found
    return type(found[first])(f"{found[first]} (likewise columns {', '.join(others)})")


def pandas_frame(X: Table) -> Frame:
    """Return a data frame as one of pandas, with text as names of columns."""
    frame: Frame = X.to_pandas() if hasattr(X, "to_pandas") else X
    names = [str(name) for name in frame.columns]
    if len(set(names)) < len(names):
        raise ValueError("X has columns of the same name: rename them")
    return frame.set_axis(names, axis=1)


def is_transformer(columns: object) -> TypeGuard[Transformer]:
    """Return whether the setting `columns` is a transformer of scikit-learn."""
    return hasattr(columns, "fit_transform") and hasattr(columns, "transform")


def raw_table(X: Table) -> RawTable:
    """Return a table (N, ...) for a transformer: as it is, or a list as an array."""
    found = X if hasattr(X, "columns") else np.asarray(X)
    if len(np.shape(found)) != 2:
        raise ValueError(f"X must be a 2D table (rows, columns), got shape {np.shape(found)}")
    return found


def read_target(y: Target, n_rows: int, owner: str = "GT2Regressor") -> Array:
    """Return the target as a checked array (N,)."""
    if y is None:
        raise ValueError(
            f"{owner} requires y to be passed, but the target y is None: one number per row"
        )
    values = numbers("y", y)
    if values.ndim == 2 and values.shape[1] == 1:
        warn(
            "A column-vector y was passed when a 1d array was expected. "
            "Please change the shape of y to (n_samples,), for example using ravel().",
            sklearn_or("DataConversionWarning", UserWarning),
        )
        values = values[:, 0]
    if values.shape != (n_rows,):
        raise ValueError(
            f"y must be a 1-D array of length {n_rows}, one value per row of X, got shape "
            f"{values.shape}"
        )
    return values


def n_rows_of(X: Table) -> int:
    """Return the number of rows of a table that is not yet checked."""
    return int(np.shape(X)[0]) if hasattr(X, "shape") else len(X)  # type: ignore[arg-type]


def take_rows(X: RawTable, rows: IntArray) -> RawTable:
    """Return some rows of a table that is not yet checked, as a table of the same kind.

    >>> take_rows(["a", "b", "c"], np.array([2, 0]))
    ['c', 'a']
    """
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return X[rows] if hasattr(X, "shape") else [X[i] for i in rows]


class Transformed:
    """Columns that a transformer of scikit-learn turns into inputs.

    The name of a step is left out of the names ("age" for "numbers__age"), unless two inputs would
    have the same name then. Inputs that the transformer does not name are x0, x1, ...
    """

    used = ()  # nothing is known about single columns

    def __init__(self, transformer: Transformer, n_inputs: int, names: Names | None) -> None:
        self.transformer = transformer
        found = [f"x{m}" for m in range(n_inputs)]
        with contextlib.suppress(AttributeError, ValueError):
            found = [str(name) for name in transformer.get_feature_names_out(names)]
        short = [name.rpartition("__")[2] or name for name in found]
        self.names = short if len(set(short)) == len(short) else found

    def encode(self, table: Table) -> Encoded:
        """Return the inputs (N, M) of the rows of a table."""
        return Encoded(read_table(self.transformer.transform(table)).values)

    def places(self) -> dict[str, IntArray]:
        """Return no places: each input stands for itself."""
        return {}


@dataclass(frozen=True, eq=False)
class Features:
    """The columns of a table that an estimator was trained on, and how they become inputs."""

    n: int
    names: Names | None = None  # if the table was a data frame
    encoding: Encoding | None = None  # None for numbers, which are inputs as they are
    owner: str = "GT2Regressor"  # class of the estimator, for messages

    @classmethod
    def learn(
        cls, rows: Rows, target: Array, columns: str | Transformer | None, owner: str
    ) -> tuple[Array, Features]:
        """Return training rows as inputs (N, M), and the features of their table."""
        encoding: Encoding | None = None
        values = rows.values
        if is_transformer(columns):
            from sklearn.base import clone

            transformer = clone(columns)
            values = read_table(transformer.fit_transform(rows.values, target)).values
            encoding = Transformed(transformer, values.shape[1], rows.names)
        elif not isinstance(values, np.ndarray):
            from gt2lite.practice.columns import learn

            encoding = learn(values)
            values = np.asarray(encoding.encode(values).inputs)
        return values, cls(rows.values.shape[1], rows.names, encoding, owner)

    def match(self, X: Table) -> RawTable:
        """Return a table with the columns of training, not encoded yet, or raise an error."""
        if self.encoding is None:
            values = read_table(X).values
        elif isinstance(self.encoding, Transformed):
            values = raw_table(X)
        elif hasattr(X, "columns"):
            values = pandas_frame(X)
        else:
            raise TypeError(f"X must be a data frame, as in fit: {self.owner} encodes its columns")
        found = _column_names(X)
        if (found is None) != (self.names is None):
            has, how = ("does not have valid", "with") if found is None else ("has", "without")
            warn(
                f"X {has} feature names, but {self.owner} was fitted {how} feature names",
                UserWarning,
            )
        elif found is not None and self.names is not None and list(found) != list(self.names):
            raise ValueError(_name_trouble(list(found), list(self.names)))
        if values.shape[1] != self.n:
            raise ValueError(
                f"X has {values.shape[1]} features, but {self.owner} is expecting {self.n} "
                "features as input"
            )
        return values

    def encode(self, table: RawTable, *, report: bool = False) -> Array:
        """Return rows of a matching table as inputs (N, M); `report` warns of unusual values."""
        if self.encoding is None:
            return np.asarray(table)
        encoded = self.encoding.encode(table)
        if report and encoded.notes:
            warn("; ".join(encoded.notes), UserWarning)
        return np.asarray(encoded.inputs)

    def inputs(self, X: Table) -> Array:
        """Return the rows of a table as inputs (N, M), with warnings of unusual values."""
        return self.encode(self.match(X), report=True)

    def input_names(self) -> tuple[str, ...]:
        """Return the names of the inputs: those of the data frame, else x0, x1, ...

        The inputs of an encoded column are named after it, such as "city = Oslo". Columns
        that share a name are distinguished by their numbers.
        """
        if self.encoding is not None:
            return tuple(self.encoding.names)
        if self.names is None:
            return tuple(f"x{m}" for m in range(self.n))
        times = Counter(self.names)
        return tuple(n if times[n] == 1 else f"{n} (column {m})" for m, n in enumerate(self.names))

    def one_row(self, x: RawTable) -> RawTable:
        """Return one row as a table (1, M), from M numbers, a labelled row or a table.

        The labels of a row of a data frame decide on the order of its values.
        """
        if hasattr(x, "to_frame") and self.names is not None:
            if x.index.is_unique and set(x.index) == set(self.names):
                x = x[list(self.names)]
            return x.to_frame().T.infer_objects()
        if np.ndim(x) == 1 and self.encoding is None:
            values = vector("x", x, self.n)[None]
            return values if self.names is None else frame_of(values, columns=self.names)
        return np.asarray(x)[None] if np.ndim(x) == 1 else x

    def raw_values(self, row: Table) -> Mapping[str, object] | None:
        """Return the values of the columns of a row (1, M) before they are encoded, by name."""
        if self.encoding is None or isinstance(self.encoding, Transformed):
            return None
        values: Mapping[str, object] = pandas_frame(row).iloc[0].to_dict()
        return values


def _column_names(X: Table) -> Names | None:
    columns = getattr(X, "columns", None)
    if columns is None:
        return None
    names = list(columns)
    text = [isinstance(name, str) for name in names]
    if any(text) and not all(text):
        raise TypeError(
            "Feature names are only supported if all input features have string names, but your "
            f"input has {sorted({type(name).__name__ for name in names})} as feature name / "
            "column name types: make them all text or none"
        )
    return np.asarray(names, dtype=object) if names and all(text) else None


def _name_trouble(found: list[str], wanted: list[str]) -> str:
    """Return how names of columns differ, in the words of scikit-learn."""
    message = "The feature names should match those that were passed during fit.\n"
    unseen, missing = sorted(set(found) - set(wanted)), sorted(set(wanted) - set(found))
    for title, names in (
        ("Feature names unseen at fit time:", unseen),
        ("Feature names seen at fit time, yet now missing:", missing),
    ):
        if names:
            shown = [f"- {name}" for name in names[:5]] + ["- ..."] * (len(names) > 5)
            message += "\n".join([title, *shown, ""])
    if not unseen and not missing:
        message += "Feature names must be in the same order as they were in fit.\n"
    return message


def check_one_row(row: Array) -> Array:
    """Return a row (1, M) to be explained, or raise an error if there are more or none."""
    if len(row) != 1:
        raise ValueError(
            f"explain takes one row, got {len(row)}: pick one, such as X[0] or X.iloc[0]"
        )
    return row
