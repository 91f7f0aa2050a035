r"""Conformal test martingales: bets against the exchangeability of a sequence of scores.

The score of row n is ranked among those of *all* rows before it, reference rows and new rows, and
ties are broken at random:

.. math:: p_n = \frac{\#\{i < n : s_i > s_n\} + \theta_n \#\{i \le n : s_i = s_n\}}{n}

If the rows are exchangeable, these p-values are independent and uniform on [0, 1] (Vovk,
Nouretdinov and Gammerman 2003; Vovk, Gammerman and Shafer 2005). Ranks among the reference rows
alone are uniform, too, but depend on each other. Ranks among earlier rows of the same category are
independent and uniform if rows are exchangeable within categories (Mondrian predictors, ibid.).

A gambler who starts with 1 and bets against uniform p-values has a *wealth* that is a martingale:
it ever reaches 1 / level with a probability of at most `level` (Ville 1939), however long the
sequence and whenever one looks. Wealth is an e-value: a large one is evidence of a change, a small
one is not evidence of anything. Betting on p-values that were estimated from those before goes
back to Fedorova et al. (2012), detection of changes with a fixed training set to Volkhonskiy et
al. (2017).

The wealth is a martingale for the p-values, not for the rows; for these there is none but trivial
ones (Ramdas et al. 2022). Alarms must therefore be decided by the wealth and nothing else.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gt2lite._validation import Array

# ---------------------------------------------------------------------------------- p-values


class OnlinePValues:
    """Conformal p-values of new rows among reference rows and earlier new rows.

    Args:
        scores: those of the reference rows (Q,); Q may be 0.
        rng: breaks ties.
        groups: category of each reference row (Q,); rows are ranked within their category, also
            within one that has no reference rows. None for one category.

    >>> p_values = OnlinePValues([1.0, 2.0, 3.0], np.random.default_rng(0))
    >>> np.ceil(4 * p_values.update([2.5])), np.ceil(5 * p_values.update([2.7]))  # ranks from above
    (array([2.]), array([2.]))
    """

    def __init__(
        self, scores: ArrayLike, rng: np.random.Generator, groups: ArrayLike | None = None
    ) -> None:
        self._rng, values = rng, np.asarray(scores, dtype=float)
        labels = np.zeros(values.shape, dtype=int) if groups is None else np.asarray(groups)
        self._sorted = {
            label: np.sort(values[labels == label]).tolist() for label in np.unique(labels).tolist()
        }

    def update(self, scores: ArrayLike, groups: ArrayLike | None = None) -> Array:
        """Return the p-values (N,) of new rows, one after the other, in (0, 1]."""
        values = np.asarray(scores, dtype=float)
        labels = np.zeros(values.shape, dtype=int) if groups is None else np.asarray(groups)
        theta, found = 1 - self._rng.random(values.size), np.empty(values.size)
        for i, (label, value) in enumerate(zip(labels.tolist(), values.tolist(), strict=True)):
            known = self._sorted.setdefault(label, [])
            first, end = bisect_left(known, value), bisect_right(known, value)
            found[i] = (len(known) - end + theta[i] * (end - first + 1)) / (len(known) + 1)
            known.insert(end, value)  # moves memory: 1e5 rows take about a second
        return found


# ----------------------------------------------------------------------------------- betting

POWERS = (0.6, 0.85, 1.5)
"""Powers of `tail_bets`."""

BINS = 10
"""Number of `bin_bets`."""

BOOST = 0.25
"""Share of its wealth that one of `bin_bets` puts on its bin."""


def tail_bets(p: Array) -> Array:
    r"""Return log densities (N, 9) at p-values (N,): bets on one tail, the other, or both.

    Each is :math:`\varepsilon u^{\varepsilon - 1}` with u one of p, 1 - p and 2 min(p, 1 - p),
    which are uniform if p is: power martingales (Vovk et al. 2003). A power below 1 bets on small
    u, one above 1 against them. Of signed scores, the first two find bias, the third more noise
    or less.
    """
    u = np.stack([p, 1 - p, 2 * np.minimum(p, 1 - p)], axis=-1)
    power = np.array(POWERS)
    logs = np.log(np.maximum(u, np.finfo(float).tiny))[..., None]
    found: Array = np.log(power) + (power - 1) * logs
    return found.reshape(*p.shape, -1)


def bin_bets(p: Array) -> Array:
    """Return log densities (N, 10) at p-values (N,): each bets on one tenth of [0, 1]."""
    chosen = np.minimum(p * BINS, BINS - 1).astype(int)[..., None] == np.arange(BINS)
    return np.log(np.where(chosen, 1 - BOOST + BOOST * BINS, 1 - BOOST))


Bets = Callable[[Array], Array]
"""Log densities (N, K) of K bets at p-values (N,)."""


class Mixture:
    r"""Wealth of a gambler who spreads 1 over bets and over the rows at which betting starts.

    .. math::
        W_n = \frac{1}{\sqrt{n + 1}} + \frac{1}{K} \sum_{k=1}^K \sum_{t=1}^n
        \Bigl(\frac{1}{\sqrt t} - \frac{1}{\sqrt{t + 1}}\Bigr) \prod_{i=t}^n f_k(p_i)

    The first term has not been bet yet: in n rows without a change at most a factor of
    :math:`\sqrt{n + 1}` is lost, so a late change is still found soon. Mixtures of power
    martingales are those of Vovk et al. (2003), late starts are the idea behind the Sleeper/Stayer
    of Vovk, Gammerman and Shafer (2022); this prior on starts and the set of bets are ours, chosen
    by detection delays on simulated shifts.

    Args:
        bets: `tail_bets` or `bin_bets`.
    """

    def __init__(self, bets: Bets = tail_bets) -> None:
        self._bets = bets
        self.reset()

    def reset(self) -> None:
        """Start again with a wealth of 1."""
        self._n, self._logs = 0, np.full(self._bets(np.full(1, 0.5)).shape[1], -np.inf)

    def bet(self, p: Array) -> Array:
        """Return the log wealth (N,) after each of N more p-values."""
        if p.size == 0:
            return np.empty(0)
        t = np.arange(self._n + 1.0, self._n + p.size + 1)
        gains = self._bets(p).cumsum(axis=0)  # (N, K)
        before = np.vstack([np.zeros(gains.shape[1]), gains[:-1]])
        started = np.log((t**-0.5 - (t + 1) ** -0.5) / gains.shape[1])[:, None] - before
        logs = gains + np.logaddexp.accumulate(np.vstack([self._logs, started]))[1:]
        self._n, self._logs = self._n + p.size, logs[-1]
        return np.logaddexp(np.logaddexp.reduce(logs, axis=1), -0.5 * np.log(t + 1))


class Jumper:
    """Wealth of the Simple Jumper (Vovk, Gammerman and Shafer 2022), the plain alternative.

    Three accounts bet the densities 1 - (p - 1/2), 1 and 1 + (p - 1/2); before each row they pay 1%
    of their wealth into a pool, shared equally. It finds bias and drift, not a change of noise.
    """

    def __init__(self, rate: float = 0.01) -> None:
        self.rate = rate
        self.reset()

    def reset(self) -> None:
        """Start again with a wealth of 1."""
        self._log, self._shares = 0.0, (1 / 3, 1 / 3, 1 / 3)

    def bet(self, p: Array) -> Array:
        """Return the log wealth (N,) after each of N more p-values."""
        found = np.empty(p.size)
        for i, bias in enumerate((p - 0.5).tolist()):
            low, middle, high = ((1 - self.rate) * s + self.rate / 3 for s in self._shares)
            low, high = low * (1 - bias), high * (1 + bias)
            total = low + middle + high
            self._log += math.log(total)
            self._shares = low / total, middle / total, high / total
            found[i] = self._log
        return found


BETTING = ("mixture", "jumper")

_BLOCK = 256  # rows bet on before a look for an alarm


class Stream:
    """A test martingale with alarms: the mean wealth of several gamblers.

    The mean of martingales for the same sequence of p-values is a martingale.

    Args:
        gamblers: each a `Mixture` or a `Jumper`.
        level: an alarm is raised when the mean wealth reaches 1 / level.
        restarts: whether an alarm takes all gamblers back to a wealth of 1. Given the rows before,
            the next false alarm has a probability of at most `level` again. Otherwise only the
            first alarm is recorded.

    Attributes:
        alarms: indices of the rows of this stream at which an alarm was raised.
    """

    def __init__(self, gamblers: Sequence[Any], level: float, restarts: bool = True) -> None:
        self.gamblers, self.level, self.restarts = gamblers, level, restarts
        self.alarms: list[int] = []
        self._start = np.zeros((1, len(gamblers)))  # log wealths before the next row
        self._p, self._logs = [np.empty((0, len(gamblers)))], [np.empty((0, len(gamblers)))]
        self._n = 0

    def update(self, p: Array) -> None:
        """Bet on p-values (N, G) of N rows: one for each gambler, NaN for those who do not bet."""
        self._p.append(p)
        while len(p):
            logs = self._bet(p[:_BLOCK])
            self._start = logs[-1:]
            high = log_mean(logs) >= -math.log(self.level)
            if high.any() and (self.restarts or not self.alarms):
                i = int(high.argmax())
                self.alarms.append(self._n + i)
                if self.restarts:
                    logs, self._start = logs[: i + 1], np.zeros_like(self._start)
                    for gambler in self.gamblers:
                        gambler.reset()
            self._logs.append(logs)
            self._n, p = self._n + len(logs), p[len(logs) :]

    def _bet(self, p: Array) -> Array:
        """Return the log wealth (N, G) of each gambler after each row."""
        logs = np.empty_like(p)
        for g, gambler in enumerate(self.gamblers):
            bets = ~np.isnan(p[:, g])
            known = np.append(self._start[0, g], gambler.bet(p[bets, g]))
            logs[:, g] = known[np.cumsum(bets)]
        return logs

    def __len__(self) -> int:
        return self._n

    @property
    def p_values(self) -> Array:
        """The p-values (N, G) so far, NaN where a gambler did not bet."""
        self._p = [np.concatenate(self._p)]
        return self._p[0]

    @property
    def log_wealths(self) -> Array:
        """The log wealth (N, G) of each gambler after each row; at an alarm, before the restart."""
        self._logs = [np.concatenate(self._logs)]
        return self._logs[0]

    @property
    def log_wealth(self) -> Array:
        """The log of the mean wealth (N,) after each row."""
        return log_mean(self.log_wealths)

    @property
    def wealths(self) -> Array:
        """The wealth (G,) of each gambler after the last row, at most 1e300."""
        last = self._logs[-1][-1] if self._n else self._start[0]
        found: Array = np.exp(np.minimum(last, 690.0))
        return found

    @property
    def wealth(self) -> float:
        """The mean wealth after the last row."""
        return float(self.wealths.mean())


def log_mean(logs: Array) -> Array:
    """Return the logarithms (N,) of means of numbers whose logarithms are (N, G)."""
    found: Array = np.logaddexp.reduce(logs, axis=1) - math.log(logs.shape[1])
    return found


def adjust_e_values(e: ArrayLike) -> Array:
    """Return e-values (R,) adjusted for the number of hypotheses, by closed testing.

    An adjusted e-value is the smallest mean e-value of any set of hypotheses that contains its own
    (Vovk and Wang 2021). If e-values are wealths, the probability that a true hypothesis ever has
    an adjusted one of 1 / level is at most level, whichever others are true: by Ville's inequality
    for the mean of the true ones. It is at least e / R, Bonferroni's.

    >>> adjust_e_values([0.5, 40.0, 900.0])
    array([  0.5 ,  20.25, 313.5 ])
    """
    values = np.asarray(e, dtype=float)
    order = np.argsort(values)
    rising, n = values[order], np.arange(values.size)
    below = np.append(0.0, np.cumsum(rising)[:-1])  # sums of the smallest
    means = (rising[:, None] + below) / (n + 1)  # with 0, 1, ... smaller ones
    found = np.empty(values.size)
    found[order] = np.where(n <= n[:, None], means, np.inf).min(axis=1)
    return found
