"""Files of any dialect are read, and the notes say how."""

from __future__ import annotations

import gzip

import pandas as pd
import pytest
from messy_tables import messy_csv

from gt2lite.practice.report import TableError, read, reading
from gt2lite.practice.report.reading import read_csv

EXPECTED = pd.DataFrame({"größe": [1.5, 2.5], "art": ["ä", "b"]})


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "utf-16"])
@pytest.mark.parametrize(
    ("separator", "decimal"), [(",", "."), (";", ","), ("\t", ","), ("|", ".")]
)
def test_any_dialect_gives_the_same_table(encoding, separator, decimal):
    rows = [["größe", "art"], [f"1{decimal}5", "ä"], [f"2{decimal}5", "b"]]
    text = "\n".join(separator.join(row) for row in rows)
    frame, _, notes, _ = read_csv(text.encode(encoding))
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
        (b"1,5;2,5\n3,5;4,5\n", {"column 1": [1.5, 3.5], "column 2": [2.5, 4.5]}, "semicolon"),
        (b"In May, 2024\na;b\n1,5;2,5\n", {"a": [1.5], "b": [2.5]}, "semicolon"),
        (b"a, b\tc\nx, y\t5\nz, w\t6\n", {"a, b": ["x, y", "z, w"], "c": [5, 6]}, "tab"),
    ],
)
def test_headers_other_lines_quotes_and_gaps_are_recognised(content, expected, note):
    frame, _, notes, _ = read_csv(content)
    pd.testing.assert_frame_equal(frame, pd.DataFrame(expected), check_dtype=False)
    assert any(note in line for line in notes)


def test_excel_and_gzip_give_the_same(tmp_path):
    frame = pd.DataFrame({"a": [1.5, None], "b": ["x", "y"], "zip": ["01067", "10115"]})
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


def test_a_line_with_the_name_asked_for_is_the_header_even_beside_numbers(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("city,2009,2010\n" + "".join(f"C{i},{i},{2 * i}\n" for i in range(9)))
    assert list(read(path).frame) == ["column 1", "column 2", "column 3"]
    frame = read(path, "2010").frame
    assert list(frame) == ["city", "2009", "2010"]
    assert frame["2010"].tolist() == [2 * i for i in range(9)]


@pytest.mark.parametrize("row", ['1,25;"t;";0.50 kg', "1,25;t;u", "1,25;Smith, J;v"])
@pytest.mark.parametrize("names", ["x;name;z\n", ""])
def test_a_comma_in_a_title_does_not_make_decimal_commas_separators(names, row):
    lines = "".join(f"{row}\n" for _ in range(5))
    frame = read_csv(f"Report of May, 2024\n{names}{lines}".encode()).frame
    assert frame.shape == (5, 3) and frame.iloc[:, 0].tolist() == [1.25] * 5


@pytest.mark.parametrize(
    ("name", "content", "match"),
    [
        ("absent.csv", None, "no file"),
        ("t.csv", b"  \n", "empty"),
        ("t.docx", b"x", "CSV"),
        ("t.xlsx", b"x", "cannot be read"),
        ("t.csv", "a,b\n1,2\n".encode("utf-16-le"), "save it as UTF-8"),
    ],
)
def test_what_cannot_be_read_is_refused(tmp_path, name, content, match):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(TableError, match=match):
        read(tmp_path / name)
    with pytest.raises(TableError, match="table"):
        read([1, 2])


@pytest.mark.parametrize(
    ("content", "column", "expected", "note"),
    [
        ("x;y\n0,12;a\n1,125;b\n2,12;c\n", "x", [0.12, 1.125, 2.12], "decimal comma"),
        ("x;y\n0,12;a\n1,125;b\nn/k;c\n", "x", ["0.12", "1.125", "n/k"], "decimal comma"),
        ("x;y\n0,5;a\n1.234;b\n1.234.567,5;c\n", "x", [0.5, 1234, 1234567.5], "decimal comma"),
        ("x;y\n0,5;a\n1,5;b\n12.5;c\n", "x", [0.5, 1.5, 12.5], "Separator"),
        ('x,y\n"1,234",a\n"2,345.5",b\n', "x", [1234, 2345.5], "decimal point"),
        ("x\ty\n1 234,5\ta\n12'345,25\tb\n", "x", [1234.5, 12345.25], "decimal comma"),
        ("x;y\n1,125;a\n2,250;b\n", "x", [1.125, 2.25], "none of its cells decides"),
        ("x;y\n01067;a\n10115;b\n", "x", ["01067", "10115"], "Separator"),
        ("x,y\nNone,\nBrick,NA\nStone,?\n", "x", ["None", "Brick", "Stone"], "Separator"),
        ("x,y\nNone,a\n1,b\n2,c\n", "x", [None, 1, 2], "Separator"),
    ],
)
def test_numbers_of_any_dialect_are_read(content, column, expected, note):
    frame, _, notes, _ = read_csv(content.encode())
    assert [None if pd.isna(value) else value for value in frame[column]] == expected
    assert any(note in line for line in notes)


SHIFTED = {"a": [1, 4, 7], "b": [2, 5, 8], "c": [3, 6, 9]}


@pytest.mark.parametrize(
    ("content", "note"),
    [
        ("a,b,c\n1,2,3,\n4,5,6\n7,8,9\n", "ignored in 1 line"),
        ("a,b,c\n1,2,3,\n4,5,6,\n7,8,9,\n", "ends with a separator"),
        ('"a" "b" "c"\n"x" 1 2 3\n"y" 4 5 6\n"z" 7 8 9\n', "'row name'"),
        ('"a","b","c"\n"x",1,2,3\n"y",4,5,6\n"z",7,8,9\n', "'row name'"),
        ("a\tb\tc\nx\t1\t2\t3\ny\t4\t5\t6\nz\t7\t8\t9\n", "'row name'"),
    ],
)
def test_no_cell_moves_to_another_column(content, note):
    frame, _, notes, _ = read_csv(content.encode())
    pd.testing.assert_frame_equal(frame[["a", "b", "c"]], pd.DataFrame(SHIFTED))
    assert any(note in line for line in notes)


@pytest.mark.parametrize(
    ("content", "match"),
    [
        ("a,b,c\n1,2,3\n4,5\n7,8,9\n", "line 3: 2 cells"),
        ("a,b\n1,2\n3,4,5\n6,7\n", "line 3: 3 cells"),
        ("a,b,c\n1,2\n3,4\n5,6\n", "line 1: 3 names"),
        ("title\r\n\r\na,b\r\n1,2\r\n3,4,5\r\n6,7\r\n", "line 5: 3 cells"),
        ("title\n\na,b\n1,2\n3,4,5\n6,7\n", "line 5: 3 cells"),
        ("id,price\n1,2,50\n2,3,70\n3,4,80\n", "decimal comma"),
        ('a,b\nx,1\n"y,2\nz,3\n', "line"),
        ("a,b\n1,2\n" + "x" * 200_000 + ",5\n", "131072"),
        (",".join(f"c{i}" for i in range(12_001)) + "\n", "12,001 columns"),
        ('x;y;z\n1,5;"a;b";2,5\n1,5;"a;b";2,5;1\n1,5;"a;b";2,5\n', "line 3: 4 cells"),
    ],
)
def test_ragged_and_oversized_files_are_refused_by_line(content, match):
    with pytest.raises(TableError, match=match):
        read_csv(content.encode())


def test_damaged_and_huge_gzip_files_are_refused(tmp_path, monkeypatch):
    good = gzip.compress(b"a,b\n" + b"1,2\n" * 1000)
    for content in (good[:-9], b"no gzip", good[:20] + b"\0" * 20 + good[40:]):
        (tmp_path / "t.csv.gz").write_bytes(content)
        with pytest.raises(TableError, match=r"t\.csv\.gz cannot be read"):
            read(tmp_path / "t.csv.gz")
    (tmp_path / "t.csv.gz").write_bytes(good)
    monkeypatch.setattr(reading, "MOST_BYTES", 2000)
    with pytest.raises(TableError, match="MB of text"):
        read(tmp_path / "t.csv.gz")


def test_the_sheet_with_the_target_is_read(tmp_path):
    path = tmp_path / "t.xlsx"
    with pd.ExcelWriter(path) as file:
        pd.DataFrame({"x": ["see below"]}).to_excel(file, sheet_name="Notes", index=False)
        pd.DataFrame({"y": [1, 2]}).to_excel(file, sheet_name="Data", index=False)
    found = read(path, "y")
    assert list(found.frame) == ["y"] and "Sheet 'Data' was read, not 'Notes'" in found.notes[1]
    assert list(read(path, "y", sheet="Notes").frame) == ["x"]
    with pytest.raises(TableError, match="'Notes', 'Data'"):
        read(path, sheet="other")


SHEETS = {
    "plain": [["a", "b"], [1, "x"], [2, None], [3, "z"]],
    "title": [["Report of May", None], [None, None], ["a", "b"], [1, "x"], [2, None], [3, "z"]],
    "notes": [
        ["By", "me", None],
        [None, None, None],
        ["a", "b", "c"],
        [1, "x", 7],
        [2, None, 8],
        [3, "z", 9],
    ],
    "margin": [
        [None, "Title", None],
        [None, "a", "b"],
        [None, 1, "x"],
        [None, 2, None],
        [None, 3, "z"],
    ],
    "unnamed": [["Title", None, None], [None, "a", "b"], [7, 1, "x"], [8, 2, "y"], [9, 3, "z"]],
    "blank lines": [["a", "b"], [1, "x"], [None, None], [2, None], [3, "z"]],
}


@pytest.mark.parametrize("name", SHEETS)
def test_a_sheet_is_read_below_its_title(name, tmp_path):
    pd.DataFrame(SHEETS[name]).to_excel(tmp_path / "t.xlsx", header=False, index=False)
    table = read(tmp_path / "t.xlsx", "a")
    assert {"a", "b"} <= set(table.frame) and len(table.frame) == 3
    assert table.frame["a"].tolist() == [1, 2, 3] and table.frame["b"].iloc[2] == "z"
    assert any("above the table" in note for note in table.notes) == (
        name in ("title", "notes", "margin", "unnamed")
    )


def test_a_sheet_without_names_counts_its_columns(tmp_path):
    pd.DataFrame([[1, 2.5], [3, 4.5], [5, 6]]).to_excel(
        tmp_path / "t.xlsx", header=False, index=False
    )
    table = read(tmp_path / "t.xlsx")
    assert table.frame["column 2"].tolist() == [2.5, 4.5, 6] and "no names" in table.notes[-1]


@pytest.mark.parametrize("gap", ["", "None", "?"])
def test_long_digits_stay_different(gap, tmp_path):
    cells = [gap, *(str(10**17 + i) for i in range(30))]
    frame = pd.DataFrame({"id": cells, "y": range(31)})
    frame.to_excel(tmp_path / "t.xlsx", index=False)
    text = frame.to_csv(index=False).encode()
    for found in (read_csv(text).frame, read(frame).frame, read(tmp_path / "t.xlsx").frame):
        assert found["id"].iloc[1:].tolist() == cells[1:]


@pytest.mark.parametrize(
    ("values", "known", "expected"),
    [
        ("1.234 28.801", (1, 40), [1.234, 28.801]),
        ("1.234 28.801", (900, 40_000), [1234, 28801]),
        ("1,234 28,801", (1, 40), [1.234, 28.801]),
        ("1,234 28,801", (900, 40_000), [1234, 28801]),
        ("1.234 28.801", (1, 40_000), [1234, 28801]),  # both lie there: as the other columns
    ],
)
@pytest.mark.parametrize("separator", [";", "\t"])
def test_the_range_of_training_decides_what_cells_leave_open(values, known, expected, separator):
    lines = [
        separator.join(row) for row in zip(["a", *values.split()], ["b", "0,5", "1,5"], strict=True)
    ]
    table = read_csv("\n".join(lines).encode(), ranges={"a": known})
    assert table.frame["a"].tolist() == expected and table.frame["b"].tolist() == [0.5, 1.5]
    assert any("none of its cells decides" in note for note in table.notes) == (
        known == (1, 40_000)
    )


def test_columns_that_contradict_themselves_are_left_as_they_are():
    table = read_csv(b"x;y\n1,25;a\n2.5;b\n3.125;c\n4,75;d\n")
    assert table.frame["x"].tolist() == ["1,25", "2.5", "3.125", "4,75"]
    assert "which may mean both, were not read" in table.notes[-1]
    cells = [*(f"{i},5" for i in range(40)), "2.5", "3.125"]  # one cell of 41 contradicts
    table = read(pd.DataFrame({"x": cells}))
    assert table.frame["x"].tolist() == [*(i + 0.5 for i in range(40)), 2.5, 3125]
    assert "decimal commas" in table.alerts[0]


def test_text_stays_as_it_is_written():
    cells = [
        "1,5 l am Tag",
        "12, Main Street",
        "3,5 oder 4",
        "\u22125 Grad",
        "rot",
        "ab 7.5",
        "5 %",
    ]
    table = read_csv(("x;y\n" + "\n".join(f"{cell};0,5" for cell in cells)).encode())
    assert table.frame["x"].tolist() == cells and table.alerts == []


def test_columns_of_a_frame_are_read_like_those_of_a_file():
    frame = pd.DataFrame({"a": [[1], [2]], "b": ["1.234,5", "2,5"], "c": ["007", "123"]})
    found = read(frame).frame
    assert found["a"].tolist() == ["[1]", "[2]"] and found["c"].tolist() == ["007", "123"]
    assert found["b"].tolist() == [1234.5, 2.5]
