"""The published cells against ours, and the winners of the rows of Tables I and II.

The rules of comparison stand here, fixed before the run of 50 seeds. Two verdicts are given on
each published result, and neither implies the other:

- **Refuted** or not. Their mean is compared with the mean of five of our seeds, drawn many times
  (`study.statistics.exchange`), two-sided, with Holm's correction over the 44 distinct results:
  the RMSE of a calibrated model stands in both tables. A refuted result is *better* (lower RMSE
  or PINAW, or PICP nearer to its level) or *worse* here. Standard deviations are compared in the
  same way, in a family of their own.
- **Shown to be equivalent** or not: Welch's two one-sided tests at 5% show that the means are
  nearer than a margin, 5% of their RMSE or PINAW and 1 point of PICP (`MARGINS`). The smallest
  margin that would pass is reported, and the smallest that any reproduction could reach, given
  their five runs and their standard deviation.

The winner of a row is the lower RMSE or PINAW, or the mean PICP nearer to the level. A winner of
ours is *clear* if a t-test over the seeds, with the variance for re-splits of one data set and
Holm's correction over the 24 rows, rejects equality.

All values are in the paper's units: RMSE and PINAW times 100, PICP in percent.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from gt2lite._validation import Array
from study.paper import CELL
from study.protocol import METHODS, TEST_OVER_TRAIN, standard
from study.statistics import (
    SIGNIFICANCE,
    corrected_t,
    equal_means_p,
    exchange,
    holm,
    smallest_margin,
)

MARGINS = {"near": (5.0, 1.0), "wide": (10.0, 2.0)}
"""What counts as equivalent: percent of RMSE or PINAW, and points of PICP. Verdicts use "near"."""

N_THEIRS = 5
"""Runs behind each published mean."""


class Runs:
    """Records of one mode, checked to be complete, by cell and seed.

    Args:
        records: rows as `study.protocol.run` makes them. Lookup tables other than the paper's
            are kept in `tables` only.
        needed: the cells (dataset, model, level, method) that must be there for every seed.
        mode: "default" or "authors".
    """

    def __init__(
        self,
        records: pd.DataFrame,
        needed: Iterable[tuple[str, str, float, str]] = (),
        mode: str = "default",
    ) -> None:
        own = records[records["mode"] == mode].sort_values("seed", kind="stable")
        self.tables = own[own.method == "table"]
        index = ["dataset", "model", "level", "method"]
        self.cells = dict(iter(standard(own).groupby(index)))
        self.seeds = sorted(own.seed.unique().tolist())
        if len(self.seeds) < 2:
            raise ValueError(f"records must hold at least 2 seeds of mode {mode!r}: {self.seeds}")
        place = [*index, "step", "interpolation", "seed"]
        if (twice := own.duplicated(place)).any():
            first = own.loc[twice.idxmax(), place].dropna()
            raise ValueError(f"records hold a row twice: {' '.join(map(str, first))}")
        lacking = [
            f"{dataset} {model} {level:g} ({method})"
            for dataset, model, level, method in dict.fromkeys(needed)
            if len(self.cells.get((dataset, model, level, method), ())) < len(self.seeds)
        ]
        if lacking:
            raise ValueError(f"records of mode {mode!r} lack {'; '.join(lacking)}")

    def values(
        self, name: str, dataset: str, model: str, level: float, method: str | None = None
    ) -> Array:
        """Return a column of a cell's records, in the order of `seeds` (seeds,)."""
        cell = dataset, model, level, method or METHODS[model]
        values = self.cells[cell][name].to_numpy(dtype=float)
        if not np.isfinite(values).all():
            raise ValueError(f"{name} must be finite in every run; {cell} has other values")
        return values


# ---------------------------------------------------------------------------------- verdicts


def beside(records: pd.DataFrame, published: pd.DataFrame, mode: str = "default") -> pd.DataFrame:
    """Return the published cells beside ours, without a verdict.

    Args:
        records: all data sets, models, levels and seeds.
        published: as `study.paper.cells` returns them.
        mode: which records count, "default" or "authors".

    Returns:
        The columns of a cell, `paper_mean`, `paper_std`, `our_mean`, `our_std`, `n` (our runs),
        `difference`, and `difference_in_std`, which is in pooled standard deviations.
    """
    found = published[CELL].copy()
    ours = _values(records, published, mode)
    found["paper_mean"], found["paper_std"] = published["mean"], published["std"]
    found["our_mean"] = [float(values.mean()) for values in ours]
    found["our_std"] = [float(values.std(ddof=1)) for values in ours]
    found["n"] = [values.size for values in ours]
    found["difference"] = found.our_mean - found.paper_mean
    n = found.n
    squares = (n - 1) * found.our_std**2 + (N_THEIRS - 1) * found.paper_std**2
    pooled = np.sqrt(squares / (n + N_THEIRS - 2))
    with np.errstate(divide="ignore", invalid="ignore"):
        found["difference_in_std"] = np.where(found.difference == 0, 0, found.difference / pooled)
    return found


def verdicts(records: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """Return the verdicts on each published cell, by the rules of this module.

    Args:
        records: all data sets, models, levels and seeds, more than six of them.
        published: as `study.paper.cells` returns them.

    Returns:
        The columns of `beside`, and
        `repeated` (the result stands in the other table already),
        `p`, `p_holm` (of the mean, alone and corrected over the distinct results),
        `p_std`, `p_std_holm` (of the standard deviation),
        `margin`, `best` (the smallest margin within which the means are shown to be equal, and
        the smallest that could be shown given their runs; points of PICP, else percent),
        for "near" and "wide" `p_equal_*`, `p_equal_*_holm`, and `p_best_*_holm` (were there no
        difference, with our number of runs or any other),
        `refuted` ("no", "better" or "worse") and `equivalent`.
    """
    cells = beside(records, published)
    twice = (cells.metric == "rmse") & (cells.model == "calibrated")
    name = cells[["dataset", "metric", "model"]].assign(level=cells.level.where(~twice))
    result = name.groupby([*name], dropna=False, sort=False).ngroup()  # a number for each result
    cells["repeated"] = result.duplicated()

    first = ~cells.repeated
    ours = np.array(_values(records, published, "default"))[first]  # (results, seeds)
    own = cells[first]
    tested = exchange(ours, own.paper_mean.to_numpy(), own.paper_std.to_numpy(), N_THEIRS)
    found: dict[str, Array] = {"p": tested.mean, "p_holm": holm(tested.mean)}
    found |= {"p_std": tested.spread, "p_std_holm": holm(tested.spread)}
    rows = list(own.itertuples(index=False))
    found["margin"] = np.array([_smallest(row, row.difference) for row in rows])
    found["best"] = np.array(
        [min(_smallest(r, 0.0), _smallest(r, 0.0, perfect=True)) for r in rows]
    )
    for width in MARGINS:
        equal = [_p_equal(row, row.difference, width) for row in rows]
        best = [min(_p_equal(r, 0.0, width), _p_equal(r, 0.0, width, perfect=True)) for r in rows]
        found |= {f"p_equal_{width}": np.array(equal), f"p_equal_{width}_holm": holm(equal)}
        found[f"p_best_{width}_holm"] = holm(best)
    cells = cells.assign(**{column: values[result] for column, values in found.items()})

    ours_better = cost(cells, cells.our_mean) < cost(cells, cells.paper_mean)
    refuted = cells.p_holm < SIGNIFICANCE
    cells["refuted"] = np.where(~refuted, "no", np.where(ours_better, "better", "worse"))
    cells["equivalent"] = cells.p_equal_near < SIGNIFICANCE
    return cells


def shown_within(cells: pd.DataFrame) -> pd.DataFrame:
    """Return for each margin how many distinct results are shown to be equal within it.

    Columns `shown` and `shown_holm` count them one by one and with Holm's correction; `best` and
    `best_holm` count how many a perfect reproduction could show, given the paper's five runs.
    """
    own = cells[~cells.repeated]
    rows = []
    for width, (percent, points) in MARGINS.items():
        limit = np.where(own.metric == "picp", points, percent)
        rows.append(
            {
                "margin": width,
                "percent": percent,
                "points": points,
                "shown": int((own[f"p_equal_{width}"] < SIGNIFICANCE).sum()),
                "shown_holm": int((own[f"p_equal_{width}_holm"] < SIGNIFICANCE).sum()),
                "best": int((own.best < limit).sum()),
                "best_holm": int((own[f"p_best_{width}_holm"] < SIGNIFICANCE).sum()),
            }
        )
    return pd.DataFrame(rows).set_index("margin")


def cost(rows: pd.DataFrame, mean: pd.Series) -> pd.Series:
    """Return what is to be small: RMSE, PINAW, or the distance of PICP from its level."""
    return mean.where(rows.metric != "picp", (mean - 100 * rows.level).abs())


def _values(records: pd.DataFrame, published: pd.DataFrame, mode: str) -> list[Array]:
    """Return our values (seeds,) of each published cell, in the paper's units."""
    cells = [(c.dataset, c.model, c.level, METHODS[c.model]) for c in published.itertuples()]
    runs = Runs(records, cells, mode)
    return [
        100 * runs.values(c.metric, c.dataset, c.model, c.level) for c in published.itertuples()
    ]


def _smallest(row: Any, difference: float, *, perfect: bool = False) -> float:
    """Return the smallest margin within which a cell is shown to be equal, in its unit."""
    share = 1.0 if row.metric == "picp" else 100 / row.paper_mean
    std, n = (0.0, math.inf) if perfect else (row.our_std, row.n)
    return share * smallest_margin(difference, std, n, row.paper_std, N_THEIRS)


def _p_equal(row: Any, difference: float, width: str, *, perfect: bool = False) -> float:
    """Return the p-value of the two one-sided tests for a cell and one of `MARGINS`."""
    percent, points = MARGINS[width]
    share = 1.0 if row.metric == "picp" else 100 / row.paper_mean
    margin = (points if row.metric == "picp" else percent) / share
    std, n = (0.0, math.inf) if perfect else (row.our_std, row.n)
    return equal_means_p(difference, margin, std, n, row.paper_std, N_THEIRS)


# ----------------------------------------------------------------------------------- winners

ROW = ["dataset", "level", "metric"]


def bold_rows(published: pd.DataFrame) -> pd.DataFrame:
    """Return the 24 rows of the tables, and whether bold follows the rule of this module.

    Columns: the row, `bold` ("calibrated", "trained" or "tie"), `difference` (calibrated minus
    trained, of RMSE, PINAW, or the distance of PICP from its level, so that negative is a win of
    the calibrated model), `follows_rule`, and `p` of Welch's test of what is printed.

    >>> from study import paper
    >>> bold_rows(paper.cells()).follows_rule.all()
    np.True_
    """
    cells = published.assign(cost=cost(published, published["mean"]))
    ours, theirs = (
        cells[cells.model == model].set_index(ROW) for model in ("calibrated", "trained")
    )
    rows = pd.DataFrame({"bold": _winner(ours.bold, theirs.bold)}, index=ours.index)
    rows["difference"] = ours.cost - theirs.cost
    rows["follows_rule"] = rows.bold == _winner(ours.cost < theirs.cost, theirs.cost < ours.cost)
    rows["p"] = stats.ttest_ind_from_stats(
        *(ours.cost, ours["std"], N_THEIRS), *(theirs.cost, theirs["std"], N_THEIRS), False
    ).pvalue
    return rows.reset_index()


def winners(records: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """Return who wins each of the 24 rows, by the rule of this module.

    Columns: the row, `bold` (the paper's winner), `winner` (ours), `difference` as in `bold_rows`
    with `half` of its 95% interval over re-splits, `p`, `p_holm`, `agrees` and `clear`.
    """
    rows = bold_rows(published)[[*ROW, "bold"]]
    cells = [
        (row.dataset, model, row.level, METHODS[model])
        for row in rows.itertuples()
        for model in ("calibrated", "trained")
    ]
    runs = Runs(records, cells)
    gaps = [paired_gap(runs, row.metric, row.dataset, row.level) for row in rows.itertuples()]
    tests = pd.DataFrame([corrected_t(gap, TEST_OVER_TRAIN) for gap in gaps])
    rows["winner"] = _winner(tests["mean"] < 0, tests["mean"] > 0)
    rows["difference"], rows["half"], rows["p"] = tests["mean"], tests.half, tests.p
    rows["p_holm"] = holm(tests.p)
    rows["agrees"] = rows.winner == rows.bold
    rows["clear"] = rows.p_holm < SIGNIFICANCE
    return rows


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


def _winner(calibrated: pd.Series, trained: pd.Series) -> Array:
    return np.where(calibrated == trained, "tie", np.where(calibrated, "calibrated", "trained"))
