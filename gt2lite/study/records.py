"""Records of the protocol, looked up by cell: complete, paired by seed, or an error.

A record is what `gt2lite.study.protocol.records` yields: a flat row of numbers for each
(dataset, seed, model, level, method). What is made of them is told elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gt2lite._checks import Array
from gt2lite.calibration import TableCalibrator, rank

METHODS = {"baseline": "trained", "trained": "trained", "calibrated": "search"}
"""The method behind the paper's numbers for each model."""

Record = Mapping[str, Any]
Cell = tuple[str, str, float, str]
"""Data set, model, level and method."""

_NUMBERS = ("rmse", "picp", "pinaw", "interval_score", "alpha", "reached", "n_evaluations")
_NAMES = ("dataset", "seed", "mode", "model", "level", "method")
_SIZES = ("n_cal", "n_test", "train_seconds", "calibrate_seconds")
_KEYS = frozenset(_NAMES + _NUMBERS + _SIZES)


class OutOfReachError(ValueError):
    """A run has no number for a cell, because calibration could not reach its level."""


class Runs:
    """The records of one mode.

    Args:
        records: one for each (dataset, seed, model, level, method). A record of a table may
            also say its `step` and `interpolation`; one that is not `TableCalibrator`'s
            default is a variant, kept in `tables` only.
        needed: the cells that must be there, with every seed that occurs.
        mode: "default" or "authors".
    """

    def __init__(
        self, records: Iterable[Record], needed: Iterable[Cell], mode: str = "default"
    ) -> None:
        records = self.records = list(records)
        self.tables: dict[tuple[float, str], dict[tuple[str, float, int], Record]] = {}
        self._cells: dict[Cell, dict[int, Record]] = {}
        for record in records:
            if absent := _KEYS - record.keys():
                raise ValueError(f"a record lacks {', '.join(sorted(absent))}: {dict(record)}")
            if record["mode"] == mode:
                self._add(record)
        self.seeds = sorted({seed for by_seed in self._cells.values() for seed in by_seed})
        if len(self.seeds) < 2:
            raise ValueError(
                f"records must hold at least 2 seeds of mode {mode!r}, got {self.seeds}"
            )
        lacking = [text for cell in needed if (text := self._lacking(cell))]
        if lacking:
            more = f" and {len(lacking) - 6} more" if len(lacking) > 6 else ""
            raise ValueError(f"records of mode {mode!r} lack {'; '.join(lacking[:6])}{more}")

    def values(
        self, key: str, dataset: str, model: str, level: float, method: str | None = None
    ) -> Array:
        """Return what a cell's records hold under `key`, in the order of `seeds` (seeds,)."""
        cell = dataset, model, level, method or METHODS[model]
        values = np.array([self._cells[cell][seed][key] for seed in self.seeds], dtype=float)
        if not np.isfinite(values).all():
            seed = self.seeds[int(np.argmin(np.isfinite(values)))]
            raise OutOfReachError(f"{key} of {_name(cell)} is not a number for seed {seed}")
        return values

    def found(self, key: str, dataset: str, level: float, method: str = "search") -> Array:
        """Return a value of a calibration (seeds,), which tells nothing if it found no plane."""
        cell = dataset, "calibrated", level, method
        self.values("alpha", *cell)  # raises where it is NaN
        return self.values(key, *cell)

    def out_of_reach(self, dataset: str, level: float) -> NDArray[np.bool_]:
        """Return for which seeds (seeds,) no plane covers enough of the calibration set."""
        cell = dataset, "calibrated", level, "exact"
        n_cal = self.values("n_cal", *cell)
        wanted = [rank(level, int(n)) for n in n_cal]
        return np.rint(n_cal * self.values("reached", *cell)) < wanted

    def _add(self, record: Record) -> None:
        dataset, level, seed = record["dataset"], float(record["level"]), record["seed"]
        cell = dataset, record["model"], level, record["method"]
        by_seed = self._cells.setdefault(cell, {})
        if record["method"] == "table":
            default = TableCalibrator()
            kind = (
                float(record.get("step", default.step)),
                record.get("interpolation", default.interpolation),
            )
            if (dataset, level, seed) in self.tables.setdefault(kind, {}):
                raise ValueError(f"records hold {_name(cell)} of {kind} twice for seed {seed}")
            self.tables[kind][dataset, level, seed] = record
            if kind != (default.step, default.interpolation):
                return
        if seed in by_seed:
            raise ValueError(f"records hold {_name(cell)} twice for seed {seed}")
        by_seed[seed] = record

    def _lacking(self, cell: Cell) -> str:
        """Return what of a cell is not there, in words; "" where nothing is lacking."""
        absent = [seed for seed in self.seeds if seed not in self._cells.get(cell, {})]
        if not absent:
            return ""
        which = "" if len(absent) == len(self.seeds) else f" seed {', '.join(map(str, absent))}"
        return _name(cell) + which


def _name(cell: Cell) -> str:
    dataset, model, level, method = cell
    return f"{dataset} {model} {level:g} ({method})"
