"""Dates in text are read as `date_spellings.json` says, which also tests `evaluator.js`."""

import json
from pathlib import Path

import numpy as np
import pytest

pd = pytest.importorskip("pandas", reason="needs the extra `report`")

from gt2lite.practice.columns import DATE_FORMATS, as_dates  # noqa: E402

SPELLINGS = json.loads(Path(__file__).with_name("date_spellings.json").read_text(encoding="utf-8"))


def read(cells, date_format):
    return as_dates(pd.Series(cells, dtype=object), date_format or None).to_numpy()


@pytest.mark.parametrize("date_format", SPELLINGS)
def test_each_spelling_is_read_or_refused_alone_and_beside_all_others(date_format):
    spellings = SPELLINGS[date_format]
    expected = np.array([value or "NaT" for value in spellings.values()], "datetime64[s]")
    np.testing.assert_array_equal(read(list(spellings), date_format), expected)
    alone = [read([cell], date_format)[0] for cell in spellings]
    np.testing.assert_array_equal(np.array(alone), expected)


@pytest.mark.parametrize("date_format", DATE_FORMATS)
def test_every_format_reads_what_it_writes(date_format):
    first, last = np.datetime64("1969-01-01T00:00:00"), np.datetime64("2068-12-31T23:59:59")
    seconds = np.linspace(0, (last - first).astype(int), 997).astype("timedelta64[s]")
    dates = pd.Series(first + seconds)
    written = dates.dt.strftime(date_format)
    read_again = pd.Series(read(written, date_format))
    assert read_again.notna().all()
    assert read_again.dt.strftime(date_format).tolist() == written.tolist()
