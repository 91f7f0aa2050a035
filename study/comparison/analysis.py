"""Analysis of the method comparison: ratios to competitors, their tests, costs and goals.

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
from itertools import product

import numpy as np
import pandas as pd

from study.comparison.data import DEVELOPMENT, FROZEN, LEVELS, PUBLIC, SMOOTH
from study.comparison.methods import COMPETITORS
from study.protocol import TEST_OVER_TRAIN
from study.statistics import SIGNIFICANCE, corrected_t


def ratios(
    rows: pd.DataFrame,
    method: str,
    competitors: Sequence[str] = COMPETITORS,
    metric: str = "interval_score",
    *,
    datasets: Sequence[str] = PUBLIC,
    levels: Sequence[float] = LEVELS,
) -> pd.DataFrame:
    """Compare a method with the best of some competitors, by level and data set.

    Data sets without the method, or without any competitor, are left out.

    Args:
        rows: stored rows.
        method: the one of the numerator; it is not compared with itself.
        competitors: the best of them, by its mean over the seeds, is the denominator.
        metric: column to compare; smaller is better.
        datasets: names, in the order of the result.
        levels: coverage levels.

    Returns:
        Columns `dataset, level, method, competitor`, `ratio` of the means over the common seeds,
        `low` and `high` of its 95% interval, `p` and `verdict` ("better", "worse" or "undecided")
        of the test, and `n` seeds.
    """
    others = [name for name in competitors if name != method]
    used = rows[(rows.split == "random") & rows.method.isin([method, *others])]
    values = used.pivot(index=["dataset", "level", "seed"], columns="method", values=metric)
    shares = (used.n_test / used.n_train).groupby(used.dataset).last()
    found = []
    for level, dataset in product(levels, datasets):
        if (dataset, level) not in values.index or method not in values:
            continue
        cell = values.loc[dataset, level]  # a row for each seed
        pairs = {name: cell[[method, name]].dropna() for name in others if name in cell}
        means = {name: pair.mean() for name, pair in pairs.items() if len(pair)}
        if not means:
            continue
        ratio = {name: float(mean[method] / mean[name]) for name, mean in means.items()}
        best = max(ratio, key=ratio.__getitem__)
        ours, theirs = pairs[best].to_numpy().T
        p, low, high = np.nan, np.nan, np.nan  # one seed decides nothing
        if len(ours) > 1:
            p = corrected_t(ours - theirs, shares[dataset]).p
            logs = corrected_t(np.log(ours / theirs), shares[dataset])
            low, high = np.exp(logs.mean - logs.half), np.exp(logs.mean + logs.half)
        verdict = "better" if ratio[best] < 1 else "worse"
        found.append(
            {
                "dataset": dataset,
                "level": level,
                "method": method,
                "competitor": best,
                "ratio": ratio[best],
                "low": float(low),
                "high": float(high),
                "p": p,
                "verdict": verdict if p < SIGNIFICANCE else "undecided",
                "n": len(ours),
            }
        )
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


def summary(
    rows: pd.DataFrame, method: str, competitors: Sequence[str] = COMPETITORS
) -> pd.DataFrame:
    """Return ratios to the best of some competitors: on frozen, development and all data sets.

    Columns: `n` data sets, geometric `mean` with `low` and `high` of its 95% interval, `median`,
    `below`, the number of data sets below 1, and the `worst` ratio with its data set, `where`.
    """
    found = by_dataset(ratios(rows, method, competitors))
    uses = {"frozen": FROZEN, "development": DEVELOPMENT, "all": PUBLIC}
    return pd.DataFrame({use: _summary(found[found.index.isin(s)]) for use, s in uses.items()}).T


def against_each(
    rows: pd.DataFrame,
    method: str,
    competitors: Sequence[str] = COMPETITORS,
    *,
    datasets: Sequence[str] = PUBLIC,
) -> pd.DataFrame:
    """Return the columns of `summary` for each single competitor, the strongest first.

    The last row, "best", is the best of all in hindsight. A competitor without rows has `n` 0.
    """
    alone = {
        name: by_dataset(ratios(rows, method, [name], datasets=datasets))
        for name in competitors
        if name != method
    }
    found = pd.DataFrame({name: _summary(ratio) for name, ratio in alone.items()}).T
    found = found.sort_values("mean", ascending=False)
    best = by_dataset(ratios(rows, method, competitors, datasets=datasets))
    return pd.concat([found, pd.DataFrame({"best": _summary(best)}).T])


def _summary(found: pd.Series) -> dict[str, float | str]:
    mean, low, high = overall(found)
    return {
        "n": len(found),
        "mean": mean,
        "low": low,
        "high": high,
        "median": found.median(),
        "below": int((found < 1).sum()),
        "worst": found.max(),
        "where": found.index[0] if len(found) else "",
    }


def losses(
    rows: pd.DataFrame,
    methods: Sequence[str],
    competitors: Sequence[str] = COMPETITORS,
    *,
    datasets: Sequence[str] = PUBLIC,
) -> pd.Series:
    """Return ratios above 1, the worst first: on these data sets no method is ahead of the best.

    With several methods, the better one of each data set and level counts.
    """
    every = [ratios(rows, name, competitors, datasets=datasets) for name in methods]
    best = pd.concat(every).groupby(["dataset", "level"], sort=False, as_index=False).ratio.min()
    found = by_dataset(best)
    return found[found > 1]


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


def goals(rows: pd.DataFrame, method: str = "strong", head: str = "head") -> pd.DataFrame:
    """Return the goals of the comparison, fixed beforehand, and whether they were met."""

    def at_most(what: str, goal: float, value: float) -> tuple[str, str, str, bool]:
        return what, f"at most {goal:.2f}", f"{value:.2f}", value <= goal

    each = against_each(rows, method)
    single = each.drop("best").dropna(subset=["mean"])
    base = mean_ratio(rows, head, ["gb_split", "gb_normalised", "gb_cqr"])[0]
    behind = losses(rows, [method, head], datasets=SMOOTH)
    price = costs(rows).fit_times.get(method, np.nan)
    names = ", ".join(name.upper() for name in behind.index)
    found = [
        at_most("score against each single competitor", 0.90, single["mean"].max()),
        at_most("score against the best of all in hindsight", 0.95, each["mean"]["best"]),
        at_most("worst data set against the best of all", 1.15, each.worst["best"]),
        at_most("head: score against the best intervals of its base", 0.90, base),
        (
            "the better of the two against all",
            "ahead on WW, PM, PP",
            f"not ahead on {names}" if names else "ahead on all",
            not names,
        ),
        at_most("CPU seconds of fitting against CatBoost quantiles", 3.0, price),
    ]
    return pd.DataFrame(found, columns=["what", "goal", "found", "met"])


def paired(rows: pd.DataFrame, a: str, b: str, metric: str) -> pd.DataFrame:
    """Compare two methods seed by seed: `metric` of `a` minus that of `b`.

    The seeds split the same rows anew, which the test accounts for
    (`study.statistics.corrected_t`). Five seeds are few: "undecided" is not evidence of equality.

    Args:
        rows: stored rows; the split "random" is used.
        a: first method.
        b: second method; both need the same seeds.
        metric: column to compare.

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
