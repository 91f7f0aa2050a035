"""The published values: tables, numbers of the text, claims and settings of the paper.

They live in `data/paper/*.csv`; no published number stands in code. Values are in the paper's
units: RMSE and PINAW times 100, PICP in percent.
"""

from __future__ import annotations

import pandas as pd

from gt2lite.datasets import data_path

CELL = ["dataset", "level", "metric", "model"]
"""The columns that identify a cell of the tables."""


def cells() -> pd.DataFrame:
    """Return the 48 cells of Tables I and II, in their order.

    >>> print(*cells().loc[0, ["dataset", "level", "metric", "model", "mean", "bold"]])
    ww 0.9 rmse trained 80.92 True
    """
    return _read("tables").astype({"bold": bool})


def text_values() -> pd.DataFrame:
    """Return the results that the running text states, with the table's value beside them."""
    printed = cells()[[*CELL, "mean"]].rename(columns={"mean": "in_table"})
    return _read("text").merge(printed, on=CELL, how="left", validate="m:1")


def claims() -> pd.DataFrame:
    """Return the checkable claims of the text in our words; claims of a group say the same."""
    return _read("claims")


def settings() -> dict[str, float]:
    """Return the settings that the paper states.

    >>> settings()["repetitions"]
    5.0
    """
    found = _read("settings")
    return dict(zip(found.name, found.value.astype(float), strict=True))


def _read(name: str) -> pd.DataFrame:
    return pd.read_csv(data_path("paper", f"{name}.csv"))
