"""Published values: tables, numbers of the text, claims, items and settings of the paper.

They live in `data/paper/*.csv`; no published number stands in code. Values are in the paper's
units: RMSE and PINAW times 100, PICP in percent. `alliance` returns the trials of the nearest
other work, in the same units, from `data/alliance/`.
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
    return _read("paper", "tables").astype({"bold": bool})


def text_values() -> pd.DataFrame:
    """Return the results that the running text states, with the table's value beside them."""
    printed = cells()[[*CELL, "mean"]].rename(columns={"mean": "in_table"})
    return _read("paper", "text").merge(printed, on=CELL, how="left", validate="m:1")


def claims() -> pd.DataFrame:
    """Return the checkable claims of the text in our words; claims of a group say the same.

    `measure` is empty unless the claim is judged by a measure that the paper does not use;
    `label` and `tests` are as in `items`.
    """
    return _read("paper", "claims").fillna({"measure": "", "tests": ""})


def items() -> pd.DataFrame:
    """Return the equations, algorithms, figures, tables and settings of the paper.

    `label` is the place in this book, `code` and `tests` name functions and tests, `deviation` the
    file with its comment, if there is one; `claims` has the rest of the paper.

    >>> print(*items().loc[3, ["place", "verdict", "code"]])
    Eq. (4) departure gt2lite.memberships.primary
    """
    return _read("paper", "items").fillna("")


def settings() -> dict[str, float]:
    """Return the settings that the paper states.

    >>> settings()["repetitions"]
    5.0
    """
    found = _read("paper", "settings")
    return dict(zip(found.name, found.value.astype(float), strict=True))


def alliance() -> pd.DataFrame:
    """Return the published trials of Msaddi and Kumbasar (2025) on the paper's data sets.

    >>> print(*alliance().loc[0, ["dataset", "system", "conformal", "level", "trial"]])
    ww it2-km none 0.9 1
    """
    found = _read("alliance", "trials")
    return found.assign(picp=100 * found.picp, pinaw=100 * found.pinaw)


def _read(folder: str, name: str) -> pd.DataFrame:
    return pd.read_csv(data_path(folder, f"{name}.csv"))
