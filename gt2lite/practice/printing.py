"""Numbers and tables as text: what rules and explanations print."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, TypeVar, overload

from gt2lite.practice.frames import frame_of
from gt2lite.practice.types import Frame

WIDTH = 88
"""Characters in a printed line."""

Rows = list[dict[str, Any]]

T = TypeVar("T")


def number(value: float, step: float, *, trim: bool = False) -> str:
    """Return a number as text, rounded to the decimal place of `step`, or to a whole number.

    >>> number(12.3456, 0.74), number(1013.2, 6.0), number(2.0, 0.01, trim=True)
    ('12.3', '1013', '2')
    >>> number(-0.0001, 0.1), number(3e-12, 1e-13), number(1.23456e18, 1e15), number(math.inf, 0.1)
    ('0.0', '3e-12', '1.235e+18', 'inf')
    """
    place = -math.floor(math.log10(step)) if 0 < step < math.inf else 0
    if value and math.isfinite(value) and (place > 8 or abs(value) >= 1e15):
        digits = math.floor(math.log10(abs(value))) + 1 + place
        return f"{value:.{min(max(digits, 1), 17)}g}"
    place = min(max(place, 0), 8)
    text = f"{round(value, place) + 0.0:.{place}f}"
    return text.rstrip("0").rstrip(".") if trim and place else text


def wrap(text: str, first: str = "", other: str = "    ") -> str:
    """Return a paragraph in printed lines that start with these indents."""
    return textwrap.fill(text, WIDTH, initial_indent=first, subsequent_indent=other)


def count(n: int, noun: str) -> str:
    """Return a number and a noun, such as "1 more input" and "3 more inputs"."""
    return f"{n} {noun}{'s' * (n != 1)}"


def aligned(rows: Sequence[Mapping[str, str]]) -> str:
    """Return rows of text as a table, with their keys as its first line.

    >>> print(aligned([{"rule": "1", "says": "-7.5"}, {"rule": "12", "says": "3.0"}]))
    rule  says
       1  -7.5
      12   3.0
    """
    lines = [list(rows[0]), *(list(row.values()) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(map(str.rjust, line, widths)).rstrip() for line in lines)


class Printed:
    """Numbers that print as text, also in notebooks; a subclass has `table` and `__str__`."""

    def table(self) -> Rows:
        """Return all numbers as rows, the most important first."""
        raise NotImplementedError

    def to_frame(self) -> Frame:
        """Return `table` as a pandas frame."""
        frame = frame_of(self.table())
        return frame.set_index(frame.columns[0])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


class PrintedItems(Printed, Sequence[T]):
    """A sequence that prints as text."""

    def __init__(self, items: Sequence[T]) -> None:
        self._items = tuple(items)

    @overload
    def __getitem__(self, index: int) -> T: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...

    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        return self._items[index]

    def __len__(self) -> int:
        return len(self._items)
