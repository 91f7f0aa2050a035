"""How to train: all that decides the outcome besides the data and the seed.

The defaults are the paper's and its authors'; the fields below `bias_correction` go beyond them.
Recipes with a name are in `gt2lite.presets`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gt2lite._checks import between, one_of, vector, whole
from gt2lite.losses import OBJECTIVES, Objective, make_objective
from gt2lite.optimizers import SCHEDULES
from gt2lite.starts import STARTS
from gt2lite.system import SMF_MODES

_LARGEST = {"n_rules": 10**4, "epochs": 10**6, "batch_size": 10**9}
_RANGES = {
    "coverage": (0, 1),
    "learning_rate": (0, 1e3),  # beyond, the first step throws every parameter out of sight
    "sigma_scale": (1e-6, 1e6),  # memberships of a point, or of everything
    "validation": (0, 1),
}


@dataclass(frozen=True)
class Recipe:
    """How to train; the defaults are the paper's.

    Attributes:
        n_rules: number of fuzzy rules, P.
        coverage: what the widest plane, alpha_0, learns to cover.
        alphas: planes that make up the output; None for the objective's own.
        objective: "dual", the paper's loss, or "aligned", in which every plane learns a coverage
            of its own, see `gt2lite.losses`.
        smf: "per_input" or "scalar" secondary memberships, see `gt2lite.starts.init_params`.
        epochs: passes over the data.
        batch_size: rows in a step. An incomplete last batch is dropped unless it is the only one.
        learning_rate: Adam's.
        keep: "last" parameters, as in the authors' code, or the "best": those with the
            smallest loss over all training rows at the end of an epoch, as in Algorithm 1;
            "validation" judges the epochs by rows that are set aside for it.
        bias_correction: whether Adam's bias correction counts "steps", as it should, or
            "epochs", as in the authors' code.
        schedule: "constant" learning rate, or one that falls along half a "cosine" from
            `learning_rate` in the first step to nearly 0 in the last.
        weight_decay: share of the consequents `a`, `a0` that is taken off in a step, in units of
            the learning rate (decoupled from the gradient).
        averaging: what is kept is a running mean of the parameters, which in each step gives up a
            share of ``1 - averaging`` for the newest ones (more in the first steps, so
            that it does not remember the start); 0 keeps the parameters themselves.
        start: "per_input" or "joint", where rules start, see `gt2lite.starts.init_params`.
        sigma_scale: how wide memberships start, likewise.
        validation: share of the rows that is set aside where `keep` is "validation".
        patience: training stops where so many epochs in a row have not been better than
            the best before; needs a `keep` that judges epochs, "validation" or "best". None
            goes through all of them. A "cosine" falls as planned for all `epochs`, so
            that a training stopped early lacks the small steps at its end, which often help
            most: give it more patience, or a constant rate.
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

    def __post_init__(self) -> None:
        for name, high in _LARGEST.items():
            self._set(name, whole(name, getattr(self, name), high=high))
        for name, (low, top) in _RANGES.items():
            self._set(name, between(name, getattr(self, name), low, top))
        for name in ("weight_decay", "averaging"):  # 0 turns them off
            highest = 1.0 if name == "averaging" else 1 / self.learning_rate
            value = between(name, getattr(self, name), 0, highest, closed=True)
            if value == highest:
                raise ValueError(f"{name} must be below {highest:g}, got {value!r}")
            self._set(name, value)
        one_of("objective", self.objective, OBJECTIVES)
        one_of("smf", self.smf, SMF_MODES)
        one_of("keep", self.keep, ("last", "best", "validation"))
        one_of("bias_correction", self.bias_correction, ("steps", "epochs"))
        one_of("schedule", self.schedule, SCHEDULES)
        one_of("start", self.start, STARTS)
        if self.patience is not None:
            self._check_patience()
        if self.alphas is not None:
            self._set("alphas", tuple(float(alpha) for alpha in vector("alphas", self.alphas)))
        make_objective(self.objective, self.coverage, self.alphas)

    def _check_patience(self) -> None:
        value = whole("patience", self.patience, high=_LARGEST["epochs"])
        if self.keep == "last":
            raise ValueError(
                "patience must be None where keep='last', which judges no epoch, got "
                f"{value!r}: set keep='validation' or keep='best'"
            )
        self._set("patience", value)

    def _set(self, name: str, value: Any) -> None:
        """Replace a setting by the plain number that it stands for."""
        object.__setattr__(self, name, value)

    @property
    def planes(self) -> Objective:
        """The planes of the system and what each of them learns."""
        return make_objective(self.objective, self.coverage, self.alphas)
