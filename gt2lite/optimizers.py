"""What moves the parameters: Adam on one flat vector, and a running mean of where it has been.

Both work in place and make no new arrays. What the gradient is, and when to stop, is the
business of `gt2lite.training`.
"""

from __future__ import annotations

import math

import numpy as np

from gt2lite._checks import Array

BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-8  # Adam, as everybody sets it
_STEPS_OF_MOMENTS = np.array([[1 - BETA_1], [1 - BETA_2]])

SCHEDULES = ("constant", "cosine")


class Adam:
    """Adam on one flat vector.

    The two moments and what they move towards, the gradient and its square, are rows of one
    array each: half as many calls.

    Args:
        vector: what is moved.
        learning_rate: the size of a step.
        schedule: "constant", or "cosine" for a rate that falls along half a cosine from
            `learning_rate` in the first step to nearly 0 in the last.
        n_steps: how many steps there will be, for the schedule.
        weight_decay: share that a step takes off `decayed`, in units of the learning rate.
        decayed: a view of those numbers of `vector` that decay; None for all.

    >>> x = np.array([3.0, -2.0])
    >>> adam = Adam(x, learning_rate=0.5)
    >>> adam.update(2 * x)  # the slope of x**2: the first step is the learning rate
    >>> x.round(6)
    array([ 2.5, -1.5])
    """

    def __init__(
        self,
        vector: Array,
        learning_rate: float,
        *,
        schedule: str = "constant",
        n_steps: int = 1,
        weight_decay: float = 0.0,
        decayed: Array | None = None,
    ) -> None:
        self.vector = vector
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.n_steps = n_steps
        self.weight_decay = weight_decay
        self.decayed = vector if decayed is None else decayed
        self.moments = np.zeros((2, vector.size))
        self._buffer = np.empty_like(self.moments)
        self._m, self._v = self.moments
        self._change, self._root = self._buffer
        self.steps = 0

    def update(self, g: Array, count: int | None = None) -> None:
        """Move along the gradient `g`; `count` replaces the number of steps in the correction."""
        learning_rate = self.learning_rate
        if self.schedule == "cosine":
            learning_rate *= (1 + math.cos(math.pi * self.steps / self.n_steps)) / 2
        self.steps += 1
        t = self.steps if count is None else count
        buffer, change, root = self._buffer, self._change, self._root
        change[:] = g
        np.multiply(g, g, out=root)
        buffer -= self.moments
        buffer *= _STEPS_OF_MOMENTS
        self.moments += buffer

        spread = math.sqrt(1 - BETA_2**t)  # the corrections, moved out of the root and in one
        np.sqrt(self._v, out=root)
        root += EPSILON * spread
        np.multiply(self._m, learning_rate * spread / (1 - BETA_1**t), out=change)
        change /= root
        if self.weight_decay:
            self.decayed *= 1 - learning_rate * self.weight_decay
        self.vector -= change


class RunningMean:
    """A running mean of one flat vector, which forgets old values step by step.

    Args:
        mean: where the mean is kept; what it holds at first is forgotten.
        memory: share of the mean that outlives a step. In the first steps less does, so
            that the mean is over about the last tenth of all steps.

    >>> mean = RunningMean(np.zeros(1), memory=0.9)
    >>> mean.update(np.array([5.0]))  # the first value replaces the start
    >>> mean.mean
    array([5.])
    """

    def __init__(self, mean: Array, memory: float) -> None:
        self.mean = mean
        self.memory = memory
        self._change = np.empty_like(mean)
        self.steps = 0

    def update(self, vector: Array) -> None:
        """Take in the newest values."""
        self.steps += 1
        np.subtract(vector, self.mean, out=self._change)
        self._change *= max(1 - self.memory, 10 / (9 + self.steps))
        self.mean += self._change
