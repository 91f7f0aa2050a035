"""One training step: forward, loss, backward, Adam; ours, autograd, JAX and PyTorch in turns.

The recipe is the paper's (10 rules, batches of 64, planes 0.01, 0.5 and 1, dual loss) with the 11
inputs of White Wine, in float64, on one thread. That all compute the same loss and the same
gradient is checked first. Batches are made beforehand for all of them. "train" is a call of
`gt2lite.training.train` divided by its steps, shuffling and all. "JAX jit" and "autograd" are the
readable formulas; "closed forms" gives JAX, as PyTorch, the algebra of `_fast.planes` as well,
and "JAX scan" compiles a whole epoch, which leaves Python out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import _measure
import autograd
import numpy as np

from gt2lite import losses, system, training
from gt2lite._fast.gradient import BatchGradient
from gt2lite._fast.loss import CompiledLoss
from gt2lite._fast.parameters import Flat
from gt2lite._fast.state import quietly
from gt2lite.recipe import Recipe
from gt2lite.training import train

TOLERANCE = 1e-9
RATE = 1e-3

Step = Callable[[], object]
Gradient = tuple[float, dict[str, np.ndarray]]
Batches = list[tuple[np.ndarray, np.ndarray]]  # (M, B) and (B,)


class Problem:
    """Data, start values and objective: the same for all."""

    def __init__(self, P: int, M: int, B: int, n_batches: int, objective: str) -> None:
        rng = np.random.default_rng(0)
        self.X = rng.normal(size=(n_batches * B, M))
        noise = 0.3 * rng.normal(size=len(self.X))
        self.y = np.tanh(self.X[:, 0]) + 0.5 * self.X[:, 1 % M] + noise
        params = training.init_params(self.X, P, rng)
        # away from the start, where consequents are nearly equal and gradients nearly nothing
        self.params = {name: v + 0.3 * rng.normal(size=v.shape) for name, v in params.items()}
        self.objective = losses.make_objective(objective, 0.99)
        rows = np.arange(len(self.X)).reshape(n_batches, B)
        self.batches: Batches = [(np.ascontiguousarray(self.X[r].T), self.y[r]) for r in rows]


def ours(problem: Problem) -> tuple[Gradient, Step]:
    """Return our gradient and our epoch: the inner loop of `training.train`."""
    flat = Flat(problem.params)
    loss = CompiledLoss(problem.objective)
    gradient = BatchGradient(flat, problem.objective.kappa, loss.gradient)
    adam = _adam(flat)

    @quietly
    def epoch() -> None:
        for X_t, y in problem.batches:
            adam.update(gradient(X_t.T, y)[0])

    X_t, y = problem.batches[0]
    g, ends = gradient(X_t.T, y)
    value = loss.value(ends, y)
    named = Flat(problem.params)
    named.vector[:] = g
    return (value, named.params), epoch


def _adam(flat: Flat) -> training.Adam:
    return training.Adam(flat.vector, RATE)


def ours_by_train(problem: Problem) -> Step:
    """Return one epoch by the public function, set-up included."""
    n_rules = len(problem.params["a0"])
    name = "aligned" if problem.objective.levels.size > 1 else "dual"
    B = problem.batches[0][1].size
    recipe = Recipe(n_rules=n_rules, objective=name, epochs=1, batch_size=B)

    def epoch() -> None:
        train(problem.X, problem.y, recipe, start=problem.params, progress=False)

    return epoch


def by_autograd(problem: Problem) -> tuple[Gradient, Step]:
    """Return gradient and epoch of the readable formulation under plain autograd."""
    objective = problem.objective
    flat = Flat(problem.params)
    params = flat.params
    adam = _adam(flat)

    def loss(params: system.Params, X: np.ndarray, y: np.ndarray) -> Any:
        return losses.loss(system.plane_ends(params, X, objective.kappa), y, objective)

    gradient = autograd.value_and_grad(loss)
    batches = [(np.ascontiguousarray(X_t.T), y) for X_t, y in problem.batches]

    def epoch() -> None:
        for X, y in batches:
            _, g = gradient(params, X, y)
            adam.update(np.concatenate([g[name].ravel(order="F") for name in params]))

    value, g = gradient(params, *batches[0])
    return (float(value), g), epoch


def by_jax(problem: Problem, *, readable: bool) -> tuple[Gradient, Step, Step]:
    """Return gradient and epoch in JAX, the epoch step by step and as one compiled scan."""
    import _jax_step as rival
    import jax
    import jax.numpy as jnp

    loss = (rival.make_readable_loss if readable else rival.make_loss)(problem.objective)
    state, unflatten = rival.start(problem.params)
    step = rival.make_step(loss, unflatten, RATE)
    compiled = jax.jit(step, donate_argnums=0)
    scan = jax.jit(
        lambda state, *data: jax.lax.scan(lambda s, batch: step(s, *batch), state, data),
        donate_argnums=0,
    )
    batches = [(jnp.asarray(X_t), jnp.asarray(y)) for X_t, y in problem.batches]
    X_all, y_all = (jnp.stack(part) for part in zip(*batches, strict=True))
    states = {"step": state, "scan": rival.start(problem.params)[0]}

    value, g = jax.jit(jax.value_and_grad(loss))(unflatten(state[0]), *batches[0])
    found = float(value), {name: np.asarray(v) for name, v in g.items()}

    def epoch() -> None:
        now = states["step"]
        for X_t, y in batches:
            now, _ = compiled(now, X_t, y)
        states["step"] = jax.block_until_ready(now)

    def scanned() -> None:
        states["scan"] = jax.block_until_ready(scan(states["scan"], X_all, y_all)[0])

    return found, epoch, scanned


def by_torch(problem: Problem) -> tuple[Gradient, Step]:
    """Return gradient and epoch in PyTorch, eager."""
    import _torch_step as rival
    import torch

    params = rival.start(problem.params)
    loss = rival.make_loss(problem.objective, len(problem.params["a0"]))
    adam = torch.optim.Adam(params.values(), lr=RATE, fused=True)
    batches = [(torch.tensor(X_t), torch.tensor(y)) for X_t, y in problem.batches]

    value = loss(params, *batches[0])
    value.backward()
    found = float(value.detach()), {name: v.grad.numpy().copy() for name, v in params.items()}

    def epoch() -> None:
        for X_t, y in batches:
            adam.zero_grad(set_to_none=True)
            loss(params, X_t, y).backward()
            adam.step()

    return found, epoch


def difference(one: Gradient, other: Gradient) -> float:
    """Return the largest difference of losses and gradients, in units of the largest entry."""
    size = max(float(np.abs(v).max()) for v in one[1].values())
    gaps = [float(np.abs(one[1][name] - other[1][name]).max()) for name in one[1]]
    return max(abs(one[0] - other[0]), max(gaps) / size)


def main() -> None:
    """Check, time, print, write."""
    args = _measure.options(__doc__, rules=10, inputs=11, batch=64, steps=20, rounds=101)
    sizes = args.rules, args.inputs, args.batch, args.steps
    dual, aligned = Problem(*sizes, "dual"), Problem(*sizes, "aligned")
    gradients: dict[str, Gradient] = {}
    epochs: dict[str, Step] = {}
    gradients["gt2lite"], epochs["gt2lite"] = ours(dual)
    epochs["gt2lite, train"] = ours_by_train(dual)
    gradients["autograd"], epochs["autograd"] = by_autograd(dual)
    if _measure.competitor("jax"):
        row = "JAX jit"
        gradients[row], epochs[row], _ = by_jax(dual, readable=True)
        row = "JAX jit, closed forms"
        gradients[row], epochs[row], scan = by_jax(dual, readable=False)
        epochs["JAX scan, closed forms"] = scan
    if _measure.competitor("torch"):
        gradients["PyTorch"], epochs["PyTorch"] = by_torch(dual)
    _, epochs["gt2lite, aligned"] = ours(aligned)

    off = {program: difference(gradients["autograd"], g) for program, g in gradients.items()}
    for program, gap in off.items():
        if not gap < TOLERANCE:
            raise SystemExit(f"{program} computes something else: it is off by {gap:.1e}")

    seconds = _measure.take_turns(epochs, args.rounds)
    seconds = {program: [s / args.steps for s in turns] for program, turns in seconds.items()}
    rows = {
        program: {
            **_measure.summary(turns),
            "ours_over_this": _measure.ratio(seconds["gt2lite"], turns),
            "difference": off.get(program),
        }
        for program, turns in seconds.items()
    }
    title = f"One step: {args.rules} rules, {args.inputs} inputs, batch {args.batch}, dual loss"
    _measure.show(title, rows)
    simd = np.show_config(mode="dicts")["SIMD Extensions"]["found"]
    _measure.write(args, rows, ("jax", "jaxlib", "torch"), simd=simd)


if __name__ == "__main__":
    main()
