"""How our numbers compare with the published ones, cell by cell.

The rules of comparison stand here, fixed before any run:

- A cell **agrees** where a Welch t-test of our mean, spread and number of seeds against
  theirs does not reject at 5 % with Holm's correction over the 48 cells. Otherwise ours is
  **better** (lower RMSE or PINAW, or PICP nearer to its level) or it **differs**.
- With five seeds that test is weak. The plain difference and the difference in pooled
  standard deviations stand beside it, so that it cannot hide a bad number.
- The winner of a row is the lower RMSE or PINAW, or the mean PICP nearer to the level. Ours
  is within chance where a paired t-test over the seeds, Holm over the 24 rows, does not reject.

All values here are in the paper's units: RMSE and PINAW times 100, PICP in per cent. The
claims of its text are judged in `gt2lite.study.claims`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gt2lite._checks import Array
from gt2lite.study.design import METHODS
from gt2lite.study.paper import PublishedCell, published_cells, settings
from gt2lite.study.records import Cell, Record, Runs
from gt2lite.study.statistics import SIGNIFICANCE, holm, paired_p, welch, welch_half


class Verdict(NamedTuple):
    """A published cell against ours. `p_holm` is the p-value corrected over all 48."""

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
    p: float
    p_holm: float
    verdict: str
    reason: str


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
    p: float
    p_holm: float
    agrees: bool
    within_chance: bool


def verdicts(records: Iterable[Record], mode: str = "default") -> list[Verdict]:
    """Return the verdict on each of the 48 published cells, by the rule of this module.

    Args:
        records: of all data sets, models, levels and seeds.
        mode: which records count, "default" or "authors".
    """
    cells = published_cells()
    runs = Runs(records, _needed(cells), mode)
    n_paper = round(settings()["repetitions"])
    ours = [100 * runs.values(c.metric, c.dataset, c.model, c.level) for c in cells]
    stats = [(float(y.mean()), float(y.std(ddof=1)), y.size) for y in ours]
    p = [welch(*s, c.mean, c.std, n_paper) for c, s in zip(cells, stats, strict=True)]
    out = []
    for c, (mean, std, n), p_raw, p_holm in zip(cells, stats, p, holm(p), strict=True):
        pooled = _pooled(std, n, c.std, n_paper)
        gap = mean - c.mean
        in_std = gap / pooled if pooled else (math.copysign(math.inf, gap) if gap else 0.0)
        word, reason = _judge(c, mean, p_holm)
        out.append(
            Verdict(
                *(c.dataset, c.level, c.metric, c.model, c.mean, c.std, mean, std, n),
                *(gap, in_std, p_raw, p_holm, word, reason),
            )
        )
    return out


def _pooled(std: float, n: int, std_2: float, n_2: int) -> float:
    return math.sqrt(((n - 1) * std**2 + (n_2 - 1) * std_2**2) / (n + n_2 - 2))


def _judge(cell: PublishedCell, mean: float, p_holm: float) -> tuple[str, str]:
    if p_holm >= SIGNIFICANCE:
        return "agrees", f"within chance (Holm p {p_holm:.2g})"
    theirs, ours = _cost(cell.metric, cell.mean, cell.level), _cost(cell.metric, mean, cell.level)
    what = "distance from the level" if cell.metric == "picp" else cell.metric.upper()
    reason = f"{what} {ours:.2f}, theirs {theirs:.2f} (Holm p {p_holm:.2g})"
    return "better" if ours < theirs else "differs", reason


def half_in_std(verdict: Verdict) -> float:
    """Return half the length of Welch's 95 % interval of a difference, in pooled spreads."""
    n_paper = round(settings()["repetitions"])
    pooled = _pooled(verdict.our_std, verdict.n, verdict.paper_std, n_paper)
    return welch_half(verdict.our_std, verdict.n, verdict.paper_std, n_paper) / pooled


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
    p = [paired_p(gap) for gap in gaps]
    out = []
    for row, gap, p_raw, p_holm in zip(rows, gaps, p, holm(p), strict=True):
        mean = float(gap.mean())
        winner = _which(mean < 0, mean > 0)
        chance = p_holm >= SIGNIFICANCE
        out.append(Winner(*row[:4], winner, mean, p_raw, p_holm, winner == row.bold, chance))
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
