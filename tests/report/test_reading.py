"""Files of any dialect are read, and the notes say how."""

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


@pytest.mark.parametrize(
    ("content", "expected", "note"),
    [
        (b"1,2.5\n3,4.5\n5,6\n", {"column 1": [1, 3, 5], "column 2": [2.5, 4.5, 6]}, "no names"),
        (b"Report of May\n\na;b\n1;2\n3;4\n5;6\n", {"a": [1, 3, 5], "b": [2, 4, 6]}, "1 line"),
        (b"a\n1\n2\n", {"a": [1, 2]}, "Separator"),
        (b'a,b\n"x, y",1\n"z, w",2\n', {"a": ["x, y", "z, w"], "b": [1, 2]}, "comma"),
        (b"a,b\n1,?\n2,3\n", {"a": [1, 2], "b": [None, 3]}, "comma"),
    ],
)
def test_headers_other_lines_quotes_and_gaps_are_recognised(content, expected, note):
    frame, notes = read_csv(content)
    pd.testing.assert_frame_equal(frame, pd.DataFrame(expected), check_dtype=False)
    assert any(note in line for line in notes)


def test_excel_and_gzip_give_the_same(tmp_path):
    frame = pd.DataFrame({"a": [1.5, 2.5], "b": ["x", "y"]})
    frame.to_excel(tmp_path / "t.xlsx", index=False)
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(frame.to_csv(index=False).encode()))
    for name in ("t.xlsx", "t.csv.gz"):
        found = read(tmp_path / name).frame
        pd.testing.assert_frame_equal(found.reset_index(drop=True), frame, check_dtype=False)


def test_rows_of_a_file_are_counted_from_1_and_names_are_unique(tmp_path):
    (tmp_path / "t.csv").write_bytes(messy_csv(5))
    assert read(tmp_path / "t.csv").frame.index.tolist() == [1, 2, 3, 4, 5]
    frame = pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a "], index=[7, 7])
    found = read(frame).frame
    assert list(found.columns) == ["a", "a (2)"] and found.index.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("name", "content", "match"),
    [
        ("absent.csv", None, "no file"),
        ("t.csv", b"  \n", "empty"),
        ("t.docx", b"x", "CSV"),
        ("t.xlsx", b"x", "cannot be read"),
    ],
)
def test_what_cannot_be_read_is_refused(tmp_path, name, content, match):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(TableError, match=match):
        read(tmp_path / name)
    with pytest.raises(TableError, match="table"):
        read([1, 2])
