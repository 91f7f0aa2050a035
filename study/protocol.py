"""The paper's protocol: what is trained, on which rows, calibrated how, and judged.

For each data set and seed there are three trainings. The *baseline* learns 99 % on 70 % of the
rows and is calibrated to 90 % and 95 % on 15 %; the other two learn 90 % and 95 % directly on
85 %. All are judged on the other 15 %. That is a `Task` for each system; executed, it becomes a
`ProtocolRun`. Which tasks the study consists of, see `study.plans`; how many of them are
run, `study.runner`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import numpy as np

from gt2lite._threads import one_blas_thread
from gt2lite._validation import Array, one_of, whole
from gt2lite.calibration import CALIBRATORS, RANKED, Calibrator, CoverageError, critical_alpha
from gt2lite.datasets import DATASETS, Prepared, checksum, load_dataset, prepare
from gt2lite.memberships import ALPHA_0
from gt2lite.metrics import interval_quality, rmse
from gt2lite.system import Params, Planes
from gt2lite.training import Recipe, Trained, init_params, train
from study import processors
from study.design import LEVELS, MODELS, PAPER_TABLE, n_values
from study.interpolations import CURVES, CurveTable
from study.records import Record

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
    *(("table", {"step": 0.1, "interpolation": kind}) for kind in ("pchip", *CURVES)),
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
    processor: str = ""  # what instructions it is held to, see `study.processors`

    def __post_init__(self) -> None:
        one_of("dataset", self.dataset, DATASETS)
        whole("seed", self.seed, low=0)
        one_of("model", self.model, MODELS)
        one_of("mode", self.mode, MODES)
        one_of("processor", self.processor, processors.HELD)

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
        processors.check(self.processor)
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
        **interval_quality(data.y_test, *test(ALPHA_0), level)._asdict(),
        level=level,
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
            **options,
            **_calibrated(params, data, test, method, options, level),
            model="calibrated",
            level=level,
            method=method,
        )
        for method, options in CALIBRATIONS
        for level in LEVELS
    ]
    return [trained, *calibrated], critical_alpha(Planes(params, data.X_cal), data.y_cal)


def _calibrated(
    params: Params, data: Prepared, test: Planes, method: str, options: dict[str, Any], level: float
) -> dict[str, Any]:
    """Return what a method finds for a level, what finding it took, and what it is worth."""
    kind = CurveTable if options.get("interpolation") in CURVES else CALIBRATORS[method]
    clock = time.perf_counter()
    # memberships are computed anew for each, so that their cost is counted
    fitted: Calibrator = kind(**options).fit(Planes(params, data.X_cal), data.y_cal)
    try:
        alpha, margin = fitted.alpha(level), fitted.margin(level)
    except CoverageError:
        # The paper's methods have no answer here. They end at the widest plane, the nearest
        # there is; `reached` shows the miss.
        alpha, margin = ALPHA_0, 0.0
    seconds = time.perf_counter() - clock
    n_evaluations = fitted.n_evaluations  # before `coverage` adds one
    if method in RANKED:  # these go on beyond the envelope, so that every run has an answer
        ends, reached = fitted.intervals(test, level), fitted.reached(level)
    else:
        ends, reached = test(alpha), fitted.coverage(alpha)
    return {
        "alpha": 0.0 if np.isnan(alpha) else alpha,
        "margin": margin,
        "reached": reached,
        "n_evaluations": n_evaluations,
        "calibrate_seconds": seconds,
        **interval_quality(data.y_test, *ends, level)._asdict(),
    }
