"""Simultaneous quantile regression beside aligned training, on the splits of the protocol.

Both learn on the 70 % for training, SQR with a fifth of them set aside to stop by. Both are judged
on the test part twice: *raw*, as they were learnt, and *conformal*, calibrated on the 15 % for it;
SQR with one margin on both quantiles (conformalised quantile regression), the aligned system
with one plane. That is a `Race`. How SQR works, see `study.sqr`; what is made of the rows,
`study.sqr_findings`.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from gt2lite._threads import one_blas_thread
from gt2lite._validation import Array, one_of, whole
from gt2lite.calibration import ConformalCalibrator, rank
from gt2lite.datasets import DATASETS, Prepared, checksum, load_dataset, prepare
from gt2lite.losses import pinball
from gt2lite.memberships import alpha_of
from gt2lite.metrics import interval_quality, rmse
from gt2lite.system import Params, Planes
from gt2lite.training import Recipe, train
from study import sqr
from study.design import LEVELS, n_values
from study.oracle import widen
from study.sqr_training import SqrSystem, SqrTraining

Get = Callable[[Any], Any]
"""Returns the outcome of another task, from the store if it is there."""

MODELS = {"sqr": sqr.RECIPE, "aligned": Recipe(objective="aligned")}
"""Who takes part, and how each is trained."""

FORMS = ("raw", "conformal")
SEEDS = (0, 1, 2)
_HALF = len(sqr.LEVELS) // 2  # levels below the median


@dataclass(frozen=True, kw_only=True)
class RaceRecord:
    """One system on one split at one level; errors and scores are those of the scaled target.

    `crps`, `calibration_error` and `crossed` are of the quantiles 0.01, ..., 0.99 and the same
    for all levels of a form. `crossed` is the share of rows with some quantile below that of a
    lower level. `aside_error` is the calibration error of the rows that SQR sets aside.
    """

    dataset: str
    seed: int
    model: str
    form: str
    level: float
    n_train: int
    n_cal: int
    n_test: int
    rmse: float  # of the median
    picp: float
    pinaw: float
    interval_score: float
    crps: float
    calibration_error: float
    crossed: float
    epochs: int
    best_epoch: int
    steps: int
    train_cpu_seconds: float
    aside_error: float | None = None


class Learnt(NamedTuple):
    """A trained system and what it took."""

    params: Params
    epochs: int
    best_epoch: int
    steps: int
    seconds: float  # of the processor
    aside_error: float | None = None


@dataclass(frozen=True)
class Race:
    """One model on one split of one data set."""

    dataset: str
    seed: int
    model: str
    recipe: Recipe = field(default_factory=Recipe)

    def __post_init__(self) -> None:
        one_of("dataset", self.dataset, DATASETS)
        whole("seed", self.seed, low=0)
        one_of("model", self.model, MODELS)

    @property
    def code(self) -> tuple[str, ...]:
        """The modules that execute it."""
        return (__name__,)

    @property
    def cost(self) -> float:
        """How long it takes, in no particular unit."""
        return n_values(self.dataset) * (20.0 if self.model == "sqr" else 1.0)

    @property
    def label(self) -> str:
        """What it is, in a few words."""
        return f"{self.dataset} seed {self.seed} {self.model}"

    def asked(self) -> dict[str, Any]:
        """Return all that distinguishes it, in plain values."""
        return asdict(self) | {"data": checksum(self.dataset)}

    def execute(self, get: Get) -> list[RaceRecord]:
        """Train the system, and judge it as it is and calibrated."""
        with one_blas_thread():
            data = prepare(load_dataset(self.dataset), self.seed)
            return self._judge(self._learnt(data, get), data)

    def pack(self, records: list[RaceRecord]) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return what came of it in plain form."""
        return {"records": [asdict(row) for row in records]}, {}

    def unpack(self, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> list[RaceRecord]:
        """Return what came of it again."""
        return [RaceRecord(**row) for row in header["records"]]

    def _learnt(self, data: Prepared, get: Get) -> Learnt:
        if self.model == "sqr":
            system: SqrSystem = get(SqrTraining(self.dataset, self.seed, self.recipe))
            n, error = len(system.history), float(system.history.min())
            took = system.steps, system.seconds
            return Learnt(system.params, n, system.best_epoch, *took, error)
        clock = time.process_time()
        found = train(data.X_train, data.y_train, self.recipe, seed=self.seed, progress=False)
        seconds, n = time.process_time() - clock, len(found.history)
        steps = n * max(len(data.y_train) // self.recipe.batch_size, 1)
        return Learnt(found.params, n, n, steps, seconds)

    def _judge(self, learnt: Learnt, data: Prepared) -> list[RaceRecord]:
        y, forecast = data.y_test, FORECASTS[self.model](learnt.params)
        forecast.calibrate(data.X_cal, data.y_cal)
        records = []
        for form in FORMS:
            found = forecast.quantiles(data.X_test, form)  # (99, N)
            common: dict[str, Any] = {
                "dataset": self.dataset,
                "seed": self.seed,
                "model": self.model,
                "form": form,
                "n_train": len(data.y_train),
                "n_cal": len(data.y_cal),
                "n_test": len(y),
                "rmse": rmse(y, found[_HALF]),
                "crps": crps(found, y),
                "calibration_error": sqr.calibration_error(found, y),
                "crossed": crossed(found),
                "epochs": learnt.epochs,
                "best_epoch": learnt.best_epoch,
                "steps": learnt.steps,
                "train_cpu_seconds": learnt.seconds,
                "aside_error": learnt.aside_error,
            }
            for level in LEVELS:
                quality = interval_quality(y, *forecast.interval(data.X_test, level, form), level)
                records.append(RaceRecord(**common, level=level, **quality._asdict()))
        return records


def races(
    datasets: tuple[str, ...] = tuple(DATASETS),
    seeds: tuple[int, ...] = SEEDS,
    models: tuple[str, ...] = tuple(MODELS),
) -> list[Race]:
    """Return the races of the stored study, or of some data sets, seeds and models.

    >>> len(races())
    24
    """
    return [
        Race(dataset, seed, model, MODELS[model])
        for dataset in datasets
        for seed in seeds
        for model in models
    ]


# -------------------------------------------------------------------------------- forecasts


class Forecast(ABC):
    """Intervals at any level, as they were learnt and calibrated; all quantiles follow from them.

    The quantile of a level tau is an end of the interval at a level of 1 - 2 tau, or of 2 tau - 1
    above the median, which is the same in both forms.

    Args:
        params: the system.
    """

    def __init__(self, params: Params) -> None:
        self.params = params

    @abstractmethod
    def calibrate(self, X: Array, y: Array) -> None:
        """Learn what the form "conformal" needs, from rows that took no part in training."""

    @abstractmethod
    def interval(self, X: Array, coverage: float, form: str) -> tuple[Array, Array]:
        """Return lower and upper ends (N,) at a level."""

    @abstractmethod
    def median(self, X: Array) -> Array:
        """Return the median (N,)."""

    def quantiles(self, X: Array, form: str) -> Array:
        """Return the quantiles 0.01, ..., 0.99 of each row (99, N)."""
        pairs = [self.interval(X, 1 - 2 * tau, form) for tau in sqr.LEVELS[:_HALF]]
        lower, upper = zip(*pairs, strict=True)
        return np.stack([*lower, self.median(X), *upper[::-1]])


class SqrForecast(Forecast):
    """Quantiles are middles of planes; calibrated by one margin on both of them."""

    def calibrate(self, X: Array, y: Array) -> None:
        """Keep the rows: every level has a margin of its own."""
        self._X, self._y = X, y

    def interval(self, X: Array, coverage: float, form: str) -> tuple[Array, Array]:
        """Return lower and upper ends (N,) at a level."""
        lower, upper = sqr.interval(self.params, X, coverage)
        if form == "raw":
            return lower, upper
        return widen(lower, upper, self.margin(coverage))

    def margin(self, coverage: float) -> float:
        """Return the margin that conformalised quantile regression puts on both ends."""
        lower, upper = sqr.interval(self.params, self._X, coverage)
        lacking = np.sort(np.maximum(lower - self._y, self._y - upper))
        return float(lacking[rank(coverage, len(lacking) + 1) - 1])

    def median(self, X: Array) -> Array:
        """Return the median (N,)."""
        return sqr.quantiles(self.params, X, 0.5)


class AlignedForecast(Forecast):
    """Intervals are planes: where they learnt the level, or where `conformal` finds it."""

    def calibrate(self, X: Array, y: Array) -> None:
        """Find the critical plane of each row."""
        self._fitted = ConformalCalibrator().fit(Planes(self.params, X), y)

    def interval(self, X: Array, coverage: float, form: str) -> tuple[Array, Array]:
        """Return lower and upper ends (N,) at a level."""
        planes = Planes(self.params, X)
        if form == "raw":
            z = NormalDist().inv_cdf  # as in `gt2lite.losses.make_objective`
            return planes(alpha_of(z((1 + coverage) / 2) / z(0.995)))
        lower, upper = self._fitted.intervals(planes, coverage)
        return lower, upper

    def median(self, X: Array) -> Array:
        """Return the plane alpha = 1 (N,), which every plane contains."""
        return Planes(self.params, X)(1.0)[0]


FORECASTS: dict[str, type[Forecast]] = {"sqr": SqrForecast, "aligned": AlignedForecast}


def crps(found: Array, y: Array) -> float:
    """Return the continuous ranked probability score, from the quantiles 0.01, ..., 0.99 (99, N).

    It is twice the pinball loss, averaged over all levels; here over these 99.

    >>> median_only = np.zeros((99, 1))  # a forecast without any doubt: the absolute error
    >>> round(crps(median_only, np.array([2.0])), 6)
    2.0
    """
    return float(2 * np.mean(pinball(y - found, sqr.LEVELS[:, None])))


def crossed(found: Array) -> float:
    """Return the share of rows in which some quantile (L, N) lies below that of a lower level.

    >>> crossed(np.array([[0.0, 0.0], [1.0, 2.0], [2.0, 1.0]]))
    0.5
    """
    return float(np.mean((np.diff(found, axis=0) < 0).any(axis=0)))
