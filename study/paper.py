"""What the paper printed: the cells of its tables, numbers of its text, its claims and settings.

The values live in `data/paper/*.csv`; no number of theirs stands in code. They are in the
paper's units: RMSE and PINAW times 100, PICP in per cent. How ours compare, see
`study.cells` and `study.claims`.
"""

from __future__ import annotations

import csv
from typing import Any, NamedTuple

from gt2lite.datasets import data_path


class PublishedCell(NamedTuple):
    """A cell of Table I or II as printed."""

    table: str
    dataset: str
    level: float
    metric: str
    model: str
    mean: float
    std: float
    bold: bool


class TextValue(NamedTuple):
    """A number of the running text, and the table cell that it repeats."""

    place: str
    table: str
    dataset: str
    level: float
    metric: str
    model: str
    value: float


class Slip(NamedTuple):
    """A number of the text that is not the one of its table."""

    dataset: str
    level: float
    model: str
    text: float
    table: float
    rival: float  # what the table has for the model trained for the level


class Claim(NamedTuple):
    """A checkable claim of the paper, in our words; claims of a group say the same thing."""

    id: str
    group: str
    place: str
    claim: str


def published_cells() -> list[PublishedCell]:
    """Return the 48 cells of Tables I and II.

    >>> cells = published_cells()
    >>> len(cells), cells[0].dataset, cells[0].metric, cells[0].mean, cells[0].bold
    (48, 'ww', 'rmse', 80.92, True)
    """
    return [
        PublishedCell(
            row["table"],
            row["dataset"],
            float(row["level"]),
            row["metric"],
            row["model"],
            float(row["mean"]),
            float(row["std"]),
            row["bold"] == "1",
        )
        for row in _read("tables.csv")
    ]


def text_values() -> list[TextValue]:
    """Return the results that the running text states."""
    return [
        TextValue(**row | {"level": float(row["level"]), "value": float(row["value"])})
        for row in _read("text.csv")
    ]


def slips() -> list[Slip]:
    """Return where the text of the paper contradicts its tables.

    >>> [(slip.dataset, slip.text, slip.table) for slip in slips()]
    [('aids', 87.42, 87.88), ('pp', 87.86, 89.88)]
    """
    printed = {cell[:5]: cell.mean for cell in published_cells()}
    out = []
    for value in text_values():
        in_table = printed[value[1:6]]
        if value.value != in_table:
            rival = printed[(*value[1:5], "trained")]
            out.append(Slip(value.dataset, value.level, value.model, value.value, in_table, rival))
    return out


def claims() -> list[Claim]:
    """Return the claims of the text, in the order of the paper."""
    return [Claim(**row) for row in _read("claims.csv")]


def settings() -> dict[str, float]:
    """Return the settings that the paper states.

    >>> settings()["repetitions"]
    5.0
    """
    return {row["name"]: float(row["value"]) for row in _read("settings.csv")}


def _read(name: str) -> list[dict[str, Any]]:
    with data_path("paper", name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))
