"""One recipe on the training part of one split: most of it to learn from, the rest to judge by.

Calibration and test parts are not looked at. A recipe that spells out its planes one by one is
`Mapped`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from gt2lite._threads import one_blas_thread
from gt2lite._validation import Array
from gt2lite.datasets import checksum, load_dataset, prepare
from gt2lite.losses import Objective
from gt2lite.memberships import alpha_of
from gt2lite.metrics import interval_quality, rmse
from gt2lite.system import Planes
from gt2lite.training import DivergenceError, Recipe, train
from study.design import LEVELS, n_values
from study.oracle import planes_at_coverage

JUDGING = 0.2
"""The share of the training part that judges."""


@dataclass(frozen=True)
class Mapped(Recipe):
    """The paper's recipe with planes and what they learn spelt out.

    Attributes:
        learn: pairs (kappa, coverage), the first of them (1, coverage of alpha_0). A pair that
            occurs n times weighs n times in the loss.
    """

    learn: tuple[tuple[float, float], ...] = ()

    @property
    def planes(self) -> Objective:
        """The planes of the system and what each of them learns."""
        kappa, levels = np.array(self.learn).T
        planes = np.append(kappa, 0.0)
        return Objective(np.asarray(alpha_of(planes)), planes, levels)


@dataclass(frozen=True, kw_only=True)
class TrialResult:
    """What a trial came to on the judging rows.

    Widths and scores are those of the plane whose coverage of the judging rows is the level.
    """

    dataset: str
    seed: int
    rmse: float
    equal_pinaw_90: float
    equal_interval_score_90: float
    equal_pinaw_95: float
    equal_interval_score_95: float
    train_seconds: float

    @property
    def scores(self) -> tuple[float, float]:
        """The interval scores at both levels."""
        return self.equal_interval_score_90, self.equal_interval_score_95


@dataclass(frozen=True)
class Trial:
    """One recipe on the training part of one split."""

    dataset: str
    seed: int
    recipe: Recipe

    @property
    def code(self) -> tuple[str, ...]:
        """The modules that execute it."""
        return (__name__,)

    @property
    def cost(self) -> float:
        """How long it takes, in no particular unit."""
        return n_values(self.dataset) * self.recipe.n_rules * self.recipe.epochs

    @property
    def label(self) -> str:
        """What it is, in a few words."""
        return f"{self.dataset} seed {self.seed}"

    def asked(self) -> dict[str, Any]:
        """Return all that distinguishes it, in plain values."""
        return asdict(self) | {"data": checksum(self.dataset)}

    def execute(self, get: Any = None) -> TrialResult:
        """Train on most of the training part and judge on the rest of it."""
        data = prepare(load_dataset(self.dataset), self.seed)
        rows = np.random.default_rng([self.seed, 1]).permutation(len(data.y_train))
        judging, learning = np.split(rows, [round(JUDGING * len(rows))])
        X, y = data.X_train, data.y_train
        with one_blas_thread():
            clock = time.process_time()
            try:
                params = train(
                    X[learning], y[learning], self.recipe, seed=self.seed, progress=False
                ).params
            except DivergenceError as error:  # what there is: its score will tell
                params = error.params
            seconds = time.process_time() - clock
            planes = Planes(params, X[judging])
            return TrialResult(
                dataset=self.dataset,
                seed=self.seed,
                rmse=rmse(y[judging], planes.output(self.recipe.planes.alphas)),
                **_at_equal_coverage(planes, y[judging]),
                train_seconds=seconds,
            )

    def pack(self, result: TrialResult) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return the result in plain form."""
        return {"result": asdict(result)}, {}

    def unpack(self, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> TrialResult:
        """Return the result again."""
        return TrialResult(**header["result"])


def _at_equal_coverage(planes: Planes, y: Array) -> dict[str, float]:
    """Return width and score of the planes that cover the levels of `y`."""
    found = {}
    lower, upper = planes_at_coverage(planes, y, LEVELS)  # (N, L) each
    for i, level in enumerate(LEVELS):
        quality = interval_quality(y, lower[:, i], upper[:, i], level)
        found[f"equal_pinaw_{100 * level:.0f}"] = quality.pinaw
        found[f"equal_interval_score_{100 * level:.0f}"] = quality.interval_score
    return found


# ------------------------------------------------------------- what planes may be asked to learn


def normal(level: float) -> float:
    """Return the distance from the centre, in units of that at 99 %, for normal noise."""
    z = NormalDist().inv_cdf
    return z((1 + level) / 2) / z(0.995)


def laplace(level: float) -> float:
    """Return the same for Laplace noise, whose tails are longer."""
    return float(np.log(1 - level) / np.log(0.01))


def linear(level: float) -> float:
    """Return the same for noise without tails."""
    return level / 0.99


def aligned_variants() -> dict[str, Recipe]:
    """Return ways to give every plane a coverage to learn, by name."""

    def by(kappa_of: Any, *levels: float) -> Recipe:
        return Mapped(learn=tuple((kappa_of(level), level) for level in levels))

    four = (0.99, 0.95, 0.90, 0.50)
    return {
        "dual": Recipe(),
        "aligned": Recipe(objective="aligned"),
        "three planes": by(normal, 0.99, 0.95, 0.90),
        "Laplace map": by(laplace, *four),
        "linear map": by(linear, *four),
        "high levels weigh more": by(normal, 0.99, 0.99, 0.99, 0.95, 0.95, 0.90, 0.90, 0.50),
    }
