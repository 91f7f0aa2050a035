"""The published cells against ours, and the winners of the rows of Tables I and II.

The rules of comparison stand here, fixed before the run of 50 seeds. Two verdicts are given on
each published result, and neither implies the other:

- **Refuted** or not. Their mean is compared with the mean of as many of our seeds, drawn many
  times (`study.statistics.exchange`), two-sided, with Holm's correction over the 44 distinct
  results: the RMSE of a calibrated model stands in both tables. A refuted result is *better*
  (lower RMSE or PINAW, or PICP nearer to its level) or *worse* here. Standard deviations are
  compared in the same way, in a family of their own. `together` tests all results at once.
- **Shown to be equivalent** or not: Welch's two one-sided tests at 5% show that the means are
  nearer than a margin, 5% of their RMSE or PINAW and 1 point of PICP (`MARGINS`). The smallest
  margin that would pass is reported, and the smallest that any reproduction could reach, given
  their runs and their standard deviation.

The winner of a row is the lower RMSE or PINAW, or the mean PICP nearer to the level. A winner of
ours is *clear* if a t-test over the seeds, with the variance for re-splits of one data set and
Holm's correction over the 24 rows, rejects equality.

All values are in the paper's units: RMSE and PINAW times 100, PICP in percent.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from gt2lite._validation import Array
from study.pages import case
from study.paper import CELL
from study.protocol import METHODS, PAPER_TABLE, TEST_OVER_TRAIN
from study.statistics import (
    SIGNIFICANCE,
    beyond_p,
    corrected_t,
    exchange,
    holm,
    joint_exchange_p,
    smallest_margin,
    welch,
)

MARGINS = {"near": (5.0, 1.0), "wide": (10.0, 2.0)}
"""What counts as equivalent: percent of RMSE or PINAW, and points of PICP. Verdicts use "near"."""

N_THEIRS = 5
"""Runs behind each published mean."""

WAYS = ("search", "table 0.1", "exact")
"""Ways to calibrate that may have filled the paper's tables: by its words the search or the lookup
table ("Algorithm-3"); the exact plane is what both look for. Verdicts use the first."""


def by_cell(records: pd.DataFrame, mode: str = "default") -> pd.DataFrame:
    """Return the records of one mode with a column (metric, seed) for each run.

    The index is `dataset, model, level, way`. A way is a method; lookup tables are named by
    their step, "table 0.05", or by their interpolation, "table spline".
    """
    own = records[records["mode"] == mode]
    if own.seed.nunique() < 2:
        raise ValueError(f"records must hold at least 2 seeds of mode {mode!r}")
    curve = own.interpolation.where(
        own.interpolation != PAPER_TABLE[1], own.step.map("{:g}".format)
    )
    way = own.method.where(own.method != "table", "table " + curve.astype(str))
    own = own.assign(way=way).drop(columns=["mode", "method", "step", "interpolation"])
    return own.pivot(index=["dataset", "model", "level", "way"], columns="seed")


def values(runs: pd.DataFrame, name: str, places: Sequence[tuple[object, ...]]) -> Array:
    """Return a column of cells (cells, seeds), each given by data set, model, level and way."""
    found = runs[name].reindex(pd.MultiIndex.from_tuples(places))
    complete = found.notna().all(axis=1).to_numpy()
    if not complete.all():
        place = " ".join(map(str, places[complete.argmin()]))
        raise ValueError(f"records lack {name} of {place} in some run")
    return np.ascontiguousarray(found, dtype=float)


# ---------------------------------------------------------------------------------- verdicts


def beside(
    records: pd.DataFrame, published: pd.DataFrame, mode: str = "default", way: str = WAYS[0]
) -> pd.DataFrame:
    """Return the published cells beside ours, without a verdict.

    Columns: those of a cell, `paper_mean`, `paper_std`, `our_mean`, `our_std`, `n` (our runs),
    `difference`, and `difference_in_std`, which is in pooled standard deviations.
    """
    found = published[CELL].assign(paper_mean=published["mean"], paper_std=published["std"])
    found = _with_ours(found, _ours(by_cell(records, mode), published, way))
    squares = (found.n - 1) * found.our_std**2 + (N_THEIRS - 1) * found.paper_std**2
    pooled = np.sqrt(squares / (found.n + N_THEIRS - 2))
    with np.errstate(divide="ignore", invalid="ignore"):
        found["difference_in_std"] = np.where(found.difference == 0, 0, found.difference / pooled)
    return found


def verdicts(records: pd.DataFrame, published: pd.DataFrame, way: str = WAYS[0]) -> pd.DataFrame:
    """Return the verdicts on each published cell, by the rules of this module.

    `way` is the method of calibration behind our calibrated cells.

    Columns: those of `beside`, `repeated` (the result stands in the other table already), and
    those of `judge`; a repeated result has the values of the first. More than six seeds are needed.
    """
    cells, result = beside(records, published, way=way), _result(published)
    cells["repeated"] = result.duplicated()
    first = ~cells.repeated
    found = judge(cells[first], _ours(by_cell(records), published, way)[first], N_THEIRS)
    return cells.assign(**found.iloc[result].set_axis(cells.index))


def judge(cells: pd.DataFrame, ours: Array, n_theirs: int) -> pd.DataFrame:
    """Return both verdicts on C published results: rows of `beside`, and our runs (C, S).

    Returns:
        Columns `p`, `p_holm` (of the mean, alone and corrected over the results), `p_std`,
        `p_std_holm` (of the standard deviation),
        `margin`, `best` (the smallest margin within which the means are shown to be equal, and
        the smallest that could be shown given their runs; points of PICP, else percent),
        for "near" and "wide" `p_equal_*`, `p_equal_*_holm`, and `p_best_*_holm` (were there no
        difference, with our number of runs or any other),
        `refuted` ("no", "better" or "worse") and `equivalent`.
    """
    found = pd.DataFrame(index=cells.index)
    theirs = cells.paper_mean.to_numpy(), cells.paper_std.to_numpy()
    found["p"], found["p_std"] = exchange(ours, *theirs, n_theirs)
    found["p_holm"], found["p_std_holm"] = holm(found.p), holm(found.p_std)
    picp = cells.metric == "picp"
    unit = np.where(picp, 1.0, 100 / cells.paper_mean)
    own = cells.our_std, cells.n, cells.paper_std, n_theirs
    known = 0 * unit, np.inf, cells.paper_std, n_theirs  # were our mean the true one
    found["margin"] = unit * smallest_margin(cells.difference, *own)
    found["best"] = unit * np.minimum(smallest_margin(0.0, *own), smallest_margin(0.0, *known))
    for width, (percent, points) in MARGINS.items():
        margin = np.where(picp, points, percent) / unit
        equal = beyond_p(margin, cells.difference.abs(), *welch(*own))
        best = np.minimum(*(beyond_p(margin, 0.0, *welch(*runs)) for runs in (own, known)))
        found[f"p_equal_{width}"], found[f"p_equal_{width}_holm"] = equal, holm(equal)
        found[f"p_best_{width}_holm"] = holm(best)
    better = cost(cells, cells.our_mean) < cost(cells, cells.paper_mean)
    word = np.where(better, "better", "worse")
    found["refuted"] = np.where(found.p_holm < SIGNIFICANCE, word, "no")
    found["equivalent"] = found.p_equal_near < SIGNIFICANCE
    return found


def against_alliance(records: pd.DataFrame, trials: pd.DataFrame) -> pd.DataFrame:
    """Compare our runs with the interval type-2 systems of `study.paper.alliance`.

    Two questions are asked on both sides: systems trained for the level, without calibration
    (`model` "trained"), and systems with a conformal guarantee ("calibrated"; theirs corrects the
    bounds of a system trained for the level, ours takes a plane of the system trained for 99%).
    Systems, splits and settings differ, so that a difference refutes neither side.

    The columns are those of `verdicts`, where "paper" stands for theirs.
    """
    own = trials[(trials.system == "it2-km") & trials.level.isin([0.90, 0.95])]
    own = own.assign(model=own.conformal.map({"none": "trained", "cqr": "calibrated"}))
    long = own.dropna(subset="model").melt([*CELL[:2], "model"], ["picp", "pinaw"], "metric")
    groups = long.groupby(CELL, sort=False).value
    found = groups.agg(paper_mean="mean", paper_std="std").reset_index()
    ours = _ours(by_cell(records), found, "conformal")
    found = _with_ours(found, ours).assign(repeated=False)
    return found.join(judge(found, ours, int(groups.size().iloc[0])))


def together(records: pd.DataFrame, published: pd.DataFrame, way: str = WAYS[0]) -> pd.Series:
    """Return the p-value of all distinct results at once, and of those of each data set.

    Single results may all pass while together they are farther from ours than five of our seeds
    are from the others (`study.statistics.joint_exchange_p`).
    """
    first = ~_result(published).duplicated()
    own, ours = published[first], _ours(by_cell(records), published, way)[first]
    names = ["all", *own.dataset.unique()]
    parts = np.array([(own.dataset == name) | (name == "all") for name in names], dtype=float)
    found = joint_exchange_p(ours, own["mean"].to_numpy(), N_THEIRS, parts)
    return pd.Series(found, names, name="p")


def by_way(records: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """Return how verdicts depend on the way to calibrate behind our calibrated cells.

    Columns: `refuted`, `equivalent` (numbers of distinct results), `largest` (the largest relative
    difference of an RMSE or PINAW, in percent) with its `where`, and the p-values of `together`.
    """
    rows = {}
    for way in WAYS:
        found = verdicts(records, published, way)
        found = found[~found.repeated]
        top = largest_difference(found)
        rows[way] = {
            "refuted": int((found.refuted != "no").sum()),
            "equivalent": int(found.equivalent.sum()),
            "largest": top.percent,
            "where": f"{top.metric.upper()}, {case(top.dataset, top.level)}",
            **together(records, published, way),
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("way")


def largest_difference(cells: pd.DataFrame) -> pd.Series:
    """Return the cell of RMSE or PINAW whose mean differs most from the paper's, in `percent`."""
    shares = cells[cells.metric != "picp"]  # PICP is compared in points
    shares = shares.assign(percent=100 * shares.difference / shares.paper_mean)
    return shares.loc[shares.percent.abs().idxmax()]


def shown_within(cells: pd.DataFrame) -> pd.DataFrame:
    """Return for each margin how many distinct results are shown to be equal within it.

    Columns `shown` and `shown_holm` count them one by one and with Holm's correction; `best` and
    `best_holm` count how many a perfect reproduction could show, given the published runs.
    """
    cells, rows = cells[~cells.repeated], {}
    for width, (percent, points) in MARGINS.items():
        rows[width] = {
            "percent": percent,
            "points": points,
            "shown": int((cells[f"p_equal_{width}"] < SIGNIFICANCE).sum()),
            "shown_holm": int((cells[f"p_equal_{width}_holm"] < SIGNIFICANCE).sum()),
            "best": int((cells.best < np.where(cells.metric == "picp", points, percent)).sum()),
            "best_holm": int((cells[f"p_best_{width}_holm"] < SIGNIFICANCE).sum()),
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("margin")


def cost(rows: pd.DataFrame, mean: pd.Series) -> pd.Series:
    """Return what is to be small: RMSE, PINAW, or the distance of PICP from its level."""
    return mean.where(rows.metric != "picp", (mean - 100 * rows.level).abs())


def _result(cells: pd.DataFrame) -> pd.Series:
    """Return the number of the result of each cell; the RMSE of a calibrated model has one."""
    twice = (cells.metric == "rmse") & (cells.model == "calibrated")
    name = cells[["dataset", "metric", "model"]].assign(level=cells.level.where(~twice))
    return name.groupby([*name], dropna=False, sort=False).ngroup()


def _ours(runs: pd.DataFrame, cells: pd.DataFrame, way: str = WAYS[0]) -> Array:
    """Return our values of each cell (cells, seeds), in the paper's units."""
    ways, rows = METHODS | {"calibrated": way}, cells.itertuples()
    places = [(c.metric, (c.dataset, c.model, c.level, ways[c.model])) for c in rows]
    return 100 * np.concatenate([values(runs, metric, [place]) for metric, place in places])


def _with_ours(cells: pd.DataFrame, ours: Array) -> pd.DataFrame:
    """Return cells with mean, standard deviation and number of our runs (cells, seeds)."""
    means, stds = ours.mean(axis=1), ours.std(axis=1, ddof=1)
    found = cells.assign(our_mean=means, our_std=stds, n=ours.shape[1])
    return found.assign(difference=found.our_mean - found.paper_mean)


# ----------------------------------------------------------------------------------- winners

ROW = ["dataset", "level", "metric"]


def bold_rows(published: pd.DataFrame) -> pd.DataFrame:
    """Return the 24 rows of the tables with `bold` ("calibrated", "trained" or "tie").

    Column `difference` is calibrated minus trained, of RMSE, PINAW, or the distance of PICP from
    its level, so that negative is a win of the calibrated model.
    """
    cells = published.assign(cost=cost(published, published["mean"]))
    ours, theirs = (
        cells[cells.model == model].set_index(ROW) for model in ("calibrated", "trained")
    )
    rows = pd.DataFrame({"bold": _winner(ours.bold, theirs.bold)}, index=ours.index)
    return rows.assign(difference=ours.cost - theirs.cost).reset_index()


def winners(records: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """Return who wins each of the 24 rows, by the rule of this module.

    Columns: the row, `bold` (the paper's winner), `winner` (ours), `difference` as in `bold_rows`
    with `half` of its 95% interval over re-splits, `p`, `p_holm`, `agrees` and `clear`.
    """
    rows, runs = bold_rows(published)[[*ROW, "bold"]], by_cell(records)
    gaps = [paired_gap(runs, row.metric, row.dataset, row.level) for row in rows.itertuples()]
    tests = pd.DataFrame([corrected_t(gap, TEST_OVER_TRAIN) for gap in gaps])
    rows["winner"] = _winner(tests["mean"] < 0, tests["mean"] > 0)
    rows["difference"], rows["half"], rows["p"] = tests["mean"], tests.half, tests.p
    rows["p_holm"] = holm(tests.p)
    return rows.assign(agrees=rows.winner == rows.bold, clear=rows.p_holm < SIGNIFICANCE)


def paired_gap(runs: pd.DataFrame, metric: str, dataset: str, level: float) -> Array:
    """Return calibrated minus trained for each seed (seeds,), negative where calibrated wins.

    For PICP the two signs of (mean - level) are held, so that the mean of the result is the
    difference of the two distances of a mean from the level, the paper's way to compare.
    """
    sides = []
    for model in ("calibrated", "trained"):
        found = 100 * values(runs, metric, [(dataset, model, level, METHODS[model])])[0]
        if metric == "picp":
            found = np.copysign(1, found.mean() - 100 * level) * (found - 100 * level)
        sides.append(found)
    return sides[0] - sides[1]


def _winner(calibrated: pd.Series, trained: pd.Series) -> Array:
    return np.where(calibrated == trained, "tie", np.where(calibrated, "calibrated", "trained"))
