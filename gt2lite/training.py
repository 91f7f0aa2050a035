"""Learning: Algorithm 1 of the paper, mini-batches and Adam.

How to train is a `gt2lite.recipe.Recipe`. All parameters live in one flat vector, and the same
seed gives the same bits.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gt2lite._checks import Array, matrix, one_of, vector
from gt2lite._fast.gradient import BatchGradient, Flat
from gt2lite._fast.state import apart, quiet
from gt2lite._progress import progress_bar
from gt2lite._threads import one_blas_thread
from gt2lite.losses import CompiledLoss
from gt2lite.optimizers import Adam, RunningMean
from gt2lite.recipe import Recipe
from gt2lite.starts import init_params
from gt2lite.system import Params, Planes, param_shapes

Callback = Callable[[int, float, Params], bool | None]

GETS_NOWHERE = 10.0
"""Training that ends with a loss so many times as large as that of the start has diverged."""


class Trained(NamedTuple):
    """A trained system and the mean loss of each epoch (of its batches, as they came)."""

    params: Params
    history: Array  # (epochs,), or fewer where training stopped early


class InterruptedTrainingWarning(UserWarning):
    """Training was stopped by hand, and what was learnt until then is kept."""


class DivergenceError(RuntimeError):
    """Training produced numbers that are not finite.

    `params` are the parameters at the end of the last sound epoch, `history` the losses up to it.
    """

    def __init__(self, message: str, params: Params, history: Array) -> None:
        super().__init__(message, params, history)  # all of them: errors travel between processes
        self.params = params
        self.history = history

    def __str__(self) -> str:
        return str(self.args[0])


class Lesson:
    """What is taught: the inputs of an epoch, and the loss of its batches.

    The plain one shows the same rows in every epoch, under the loss of an objective. A
    subclass may draw inputs anew and look at each batch before its gradient is taken, as
    `gt2lite.study.levels` does.

    Args:
        loss: the loss and its gradient.
    """

    def __init__(self, loss: CompiledLoss) -> None:
        self.loss = loss

    def inputs(self, X: Array, rng: np.random.Generator) -> Array:
        """Return the inputs of an epoch, and of the start values."""
        return X

    def look_at(self, X_t: Array) -> None:
        """See the inputs (M, B) of the batch that comes next."""

    def mean_loss(self, seen: Sequence[tuple[Array, Array]]) -> float:
        """Return the mean loss of an epoch from the ends and targets of its batches."""
        return self.loss.value(*(np.concatenate(v, axis=-1) for v in zip(*seen, strict=True)))


@apart
def train(
    X: Array,
    y: Array,
    recipe: Recipe | None = None,
    *,
    seed: int | np.random.Generator = 0,
    start: Params | None = None,
    lesson: Lesson | None = None,
    callback: Callback | None = None,
    on_interrupt: str = "raise",
    progress: bool | None = None,
) -> Trained:
    """Train a system by Algorithm 1.

    Args:
        X: scaled inputs (N, M).
        y: scaled targets (N,).
        recipe: how; None for the paper's.
        seed: a seed or a generator; decides start values and the order of the rows.
        start: start values; None draws them by `init_params`.
        lesson: what is taught; None for the recipe's objective.
        callback: called after each epoch with its number (from 1), its loss and the parameters
            (their running mean where there is one); training goes on with them, so copy what you
            keep. The loss is the mean over the batches or, where the epochs are judged, that
            of the rows that judge them. If it returns True, training stops, and keeps what it
            would keep had this been its last epoch.
        on_interrupt: what Ctrl-C does: "raise" as always, or "keep" what would be kept had
            training ended with the last complete epoch, with an `InterruptedTrainingWarning`.
            Before the end of the first epoch, and where the loss is ten times that of the
            start, there is nothing to keep, and it is raised. Who stores outcomes wants
            "raise": part of a training must not pass for the whole.
        progress: show a progress bar; None shows one on a terminal if tqdm is installed.

    Raises:
        DivergenceError: when the loss is no longer finite, or, at the
            end, ten times that of the start.
        KeyboardInterrupt: as `on_interrupt` says.

    >>> X = np.linspace(-1, 1, 50)[:, None]
    >>> trained = train(X, X[:, 0] ** 2, Recipe(n_rules=3, epochs=5))
    >>> trained.history.shape
    (5,)
    """
    recipe = recipe or Recipe()
    one_of("on_interrupt", on_interrupt, ("raise", "keep"))
    X = matrix("X", X)
    y = vector("y", y, len(X))
    rng = np.random.default_rng(seed)
    X_judge, y_judge = X, y
    if recipe.keep == "validation":
        X, y, X_judge, y_judge = _set_aside(X, y, recipe.validation, rng)
    lesson = lesson or Lesson(CompiledLoss(recipe.planes))
    if start is None:
        start = init_params(
            lesson.inputs(X, rng),
            recipe.n_rules,
            rng,
            smf=recipe.smf,
            start=recipe.start,
            sigma_scale=recipe.sigma_scale,
        )
    else:
        _check_start(start, recipe, X.shape[1])
    training = _Training(start, recipe, lesson, len(y))
    try:
        with (
            one_blas_thread(),
            progress_bar(recipe.epochs, "training", "epoch", show=progress) as step_done,
        ):
            for epoch in range(1, recipe.epochs + 1):
                training.learn(lesson.inputs(X, rng), y, rng, epoch)
                loss = training.end_epoch(epoch, X_judge, y_judge)
                answer = None
                if callback is not None:
                    answer = callback(epoch, loss, training.kept.params)
                step_done(f"loss {loss:.4f}")
                if training.is_patience_over(epoch):
                    break
                if isinstance(answer, (bool, np.bool_)) and answer:
                    training.check_end(epoch)
                    break
    except KeyboardInterrupt:
        if on_interrupt == "raise" or not training.can_end_here():
            raise
        words = f"after epoch {training.complete.epoch} of {recipe.epochs}"
        warnings.warn(
            f"stopped by hand {words}: what was learnt so far is kept",
            InterruptedTrainingWarning,
            stacklevel=3,
        )
    return training.result()


class _Complete(NamedTuple):
    """What there is at the end of an epoch; one object, so that Ctrl-C finds all of it or none."""

    epoch: int
    moving: Array
    keeping: Array  # what would be kept if training ended here


class _Training:
    """A system while it learns: what moves, what is kept of it, and the best so far."""

    def __init__(self, start: Params, recipe: Recipe, lesson: Lesson, n_rows: int) -> None:
        self.recipe, self.lesson = recipe, lesson
        self.moving = Flat(start)
        self.kept = Flat(start) if recipe.averaging else self.moving
        self.gradient = BatchGradient(self.moving, recipe.planes, lesson.loss)
        self.adam = Adam(
            self.moving.vector,
            recipe.learning_rate,
            schedule=recipe.schedule,
            n_steps=recipe.epochs * max(n_rows // recipe.batch_size, 1),
            weight_decay=recipe.weight_decay,
            decayed=self.moving.b,
        )
        self.average = RunningMean(self.kept.vector, recipe.averaging) if recipe.averaging else None
        self._worst = math.nan  # a loss above this, at the end, is no success
        self._history: list[float] = []
        self._sound = self.moving.vector.copy()
        self._best, self._best_loss, self._best_epoch = self.kept.vector.copy(), math.inf, 0
        self.complete = _Complete(0, self._sound, self._best)

    def learn(self, X: Array, y: Array, rng: np.random.Generator, epoch: int) -> None:
        """Go through the rows once, batch by batch."""
        self._sound[:] = self.moving.vector
        count = epoch if self.recipe.bias_correction == "epochs" else None
        seen: list[tuple[Array, Array]] = []  # ends and targets of every batch
        with quiet():  # what goes wrong shows in the loss
            for X_t, y_batch in _batches(X, y, self.recipe.batch_size, rng):
                self.lesson.look_at(X_t)
                g, ends = self.gradient(X_t, y_batch)
                self.adam.update(g, count)
                if self.average is not None:
                    self.average.update(self.moving.vector)
                seen.append((ends, y_batch))
                if math.isnan(self._worst):
                    self._worst = GETS_NOWHERE * (1 + self.lesson.loss.value(ends, y_batch))
            self._mean, self._batch = self.lesson.mean_loss(seen), (X_t, y_batch)

    def end_epoch(self, epoch: int, X: Array, y: Array) -> float:
        """Check an epoch, judge it by some rows where that is asked for, and return its loss."""
        if not (math.isfinite(self._mean) and np.isfinite(self.moving.vector).all()):
            raise self._divergence(epoch)
        if epoch == self.recipe.epochs:
            self.check_end(epoch)
        loss, keeping = self._mean, self.kept.vector.copy()
        if self.recipe.keep != "last":
            loss = self._judge(epoch, X, y)
            keeping = self._best
        self._history.append(self._mean)
        self.complete = _Complete(epoch, self.moving.vector.copy(), keeping)
        return loss

    def check_end(self, epoch: int) -> None:
        """Raise an error if training that ends with this epoch, and keeps it, got nowhere."""
        if self.recipe.keep == "last" and self._gets_nowhere(self._mean):
            raise self._divergence(epoch)

    def can_end_here(self) -> bool:
        """Return whether there is a complete epoch to keep, of a training that gets somewhere."""
        epoch, moving, _ = self.complete
        if not epoch or self.recipe.keep != "last":
            return bool(epoch)
        self.moving.vector[:] = moving
        return not self._gets_nowhere(self._history[epoch - 1])

    def is_patience_over(self, epoch: int) -> bool:
        """Return whether the best epoch is too long ago."""
        patience = self.recipe.patience
        return patience is not None and epoch - self._best_epoch >= patience

    def result(self) -> Trained:
        """Return what is kept, the last or the best, of the epochs that are complete."""
        epoch, _, keeping = self.complete
        self.kept.vector[:] = keeping
        params = {name: value.copy() for name, value in self.kept.params.items()}
        return Trained(params, np.array(self._history[:epoch]))

    def _gets_nowhere(self, mean: float) -> bool:
        """Return whether a mean loss, or the loss after the last step, is far above the first."""
        X_t, y_batch = self._batch  # no batch follows that would show a bad last step
        with quiet():
            self.lesson.look_at(X_t)
            _, ends = self.gradient(X_t, y_batch)
            last = self.lesson.loss.value(ends, y_batch)
        return not (mean <= self._worst and last <= self._worst)  # NaN is not

    def _divergence(self, epoch: int) -> DivergenceError:
        self.moving.vector[:] = self._sound
        losses = np.array(self._history[: epoch - 1])
        return DivergenceError(_advice(epoch, self.recipe), self.moving.params, losses)

    def _judge(self, epoch: int, X: Array, y: Array) -> float:
        """Return the loss of what is kept on some rows, and remember the best."""
        with quiet():
            ends = Planes(self.kept.params, X).ends(self.recipe.planes.alphas)
            found = self.lesson.loss.value(ends, y)
        if found < self._best_loss:
            self._best, self._best_loss = self.kept.vector.copy(), found
            self._best_epoch = epoch
        return found


def _set_aside(
    X: Array, y: Array, share: float, rng: np.random.Generator
) -> tuple[Array, Array, Array, Array]:
    """Return inputs and targets to learn from, and a random share of them to judge by."""
    n = min(max(round(share * len(y)), 1), len(y) - 1)
    if n < 1:
        raise ValueError(f"keep='validation' needs at least 2 rows, got {len(y)}")
    rows = rng.permutation(len(y))
    learn, aside = np.sort(rows[n:]), np.sort(rows[:n])
    return X[learn], y[learn], X[aside], y[aside]


def _batches(X: Array, y: Array, size: int, rng: np.random.Generator) -> Iterable[tuple[Any, Any]]:
    """Yield shuffled batches as (M, B) and (B,); an incomplete last one only if it is the only."""
    n = max(len(y) // size, 1)
    size = min(size, len(y))
    rows = rng.permutation(len(y))[: n * size].reshape(n, size)
    return zip(np.ascontiguousarray(X[rows].transpose(0, 2, 1)), y[rows], strict=True)


def _check_start(start: Params, recipe: Recipe, M: int) -> None:
    found = {name: value.shape for name, value in start.items()}
    wanted = param_shapes(recipe.n_rules, M, recipe.smf)
    if found != wanted:
        raise ValueError(f"start must have the parameters {wanted}, got {found}")


def _advice(epoch: int, recipe: Recipe) -> str:
    return (
        f"training diverged in epoch {epoch} of {recipe.epochs}: the loss is no longer finite, or "
        f"{GETS_NOWHERE:g} times what it was at the start. "
        f"Try a smaller learning_rate than {recipe.learning_rate:g} (a third of it), more rows in "
        f"a batch than {recipe.batch_size}, and check that X and y are scaled to about unit "
        "spread and free of extreme outliers. The error's `params` hold the last sound state."
    )
