"""Analysis of the method comparison: ratios to the best competitor, their tests, and goals.

All rules were fixed before the frozen data sets were run:

- The measure is the interval score at 90% and 95%. A ratio below 1 means that the method is better.
- The competitor to beat on a data set is the one of `BOOSTED` with the smallest mean score over the
  seeds there, level by level: the best in hindsight.
- On a data set, a paired t-test of differences over the seeds with the correction of Nadeau and
  Bengio (2003). The interval of a ratio is by the same correction, of logarithms: a ratio cannot
  be negative. (Its first form was of differences and could be. Verdicts are by p.)
- Over data sets, the geometric mean; for its interval data sets are drawn with replacement.
- AIDS is left out of all counts: its target is 0 or 1, so that intervals at equal coverage cannot
  be compared.

All functions take the rows of `data/results/comparison.csv` as a DataFrame and return DataFrames.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from gt2lite._validation import Array
from study.comparison.data import LEVELS, PUBLIC, SMOOTH, use_of
from study.comparison.methods import BOOSTED
from study.statistics import SIGNIFICANCE, corrected_t

TEST_OVER_TRAIN = 15 / 70
"""Test rows over training rows, if no row was left out."""

N_DRAWS = 4000
"""Number of bootstrap samples of data sets."""

PARTS = ("estimates", "noise", "family")
"""Parts of a gain, see `gains`."""


def ratios(
    rows: pd.DataFrame,
    method: str,
    competitors: Sequence[str] = BOOSTED,
    metric: str = "interval_score",
    *,
    datasets: Sequence[str] = PUBLIC,
    levels: Sequence[float] = LEVELS,
) -> pd.DataFrame:
    """Compare a method with the best of some competitors, by level and data set.

    Data sets without the method, or without any competitor, are left out.

    Args:
        rows: stored rows.
        method: the one of the numerator.
        competitors: the best of them, by its mean over the seeds, is the denominator.
        metric: column to compare; smaller is better.
        datasets: names, in the order of the result.
        levels: coverage levels.

    Returns:
        Columns `dataset, level, method, competitor`, `ratio` of the means over the seeds, `low` and
        `high` of its 95% interval, `p` and `verdict` ("better", "worse" or "undecided") of the
        test, and `n` seeds.
    """
    found = []
    for pair in _pairs(rows, method, competitors, metric, datasets, levels):
        ours, theirs = pair.ours, pair.theirs
        tested = corrected_t(ours - theirs, pair.test_over_train)
        logs = corrected_t(np.log(ours / theirs), pair.test_over_train)
        ratio = float(ours.mean() / theirs.mean())
        found.append(
            {
                "dataset": pair.dataset,
                "level": pair.level,
                "method": method,
                "competitor": pair.competitor,
                "ratio": ratio,
                "low": float(np.exp(logs.mean - logs.half)),
                "high": float(np.exp(logs.mean + logs.half)),
                "p": tested.p,
                "verdict": verdict(ratio, tested.p),
                "n": len(ours),
            }
        )
    columns = ["dataset", "level", "method", "competitor", "ratio", "low", "high", "p", "verdict"]
    return pd.DataFrame(found, columns=[*columns, "n"])


class _Pair(NamedTuple):
    """Values (seeds,) of a method and of its best competitor."""

    dataset: str
    level: float
    competitor: str
    ours: Array
    theirs: Array
    test_over_train: float


def _pairs(
    rows: pd.DataFrame,
    method: str,
    competitors: Sequence[str],
    metric: str,
    datasets: Sequence[str],
    levels: Sequence[float],
) -> Iterator[_Pair]:
    """Yield the values that `ratios` compares, by level and data set."""
    own = rows.method.isin([method, *competitors])
    rows = rows[(rows.split == "random") & rows.dataset.isin(datasets) & own]
    shares = (rows.n_test / rows.n_train).groupby(rows.dataset).last().fillna(TEST_OVER_TRAIN)
    for level in levels:
        by_seed = rows[rows.level == level].pivot(
            index=["dataset", "seed"], columns="method", values=metric
        )
        for dataset in datasets:
            if dataset not in by_seed.index:
                continue
            values = by_seed.loc[dataset].dropna(axis="columns", how="all")
            there = [name for name in competitors if name in values]
            if method not in values or not there or method in there:
                continue
            means = {name: values[name].to_numpy().mean() for name in there}
            best = min(means, key=means.__getitem__)
            ours, theirs = values[method].to_numpy(), values[best].to_numpy()
            if not np.isfinite([ours, theirs]).all():
                raise ValueError(f"{method!r} and {best!r} must have the same seeds on {dataset}")
            yield _Pair(dataset, level, best, ours, theirs, shares[dataset])


def verdict(ratio: float, p: float) -> str:
    """Return what a test says of a ratio.

    >>> verdict(0.9, 0.01), verdict(1.1, 0.01), verdict(0.9, 0.05)
    ('better', 'worse', 'undecided')
    """
    if not p < SIGNIFICANCE:
        return "undecided"
    return "better" if ratio < 1 else "worse"


def by_dataset(found: pd.DataFrame) -> pd.Series:
    """Return one ratio for each data set, the geometric mean of its levels; the worst first."""
    logs = np.log(found.ratio).groupby(found.dataset, sort=False).mean()
    return np.exp(logs).sort_values(ascending=False, kind="stable")


def overall(values: Sequence[float] | pd.Series, *, seed: int = 0) -> tuple[float, float, float]:
    """Return the geometric mean of ratios over data sets, and its 95% bootstrap interval.

    >>> overall([0.5, 2.0])[:2], overall([0.8, 0.8])[2]
    ((1.0, 0.5), 0.8)
    """
    logs = np.log(np.asarray(values, dtype=float))
    if not logs.size:
        return np.nan, np.nan, np.nan
    drawn = np.random.default_rng(seed).integers(logs.size, size=(N_DRAWS, logs.size))
    low, high = np.quantile(logs[drawn].mean(axis=1), [0.025, 0.975])
    mean, low, high = (round(float(np.exp(v)), 12) for v in (logs.mean(), low, high))
    return mean, low, high


def mean_ratio(
    rows: pd.DataFrame,
    method: str,
    competitors: Sequence[str] = BOOSTED,
    metric: str = "interval_score",
    *,
    datasets: Sequence[str] = PUBLIC,
) -> tuple[float, float, float]:
    """Return the geometric mean of `ratios` over data sets and levels, and its 95% interval.

    A method is not compared with itself.
    """
    others = [name for name in competitors if name != method]
    pairs = _pairs(rows, method, others, metric, datasets, LEVELS)
    found = [(pair.dataset, float(pair.ours.mean() / pair.theirs.mean())) for pair in pairs]
    return overall(by_dataset(pd.DataFrame(found, columns=["dataset", "ratio"])))


def standing(rows: pd.DataFrame, method: str, *, datasets: Sequence[str] = PUBLIC) -> pd.DataFrame:
    """Return a row for each data set, the worst first: ratios to the best boosted competitor.

    Columns: `both`, the geometric mean of both levels; `ratio, low, high, p, verdict, competitor`
    at 90%; `ratio_95`; and `use` of the data set.
    """
    found = ratios(rows, method, datasets=datasets)
    first, second = (found[found.level == level].set_index("dataset") for level in LEVELS)
    table = first.join(second.ratio.rename("ratio_95")).assign(both=by_dataset(found))
    table["use"] = [use_of(name) for name in table.index]
    return table.loc[by_dataset(found).index].drop(columns=["level", "method"])


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


def goals(rows: pd.DataFrame, method: str = "strong", head: str = "head") -> pd.DataFrame:
    """Return the goals of the comparison, fixed beforehand, and whether they were met."""

    def at_most(what: str, goal: float, value: float) -> tuple[str, str, str, bool]:
        return what, f"at most {goal:.2f}", f"{value:.3f}", value <= goal

    each = {"gb_cqr": "quantiles", "gb_split": "mean", "gb_normalised": "normalised"}
    error = mean_ratio(rows, head, ["gb_split"], "rmse")[0]
    score = mean_ratio(rows, head, ["gb_split", "gb_normalised"])[0]
    above = int((by_dataset(ratios(rows, method)) > 1.02).sum())
    behind = behind_on(rows, (method, head))
    found = [
        at_most("score against the best boosted competitor", 0.90, mean_ratio(rows, method)[0]),
        *(
            at_most(f"score against boosting, {title}", 0.85, mean_ratio(rows, method, [name])[0])
            for name, title in each.items()
        ),
        ("data sets with a ratio above 1.02", "at most 2", str(above), above <= 2),
        at_most("head: RMSE against its base", 1.01, error),
        at_most("head: score against margins around its base", 0.95, score),
        (
            "the better of the two against boosting",
            "ahead on WW, PM, PP",
            f"not ahead on {', '.join(behind)}" if behind else "ahead on all",
            not behind,
        ),
    ]
    return pd.DataFrame(found, columns=["what", "goal", "found", "met"])


def behind_on(rows: pd.DataFrame, methods: Sequence[str]) -> list[str]:
    """Return where, of the paper's smooth sets, no method is ahead of all boosted competitors."""
    found = pd.concat([ratios(rows, name, datasets=SMOOTH) for name in methods])
    best = found.groupby(["level", "dataset"], sort=False).ratio.min()
    return [f"{name.upper()} at {100 * level:.0f}%" for level, name in best[best >= 1].index]


def gains(rows: pd.DataFrame, method: str, *, datasets: Sequence[str] = PUBLIC) -> pd.DataFrame:
    r"""Return the parts of a method's gain over the boosted mean with one margin, by data set.

    Between the two stand two ablations around the method's own estimates, and the logarithms of the
    three ratios of interval scores add up:

    .. math::
        \log\frac{S_\text{planes}}{S_\text{boosted}}
        = \underbrace{\log\frac{S_\text{constant}}{S_\text{boosted}}}_\text{estimates}
        + \underbrace{\log\frac{S_\text{by width}}{S_\text{constant}}}_\text{noise}
        + \underbrace{\log\frac{S_\text{planes}}{S_\text{by width}}}_\text{family}.

    The first compares two estimates, each with one margin for all rows. The second lets the margin
    follow the width of the envelope, symmetric and with the same profile at every level. The third
    is what planes add: two sides, and a profile that changes with the level.

    Returns:
        Columns `total` and `PARTS`, 100 times logarithms, mean of both levels; below 0 is good.
    """
    steps = ["gb_split", f"{method}_constant", f"{method}_normalised", method]
    shown = rows[(rows.split == "random") & rows.dataset.isin(datasets) & rows.method.isin(steps)]
    scores = shown.pivot_table(
        index=["dataset", "level"], columns="method", values="interval_score", sort=False
    ).reindex(columns=steps)
    path = 100 * np.log(scores.dropna()).groupby("dataset", sort=False).mean()
    found = path.diff(axis="columns").iloc[:, 1:].set_axis(list(PARTS), axis="columns")
    found.insert(0, "total", path[method] - path["gb_split"])
    return found.sort_values("total", ascending=False)
