"""Checks of cells: numbers, units, dates and sums that others may have meant otherwise."""

from __future__ import annotations

import numpy as np

from gt2lite._validation import Array
from gt2lite.practice.columns import (
    Column,
    Columns,
    Frame,
    Series,
    TableError,
    as_text,
    describe_odd,
    find_zones,
    hard_texts,
    is_ambiguous,
    read_as,
    split_unit,
)

UNREADABLE = 0.01  # share of the targets that are present, above which a run stops
FEWEST_ADDENDS, ROUNDING = 5, 1e-3  # of a row of sums
FEWEST_CODES, CODE_SHARE, APART = 3, 0.005, 1.5  # equal cells far from all others: a code, as -999
EPOCHS = (
    np.datetime64("1990-01-01", "s").astype(float),
    np.datetime64("2040-01-01", "s").astype(float),
)
_SUMS = {"total", "totals", "grand total", "subtotal", "sub-total", "sum", "sums"}
_SUMS |= {
    "summe",
    "summen",
    "gesamt",
    "gesamtsumme",
    "gesamtergebnis",
    "insgesamt",
    "zwischensumme",
}
_SUMS |= {"mean", "average", "median", "mittelwert", "durchschnitt"}


def check_target(target: str, values: Series, kind: str, unit: str | None) -> None:
    """Raise an error if the values of the target, or too many of them, are not numbers."""
    is_numeric = kind in ("number", "yes/no")
    texts = hard_texts(values)
    numbers = read_as(kind if is_numeric else "number", values, unit)[texts.index]
    wrong = texts[numbers.isna()]
    are_amounts = sum(map(bool, map(split_unit, texts))) > len(texts) / 2
    if (is_numeric or are_amounts) and len(wrong) > UNREADABLE * len(texts):
        shown = ", ".join(map(repr, wrong.unique()[:3]))
        readable = texts[numbers.notna()]
        others = f", unlike {readable.iloc[0]!r}" if len(readable) else ""
        raise TableError(
            f"target: {len(wrong):,} of {len(texts):,} values of column {target!r} do not read as "
            f"numbers, such as {shown}{others}: write all with one decimal mark and one unit, and "
            "empty the cells of rows to leave out"
        )
    if not is_numeric:
        example = "" if texts.empty else texts.iloc[0]
        raise TableError(
            f"target: column {target!r} holds {kind} (such as {example!r}), and only numbers can "
            "be predicted: choose another column with --target"
        )


def find_doubts(frame: Frame, columns: Columns) -> list[str]:
    """Return alerts on units, zones and unreadable cells of columns, and on rows of sums."""
    found = []
    for column in columns.columns:
        if not column.treatment.startswith("dropped: as asked"):
            found += [f"Column {column.name!r} {words}." for words in _doubt(column, frame)]
    return [*found, *find_sums(frame, columns)]


def _doubt(column: Column, frame: Frame) -> list[str]:
    """Return what is doubtful about the cells of a column."""
    values = frame[column.name]
    if odd := describe_odd(values, column.kind):
        return [f"holds {odd}"]
    if column.kind == "date":
        return [*_find_orders(column, values), *_find_zones(values)]
    if column.kind == "category":
        return _find_variants(values)
    if column.kind != "number":
        return []
    numbers = column.read(values).dropna().to_numpy()
    result = [*_find_codes(numbers), *_find_epochs(numbers)]
    texts = hard_texts(values)
    is_read = column.read(values)[texts.index].notna()
    units = texts.map(lambda text: (split_unit(text) or (None, None))[1])
    if len(bare := texts[is_read & (units == "")]) and column.unit:
        result.append(
            f"has {len(bare):,} number(s) without unit, such as {bare.iloc[0]!r}, which were read "
            f"as if in {column.unit!r}"
        )
    if len(other := texts[~is_read & texts.str.contains(r"\d")]):
        result.append(
            f"has {len(other):,} number(s) of another unit or spelling, such as "
            f"{other.iloc[0]!r}, which count as missing"
        )
    return result


def _find_orders(column: Column, values: Series) -> list[str]:
    """Return what is doubtful about the order of day, month and year in dates that are text."""
    if not is_ambiguous(values, column.date_format):
        return []
    first = column.read(values).dropna().iloc[0].date()
    written = as_text(values)[column.read(values).notna()].iloc[0]
    return [
        f"has dates in which day, month or year could be the other way round: {written!r} was read "
        f"as {first}. Write days as 2024-01-31 if that is wrong"
    ]


def _find_zones(values: Series) -> list[str]:
    """Return what is doubtful about the zones of dates."""
    if len(zones := find_zones(values)) < 2:
        return []
    shown = ", ".join(zones[:4])
    return [f"has several time zones ({shown}). Hours are read as written: write all in one"]


def _find_variants(values: Series) -> list[str]:
    """Return what is doubtful about categories that differ in case or spaces only."""
    texts = as_text(values).dropna().drop_duplicates()
    plain = texts.str.split().str.join(" ").str.casefold()
    same = texts[plain.duplicated(keep=False)].tolist()
    if not same:
        return []
    return [
        f"has categories that differ in case or spaces only, such as {same[0]!r} and "
        f"{texts[(plain == plain[texts == same[0]].iloc[0]) & (texts != same[0])].iloc[0]!r}, "
        "and are told apart: write them alike if they are the same"
    ]


def _find_codes(numbers: Array) -> list[str]:
    """Return what is doubtful about the least or largest number, if it may mean a gap.

    It is repeated, and it lies farther from all others than these lie from each other, by half.
    """
    found = []
    for code in {numbers.min(), numbers.max()} if len(numbers) else ():
        rest = numbers[numbers != code]
        count = len(numbers) - len(rest)
        repeats = count >= max(FEWEST_CODES, CODE_SHARE * len(numbers))
        if (
            repeats
            and len(np.unique(rest)) > 10
            and np.abs(rest - code).min() > APART * np.ptp(rest)
        ):
            found.append(
                f"has {count:,} cell(s) of {code:g}, far from all other numbers: if it means a "
                "missing value, empty these cells"
            )
    return sorted(found)


def _find_epochs(numbers: Array) -> list[str]:
    """Return what is doubtful about whole numbers that may be times in seconds since 1970."""
    first, last = EPOCHS
    for unit, name in ((1, "seconds"), (1000, "milliseconds")):
        seconds = numbers / unit
        if len(numbers) < 3 or not first <= seconds.min() < seconds.max() <= last:
            continue
        if ((seconds - seconds.min()) % 60 == 0).mean() > 0.5:  # of other numbers 1 in 60
            day = np.datetime64(int(seconds.min()), "s").astype("datetime64[D]")
            return [
                f"may hold times in {name} since 1970, from {day} on: write days as 2024-01-31 "
                "for dates to be known as such"
            ]
    return []


def find_sums(frame: Frame, columns: Columns) -> list[str]:
    """Return an alert on rows that look like sums or means of others, by a word or by numbers.

    A word may stand beside a value of the same column, as in "Total Berlin".
    """
    is_sum = np.zeros(len(frame), dtype=bool)
    for column in columns.columns:
        values = frame[column.name]
        if column.kind == "number":
            numbers = column.read(values).to_numpy()
            total, positive = np.nansum(numbers), numbers > 0
            if positive.sum() > FEWEST_ADDENDS and np.nanmin(numbers) >= 0:
                is_sum |= np.isclose(2 * numbers, total, rtol=ROUNDING, atol=0)
        if values.dtype.kind not in "biufM":
            texts = as_text(values).fillna("").str.lower().str.strip(" :")
            known = set(texts) - {""}
            sums = {text for text in known if _is_sum(text, known)}
            is_sum |= texts.isin(sums).to_numpy()
    if not (n := int(is_sum.sum())):
        return []
    rows = ", ".join(map(str, frame.index[is_sum][:3])) + ", ..." * (n > 3)
    return [
        f"{n:,} row(s) look like sums or means of other rows ({rows}). Remove them if they are: "
        "they are not rows like the others."
    ]


def _is_sum(text: str, known: set[str]) -> bool:
    """Return whether a text is a word for a sum, alone or beside another text of its column."""
    if text in _SUMS:
        return True
    first, _, after = text.partition(" ")
    before, _, last = text.rpartition(" ")
    return (first in _SUMS and after in known) or (last in _SUMS and before in known)
