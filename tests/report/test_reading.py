"""Files as people have them are read, and what was found out is told."""

from __future__ import annotations

import gzip

import pandas as pd
import pytest
from messy_tables import messy_csv

from gt2lite.report import TableError, read
from gt2lite.report.reading import read_csv

EXPECTED = pd.DataFrame({"größe": [1.5, 2.5], "art": ["ä", "b"]})


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "utf-16"])
@pytest.mark.parametrize(
    ("separator", "decimal"), [(",", "."), (";", ","), ("\t", ","), ("|", ".")]
)
def test_any_dialect_gives_the_same_table(encoding, separator, decimal):
    rows = [["größe", "art"], [f"1{decimal}5", "ä"], [f"2{decimal}5", "b"]]
    text = "\n".join(separator.join(row) for row in rows)
    frame, notes = read_csv(text.encode(encoding))
    pd.testing.assert_frame_equal(frame, EXPECTED, check_dtype=False)
    assert ("decimal comma" in notes[1]) == (decimal == ",")


def test_a_file_without_names_gets_numbers_for_them():
    frame, notes = read_csv(b"1,2.5\n3,4.5\n5,6\n")
    assert list(frame.columns) == ["column 1", "column 2"]
    assert len(frame) == 3
    assert "no names" in notes[1]


def test_lines_above_the_table_are_left_out_and_told():
    frame, notes = read_csv(b"Report of May\n\na;b\n1;2\n3;4\n5;6\n")
    assert frame.to_dict("list") == {"a": [1, 3, 5], "b": [2, 4, 6]}
    assert notes[-1] == "1 line(s) above the table were left out."


def test_one_column_is_a_table_too():
    assert read_csv(b"a\n1\n2\n")[0]["a"].tolist() == [1, 2]


def test_a_separator_inside_quotes_is_text():
    frame, _ = read_csv(b'a,b\n"x, y",1\n"z, w",2\n')
    assert frame["a"].tolist() == ["x, y", "z, w"]


def test_excel_and_gzip_give_the_same(tmp_path):
    frame = pd.DataFrame({"a": [1.5, 2.5], "b": ["x", "y"]})
    frame.to_excel(tmp_path / "t.xlsx", index=False)
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(frame.to_csv(index=False).encode()))
    for name in ("t.xlsx", "t.csv.gz"):
        found = read(tmp_path / name).frame
        pd.testing.assert_frame_equal(found.reset_index(drop=True), frame, check_dtype=False)


def test_rows_of_a_file_are_counted_from_1(tmp_path):
    (tmp_path / "t.csv").write_bytes(messy_csv(5))
    assert read(tmp_path / "t.csv").frame.index.tolist() == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("absent.csv", None, "there is no file"),
        ("t.csv", b"  \n", "is empty"),
        ("t.docx", b"x", "save the table as CSV"),
        ("t.xlsx", b"x", "cannot be read"),
    ],
)
def test_what_cannot_be_read_is_refused_with_a_way_out(tmp_path, name, content, said):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(TableError, match=said):
        read(tmp_path / name)
    with pytest.raises(TableError, match="path of a file or a data frame, got list"):
        read([1, 2])
