"""What a contestant is: a way to get intervals from data, on the same rows as all others.

All contestants see the same parts of a table: they learn on the 70 % for training,
calibrate on 15 %, and answer for the other 15 %. Each kind has a module of its own, so that a
stored run depends on the code of its own kind alone. Who takes part, see
`study.field.contestants`; how answers are judged, see `study.field.runs`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, NamedTuple

from gt2lite._validation import Array
from gt2lite.datasets import Prepared
from study.field.setting import Setting

Get = Callable[[Any], Any]
"""Returns the outcome of another task, from the store if it is there."""

FORMS = {
    "": "",
    "planes": "planes",
    "constant": "constant margin",
    "hybrid": "margin by root of width",
    "normalised": "margin by width",
}
"""Intervals around the same estimates: the method's own, and ablations, with their titles."""


class Answer(NamedTuple):
    """What a contestant says about the N rows of the test part at L levels."""

    form: str  # of FORMS
    y_hat: Array  # (L, N) estimates
    ends: Array  # (L, 2, N) intervals, calibrated
    equal: Array  # (L, 2, N) intervals of its own family that cover the level of the test part
    crps: float | None = None  # where one training gives all levels


class Chosen(NamedTuple):
    """Settings that a method chose inside the training part."""

    part: str  # of the method, such as "mean" or "quantile 0.05"
    settings: str
    trees: int | None = None  # how many were best
    most_trees: int | None = None  # how many were allowed


class Entered(NamedTuple):
    """All answers of a contestant, and what they took.

    Times are the processor's, on one thread, so that a busy machine does not count.
    """

    answers: tuple[Answer, ...]  # the method's own first
    first_seconds: float  # training and calibration for the first level, choice of settings aside
    further_seconds: float  # the same for each further level
    tuning_seconds: float = 0.0  # choice of settings for the first level
    chosen: tuple[Chosen, ...] = ()


@dataclass(frozen=True)
class Contestant(ABC):
    """A way to get intervals from data.

    Attributes:
        name: what it is called in records.
        title: what it is called in tables and figures.
    """

    name: str
    title: str

    is_fuzzy: ClassVar[bool] = True
    forms: ClassVar[tuple[str, ...]] = ("",)
    tables: ClassVar[tuple[str, ...] | None] = None
    """On which tables it takes part; None for all."""

    @property
    def code(self) -> tuple[str, ...]:
        """The modules that decide what comes out."""
        return (type(self).__module__,)

    @property
    def weight(self) -> float:
        """How long it takes, in units of the paper's system."""
        return 1.0

    @property
    @abstractmethod
    def told(self) -> tuple[str, str, str]:
        """What it learns, where its interval comes from, what a further level needs."""

    def answer_names(self) -> dict[str, str]:
        """Return what its answers are called in records, with their titles."""
        return {
            answer_name(self.name, form): f"{self.title}, {FORMS[form]}" if form else self.title
            for form in self.forms
        }

    def identity(self) -> dict[str, Any]:
        """Return what distinguishes this contestant, in plain values."""
        settings = {name: value for name, value in asdict(self).items() if name != "title"}
        return {"kind": type(self).__name__, **settings}

    @abstractmethod
    def enter(self, setting: Setting, data: Prepared, get: Get) -> Entered:
        """Train, calibrate and answer for the test part; what is in the store is not trained."""


def answer_name(name: str, form: str) -> str:
    """Return what an answer of a contestant is called in records.

    >>> answer_name("strong", ""), answer_name("strong", "constant")
    ('strong', 'strong_constant')
    """
    return f"{name}_{form}" if form else name
