"""How our numbers compare with the published ones, cell by cell.

The rules of comparison stand here, fixed before the run of 50 seeds. Two verdicts are given on
each published result, and neither implies the other:

- **Refuted** or not. Theirs are compared with what five of our seeds would show by chance
  (`study.samples.exchange`), two-sided, with Holm's correction over the 44 distinct
  results: the RMSE of a calibrated model stands in both tables. A result that is refuted is
  *better* (lower RMSE or PINAW, or PICP nearer to its level) or *worse* here. Spreads are
  compared in the same way, in a family of their own.
- **Shown to be equivalent** or not: Welch's two one-sided tests at 5 % show that the means are
  nearer than a margin, 5 % of their RMSE or PINAW and 1 point of PICP (`MARGINS`). The smallest
  margin that would pass stands beside it, and so does the smallest that any reproduction could
  reach, given their five runs and their spread.

The winner of a row is the lower RMSE or PINAW, or the mean PICP nearer to the level. Ours is
within chance where a t-test over the seeds, with the variance for re-splits of one table and Holm
over the 24 rows, does not reject.

All values here are in the paper's units: RMSE and PINAW times 100, PICP in per cent. The
claims of its text are judged in `study.claims`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from gt2lite._validation import Array
from study.design import METHODS, TEST_OVER_TRAIN
from study.paper import PublishedCell, published_cells, settings
from study.records import Cell, Record, Runs
from study.samples import equal_means_p, exchange, smallest_margin, welch_half
from study.statistics import SIGNIFICANCE, corrected_t, holm, welch

MARGINS = ((5.0, 1.0), (10.0, 2.0))
"""What counts as equivalent: per cent of RMSE or PINAW, and points of PICP. The first is ours."""


class Compared(NamedTuple):
    """A published cell beside ours."""

    dataset: str
    level: float
    metric: str
    model: str
    paper_mean: float
    paper_std: float
    our_mean: float
    our_std: float
    n: int
    difference: float
    difference_in_std: float


class Verdict(NamedTuple):
    """A published cell against ours; `p_*_holm` are corrected over the distinct results.

    Margins are in points for PICP, and per cent of the published mean elsewhere.
    """

    dataset: str
    level: float
    metric: str
    model: str
    paper_mean: float
    paper_std: float
    our_mean: float
    our_std: float
    n: int
    difference: float
    difference_in_std: float
    repeated: bool  # it stands in the other table already
    p: float  # could their mean be that of five of ours
    p_holm: float
    p_spread: float  # could their spread
    p_spread_holm: float
    margin: float  # the smallest within which the means are shown to be equal
    best: float  # the smallest that could be shown, given their runs
    p_equal: tuple[float, ...]  # for each of MARGINS
    p_equal_holm: tuple[float, ...]
    p_best_holm: tuple[float, ...]  # were there no difference, with our runs or any number of them
    refuted: str  # "no", "better" or "worse"

    @property
    def equivalent(self) -> bool:
        """Whether the means are shown to be equal within the first of `MARGINS`."""
        return self.p_equal[0] < SIGNIFICANCE


class BoldRow(NamedTuple):
    """A row of the tables by itself; the difference is calibrated minus trained.

    It is of RMSE, of PINAW, or of the distance of mean PICP from its level, so that a negative
    one is a win of the calibrated model; `p` is of a Welch test of what is printed.
    """

    dataset: str
    level: float
    metric: str
    bold: str
    follows_rule: bool
    difference: float
    p: float


class Winner(NamedTuple):
    """Who wins a row here, and in the paper (`bold`). Differences are as in `BoldRow`."""

    dataset: str
    level: float
    metric: str
    bold: str
    winner: str
    difference: float
    half: float  # of the 95 % interval for new tables of this kind
    p: float
    p_holm: float
    agrees: bool
    within_chance: bool


def compared(records: Iterable[Record], mode: str = "default") -> list[Compared]:
    """Return the 48 published cells beside ours, without a verdict.

    Args:
        records: of all data sets, models, levels and seeds.
        mode: which records count, "default" or "authors".
    """
    cells = published_cells()
    return [_beside(c, y) for c, y in zip(cells, _ours(records, cells, mode), strict=True)]


def verdicts(records: Iterable[Record], mode: str = "default") -> list[Verdict]:
    """Return the verdicts on each of the 48 published cells, by the rules of this module.

    Args:
        records: of all data sets, models, levels and seeds, more than six of them.
        mode: which records count, "default" or "authors".
    """
    cells = published_cells()
    ours = _ours(records, cells, mode)
    which = _distinct(cells)
    first = [which.index(i) for i in range(max(which) + 1)]  # a cell for each distinct result
    n_theirs = round(settings()["repetitions"])
    mean, std = (np.array([getattr(cells[i], name) for i in first]) for name in ("mean", "std"))
    p = exchange(np.array([ours[i] for i in first]), mean, std, n_theirs)
    p_holm, p_spread_holm = holm(p.mean), holm(p.spread)
    beside = [_beside(c, y) for c, y in zip(cells, ours, strict=True)]
    equal = [_equivalence(beside[i], n_theirs) for i in first]
    equal_holm, best_holm = (
        list(zip(*(holm(side) for side in zip(*(e[k] for e in equal), strict=True)), strict=True))
        for k in (2, 3)
    )
    return [
        Verdict(
            *beside[i],
            i != first[k],
            *(float(p.mean[k]), p_holm[k], float(p.spread[k]), p_spread_holm[k]),
            *equal[k][:3],
            *(equal_holm[k], best_holm[k]),
            _refuted(beside[i], p_holm[k]),
        )
        for i, k in enumerate(which)
    ]


def _ours(records: Iterable[Record], cells: Sequence[PublishedCell], mode: str) -> list[Array]:
    runs = Runs(records, _needed(cells), mode)
    return [100 * runs.values(c.metric, c.dataset, c.model, c.level) for c in cells]


def _distinct(cells: Sequence[PublishedCell]) -> list[int]:
    """Return for each cell the number of its result: calibration leaves the RMSE as it is."""
    names = [
        (c.dataset, c.metric, c.model, None if (c.metric, c.model) == _TWICE else c.level)
        for c in cells
    ]
    order = list(dict.fromkeys(names))
    return [order.index(name) for name in names]


_TWICE = ("rmse", "calibrated")


def _beside(cell: PublishedCell, ours: Array) -> Compared:
    mean, std = float(ours.mean()), float(ours.std(ddof=1))
    gap, pooled = mean - cell.mean, _pooled(std, ours.size, cell.std)
    in_std = gap / pooled if pooled else (math.copysign(math.inf, gap) if gap else 0.0)
    return Compared(*cell[1:7], mean, std, ours.size, gap, in_std)


def _pooled(std: float, n: int, std_2: float) -> float:
    n_2 = round(settings()["repetitions"])
    return math.sqrt(((n - 1) * std**2 + (n_2 - 1) * std_2**2) / (n + n_2 - 2))


def _equivalence(c: Compared, n_theirs: int) -> tuple[float, float, tuple[float, ...], list[float]]:
    """Return the smallest margin, the best possible one, and p-values for `MARGINS` of both."""
    share = 1.0 if c.metric == "picp" else 100 / c.paper_mean  # from units to those of a margin
    samples = c.our_std, c.n, c.paper_std, n_theirs
    perfect = 0.0, math.inf, c.paper_std, n_theirs
    margins = [margin[c.metric == "picp"] / share for margin in MARGINS]
    best = [smallest_margin(0.0, *ours) for ours in (samples, perfect)]
    p_best = [
        min(equal_means_p(0.0, margin, *ours) for ours in (samples, perfect)) for margin in margins
    ]
    return (
        share * smallest_margin(c.difference, *samples),
        share * min(best),
        tuple(equal_means_p(c.difference, margin, *samples) for margin in margins),
        p_best,
    )


def _refuted(c: Compared, p_holm: float) -> str:
    if p_holm >= SIGNIFICANCE:
        return "no"
    ours, theirs = (_cost(c.metric, mean, c.level) for mean in (c.our_mean, c.paper_mean))
    return "better" if ours < theirs else "worse"


def half_in_std(cell: Compared | Verdict) -> float:
    """Return half the length of Welch's 95 % interval of a difference, in pooled spreads."""
    n_paper = round(settings()["repetitions"])
    pooled = _pooled(cell.our_std, cell.n, cell.paper_std)
    return welch_half(cell.our_std, cell.n, cell.paper_std, n_paper) / pooled


def bold_rows() -> list[BoldRow]:
    """Return the 24 rows of the tables, with whether bold is where the rule would put it.

    >>> all(row.follows_rule for row in bold_rows())
    True
    """
    cells = published_cells()
    trained = {cell[:4]: cell for cell in cells if cell.model == "trained"}
    n = round(settings()["repetitions"])
    rows = []
    for ours in cells:
        if ours.model != "calibrated":
            continue
        theirs = trained[ours[:4]]
        a, b = (_cost(cell.metric, cell.mean, cell.level) for cell in (ours, theirs))
        bold = _which(ours.bold, theirs.bold)
        p = welch(a, ours.std, n, b, theirs.std, n)
        rows.append(BoldRow(*ours[1:4], bold, bold == _which(a < b, b < a), a - b, p))
    return rows


def winners(records: Iterable[Record]) -> list[Winner]:
    """Return who wins each of the 24 rows, by the rule of this module."""
    rows = bold_rows()
    runs = Runs(records, _needed(published_cells()))
    gaps = [paired_gap(runs, row.metric, row.dataset, row.level) for row in rows]
    tests = [corrected_t(gap, TEST_OVER_TRAIN) for gap in gaps]
    out = []
    for row, (mean, half, p), p_holm in zip(rows, tests, holm([t[2] for t in tests]), strict=True):
        winner = _which(mean < 0, mean > 0)
        chance = p_holm >= SIGNIFICANCE
        out.append(Winner(*row[:4], winner, mean, half, p, p_holm, winner == row.bold, chance))
    return out


def paired_gap(runs: Runs, metric: str, dataset: str, level: float) -> Array:
    """Return calibrated minus trained for each seed (seeds,), negative where calibrated wins.

    For PICP the two signs of (mean - level) are held, so that the mean of the result is the
    difference of the two distances of a mean from the level, the paper's way to compare.
    """
    sides = []
    for model in ("calibrated", "trained"):
        values = 100 * runs.values(metric, dataset, model, level)
        if metric == "picp":
            values = math.copysign(1, values.mean() - 100 * level) * (values - 100 * level)
        sides.append(values)
    return sides[0] - sides[1]


def _cost(metric: str, mean: float, level: float) -> float:
    return abs(mean - 100 * level) if metric == "picp" else mean


def _which(calibrated: bool, trained: bool) -> str:
    return "tie" if calibrated == trained else "calibrated" if calibrated else "trained"


def _needed(cells: Sequence[PublishedCell]) -> list[Cell]:
    return list(dict.fromkeys((c.dataset, c.model, c.level, METHODS[c.model]) for c in cells))
