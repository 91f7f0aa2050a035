"""The paper's protocol: what is trained, on which rows, calibrated how, and judged.

For each data set and seed there are three trainings. The *baseline* learns 99 % on 70 % of the
rows and is calibrated to 90 % and 95 % on 15 %; the other two learn 90 % and 95 % directly on
85 %. All are judged on the other 15 %. That is a `Task` for each system; executed, it becomes a
`ProtocolRun`. Which tasks the study consists of, see `gt2lite.study.plans`; how many of them are
run, `gt2lite.study.runner`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import numpy as np

from gt2lite._checks import Array, one_of, whole
from gt2lite._threads import one_blas_thread
from gt2lite.calibration import CALIBRATORS, CoverageError, critical_alpha
from gt2lite.datasets import DATASETS, Prepared, checksum, load_dataset, prepare
from gt2lite.memberships import ALPHA_0
from gt2lite.metrics import Quality, interval_quality, rmse
from gt2lite.recipe import Recipe
from gt2lite.starts import init_params
from gt2lite.study.design import LEVELS, MODELS, PAPER_TABLE, n_values
from gt2lite.study.records import Record
from gt2lite.system import Params, Planes
from gt2lite.training import Trained, train

MODES: dict[str, dict[str, str]] = {
    "default": {},
    # Deviation: what the authors' code does otherwise; see also the scaling below.
    "authors": {"smf": "scalar", "bias_correction": "epochs"},
}

CALIBRATIONS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("search", {}),
    # the paper's table, and others: it names step and interpolation as its two weak points
    ("table", dict(zip(("step", "interpolation"), PAPER_TABLE, strict=True))),
    *(("table", {"step": s, "interpolation": "linear"}) for s in (0.2, 0.05, 0.02, 0.01)),
    ("table", {"step": 0.1, "interpolation": "pchip"}),
    ("exact", {}),
    ("conformal", {}),
)


class ProtocolRun(NamedTuple):
    """What came of a task."""

    task: Task
    params: Params
    history: Array  # (epochs,) mean loss
    critical_alpha: Array  # (Q,) the calibration curve, exactly; empty for a trained model
    records: list[Record]


@dataclass(frozen=True)
class Task:
    """One training of the protocol, and all that determines its outcome."""

    dataset: str
    seed: int
    model: str
    mode: str = "default"
    recipe: Recipe = field(default_factory=Recipe)
    nudge: int = 0  # units in the last place by which start values are moved, to see what comes

    def __post_init__(self) -> None:
        one_of("dataset", self.dataset, DATASETS)
        whole("seed", self.seed, low=0)
        one_of("model", self.model, MODELS)
        one_of("mode", self.mode, MODES)

    @property
    def full_recipe(self) -> Recipe:
        """The recipe with what model and mode decide filled in."""
        settings = asdict(self.recipe) | {"coverage": MODELS[self.model]} | MODES[self.mode]
        return Recipe(**settings)

    @property
    def code(self) -> tuple[str, ...]:
        """The modules that execute it."""
        return (__name__,)

    @property
    def cost(self) -> float:
        """How long it takes, in no particular unit."""
        share = 70 if self.model == "baseline" else 85
        return n_values(self.dataset) * share * self.recipe.epochs * self.recipe.n_rules

    @property
    def label(self) -> str:
        """What it is, in a few words."""
        return f"{self.dataset} seed {self.seed} {self.model}"

    def asked(self) -> dict[str, Any]:
        """Return all that distinguishes it, in plain values."""
        asked = asdict(self) | {"recipe": asdict(self.full_recipe)}
        return asked | {"data": checksum(self.dataset)}

    def prepare(self) -> Prepared:
        """Return the scaled parts of its data."""
        scaling = "authors" if self.mode == "authors" else "train"
        return prepare(load_dataset(self.dataset), self.seed, scaling=scaling)

    def execute(self, get: Any = None) -> ProtocolRun:
        """Train one system, calibrate it where it is a baseline, and judge it on the test part."""
        with one_blas_thread():
            data = self.prepare()
            trained, times = self._train(data)
            records, critical = _judge(self, trained.params, data, times)
        return ProtocolRun(self, trained.params, trained.history, critical, records)

    def pack(self, run: ProtocolRun) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return what came of it in plain form."""
        arrays = {f"params/{name}": value for name, value in run.params.items()}
        arrays |= {"history": run.history, "critical_alpha": run.critical_alpha}
        return {"task": asdict(self), "records": [asdict(row) for row in run.records]}, arrays

    def unpack(self, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> ProtocolRun:
        """Return what came of it again."""
        prefix = "params/"
        params = {n.removeprefix(prefix): v for n, v in arrays.items() if n.startswith(prefix)}
        records = [Record(**row) for row in header["records"]]
        return ProtocolRun(self, params, arrays["history"], arrays["critical_alpha"], records)

    def _train(self, data: Prepared) -> tuple[Trained, dict[str, float]]:
        X, y = data.X_train, data.y_train
        if self.model != "baseline":  # the calibration part belongs to the training data
            X, y = np.vstack([X, data.X_cal]), np.concatenate([y, data.y_cal])
        recipe, rng, start = self.full_recipe, np.random.default_rng(self.seed), None
        if self.nudge:  # the same draws, moved by so many units in the last place
            start = init_params(X, recipe.n_rules, rng, smf=recipe.smf)
            start = {name: v + self.nudge * np.spacing(v) for name, v in start.items()}
        clock, cpu_clock = time.perf_counter(), time.process_time()
        trained = train(X, y, recipe, seed=rng, start=start, progress=False)
        times = {
            "train_seconds": time.perf_counter() - clock,
            "train_cpu_seconds": time.process_time() - cpu_clock,
        }
        return trained, times


def _judge(
    task: Task, params: Params, data: Prepared, times: dict[str, float]
) -> tuple[list[Record], Array]:
    """Return a record for each interval that the system offers, and its calibration curve."""
    test = Planes(params, data.X_test)
    common: dict[str, Any] = {
        "dataset": task.dataset,
        "seed": task.seed,
        "mode": task.mode,
        "n_cal": len(data.y_cal),
        "n_test": len(data.y_test),
        "rmse": rmse(data.y_test, test.output(task.full_recipe.planes.alphas)),
        **times,
    }
    level = MODELS[task.model]
    trained = Record(
        **common,
        **_measured(data.y_test, test, ALPHA_0, level),
        model="baseline" if task.model == "baseline" else "trained",
        method="trained",
        alpha=ALPHA_0,
        reached=np.nan,
        n_evaluations=0,
        calibrate_seconds=0.0,
    )
    if task.model != "baseline":
        return [trained], np.empty(0)
    calibrated = [
        Record(
            **common,
            **found,
            **options,
            **_measured(data.y_test, test, found["alpha"], level),
            model="calibrated",
            method=method,
        )
        for method, options in CALIBRATIONS
        for level in LEVELS
        for found in [_calibrate(params, data, method, options, level)]
    ]
    return [trained, *calibrated], critical_alpha(Planes(params, data.X_cal), data.y_cal)


def _calibrate(
    params: Params, data: Prepared, method: str, options: dict[str, Any], level: float
) -> dict[str, Any]:
    """Return the plane that a method finds for a level, and what finding it took."""
    clock = time.perf_counter()
    # memberships are computed anew for each, so that their cost is counted
    planes = Planes(params, data.X_cal)
    fitted = CALIBRATORS[method](**options).fit(planes, data.y_cal)
    try:
        alpha = fitted.alpha(level)
    except CoverageError:
        alpha = np.nan
    if not alpha >= ALPHA_0:
        # Beyond the envelope, where the paper has no planes. Its methods end at the widest
        # one, the nearest there is, and here the exact one does, too; `reached`
        # shows the miss. A guarantee has no nearest.
        alpha = np.nan if method == "conformal" else ALPHA_0
    return {
        "alpha": alpha,
        "calibrate_seconds": time.perf_counter() - clock,
        "n_evaluations": fitted.n_evaluations,  # before `coverage` adds one
        "reached": fitted.max_coverage if np.isnan(alpha) else fitted.coverage(alpha),
    }


def _measured(y: Array, planes: Planes, alpha: float, level: float) -> dict[str, Any]:
    """Return level and quality of an interval; NaN where there is none."""
    found = Quality(np.nan, np.nan, np.nan)
    if not np.isnan(alpha):
        found = interval_quality(y, *planes(alpha), level)
    return {"level": level, **found._asdict()}
