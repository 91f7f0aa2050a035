"""How far the systems for practice move with the last bit: the same run, nudged.

The example is that of the chapter on more rules, scikit-learn's table of diabetes patients. A
nudge moves the targets of training by some units in the last place, which nobody can mean; half
of the runs are also held to older instructions of the processor, which round otherwise. The
largest difference to the run without either is what a rerun on another machine may show.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from gt2lite._threads import one_blas_thread
from gt2lite._validation import Array, one_of, whole
from gt2lite.metrics import interval_score, rmse
from gt2lite.regressor import GT2Regressor, NarrowEnvelopeWarning
from study import processors
from study.design import LEVELS
from study.recipes import TUNED

SYSTEMS = {
    "strong": "`GT2Regressor.strong()`",
    "single": "one system of 100 rules",
}
"""Which systems are nudged, and what they are called in tables."""

NUDGES = {"": tuple(range(11)), "sse4": tuple(range(10))}
"""Units in the last place, by what the processor is held to: the run itself and twenty others."""

SHARE_TRAIN = 0.7


@dataclass(frozen=True, kw_only=True)
class SteadyRecord:
    """What a run came to on the rows that training has not seen."""

    system: str
    nudge: int
    processor: str
    rmse: float
    interval_score_90: float  # of the interval that covers just that share of these rows
    interval_score_95: float


METRICS = ("rmse", *(f"interval_score_{100 * level:.0f}" for level in LEVELS))


@dataclass(frozen=True)
class Nudged:
    """One training for practice, moved by some units in the last place."""

    system: str
    nudge: int = 0
    processor: str = ""

    def __post_init__(self) -> None:
        one_of("system", self.system, SYSTEMS)
        whole("nudge", self.nudge, low=0)
        one_of("processor", self.processor, processors.HELD)

    @property
    def code(self) -> tuple[str, ...]:
        """The modules that execute it."""
        return (__name__,)

    @property
    def cost(self) -> float:
        """How long it takes, in no particular unit."""
        return 3.0 if self.system == "strong" else 1.0

    @property
    def label(self) -> str:
        """What it is, in a few words."""
        return f"{self.system} nudge {self.nudge} {self.processor}".strip()

    def asked(self) -> dict[str, Any]:
        """Return all that distinguishes it, in plain values."""
        return asdict(self)

    def execute(self, get: Any = None) -> SteadyRecord:
        """Train the system and judge it."""
        processors.check(self.processor)
        X_train, y_train, X_test, y_test = patients()
        y_train = y_train + self.nudge * np.spacing(y_train)
        reg = GT2Regressor.strong() if self.system == "strong" else single()
        with one_blas_thread():
            found: dict[str, Any] = asdict(self) | judged(reg.fit(X_train, y_train), X_test, y_test)
        return SteadyRecord(**found)

    def pack(self, row: SteadyRecord) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return what came of it in plain form."""
        return asdict(row), {}

    def unpack(self, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> SteadyRecord:
        """Return what came of it again."""
        names = SteadyRecord.__dataclass_fields__
        return SteadyRecord(**{name: header[name] for name in names})


def single() -> GT2Regressor:
    """Return the one system of many rules that a walk led to, not yet trained."""
    return GT2Regressor(**asdict(TUNED))


def patients(share_train: float = SHARE_TRAIN, seed: int = 0) -> tuple[Array, ...]:
    """Return inputs and targets of the rows of training, and those of the others."""
    from sklearn.datasets import load_diabetes

    X, y = load_diabetes(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(y))
    n = round(share_train * len(y))
    return X[order[:n]], y[order[:n]], X[order[n:]], y[order[n:]]


def judged(reg: GT2Regressor, X: Array, y: Array) -> dict[str, float]:
    """Return RMSE and interval scores on new rows `X` (N, M) with targets `y` (N,).

    A level gets the interval that covers just its share of these very rows, so that no further
    rows are needed and chance in calibration does not count.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NarrowEnvelopeWarning)  # on few rows planes are narrow
        reg.calibrate(X, y, method="exact")
    found = {"rmse": rmse(y, reg.predict(X))}
    for name, level in zip(METRICS[1:], LEVELS, strict=True):
        lower, upper = reg.predict_interval(X, coverage=level)
        found[name] = interval_score(y, lower, upper, level)
    return found


def nudged(processor: str = "") -> list[Nudged]:
    """Return the runs of both systems on a processor.

    >>> len(nudged()), len(nudged("sse4"))
    (22, 20)
    """
    return [Nudged(system, n, processor) for system in SYSTEMS for n in NUDGES[processor]]


# -------------------------------------------------------------------------- what is told of it


class Move(NamedTuple):
    """How far a metric of a system moves in twenty nudged runs."""

    system: str  # of `SYSTEMS`
    metric: str  # of `METRICS`
    value: float  # of the run that is not nudged
    largest: float  # difference to it
    percent: float  # the same in per cent of the value


def moves(rows: Iterable[SteadyRecord]) -> list[Move]:
    """Return a row for each system and metric."""
    rows = list(rows)
    found = []
    for system in SYSTEMS:
        own = [row for row in rows if row.system == system]
        (still,) = [row for row in own if not row.nudge and not row.processor]
        for metric in METRICS:
            value = float(getattr(still, metric))
            largest = max(abs(getattr(row, metric) - value) for row in own)
            found.append(Move(system, metric, value, largest, 100 * largest / value))
    return found


def compared(now: Mapping[str, float], stored: Sequence[Move]) -> str:
    """Return a sentence on how a run of `strong` compares with the stored one.

    Args:
        now: what `judged` returned.
        stored: what `moves` returned.
    """
    known = {move.metric: move for move in stored if move.system == "strong"}
    gaps = {name: abs(now[name] - move.value) for name, move in known.items()}
    if not any(gaps.values()):
        return "This build came to the stored numbers, to the last bit."
    beyond = [name for name, gap in gaps.items() if gap > known[name].largest]
    worst = max(gaps, key=lambda name: gaps[name] / known[name].value)
    percent = 100 * gaps[worst] / known[worst].value
    told = f"This build differs from the stored run by {percent:.2g} % at most"
    if not beyond:
        return f"{told}, no more than nudged runs do."
    return (
        f"{told}, more than nudged runs do: another machine, or other versions of NumPy or its "
        "libraries, round otherwise. What is said here holds for the stored run."
    )
