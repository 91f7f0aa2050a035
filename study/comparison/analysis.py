"""Analysis of the method comparison: ratios to competitors, their tests, and costs.

The rules, fixed before the frozen data sets were run:

- The measure is the interval score at 90% and 95%. A ratio below 1 means that the method is better.
- The competitor to beat on a data set is the best in hindsight of all `COMPETITORS`: the one with
  the smallest mean score there, level by level. No user can choose that well.
- Two methods are compared on the seeds that both have; methods that take long have fewer.
- On a data set, a paired t-test of differences over the seeds with the correction of Nadeau and
  Bengio (2003). The interval of a ratio is by the same correction, of logarithms: a ratio cannot
  be negative. Verdicts are by p.
- Over data sets, the geometric mean with a t-interval of logarithms.
- AIDS is left out of all counts: its target is 0 or 1, so that intervals at equal coverage cannot
  be compared.

Three rules changed after the first study: the competitors were the best of three kinds of boosting,
all methods had the same seeds, and the interval over data sets was a bootstrap.

All functions take the rows of `data/results/comparison.csv` as a DataFrame and return DataFrames.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from study.comparison.data import PUBLIC
from study.comparison.methods import COMPETITORS
from study.protocol import LEVELS, TEST_OVER_TRAIN
from study.statistics import SIGNIFICANCE, corrected_t


def ratios(
    rows: pd.DataFrame,
    method: str,
    competitors: Sequence[str] = COMPETITORS,
    metric: str = "interval_score",
    *,
    datasets: Sequence[str] = PUBLIC,
) -> pd.DataFrame:
    """Compare a method with the best of some competitors, by level and data set.

    Data sets without the method, or without any competitor, are left out.

    Args:
        rows: stored rows.
        method: the one of the numerator; it is not compared with itself.
        competitors: the best of them, by its mean over the seeds, is the denominator.
        metric: column to compare; smaller is better.
        datasets: names, in the order of the result.

    Returns:
        Columns `dataset, level, method, competitor`, `ratio` of the means over the common seeds,
        `low` and `high` of its 95% interval, `p` and `verdict` ("better", "worse" or "undecided")
        of the test, and `n` seeds.
    """
    names = [method, *(name for name in competitors if name != method)]
    used = rows[(rows.split == "random") & rows.method.isin(names)]
    share = (used.n_test / used.n_train).groupby(used.dataset).last()
    cells = ["dataset", "level"]
    scores = used.pivot(index=[*cells, "seed"], columns="method", values=metric)
    scores = scores.reindex(columns=names).dropna(subset=method)  # the seeds of the method
    others = scores[names[1:]]
    sums = others.notna().mul(scores[method], axis=0).groupby(cells).sum()  # over common seeds
    means = (sums / others.groupby(cells).sum()).dropna(how="all")
    found = []
    for place in [(dataset, level) for level in LEVELS for dataset in datasets]:
        if place not in means.index:
            continue
        ratio, best = means.loc[place].max(), means.loc[place].idxmax()
        pair = scores.loc[place, [method, best]].dropna().to_numpy().T  # (2, seeds)
        p = low = high = np.nan  # one seed decides nothing
        if pair.shape[1] > 1:
            p = corrected_t(pair[0] - pair[1], share[place[0]]).p
            logs = corrected_t(np.log(pair[0] / pair[1]), share[place[0]])
            low, high = np.exp([logs.mean - logs.half, logs.mean + logs.half])
        verdict = "better" if ratio < 1 else "worse"
        verdict = verdict if p < SIGNIFICANCE else "undecided"
        found.append((*place, method, best, ratio, low, high, p, verdict, pair.shape[1]))
    columns = ["dataset", "level", "method", "competitor", "ratio", "low", "high", "p", "verdict"]
    return pd.DataFrame(found, columns=[*columns, "n"])


def by_dataset(found: pd.DataFrame) -> pd.Series:
    """Return one ratio for each data set, the geometric mean of its levels; the worst first."""
    logs = np.log(found.ratio.astype(float)).groupby(found.dataset, sort=False).mean()
    return np.exp(logs).sort_values(ascending=False, kind="stable")


def overall(values: Sequence[float] | pd.Series) -> tuple[float, float, float]:
    """Return the geometric mean of ratios over data sets, and its 95% t-interval of logarithms.

    >>> [round(value, 2) for value in overall([0.5, 2.0, 0.5, 2.0])]
    [1.0, 0.28, 3.57]
    """
    logs = np.log(np.asarray(values, dtype=float))
    if logs.size < 2:
        return (*np.exp(logs), np.nan, np.nan, np.nan)[:3]
    found = corrected_t(logs, 0.0)
    mean, low, high = np.exp(found.mean + found.half * np.array([0, -1, 1]))
    return float(mean), float(low), float(high)


def mean_ratio(
    rows: pd.DataFrame,
    method: str,
    competitors: Sequence[str] = COMPETITORS,
    metric: str = "interval_score",
    *,
    datasets: Sequence[str] = PUBLIC,
) -> tuple[float, float, float]:
    """Return the geometric mean of `ratios` over data sets and levels, and its 95% interval."""
    return overall(by_dataset(ratios(rows, method, competitors, metric, datasets=datasets)))


def summary(found: pd.Series) -> pd.Series:
    """Summarise the ratios of data sets, as `by_dataset` returns them.

    Returns `n` data sets, geometric `mean` with `low` and `high` of its 95% interval, `median`,
    `below`, the number of data sets below 1, and the `worst` ratio with its data set, `where`.
    """
    mean, low, high = overall(found)
    facts = {"n": len(found), "mean": mean, "low": low, "high": high, "median": found.median()}
    facts |= {"below": int((found < 1).sum()), "worst": found.max()}
    return pd.Series(facts | {"where": found.index[0] if len(found) else ""}, dtype=object)


def costs(
    rows: pd.DataFrame, reference: str = "catboost_cqr", *, datasets: Sequence[str] = PUBLIC
) -> pd.DataFrame:
    """Return CPU seconds of each method, geometric means over data sets.

    Columns: `fit`, with the choice of settings, for both levels; `predict`, for 1,000 rows; and
    both as multiples of the `reference`, geometric means over the data sets that both have.
    """
    own = rows[(rows.split == "random") & rows.dataset.isin(datasets) & (rows.level == LEVELS[0])]
    fit = own.first_seconds + own.further_seconds + own.tuning_seconds
    own = own.assign(fit=fit, predict=own.predict_seconds)
    logs = np.log(own.groupby(["method", "dataset"])[["fit", "predict"]].mean())
    found = np.exp(logs.groupby("method").mean())
    if reference in found.index:
        times = (logs - logs.loc[reference]).groupby("method").mean()
        found = found.join(np.exp(times).add_suffix("_times"))
    return found


def paired(rows: pd.DataFrame, a: str, b: str, metric: str) -> pd.DataFrame:
    """Compare two methods seed by seed: `metric` of `a` minus that of `b`.

    Both need the same seeds. The test is `study.statistics.corrected_t`. Five seeds are few: a
    large p is not evidence of equality.

    Returns:
        For each data set and level the `mean` difference, `half` of its 95% interval, `p`, and
        `percent`, the mean difference as a share of the mean of `b`.

    >>> rows = pd.DataFrame({"method": ["a"] * 3 + ["b"] * 3, "seed": [0, 1, 2] * 2, "level": 0.9,
    ...                      "dataset": "pp", "split": "random", "rmse": [1.0, 2, 4, 0, 0, 1]})
    >>> found = paired(rows, "a", "b", "rmse").iloc[0]  # differences 1, 2, 3
    >>> print(found["mean"], round(found.p, 3), round(found.percent))
    2.0 0.114 600
    """
    rows = rows[(rows.split == "random") & rows.method.isin([a, b])]
    found = []
    for (dataset, level), cell in rows.groupby(["dataset", "level"], sort=False):
        values = cell.pivot(index="seed", columns="method", values=metric)
        if not {a, b} <= set(values):
            continue
        if values.isna().any(axis=None):
            raise ValueError(f"{a!r} and {b!r} must have the same seeds on {dataset} at {level}")
        ours, theirs = values[a].to_numpy(), values[b].to_numpy()
        test = corrected_t(ours - theirs, TEST_OVER_TRAIN)
        percent = 100 * float((ours - theirs).mean() / theirs.mean())
        found.append({"dataset": dataset, "level": level, **test._asdict(), "percent": percent})
    return pd.DataFrame(found)
