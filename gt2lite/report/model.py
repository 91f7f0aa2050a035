"""A model that takes tables: a calibrated `GT2Regressor` and the specification of its columns.

Its file is of a kind of its own, "table model": the content of the estimator's file, and the
specification in the header. Both are plain numbers and JSON; nothing in a file is ever run.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from gt2lite import model_file
from gt2lite._validation import Array
from gt2lite.regressor import GT2Regressor
from gt2lite.report.columns import Columns
from gt2lite.report.reading import Frame, read

KIND = "table model"
CHUNK = 10_000  # rows that are predicted at a time


@dataclass
class TableModel:
    """Predicts a column of a table from its other columns.

    Attributes:
        regressor: the calibrated estimator.
        columns: how columns become its inputs.
        target: name of the column that it predicts.
        levels: those that `predict` gives when none are asked for.
        notes: what was odd about the last table that it predicted, in words.
    """

    regressor: GT2Regressor
    columns: Columns
    target: str
    levels: tuple[float, ...]
    notes: list[str] = field(default_factory=list)

    def predict(self, table: Any, levels: Sequence[float] | None = None) -> Frame:
        """Return prediction and intervals for each row of a file or a data frame.

        Unseen categories, missing columns and the like are told in `notes`.

        Args:
            table: a path or a data frame; the target need not be in it.
            levels: coverages, such as ``[0.5, 0.9]``.

        Returns:
            A frame with the columns prediction, lower_90, upper_90, ...
        """
        frame = read(table).frame
        X, self.notes = self.columns.encode(frame)
        return self.predict_encoded(X, levels)

    def predict_encoded(self, X: Frame, levels: Sequence[float] | None = None) -> Frame:
        """Return the same for rows that are encoded already, in chunks."""
        levels = tuple(self.levels if levels is None else levels)
        parts = [
            self._chunk(X.iloc[i : i + CHUNK], levels) for i in range(0, max(len(X), 1), CHUNK)
        ]
        names = ["prediction"]
        for level in levels:
            names += [f"lower_{percent(level)}", f"upper_{percent(level)}"]
        return pd.DataFrame(np.concatenate(parts), columns=names, index=X.index)

    def _chunk(self, X: Frame, levels: tuple[float, ...]) -> Array:
        if not len(X):
            return np.empty((0, 1 + 2 * len(levels)))
        lower, upper = self.regressor.predict_interval(X, coverage=list(levels))
        ends = np.stack([lower, upper], axis=2).reshape(len(X), -1)  # (N, 2 L)
        return np.column_stack([self.regressor.predict(X), ends])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one JSON file at exactly this path, see `gt2lite.model_file`."""
        content = {
            "target": self.target,
            "levels": self.levels,
            "columns": self.columns.to_header(),
            "regressor": model_file.pack_regressor(self.regressor),
        }
        model_file.write(path, "table model", content)


def load(path: str | os.PathLike[str]) -> TableModel:
    """Return the model that `TableModel.save` wrote.

    Raises:
        FileFormatError: the file is damaged, of another kind or of a later version.
    """
    return model_file.load(path, "table model", _unpack)


def _unpack(content: dict[str, Any]) -> TableModel:
    target, levels, columns, regressor = model_file.pick(
        content, "target", "levels", "columns", "regressor"
    )
    found = Columns.from_header(columns)
    reg = model_file.unpack_regressor(GT2Regressor, regressor)
    if reg.n_features_in_ != len(found.names):
        raise ValueError("columns and inputs do not fit together")
    return TableModel(reg, found, str(target), tuple(float(level) for level in levels))


def percent(level: float) -> str:
    """Return a level as a percentage without trailing zeros.

    >>> percent(0.9), percent(0.975)
    ('90', '97.5')
    """
    return f"{round(100 * level, 6):g}"
