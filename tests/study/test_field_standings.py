"""Standings have a row for each contestant, and the best of a column in bold."""

from __future__ import annotations

import numpy as np

from study.field.standings import Standing, standings, standings_columns
from study.field.tables import title
from study.pages import markdown_table

VALUES = {
    "paper": {"ww": np.array([1.0, 1.2]), "pp": np.array([0.1, 0.2])},
    "aligned": {"ww": np.array([0.9, 0.9])},
}


def test_means_are_written_and_the_best_of_a_column_is_bold() -> None:
    assert standings(VALUES, "{:.1f}", scale=100) == [
        Standing(title("paper"), {"ww": "110.0", "pp": "**15.0**"}),
        Standing(title("aligned"), {"ww": "**90.0**", "pp": ""}),
    ]


def test_where_small_is_not_good_nothing_is_marked() -> None:
    rows = standings(VALUES, mark_best=False)
    assert [row.means["ww"] for row in rows] == ["1.10", "0.90"]


def test_the_columns_are_the_data_sets() -> None:
    lines = markdown_table(standings(VALUES), standings_columns(VALUES)).splitlines()
    assert [cell.strip() for cell in lines[0].split("|")] == ["", "", "WW", "PP", ""]
    assert lines[2] == f"| {title('paper')} | 1.10 | **0.15** |"
