"""Numbers and tables on pages: names, plain values, one shape of table."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

from study.pages import (
    NO_BREAK,
    compared,
    count,
    glue_facts,
    markdown_table,
    p_value,
    power_of_ten,
)

pytest.importorskip("IPython")


class Facts(NamedTuple):
    width: float
    seeds: int


@dataclass
class Cell:
    dataset: str
    picp: float


@pytest.fixture
def told(monkeypatch):
    """Whatever is glued, by name."""
    myst_nb = pytest.importorskip("myst_nb")
    seen = {}

    def glue(name, value, display=True):
        assert not display
        seen[name] = value

    monkeypatch.setattr(myst_nb, "glue", glue)
    return seen


# ----------------------------------------------------------------------------- facts


def test_fields_and_keywords_are_glued_under_the_prefix(told):
    glue_facts("cost", Facts(1.5, 20), winner="aligned")
    assert told == {"cost_width": 1.5, "cost_seeds": 20, "cost_winner": "aligned"}


def test_a_mapping_a_dataclass_or_keywords_alone_will_do(told):
    glue_facts("a", {"x": 1})
    glue_facts("b", Cell("ww", 0.9))
    glue_facts("c", y=True)
    assert told == {"a_x": 1, "b_dataset": "ww", "b_picp": 0.9, "c_y": True}


def test_numpy_scalars_become_plain_numbers(told):
    glue_facts("n", f=np.float64(0.25), i=np.int64(3), b=np.bool_(True), s=np.str_("ww"))
    assert {name: type(value) for name, value in told.items()} == {
        "n_f": float,
        "n_i": int,
        "n_b": bool,
        "n_s": str,
    }


@pytest.mark.parametrize("value", [None, [1.0], np.ones(2), np.array(1.0), 1j])
def test_what_is_no_number_or_text_is_refused_by_name(told, value):
    with pytest.raises(TypeError, match="width"):
        glue_facts("cost", {"seeds": 3, "width": value})
    assert told == {}


@pytest.mark.parametrize(("facts", "error"), [({"seeds": 1}, ValueError), ((1, 2), TypeError)])
def test_facts_have_names_and_are_given_once(told, facts, error):
    with pytest.raises(error):
        glue_facts("cost", facts, seeds=5)


# ----------------------------------------------------------------------------- tables


def test_rows_of_every_kind_make_the_same_table():
    columns = {"row": "{dataset}", "PICP": "{picp:.2f}"}
    row = {"dataset": "ww", "picp": 0.9}
    kinds = [[Cell(**row)], [row], pd.DataFrame([row]), pd.DataFrame([row]).set_index("dataset")]
    made = {markdown_table(rows, columns) for rows in kinds}
    assert made == {"| row | PICP |\n|---|---:|\n| ww | 0.90 |"}


def test_a_frame_without_formats_shows_its_columns_and_keeps_whole_numbers():
    frame = pd.DataFrame({"a b": [1, 2], "c.d": [0.5, 1.5]})
    assert markdown_table(frame).splitlines()[2:] == ["| 1 | 0.5 |", "| 2 | 1.5 |"]


@pytest.mark.parametrize(
    ("cells", "side"),
    [
        (["1", "-2.5", "+1e-05"], "---:"),
        (["1,200", "", "-"], "---:"),
        (["**80.9** ± 3.5", "81.4 ± 4.5"], "---:"),
        (["24\N{NO-BREAK SPACE}%", "<\N{NO-BREAK SPACE}0.001", "inf"], "---:"),
        (["1", "ww"], "---"),
        (["", "-"], "---"),
        (["0.9 to 0.95"], "---"),
        (["1 of 3"], "---"),
    ],
)
def test_a_column_is_aligned_on_the_right_where_all_its_cells_are_numbers(cells, side):
    text = markdown_table([{"x": cell} for cell in cells], {"x": "{x}"})
    assert text.splitlines()[1] == f"|{side}|"


def test_no_rows_are_told_as_none():
    text = markdown_table([], {"row": "{dataset}", "PICP": "{picp:.2f}"})
    assert text.splitlines() == ["| row | PICP |", "|---|---|", "| none |  |"]


def test_bars_and_line_ends_do_not_break_a_row():
    text = markdown_table([{"x": "$|a|$\nand"}, {"x": r"b\|c"}], {"|x|": "{x}"})
    head, _, *body = text.splitlines()
    assert head == r"| \|x\| |"
    assert body == [r"| $\|a\|$ and |", r"| b\|c |"]


def test_a_field_that_a_row_lacks_is_named_with_its_column():
    with pytest.raises(ValueError, match="PICP"):
        markdown_table([{"width": 1.0}], {"PICP": "{picp:.2f}"})


# -------------------------------------------------------------------------- sentences


@pytest.mark.parametrize(
    ("p", "text"), [(0, "< 0.001"), (0.00099, "< 0.001"), (0.001, "0.001"), (0.9999, "1.000")]
)
def test_a_p_value_never_reads_zero(p, text):
    assert p_value(p).replace("\N{NO-BREAK SPACE}", " ") == text


def test_counts_fit_their_noun():
    assert [count(np.int64(n), "row", "rows") for n in (0, 1, 2)] == ["no rows", "1 row", "2 rows"]
    with pytest.raises(ValueError, match="n "):
        count(-1, "row", "rows")


def test_a_comparison_names_the_direction_and_not_the_sign():
    texts = [compared(d, "lower", "higher", digits=1) for d in (-0.06, 0.06, -0.04, 0.04, 0)]
    assert [text.replace("\N{NO-BREAK SPACE}", " ") for text in texts] == [
        "0.1% lower",
        "0.1% higher",
        "equal",
        "equal",
        "equal",
    ]


def test_a_power_of_ten_has_its_exponent_raised_and_zero_stays_zero():
    texts = [power_of_ten(v, digits=0) for v in (2e-13, 8e6, -3.0, 0)]
    assert not any(" " in text for text in texts)  # a line may not break inside
    told = [text.replace("\N{MULTIPLICATION SIGN}", "x").replace(NO_BREAK, " ") for text in texts]
    assert markdown_table([{"a": texts[0]}], {"a": "{a}"}).splitlines()[1] == "|---:|"
    assert told == [
        "2 x 10⁻¹³",
        "8 x 10⁶",
        "-3 x 10⁰",
        "0",
    ]
