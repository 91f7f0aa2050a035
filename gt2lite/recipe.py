"""The settings of a training; the defaults are the paper's."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from gt2lite._validation import between, one_of, vector, whole
from gt2lite.losses import OBJECTIVES, Objective, make_objective
from gt2lite.parameters import SMF_MODES

STARTS = ("per_input", "joint")
FIRST_CYCLE, CYCLE_GROWTH = 150, 1.5  # steps of the schedule "restarts"
PRECISIONS = {"double": np.float64, "single": np.float32}

_LARGEST = {"n_rules": 10**4, "epochs": 10**6, "batch_size": 10**9}
_CHOICES: dict[str, Iterable[str]] = {
    "objective": OBJECTIVES,
    "smf": SMF_MODES,
    "keep": ("last", "best", "validation"),
    "bias_correction": ("steps", "epochs"),
    "schedule": ("constant", "cosine", "restarts"),
    "start": STARTS,
    "precision": PRECISIONS,
}
_RANGES = {
    "coverage": (0, 1),
    "learning_rate": (0, 1e3),  # beyond, the first step leaves no parameter usable
    "sigma_scale": (1e-6, 1e6),  # beyond, memberships are those of a point or of everything
    "validation": (0, 1),
}


@dataclass(frozen=True)
class Recipe:
    """The settings of a training; the defaults are the paper's.

    Attributes:
        n_rules: number of fuzzy rules, P.
        coverage: the coverage that the widest plane, alpha_0, learns.
        alphas: planes that make up the output; None for the objective's own.
        objective: "dual", the paper's loss, or "aligned", in which every plane learns a coverage
            of its own, see `gt2lite.losses`.
        smf: "per_input" or "scalar" secondary memberships, see `gt2lite.training.init_params`.
        epochs: passes over the data.
        batch_size: rows in a step. An incomplete last batch is dropped unless it is the only one.
        learning_rate: Adam's.
        keep: "last" parameters, as in the authors' code, or the "best": those with the
            smallest loss over all training rows at the end of an epoch, as in Algorithm 1;
            "validation" compares the epochs on rows that are set aside for it.
        bias_correction: whether Adam's bias correction counts "steps", as usual, or
            "epochs", as in the authors' code.
        schedule: "constant" learning rate; one that falls along half a "cosine" from
            `learning_rate` in the first step to nearly 0 in the last; or "restarts", which does
            so again and again, in cycles that grow from 150 steps by half each time (Loshchilov
            and Hutter 2017), so that the end of each cycle is a good place to stop.
        weight_decay: share of the consequents `a`, `a0` that is taken off in a step, in units of
            the learning rate (decoupled from the gradient).
        averaging: if above 0, a running mean of the parameters is kept; each step replaces a
            share of ``1 - averaging`` of it by the newest ones (more in the first steps, so
            that the start does not count). 0 keeps the parameters themselves.
        start: "per_input" or "joint" start of the rules, see `gt2lite.training.init_params`.
        sigma_scale: width of the memberships at the start, likewise.
        validation: share of the rows that is set aside if `keep` is "validation".
        patience: training stops after this many epochs in a row without a new best one; needs
            `keep` "validation" or "best". None never stops early. A "cosine" schedule falls as
            planned for all `epochs`, so that a training stopped early lacks the small steps at
            its end, which often help most: set a larger patience, or a constant rate.
        precision: "double", or "single" for training in single precision: up to twice as fast.
            Parameters and everything computed with them afterwards are in double precision.
    """

    n_rules: int = 10
    coverage: float = 0.99
    alphas: tuple[float, ...] | None = None
    objective: str = "dual"
    smf: str = "per_input"
    epochs: int = 100
    batch_size: int = 64
    learning_rate: float = 1e-3
    keep: str = "last"
    bias_correction: str = "steps"
    schedule: str = "constant"
    weight_decay: float = 0.0
    averaging: float = 0.0
    start: str = "per_input"
    sigma_scale: float = 1.0
    validation: float = 0.2
    patience: int | None = None
    precision: str = "double"

    def __post_init__(self) -> None:
        values = vars(self)  # each is replaced by the plain number that it stands for
        for name, high in _LARGEST.items():
            values[name] = whole(name, values[name], high=high)
        for name, (low, top) in _RANGES.items():
            values[name] = between(name, values[name], low, top)
        for name, highest in (("weight_decay", 1 / self.learning_rate), ("averaging", 1.0)):
            values[name] = between(name, values[name], 0, highest, closed=True)  # 0 turns it off
            if values[name] == highest:
                raise ValueError(f"{name} must be below {highest:g}, got {highest!r}")
        for name, options in _CHOICES.items():
            one_of(name, values[name], options)
        if self.patience is not None:
            values["patience"] = whole("patience", self.patience, high=_LARGEST["epochs"])
            if self.keep == "last":
                raise ValueError(
                    f"patience must be None if keep='last', got {self.patience!r}: set "
                    "keep='validation' or keep='best', which compare epochs"
                )
        if self.alphas is not None:
            values["alphas"] = tuple(vector("alphas", self.alphas).tolist())
        make_objective(self.objective, self.coverage, self.alphas)

    @property
    def planes(self) -> Objective:
        """The planes of the system and the coverage that each of them learns."""
        return make_objective(self.objective, self.coverage, self.alphas)

    def annealed(self, steps: int) -> list[int]:
        """Return the epochs at whose end the learning rate has fallen to nearly 0.

        Args:
            steps: number of steps in an epoch.

        >>> Recipe(schedule="restarts", epochs=40).annealed(25)  # cycles of 150, 225, ... steps
        [6, 15, 29, 40]
        """
        if self.schedule == "constant":
            return []
        if self.schedule == "cosine":
            return [self.epochs]
        ends, end, length = [], 0, float(FIRST_CYCLE)
        while end < self.epochs:
            end += max(round(length / steps), 1)
            length *= CYCLE_GROWTH
            if self.epochs - end < length / steps / 2:  # no short cycle at the end
                end = self.epochs
            ends.append(end)
        return ends
