"""`TableModel`: a calibrated regressor with the encoding of its columns."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from gt2lite import model_file
from gt2lite._validation import between
from gt2lite.calibration import plain_fraction
from gt2lite.columns import Columns, Frame, TableError
from gt2lite.regressor import GT2Regressor, bound_names
from gt2lite.report.reading import read

CHUNK = 10_000  # rows that are predicted at a time


def read_levels(levels: Sequence[float]) -> tuple[float, ...]:
    """Return the levels in rising order, each once, as the plain fractions that they stand for.

    >>> read_levels([0.9, 0.1 + 0.2, 0.3])
    (0.3, 0.9)
    """
    try:
        found = {float(plain_fraction(between("levels", level, 0, 1))) for level in levels}
    except TypeError:
        raise TableError(f"levels must be numbers such as (0.8, 0.9), got {levels!r}") from None
    if not found:
        raise TableError("levels must name at least one coverage, such as 0.9")
    return tuple(sorted(found))


def frame_to_csv(frame: Frame) -> bytes:
    """Return a frame with its index, the column "row", as a CSV file."""
    text: str = frame.to_csv(index_label="row", lineterminator="\n")
    return text.encode()


@dataclass
class TableModel:
    """A model that predicts a column of a table from its other columns."""

    regressor: GT2Regressor  #: the calibrated estimator
    columns: Columns  #: how columns become its inputs
    target: str  #: name of the column that it predicts
    levels: tuple[float, ...]  #: those of `predict` by default
    notes: list[str] = field(default_factory=list)  #: on the last table that it predicted

    def predict(self, table: Any, levels: Sequence[float] | None = None) -> Frame:
        """Return the prediction and intervals for each row of a file or a data frame.

        Unseen categories, missing columns and the like are reported in `notes`.

        Args:
            table: a path or a data frame; the target may be absent.
            levels: coverages, such as ``[0.5, 0.9]``.

        Returns:
            A frame with the columns prediction, lower_90, upper_90, ...
        """
        X, self.notes, _ = self.columns.encode(read(table).frame)
        return self.predict_encoded(X, levels)

    def predict_encoded(self, X: Frame, levels: Sequence[float] | None = None) -> Frame:
        """Return the same for rows that are encoded already."""
        levels = self.levels if levels is None else read_levels(levels)
        names = ["prediction", *(name for level in levels for name in bound_names(level))]
        values = np.empty((len(X), len(names)))
        for start in range(0, len(X), CHUNK):
            chunk = slice(start, start + CHUNK)
            values[chunk, 0] = self.regressor.predict(X.iloc[chunk])
            values[chunk, 1::2], values[chunk, 2::2] = self.regressor.predict_interval(
                X.iloc[chunk], coverage=list(levels)
            )
        return pd.DataFrame(values, columns=names, index=X.index)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one JSON file at exactly this path, see `gt2lite.model_file`."""
        content = {
            "target": self.target,
            "levels": self.levels,
            "columns": self.columns.to_json(),
            "regressor": model_file.pack_regressor(self.regressor),
        }
        model_file.write(path, "table model", content)


def load(path: str | os.PathLike[str]) -> TableModel:
    """Return the model that `TableModel.save` wrote; nothing in the file is executed.

    Raises:
        FileFormatError: the file is damaged, of another kind or of a later version.
    """
    return model_file.load(path, "table model", _unpack)


def _unpack(content: dict[str, Any]) -> TableModel:
    target, levels, columns, regressor = model_file.pick(
        content, "target", "levels", "columns", "regressor"
    )
    found = Columns.from_json(columns)
    reg = model_file.unpack_regressor(GT2Regressor, regressor)
    if reg.n_features_in_ != len(found.names):
        raise ValueError(f"columns must encode {reg.n_features_in_} inputs")
    if not isinstance(target, str):
        raise ValueError("target must be a name")
    return TableModel(reg, found, target, read_levels(levels))
