"""What the protocol measures: one flat row for each number that the tables need.

A `Record` is a row; `Runs` looks rows up by cell: complete, paired by seed, or an error. What is
made of them, see `study.cells` and `study.claims`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gt2lite._validation import Array
from gt2lite.memberships import ALPHA_0
from study.design import METHODS, PAPER_TABLE

Cell = tuple[str, str, float, str]
"""Data set, model, level and method."""


@dataclass(frozen=True, kw_only=True)
class Record:
    """One interval of one system, judged on the test part; RMSE and score of the scaled target.

    `step` and `interpolation` belong to the method "table" and are None elsewhere. `alpha` is 0
    where no plane covers enough: the interval is the lowest plane with a `margin` then. `reached`
    is the coverage of the calibration part; NaN where nothing was calibrated.
    """

    dataset: str
    seed: int
    mode: str
    model: str  # "baseline", "trained" or "calibrated"
    level: float
    method: str
    step: float | None = None
    interpolation: str | None = None
    n_cal: int
    n_test: int
    alpha: float
    margin: float = 0.0
    reached: float
    n_evaluations: int
    rmse: float
    picp: float
    pinaw: float
    interval_score: float
    train_seconds: float
    train_cpu_seconds: float
    calibrate_seconds: float

    @property
    def cell(self) -> Cell:
        """Data set, model, level and method."""
        return self.dataset, self.model, self.level, self.method

    @property
    def is_standard(self) -> bool:
        """Whether it is of a method as the paper sets it, and of no other look-up table."""
        return self.method != "table" or (self.step, self.interpolation) == PAPER_TABLE


class OutOfReachError(ValueError):
    """A run has no number for a cell, because calibration could not reach its level."""


class Runs:
    """The records of one mode, by cell and seed.

    Args:
        records: one for each (dataset, seed, model, level, method). Look-up tables other than
            the paper's are kept in `tables` only.
        needed: the cells that must be there, with every seed that occurs.
        mode: "default" or "authors".
    """

    def __init__(
        self, records: Iterable[Record], needed: Iterable[Cell], mode: str = "default"
    ) -> None:
        self.records = list(records)
        self.tables: dict[tuple[float, str], dict[tuple[str, float, int], Record]] = {}
        self._cells: dict[Cell, dict[int, Record]] = {}
        for record in self.records:
            if record.mode == mode:
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
        self, name: str, dataset: str, model: str, level: float, method: str | None = None
    ) -> Array:
        """Return a field of a cell's records, in the order of `seeds` (seeds,)."""
        cell = dataset, model, level, method or METHODS[model]
        by_seed = self._cells[cell]
        values = np.array([getattr(by_seed[seed], name) for seed in self.seeds], dtype=float)
        if not np.isfinite(values).all():
            seed = self.seeds[int(np.argmin(np.isfinite(values)))]
            raise OutOfReachError(f"{name} of {_name(cell)} is not a number for seed {seed}")
        return values

    def found(self, name: str, dataset: str, level: float, method: str = "search") -> Array:
        """Return a field of a calibration (seeds,), which tells nothing if it found no plane."""
        cell = dataset, "calibrated", level, method
        self.values("alpha", *cell)  # raises where it is NaN
        return self.values(name, *cell)

    def out_of_reach(self, dataset: str, level: float) -> NDArray[np.bool_]:
        """Return for which seeds (seeds,) no plane of the envelope covers enough."""
        return self.values("alpha", dataset, "calibrated", level, "exact") < ALPHA_0

    def _add(self, record: Record) -> None:
        by_seed = self._cells.setdefault(record.cell, {})
        if record.step is not None and record.interpolation is not None:
            kind, place = (
                (record.step, record.interpolation),
                (record.dataset, record.level, record.seed),
            )
            if place in self.tables.setdefault(kind, {}):
                raise ValueError(
                    f"records hold {_name(record.cell)} of {kind} twice for seed {record.seed}"
                )
            self.tables[kind][place] = record
            if not record.is_standard:
                return
        if record.seed in by_seed:
            raise ValueError(f"records hold {_name(record.cell)} twice for seed {record.seed}")
        by_seed[record.seed] = record

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
