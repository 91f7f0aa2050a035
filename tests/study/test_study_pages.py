"""Numbers and tables on pages: names, plain values, one shape of table."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

from study.pages import compared, count, glue_facts, p_value, power_of_ten, table

pytest.importorskip("IPython")


class Tuple(NamedTuple):
    dataset: str
    picp: float


@dataclass
class Cell:
    dataset: str
    picp: float


@pytest.fixture
def glued(monkeypatch):
    """Whatever is glued, by name."""
    seen = {}
    myst_nb = pytest.importorskip("myst_nb")
    monkeypatch.setattr(myst_nb, "glue", lambda name, value, display: seen.update({name: value}))
    return seen


def test_facts_are_glued_under_the_prefix_as_plain_values(glued):
    glue_facts("cost", pd.Series({"width": 1.5}), winner="aligned")
    glue_facts("n", {"x": np.int64(3)}, b=np.bool_(True))
    assert glued == {"cost_width": 1.5, "cost_winner": "aligned", "n_x": 3, "n_b": True}
    assert [type(value) for value in glued.values()] == [float, str, int, bool]


@pytest.mark.parametrize("value", [None, [1.0], np.array(1.0)])
def test_a_fact_that_is_no_number_or_text_is_refused_by_name(glued, value):
    with pytest.raises(TypeError, match="width"):
        glue_facts("cost", {"seeds": 3, "width": value})
    assert glued == {}


def test_a_fact_is_given_once(glued):
    with pytest.raises(ValueError, match="seeds"):
        glue_facts("cost", {"seeds": 1}, seeds=5)


def markdown_table(rows, columns=None):
    return "\n".join(table("name", rows, columns).data.splitlines()[3:-2])


def test_rows_of_every_kind_make_the_same_table():
    columns = {"row": "{dataset}", "PICP": "{picp:.2f}"}
    row = {"dataset": "ww", "picp": 0.9}
    kinds = [[Tuple(**row)], [Cell(**row)], [row], pd.DataFrame([row])]
    kinds.append(pd.DataFrame([row]).set_index("dataset"))
    made = {markdown_table(rows, columns) for rows in kinds}
    assert made == {"| row | PICP |\n|---|---:|\n| ww | 0.90 |"}


def test_without_formats_all_columns_are_shown_and_whole_numbers_stay_whole():
    frame = pd.DataFrame({"a b": [1, 2], "c.d": [0.5, 1.5]})
    assert markdown_table(frame).splitlines()[2:] == ["| 1 | 0.5 |", "| 2 | 1.5 |"]
    assert markdown_table([{"n": 1}, {"n": None}]).splitlines()[2:] == ["| 1 |", "| None |"]


@pytest.mark.parametrize(
    ("cells", "side"),
    [
        (["1", "-2.5", "+1e-05"], "---:"),
        (["1,200", "", "-"], "---:"),
        (["**80.9** ± 3.5", "81.4 ± 4.5"], "---:"),
        (["24\N{NO-BREAK SPACE}%", "<\N{NO-BREAK SPACE}0.001", "inf"], "---:"),
        ([power_of_ten(2e-13)], "---:"),
        (["1", "ww"], "---"),
        (["", "-"], "---"),
        (["0.9 to 0.95"], "---"),
    ],
)
def test_a_column_is_aligned_on_the_right_where_all_its_cells_are_numbers(cells, side):
    text = markdown_table([{"x": cell} for cell in cells], {"x": "{x}"})
    assert text.splitlines()[1] == f"|{side}|"


def test_no_rows_are_reported_as_none():
    text = markdown_table([], {"row": "{dataset}", "PICP": "{picp:.2f}"})
    assert text.splitlines() == ["| row | PICP |", "|---|---|", "| none |  |"]


def test_bars_and_line_ends_do_not_break_a_row():
    text = markdown_table([{"x": "$|a|$\nand"}, {"x": r"b\|c"}], {"|x|": "{x}"})
    head, _, *body = text.splitlines()
    assert head == r"| \|x\| |" and body == [r"| $\|a\|$ and |", r"| b\|c |"]


def test_sentences_read_well_at_every_value():
    assert [p_value(p).replace("\xa0", " ") for p in (0, 0.00099, 0.001)] == [
        *["< 0.001"] * 2,
        "0.001",
    ]
    assert [count(np.int64(n), "row", "rows") for n in (0, 1, 2)] == ["no rows", "1 row", "2 rows"]
    assert compared(-0.06, "lower", "higher", digits=1) == "0.1% lower"
    assert compared(0.06, "lower", "higher", digits=1) == "0.1% higher"
    assert compared(-0.04, "lower", "higher", digits=1) == "equal"
    assert power_of_ten(-3.0, digits=0).endswith("10⁰") and " " not in power_of_ten(8e6)
