"""How a column specification comes about: what each column of a table is to become, and why.

Kinds are read off all rows; fill values, ranges and categories are learnt from training rows
alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gt2lite.report import kinds
from gt2lite.report.columns import PARTS, Column, Columns, date_part
from gt2lite.report.reading import Frame

_LARGEST, _LEAST_SPREAD = 1e100, 1e-100
_MOST_OTHERS = 1_000
# How many days the time must go on for a part of it to be of use for later rows.
_SPANS = {"month": 730, "weekday": 14, "hour": 2}
_FLAG_FROM = 0.05  # share of missing values that get a column of their own
_RAREST, _RAREST_SHARE = 3, 0.02  # rows that a category needs


def specify(
    frame: Frame, train: Any, target: str, groups: str | None = None, time: str | None = None
) -> Columns:
    """Return what becomes of each column of a frame.

    Args:
        frame: the table; kinds are read off all of its rows.
        train: positions of the training rows, from which values are learnt.
        target: the column to predict.
        groups: the column whose groups stay together.
        time: the column to go by.

    >>> import numpy as np, pandas as pd
    >>> frame = pd.DataFrame({"y": [1.0, 2, 3, 4], "size": [3, 1, 2, 5.5], "unit": ["m"] * 4})
    >>> [(c.name, c.fate) for c in specify(frame, np.arange(4), "y").columns][1:]
    [('size', 'a number, as it is'), ('unit', 'left out: the same value in every row')]
    """
    roles = {target: "the target"}
    if groups is not None:
        roles[groups] = "the groups: not an input, as new rows may come from new groups"
    columns = []
    for name in frame.columns:
        kind, form = kinds.find_kind(frame[name])
        if name in roles:
            columns.append(Column(name, kind, False, roles[name], form=form))
        elif name == time and kind != "date":
            fate = "the order in time: not an input, as new rows lie beyond it"
            columns.append(Column(name, kind, False, fate))
        else:
            columns.append(_learn(name, frame[name], train, kind, form, name == time))
    return Columns(columns)


def _learn(
    name: str, values: Any, train: Any, kind: str, form: str | None, is_time: bool
) -> Column:
    reason = _useless(name, values, kind)
    if reason is not None:
        return Column(name, kind, False, f"left out: {reason}", form=form)
    learnt = values.iloc[train]
    flag = bool(learnt.isna().mean() >= _FLAG_FROM)
    if kind == "category":
        column = _learn_category(name, learnt, flag)
    elif kind == "date":
        column = _learn_date(name, learnt, form, is_time, flag)
    else:
        column = _learn_number(name, learnt, kind, flag)
    return column


def _useless(name: str, values: Any, kind: str) -> str | None:
    share = values.isna().mean()
    if share > kinds.MOST_MISSING:
        return f"{share:.0%} of its values are missing"
    there = kinds.as_text(values).dropna() if kinds.is_textual(values) else values.dropna()
    if there.nunique() < 2:
        return "the same value in every row"
    identifier = kinds.identifies(name, there, kind)
    if identifier is not None:
        return identifier
    if kind == "text":
        return f"text with {there.nunique():,} different values: too many for categories"
    return None


def _missing_words(learnt: Any, fill: str, flag: bool) -> str:
    n = int(learnt.isna().sum())
    if not n:
        return ""
    return f"; missing values become {fill}" + (", and a column says so" if flag else "")


def _learn_number(name: str, learnt: Any, kind: str, flag: bool) -> Column:
    numbers = kinds.as_truth(learnt) if kind == "yes/no" else kinds.as_numbers(learnt)
    there = numbers.dropna()
    if there.nunique() < 2:
        return Column(name, kind, False, "left out: the same value in every training row")
    if there.abs().max() > _LARGEST or there.max() - there.min() < _LEAST_SPREAD:
        reason = f"numbers beyond {_LARGEST:g}, or a spread below {_LEAST_SPREAD:g}"
        return Column(name, kind, False, f"left out: {reason}; multiply it by a power of ten")
    fill = float(there.median())
    fate = "yes is 1, no is 0" if kind == "yes/no" else "a number, as it is"
    if kind == "number" and kinds.is_textual(learnt):
        fate = "text that reads as numbers"
    fate += _missing_words(numbers, f"{fill:g}", flag)
    low, high = float(there.min()), float(there.max())
    return Column(name, kind, True, fate, fill=fill, flag=flag, low=low, high=high)


def _learn_category(name: str, learnt: Any, flag: bool) -> Column:
    counts = kinds.as_text(learnt).dropna().value_counts()
    enough = max(_RAREST, _RAREST_SHARE * len(learnt))
    often = [str(value) for value in counts.index[counts >= enough]][: kinds.MOST_CATEGORIES]
    if not often or (len(counts) == 1 and not flag):
        return Column(name, "category", False, "left out: no category is frequent enough")
    rest = len(counts) - len(often)
    if len(often) == 2 and not rest:
        often = often[:1]  # the other one is its opposite
    fate = f"a category: {len(often)} column(s) of 0 and 1"
    if rest:
        fate += f"; {rest} rarer value(s) share zeros"
    fate += _missing_words(learnt, "zeros", flag)
    others = [str(value) for value in counts.index if str(value) not in often][:_MOST_OTHERS]
    return Column(name, "category", True, fate, flag=flag, categories=often, others=others)


def _learn_date(name: str, learnt: Any, form: str | None, is_time: bool, flag: bool) -> Column:
    dates = kinds.as_dates(learnt, form)
    there = dates.dropna()
    wanted: tuple[str, ...] = PARTS
    if is_time:  # days go on beyond the training rows, and so may months
        span = np.ptp(date_part(there, "day")) if len(there) else 0
        wanted = tuple(part for part, days in _SPANS.items() if span >= days)
    parts = [part for part in wanted if len(np.unique(date_part(there, part))) > 1]
    if not parts:
        return Column(name, "date", False, "the order in time" if is_time else "left out: constant")
    fill = float(np.median(date_part(there, "day")))
    fate = f"a date: {', '.join(parts)}" + _missing_words(dates, "the middle date", flag)
    if is_time:
        fate = f"the order in time, and {fate}"
    return Column(name, "date", True, fate, fill=fill, flag=flag, parts=parts, form=form)
