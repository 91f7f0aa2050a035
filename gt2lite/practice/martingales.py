r"""Conformal test martingales: bets against the exchangeability of a sequence of scores.

The score of row n is ranked among those of *all* rows before it, reference rows and new rows, and
ties are broken at random:

.. math:: p_n = \frac{\#\{i < n : s_i > s_n\} + \theta_n \#\{i \le n : s_i = s_n\}}{n}

If the rows are exchangeable, these p-values are independent and uniform on [0, 1] (Vovk,
Nouretdinov and Gammerman 2003; Vovk, Gammerman and Shafer 2005). Ranks among the reference rows
alone are uniform, too, but depend on each other. Ranks among earlier rows of the same category are
independent and uniform if rows are exchangeable within categories (Mondrian predictors, ibid.).

A gambler who starts with 1 and bets against uniform p-values has a *wealth* that is a martingale:
it ever reaches a threshold c with a probability of at most 1 / c (Ville 1939), however long the
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
from collections.abc import Sequence

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
"""Powers of `power_bets`."""

BINS, WINDOWS, PRIOR = 10, (100, 400), 5
"""Bins of `histogram_bets`, numbers of p-values that they count, and counts added to each bin."""


def power_bets(p: Array) -> Array:
    r"""Return log densities (N, 9) at p-values (N,): bets on one tail, the other, or both.

    Each is :math:`\varepsilon u^{\varepsilon - 1}` with u one of p, 1 - p and 2 min(p, 1 - p),
    which are uniform if p is (Vovk et al. 2003). A power below 1 bets on small u, one above 1
    against them. For signed scores the first two find bias, the third more noise or less.
    """
    u = np.stack([p, 1 - p, 2 * np.minimum(p, 1 - p)], axis=1)
    power = np.array(POWERS)
    logs = np.log(np.maximum(u, np.finfo(float).tiny))[..., None]
    found: Array = np.log(power) + (power - 1) * logs  # (N, 3, 3)
    return found.reshape(p.size, -1)


def histogram_bets(p: Array, past: Array) -> Array:
    """Return log densities (N, 2) at p-values (N,): histograms of the last 100 and 400 before each.

    These plug-in bets (Fedorova et al. 2012, with a histogram for a kernel estimate) find changes
    of any shape. `past` are the p-values before, at least 400 if there are as many.
    """
    bins = np.minimum(np.append(past, p) * BINS, BINS - 1).astype(int)
    one = bins[:, None] == np.arange(BINS)
    counts = np.vstack([np.zeros(BINS, dtype=int), one.cumsum(axis=0)])  # before each p-value
    at, found = np.arange(past.size, bins.size), np.empty((p.size, len(WINDOWS)))
    for k, window in enumerate(WINDOWS):
        first = np.maximum(at - window, 0)
        inside = counts[at, bins[at]] - counts[first, bins[at]]
        found[:, k] = np.log(BINS * (inside + PRIOR) / (at - first + PRIOR * BINS))
    return found


class Mixture:
    r"""Wealth of a gambler who spreads 1 over bets and over the rows at which betting starts.

    .. math::
        W_n = \frac{1}{\sqrt{n + 1}} + \frac{1}{K} \sum_{k=1}^K \sum_{t=1}^n
        \Bigl(\frac{1}{\sqrt t} - \frac{1}{\sqrt{t + 1}}\Bigr) \prod_{i=t}^n f_{k,i}(p_i)

    The K = 11 densities are those of `power_bets` and `histogram_bets`. The first term has not been
    bet yet: n rows without a change lose at most a factor of :math:`\sqrt{n + 1}`, so that a late
    change is found soon after. Mixtures of power martingales are those of Vovk et al. (2003); late
    starts are the idea behind the Sleeper/Stayer of Vovk, Gammerman and Shafer (2022). The prior on
    starts and the set of bets are ours, chosen by detection delays on simulated shifts.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Start again with a wealth of 1."""
        self._n, self._past = 0, np.empty(0)
        self._logs = np.full(3 * len(POWERS) + len(WINDOWS), -np.inf)

    def bet(self, p: Array) -> Array:
        """Return the log wealth (N,) after each of N more p-values."""
        if p.size == 0:
            return np.empty(0)
        t = np.arange(self._n + 1.0, self._n + p.size + 1)
        gains = np.hstack([power_bets(p), histogram_bets(p, self._past)]).cumsum(axis=0)  # (N, K)
        before = np.vstack([np.zeros(gains.shape[1]), gains[:-1]])
        started = np.log((t**-0.5 - (t + 1) ** -0.5) / gains.shape[1])[:, None] - before
        logs = gains + np.logaddexp.accumulate(np.vstack([self._logs, started]))[1:]
        self._n, self._logs = self._n + p.size, logs[-1]
        self._past = np.append(self._past, p)[-max(WINDOWS) :]
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


BETTING: dict[str, type[Mixture] | type[Jumper]] = {"mixture": Mixture, "jumper": Jumper}
"""The gamblers by name."""

LARGEST_LOG = 690.0
"""Larger log wealths are not turned into numbers: this one is about 1e300."""

_BLOCK = 256  # rows bet on before a look for an alarm


class Stream:
    """A test martingale with alarms: the mean wealth of several gamblers.

    The mean of martingales for the same sequence of p-values is a martingale.

    Args:
        gamblers: each a `Mixture` or a `Jumper`.
        threshold: an alarm is raised when the mean wealth reaches it.
        restarts: whether an alarm takes all gamblers back to a wealth of 1. Given the rows before,
            the next false alarm has a probability of at most 1 / threshold again. Otherwise only
            the first alarm is recorded.

    Attributes:
        alarms: indices of the rows of this stream at which an alarm was raised.
    """

    def __init__(
        self, gamblers: Sequence[Mixture | Jumper], threshold: float, restarts: bool = True
    ) -> None:
        self.gamblers, self.threshold, self.restarts = gamblers, threshold, restarts
        self.alarms: list[int] = []
        self._start = np.zeros((1, len(gamblers)))  # log wealths before the next row
        self._p, self._logs = [np.empty((0, len(gamblers)))], [np.empty((0, len(gamblers)))]
        self._n = 0

    def update(self, p: Array) -> Array:
        """Bet on p-values (N, G) of N rows: one for each gambler, NaN for those who do not bet.

        Returns:
            (N, G) the log wealth of each gambler after each row.
        """
        self._p.append(p)
        n_before = len(self._logs)
        while len(p):
            logs = self._bet(p[:_BLOCK])
            self._start = logs[-1:]
            high = log_mean(logs) >= math.log(self.threshold)
            if high.any() and (self.restarts or not self.alarms):
                i = int(high.argmax())
                self.alarms.append(self._n + i)
                if self.restarts:
                    logs, self._start = logs[: i + 1], np.zeros_like(self._start)
                    for gambler in self.gamblers:
                        gambler.reset()
            self._logs.append(logs)
            self._n, p = self._n + len(logs), p[len(logs) :]
        return np.concatenate(self._logs[n_before:])

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
        found: Array = np.exp(np.minimum(last, LARGEST_LOG))
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
    """Return e-values (N, R) adjusted for the number R of hypotheses, by closed testing.

    An adjusted e-value is the smallest mean e-value of any set of hypotheses that contains its own
    (Vovk and Wang 2021). If e-values are wealths, any true hypothesis ever has an adjusted one of c
    with a probability of at most 1 / c, whichever hypotheses are true: by Ville's inequality for
    the mean over the true ones. An adjusted e-value is at least e / R, Bonferroni's.

    >>> adjust_e_values([[0.5, 40.0, 900.0]])
    array([[  0.5 ,  20.25, 313.5 ]])
    """
    values = np.asarray(e, dtype=float)
    order = np.argsort(values, axis=1)
    rising = np.take_along_axis(values, order, axis=1)
    least, below = rising.copy(), np.zeros((len(values), 1))
    for n in range(values.shape[1] - 1):  # the mean with the n + 1 smallest, for larger ones
        below = below + rising[:, n : n + 1]
        least[:, n + 1 :] = np.minimum(least[:, n + 1 :], (rising[:, n + 1 :] + below) / (n + 2))
    found = np.empty_like(values)
    np.put_along_axis(found, order, least, axis=1)
    return found
