"""The training step in PyTorch, eager: the maths of `gt2lite.memberships` and `gt2lite.reduction`.

No form that was tried was faster beyond noise: batch last, all planes at once, products rather
than sums of logarithms, all switch points by one small matrix product and found outside the
gradient, the fused Adam.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from gt2lite.losses import Objective
from gt2lite.system import Params

torch.set_num_threads(1)


def start(params: Params) -> dict[str, torch.Tensor]:
    """Return the parameters as tensors that ask for gradients."""
    return {name: torch.tensor(value, requires_grad=True) for name, value in params.items()}


def make_loss(objective: Objective, P: int) -> Callable[..., torch.Tensor]:
    """Return the loss as a function of parameters, inputs (M, B) and targets (B,)."""
    kappa = torch.tensor(objective.kappa[objective.kappa > 0])[:, None]  # (K, 1)
    weights = torch.tensor(objective.alphas / (2 * objective.alphas.sum()))
    tau = torch.tensor(np.stack([1 - objective.levels, 1 + objective.levels]) / 2)[:, :, None]
    rank = torch.arange(P)[:, None]
    upto, below = np.tri(P), np.tri(P, k=-1)
    sums = torch.tensor(np.block([[upto, 1 - upto], [1 - below, below]]))  # (2P, 2P)

    def ends_of(params: Any, X_t: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        s_l, s_r = torch.sigmoid(params["raw_l"]), torch.sigmoid(params["raw_r"])
        sigma = params["raw_sigma"].abs()
        z = (X_t - params["c"][:, :, None]) / sigma[:, :, None]  # (P, M, B)
        log_mu = z.square() * (-0.5 / X_t.shape[0])
        log_f = log_mu.sum(1)  # (P, B)
        t = (kappa * s_r)[:, None, :, None]  # (K, 1, M, 1)
        f_upper = (log_mu.exp() * (1 - t) + t).prod(2)  # (K, P, B)
        f_lower = torch.exp(log_f + torch.log1p(-kappa * s_l).sum(1)[:, None, None])

        y = params["a"] @ X_t + params["a0"][:, None]  # (P, B)
        y_sorted, order = y.sort(0)
        order = order.expand(f_upper.shape)
        lower, upper = f_lower.gather(1, order), f_upper.gather(1, order)
        with torch.no_grad():
            firing = torch.cat([upper, lower], 1)
            W, moment = sums @ torch.stack([firing, firing * torch.cat([y_sorted, y_sorted])])
            mean = moment / W
            at_l = mean[:, :P].argmin(1, keepdim=True)
            at_r = mean[:, P:].argmax(1, keepdim=True)
        w = torch.stack(
            [torch.where(rank <= at_l, upper, lower), torch.where(rank < at_r, lower, upper)]
        )
        type_1 = (torch.softmax(log_f, 0) * y).sum(0)
        return (w * y_sorted).sum(2) / w.sum(2), type_1

    def loss(params: Any, X_t: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        ends, type_1 = ends_of(params, X_t)  # (2, K - 1, B), (B,)
        ends = torch.cat([ends, type_1.expand(2, 1, -1)], 1)
        error = (y - weights @ ends.sum(0)).abs()
        gap = y - ends[:, : tau.shape[1]]
        pinball = torch.maximum(tau * gap, (tau - 1) * gap)
        log_cosh = error + torch.log1p(torch.exp(-2 * error)) - np.log(2)
        return log_cosh.mean() + pinball.sum() / y.numel()

    return loss
