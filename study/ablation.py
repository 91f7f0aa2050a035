"""The `authors` mode taken apart: which of its settings does what.

The authors' public example (White Wine) differs from the default of this study in three
settings: it scales all rows before they are split, has one secondary width per side for all
inputs instead of one for each, and passes the number of the epoch to Adam's bias correction
instead of that of the step. Mode `authors` of `study.protocol` takes all three for all
data sets. Here every combination is trained once per seed: the system for 99 % on the 70 %, judged
on the test part.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from gt2lite._threads import one_blas_thread
from gt2lite._validation import Array, one_of, whole
from gt2lite.datasets import DATASETS, checksum, load_dataset, prepare
from gt2lite.memberships import ALPHA_0
from gt2lite.metrics import interval_quality, rmse
from gt2lite.system import Planes
from gt2lite.training import BETA_1, BETA_2, Recipe, train

SETTINGS = {
    "scaling": ("train", "authors"),
    "smf": ("per_input", "scalar"),
    "bias_correction": ("steps", "epochs"),
}
"""Each setting: as in the default, and as in the authors' example."""

TITLES = {"scaling": "scaling", "smf": "shares", "bias_correction": "counting"}
"""What the settings are called in prose."""

SEEDS = (0, 1, 2, 3, 4)
LEVEL = 0.99


@dataclass(frozen=True, kw_only=True)
class AblationRecord:
    """One training with some of the authors' settings, judged on the test part."""

    dataset: str
    seed: int
    scaling: str
    smf: str
    bias_correction: str
    rmse: float
    picp: float  # of the widest plane, trained for 99 %
    pinaw: float
    interval_score: float
    last_loss: float  # of the last epoch
    train_cpu_seconds: float

    @property
    def settings(self) -> tuple[str, ...]:
        """The names of the settings that are the authors'."""
        return tuple(n for n, (_, theirs) in SETTINGS.items() if getattr(self, n) == theirs)


@dataclass(frozen=True)
class Ablation:
    """One training with some of the authors' settings."""

    dataset: str
    seed: int
    scaling: str
    smf: str
    bias_correction: str
    recipe: Recipe = field(default_factory=Recipe)

    def __post_init__(self) -> None:
        one_of("dataset", self.dataset, DATASETS)
        whole("seed", self.seed, low=0)
        for name, options in SETTINGS.items():
            one_of(name, getattr(self, name), options)

    @property
    def code(self) -> tuple[str, ...]:
        """The modules that execute it."""
        return (__name__,)

    @property
    def cost(self) -> float:
        """How long it takes, in no particular unit."""
        return load_dataset(self.dataset).X.size * self.recipe.epochs

    @property
    def label(self) -> str:
        """What it is, in a few words."""
        return f"{self.dataset} seed {self.seed} {self.scaling} {self.smf} {self.bias_correction}"

    def asked(self) -> dict[str, Any]:
        """Return all that distinguishes it, in plain values."""
        return asdict(self) | {"data": checksum(self.dataset)}

    def execute(self, get: Any = None) -> AblationRecord:
        """Train one system and judge it."""
        settings = asdict(self.recipe) | {
            "coverage": LEVEL,
            "smf": self.smf,
            "bias_correction": self.bias_correction,
        }
        recipe = Recipe(**settings)
        with one_blas_thread():
            data = prepare(load_dataset(self.dataset), self.seed, scaling=self.scaling)
            clock = time.process_time()
            found = train(data.X_train, data.y_train, recipe, seed=self.seed, progress=False)
            seconds = time.process_time() - clock
            planes = Planes(found.params, data.X_test)
            quality = interval_quality(data.y_test, *planes(ALPHA_0), LEVEL)
            error = rmse(data.y_test, planes.output(recipe.planes.alphas))
        return AblationRecord(
            dataset=self.dataset,
            seed=self.seed,
            scaling=self.scaling,
            smf=self.smf,
            bias_correction=self.bias_correction,
            rmse=error,
            **quality._asdict(),
            last_loss=float(found.history[-1]),
            train_cpu_seconds=seconds,
        )

    def pack(self, row: AblationRecord) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return what came of it in plain form."""
        return asdict(row), {}

    def unpack(self, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> AblationRecord:
        """Return what came of it again."""
        names = AblationRecord.__dataclass_fields__
        return AblationRecord(**{name: header[name] for name in names})


def ablations(datasets: Sequence[str] = DATASETS, seeds: Sequence[int] = SEEDS) -> list[Ablation]:
    """Return a training for each combination of settings, data set and seed.

    >>> len(ablations())
    160
    """
    return [
        Ablation(dataset, seed, scaling, smf, bias_correction)
        for dataset in datasets
        for seed in seeds
        for scaling, smf, bias_correction in product(*SETTINGS.values())
    ]


def rows(row: AblationRecord) -> list[AblationRecord]:
    """Return the one record of a training."""
    return [row]


# -------------------------------------------------------------------------- what is told of it


class Effect(NamedTuple):
    """The mean RMSE of a data set by setting, times 100, as in the paper's tables."""

    dataset: str
    default: float
    scaling: float  # this setting alone is the authors'
    smf: float
    bias_correction: float
    all_three: float
    all_but_bias: float  # scaling and secondary widths are the authors', the bias is not


def effects(records: Iterable[AblationRecord]) -> list[Effect]:
    """Return a row for each data set: no setting, each setting alone, all three."""
    found = _by_settings(records)
    columns = [(), ("scaling",), ("smf",), ("bias_correction",), tuple(SETTINGS)]
    columns.append(("scaling", "smf"))
    datasets = dict.fromkeys(dataset for dataset, _ in found)
    return [
        Effect(dataset.upper(), *(100 * float(found[dataset, c].mean()) for c in columns))
        for dataset in datasets
    ]


class Blame(NamedTuple):
    """Which setting moves the RMSE of a data set most, and by how much."""

    dataset: str
    setting: str
    alone: float  # change of the mean RMSE in per cent when it alone is the authors'
    left_out: float  # the same for the two other settings together
    seeds: int  # seeds in which it alone raises the RMSE
    n: int


def blame(records: Iterable[AblationRecord], dataset: str) -> Blame:
    """Return the setting that alone moves the RMSE of a data set most."""
    found = _by_settings(records)
    base = found[dataset, ()]

    def change(settings: tuple[str, ...]) -> float:
        return 100 * float(found[dataset, settings].mean() / base.mean() - 1)

    worst = max(SETTINGS, key=lambda name: abs(change((name,))))
    others = tuple(name for name in SETTINGS if name != worst)
    raised = int((found[dataset, (worst,)] > base).sum())
    return Blame(
        dataset.upper(), TITLES[worst], change((worst,)), change(others), raised, base.size
    )


def step_factor(epoch: Array, steps_per_epoch: int) -> Array:
    """Return how long Adam's steps are when its correction counts epochs; 1 is as they should be.

    The correction of step t is ``sqrt(1 - 0.999**t) / (1 - 0.9**t)``. It is told the number of the
    epoch; right would be the number of the last step of that epoch.

    Args:
        epoch: numbers of epochs, from 1.
        steps_per_epoch: how many steps an epoch has.

    >>> step_factor(np.array([1, 10, 100]), 53).round(2)
    array([1.39, 0.24, 0.31])
    """

    def correction(t: Array) -> Array:
        found: Array = np.sqrt(1 - BETA_2**t) / (1 - BETA_1**t)
        return found

    return correction(epoch) / correction(epoch * float(steps_per_epoch))


def _by_settings(
    records: Iterable[AblationRecord],
) -> dict[tuple[str, tuple[str, ...]], Array]:
    """Return the RMSE (seeds,) of each data set and combination of the authors' settings."""
    found: dict[tuple[str, tuple[str, ...]], dict[int, float]] = {}
    for row in records:
        found.setdefault((row.dataset, row.settings), {})[row.seed] = row.rmse
    return {key: np.array([v[s] for s in sorted(v)]) for key, v in found.items()}
