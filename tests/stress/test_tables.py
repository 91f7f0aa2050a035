"""Properties of readers and encoders: files of any dialect and defect, changed columns.

The reference is the table that was written: what is read equals it, or the file is refused.
"""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pd = pytest.importorskip("pandas")
pytest.importorskip("sklearn")

from gt2lite.practice.columns import TableError, as_numbers, find_kind, specify  # noqa: E402
from gt2lite.practice.report.reading import read_csv  # noqa: E402

SEPARATED = [(",", "."), (";", ","), (";", "."), ("\t", ","), ("|", ".")]
DIALECTS = st.sampled_from(SEPARATED)
NUMBERS = st.integers(-(10**7), 10**7).map(lambda i: i / 100)
TEXTS = st.text(alphabet="abcxyzäß ,;'", min_size=1, max_size=8).map(lambda t: f"t{t.strip()}")
ROWS = st.lists(st.tuples(NUMBERS, TEXTS, NUMBERS), min_size=4, max_size=12)


def write(rows, separator, decimal, thousands=False, other=None, unit=""):
    """Return a CSV file; numbers have two decimals, so that no cell is ambiguous.

    The last column has decimal marks and a unit of its own.
    """

    def cell(value, decimal):
        group = {".": ",", ",": "."}[decimal] if thousands else ""
        text = f"{value:,.2f}" if thousands else f"{value:.2f}"
        return text.replace(",", "\0").replace(".", decimal).replace("\0", group)

    file = io.StringIO()
    writer = csv.writer(file, delimiter=separator, lineterminator="\n")
    writer.writerow(["x", "name", "z"])
    for x, name, z in rows:
        writer.writerow([cell(x, decimal), name, cell(z, other or decimal) + unit])
    return file.getvalue()


TITLES = st.sampled_from(["", "Report of May, 2024\n", "Stand: Mai; vorläufig\n\n"])
ENCODINGS = st.sampled_from(["utf-8", "latin-1", "utf-16"])
FORMS = st.tuples(
    st.booleans(), st.sampled_from([None, ".", ","]), st.sampled_from(["", " kg", "%"])
)


@given(ROWS, DIALECTS, FORMS, TITLES, st.booleans(), ENCODINGS)
def test_what_is_read_is_what_was_written(rows, dialect, form, title, names, encoding):
    text = write(rows, *dialect, *form)
    if not names:
        text = text.partition("\n")[2]
    frame = read_csv((title + text).encode(encoding)).frame
    assert list(frame.columns) == (
        ["x", "name", "z"] if names else [f"column {i}" for i in (1, 2, 3)]
    )
    x, name, z = zip(*rows, strict=True)
    np.testing.assert_allclose(frame.iloc[:, 0], x, rtol=1e-15)
    assert find_kind(frame.iloc[:, 2]) == ("number", form[2].strip() or None)
    np.testing.assert_allclose(as_numbers(frame.iloc[:, 2], form[2].strip()), z, rtol=1e-15)
    assert frame.iloc[:, 1].tolist() == list(name)


@given(ROWS, DIALECTS, st.data())
def test_a_defect_in_a_line_is_refused_or_repaired_and_never_shifts_a_cell(rows, dialect, data):
    lines = write(rows, *dialect).splitlines()
    i = data.draw(st.integers(1, len(lines) - 1))
    defect = data.draw(st.sampled_from(["trailing", "extra", "cut", "text"]))
    separator, expected = dialect[0], [row[0] for row in rows]
    if defect == "text":
        lines[i] = "n/k" + lines[i][lines[i].index(separator) :]
        expected[i - 1] = "n/k"
    elif defect == "cut":
        lines[i] = lines[i][: lines[i].index(separator)]
    else:
        lines[i] += separator + ("1" if defect == "extra" else "")
    try:
        frame, _, notes, _ = read_csv("\n".join(lines).encode())
    except TableError:
        assert defect in ("cut", "extra")
        return
    assert defect in ("trailing", "text")
    for value, written in zip(frame["x"], expected, strict=True):
        assert value == written or float(value) == pytest.approx(written, rel=1e-15)
    assert defect == "text" or len(notes) > 2


@given(st.integers(0, 10**6))
def test_order_names_and_units_of_columns_change_nothing_else(seed):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"y": rng.normal(size=40), "a": rng.normal(size=40)})
    frame["b"] = rng.choice(["u", "v", "w"], 40)
    frame["c"] = np.where(rng.random(40) < 0.2, np.nan, rng.normal(size=40))
    encoded = specify(frame, np.arange(30), "y").encode(frame)
    order = ["c", "y", "b", "a"]
    other = specify(frame[order], np.arange(30), "y").encode(frame)
    pd.testing.assert_frame_equal(other.inputs[list(encoded.inputs)], encoded.inputs)
    assert [set(f.split("; ")) for f in other.flags] == [set(f.split("; ")) for f in encoded.flags]
    names = {"a": "A", "b": "β", "c": "c c"}
    renamed = frame.rename(columns=names)
    other = specify(renamed, np.arange(30), "y").encode(renamed)
    np.testing.assert_array_equal(other.inputs, encoded.inputs)
    scaled = frame.assign(a=1024 * frame["a"], c=frame["c"] / 64)
    other = specify(scaled, np.arange(30), "y").encode(scaled)
    np.testing.assert_array_equal(other.inputs["a"], 1024 * encoded.inputs["a"])
    np.testing.assert_array_equal(other.inputs["c"], encoded.inputs["c"] / 64)
    assert other.flags == encoded.flags
