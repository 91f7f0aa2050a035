"""Analysis of the method comparison: ratios to competitors, their tests, and costs.

The rules, fixed before the frozen data sets were run:

- The measure is the interval score at 90% and 95%. A ratio below 1 means that the method is better.
- The competitor to beat on a data set is the best in hindsight of all `COMPETITORS`: the one with
  the smallest mean score there, level by level. No user can choose that well.
- Two methods are compared on the seeds that both have; methods that take long have fewer.
- On a data set, a paired t-test of differences over the seeds with the correction of Nadeau and
  Bengio (2003). The interval of a ratio is by the same correction, of logarithms: a ratio cannot
  be negative. Verdicts are by p.
- Over data sets, the geometric mean with a 95% interval by bootstrap over the data sets, and what
  remains of it without the data set on which it rests most (`without_each`).
- AIDS is left out of all counts: its target is 0 or 1, so that intervals at equal coverage cannot
  be compared.

The rules that changed: in the first study the competitors were the best of three kinds of boosting;
in the second, most methods had two seeds and others five. The interval over data sets was a
bootstrap in the first, a t-interval of logarithms in the second, and is a bootstrap again.

All functions take the rows of `data/results/comparison.csv` as a DataFrame and return DataFrames.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from study.comparison.data import DEVELOPMENT, FROZEN, PUBLIC, SMOOTH, printed
from study.comparison.methods import COMPETITORS
from study.pages import count
from study.protocol import LEVELS, TEST_OVER_TRAIN
from study.statistics import SIGNIFICANCE, corrected_t

BOOTSTRAPS = 10_000  # samples of the data sets
SMALL = 500  # rows; a data set with fewer is a small one


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
        `low` and `high` of its 95% interval, `p` (1 with one seed) and `verdict` ("better", "worse"
        or "undecided") of the test, and `n` seeds.
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
        p, low, high = 1.0, np.nan, np.nan  # one seed decides nothing
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
    """Return the geometric mean of ratios over data sets, and its 95% interval.

    The interval is from the 2.5th to the 97.5th percentile of the means of samples of the data
    sets, drawn with replacement.

    >>> [round(value, 2) for value in overall([0.5, 2.0, 0.5, 2.0])]
    [1.0, 0.5, 2.0]
    """
    logs = np.log(np.asarray(values, dtype=float))
    if logs.size < 2:
        return (*np.exp(logs), np.nan, np.nan, np.nan)[:3]
    drawn = np.random.default_rng(0).integers(logs.size, size=(BOOTSTRAPS, logs.size))
    low, high = np.quantile(logs[drawn].mean(axis=1), [0.025, 0.975])
    mean, low, high = np.exp([logs.mean(), low, high])
    return float(mean), float(low), float(high)


def without_each(found: pd.Series) -> pd.Series:
    """Return the geometric mean of ratios without each data set, the most influential one first.

    >>> without_each(pd.Series({"yacht": 0.25, "airfoil": 1.0, "plastic": 2.0})).round(2).to_dict()
    {'yacht': 1.41, 'plastic': 0.5, 'airfoil': 0.71}
    """
    logs = np.log(found.astype(float))
    rest = (logs.sum() - logs) / (len(logs) - 1)
    order = (rest - logs.mean()).abs().sort_values(ascending=False, kind="stable").index
    return np.exp(rest[order])


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
    `below`, the number of data sets below 1, the `worst` ratio with its data set, `where`, and the
    mean without one data set: `least` and `most` of all, and the `rest` without the most
    influential one, `lever`, whose ratio is `there`.
    """
    mean, low, high = overall(found)
    facts = {"n": len(found), "mean": mean, "low": low, "high": high, "median": found.median()}
    facts |= {"below": int((found < 1).sum()), "worst": found.max()}
    facts |= {"where": found.index[0] if len(found) else ""}
    if len(found) > 1:
        rest = without_each(found)
        facts |= {"least": rest.min(), "most": rest.max(), "rest": rest.iloc[0]}
        facts |= {"lever": rest.index[0], "there": found[rest.index[0]]}
    return pd.Series(facts, dtype=object)


def leverage(facts: Mapping[str, Any]) -> str:
    """Return in words what a `summary` becomes without its most influential data set.

    >>> leverage({"mean": 0.96, "rest": 1.01, "lever": "yacht", "there": 0.49})
    'it rests on yacht (0.49), without which it is 1.01'
    """
    there = f"{printed(facts['lever'])} ({facts['there']:.2f})"
    if (facts["mean"] < 1) != (facts["rest"] < 1):
        return f"it rests on {there}, without which it is {facts['rest']:.2f}"
    return f"without its most influential data set, {there}, it is {facts['rest']:.2f}"


def by_use(rows: pd.DataFrame, method: str) -> pd.DataFrame:
    """Return the `summary` of a method against the best competitor, by use of the data sets."""
    found = by_dataset(ratios(rows, method))
    uses = {"all": PUBLIC, "frozen": FROZEN, "development": DEVELOPMENT}
    parts = {use: found[found.index.isin(sets)] for use, sets in uses.items()}
    return pd.DataFrame({use: summary(part) for use, part in parts.items()}).T


def against_each(
    rows: pd.DataFrame, method: str, competitors: Sequence[str] = COMPETITORS
) -> pd.DataFrame:
    """Return the `summary` of a method against each competitor, the strongest first.

    The last row, "hindsight", is against the best of all. The columns `rmse` and `rmse_worst` have
    the ratio of the RMSE, mean and worst data set.
    """
    found = {name: summary(by_dataset(ratios(rows, method, [name]))) for name in competitors}
    each = pd.DataFrame(found).T.sort_values("mean", ascending=False)
    each.loc["hindsight"] = summary(by_dataset(ratios(rows, method, competitors)))
    of = {name: competitors if name == "hindsight" else [name] for name in each.index}
    errors = [by_dataset(ratios(rows, method, names, "rmse")) for names in of.values()]
    return each.assign(
        rmse=[overall(error)[0] for error in errors], rmse_worst=[error.max() for error in errors]
    )


def goals(rows: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return the goals of the study with what was found.

    The first six were set before the study was run, the others after an earlier version of it.

    Args:
        rows: rows of `comparison.csv`.
        runs: rows of `steadiness.csv`.

    Returns:
        Columns `what`, `goal` (at most), `found` and `met`.
    """
    each, chosen = against_each(rows, "strong"), by_use(rows, "best").loc["all"]
    single, all_of = each.drop("hindsight"), each.loc["hindsight"]
    of_base = mean_ratio(rows, "head", ["gb_split", "gb_normalised", "gb_cqr"])[0]
    both = pd.concat([ratios(rows, name, datasets=SMOOTH) for name in ("strong", "head")])
    better = by_dataset(both.groupby(["dataset", "level"], as_index=False).ratio.min())
    times = costs(rows).loc["strong"]
    sd = spread(runs[runs.dataset != "aids"]).sd["strong"]
    small = is_small(runs)[sd.index]
    found = [
        ("score against each single competitor", 0.90, single["mean"].max()),
        ("score against the best of all in hindsight", 0.95, all_of["mean"]),
        ("worst data set against the best of all", 1.15, all_of.worst),
        ("head: score against the best intervals of its base", 0.90, of_base),
        ("the better of strong and head: worst of WW, PM, PP", 1.00, better.max()),
        ("CPU seconds of fitting against CatBoost quantiles", 3.0, times.fit_times),
        ("CPU seconds of predicting, likewise", 20.0, times.predict_times),
        ("choice: score against the best of all in hindsight", 0.95, chosen["mean"]),
        ("choice: worst data set against the best of all", 1.15, chosen.worst),
        (f"SD over processors in percent, {SMALL} rows or more: worst", 2.0, sd[~small].max()),
        ("SD over processors in percent, fewer rows: worst", 5.0, sd[small].max()),
    ]
    table = pd.DataFrame(found, columns=["what", "goal", "found"])
    return table.assign(met=table.found <= table.goal)


def factors(rows: pd.DataFrame, method: str, *, datasets: Sequence[str] = PUBLIC) -> pd.DataFrame:
    """Split the ratio of a method's score to that of the boosted mean into three factors.

    Columns by data set: `estimates`, of a constant margin around either estimate; `noise`, what a
    margin by width adds to it; `family`, what the method's own intervals add to that. The first
    data set has the smallest product.
    """
    steps = ["gb_split", f"{method}_constant", f"{method}_normalised", method]
    scores = rows[(rows.split == "random") & rows.dataset.isin(datasets)]
    scores = scores.pivot_table("interval_score", ["dataset", "level"], "method")[steps]
    logs = np.log(scores).groupby("dataset").mean()  # geometric mean of both levels
    parts = np.exp(logs.diff(axis=1)[steps[1:]])
    parts = parts.set_axis(["estimates", "noise", "family"], axis=1)
    return parts.loc[parts.prod(axis=1).sort_values().index]


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


def budgets(settings: pd.DataFrame, *, datasets: Sequence[str] = PUBLIC) -> pd.DataFrame:
    """Return what choosing settings took, by method.

    `settings` are the rows of `comparison_settings.csv`, one for each model of a method that chose.
    Columns: `candidates` tried and `trainings` of a run, those of the choice and the last ones,
    each as words, the least to the most of all runs.

    >>> rows = pd.DataFrame({"method": "head", "dataset": "plastic", "split": "random",
    ...                      "seed": [0, 0, 1], "candidates": [5, 8, 5], "trainings": [6, 19, 6]})
    >>> print(budgets(rows).loc["head", "candidates"])
    5 to 13
    """
    own = settings[(settings.split == "random") & settings.dataset.isin(datasets)]
    sums = own.groupby(["method", "dataset", "seed"])[["candidates", "trainings"]].sum()
    ends = sums.groupby("method").agg(["min", "max"]).astype(int)
    return pd.DataFrame(
        {
            name: [f"{a}" if a == b else f"{a} to {b}" for a, b in ends[name].to_numpy()]
            for name in ("candidates", "trainings")
        },
        ends.index,
    )


# ------------------------------------------------------------------------ other processors


def spread(runs: pd.DataFrame, metric: str = "interval_score") -> pd.DataFrame:
    """Return how far a method's results differ between processors, by method and data set.

    Args:
        runs: rows of `steadiness.csv`.
        metric: column to compare.

    Returns:
        In percent of the mean, the larger of both levels: `range` from the least to the most,
        and the standard deviation, `sd`; the data set with the largest range first.

    >>> runs = pd.DataFrame({"method": "strong", "dataset": "plastic", "level": 0.9,
    ...                      "processor": ["", "AVX2"], "interval_score": [0.99, 1.01]})
    >>> print(spread(runs)["range"].round(1).to_dict())
    {('strong', 'plastic'): 2.0}
    """
    cells = runs.groupby(["method", "dataset", "level"])[metric]
    found = pd.DataFrame({"range": cells.max() - cells.min(), "sd": cells.std()})
    found = 100 * found.div(cells.mean(), axis=0)
    return found.groupby(["method", "dataset"]).max().sort_values("range", ascending=False)


def is_small(runs: pd.DataFrame) -> pd.Series:
    """Return by data set whether it has fewer than `SMALL` rows; 70% of them train.

    >>> is_small(pd.DataFrame({"dataset": ["yacht", "plastic"], "n_train": [216, 350]})).to_dict()
    {'plastic': False, 'yacht': True}
    """
    return runs.groupby("dataset").n_train.first() * 10 < 7 * SMALL


def elsewhere(rows: pd.DataFrame, runs: pd.DataFrame, method: str) -> pd.DataFrame:
    """Return the `summary` of a method against the best competitor, by processor.

    Only the seeds of `runs` are compared. The competitors ran on one processor.

    Args:
        rows: rows of `comparison.csv`.
        runs: rows of `steadiness.csv`.
        method: of both.
    """
    others = rows[rows.method.isin(COMPETITORS) & rows.seed.isin(runs.seed)]
    own = runs[runs.method == method]
    found = {
        name: summary(by_dataset(ratios(pd.concat([others, part.assign(split="random")]), method)))
        for name, part in own.groupby("processor")
    }
    return pd.DataFrame(found).T


# ------------------------------------------------------------------------ in a sentence


def extent(values: Sequence[Any] | pd.Series, form: str = "{}") -> str:
    """Return the smallest and the largest value in words, or the one that all are.

    >>> extent([1.26, 1.2, 1.23], "{:.2f}"), extent([5, 5])
    ('1.20 to 1.26', '5')
    """
    return " to ".join(dict.fromkeys(form.format(value) for value in (min(values), max(values))))


def verdict(facts: Mapping[str, Any]) -> str:
    """Return what the interval of a `summary` against the best competitor shows, in words.

    >>> verdict({"low": 1.01, "high": 1.2})
    'The interval lies above 1: it is worse than the best competitor in hindsight.'
    """
    if facts["low"] < 1 < facts["high"]:
        return (
            "The interval contains 1: neither a lead over the best competitor in hindsight nor a "
            "deficit is shown."
        )
    side, word = ("above", "worse") if facts["low"] >= 1 else ("below", "better")
    return f"The interval lies {side} 1: it is {word} than the best competitor in hindsight."


def headline(facts: Mapping[str, Any], times: float) -> str:
    """Return quality and price of a method in a sentence without its full stop.

    Args:
        facts: its `summary` against the best competitor.
        times: its CPU seconds of fitting, as a multiple of a usual competitor's.

    >>> headline({"low": 0.9, "high": 1.1}, 6.0)
    'Competitive with other methods, without a proven lead, and slow'
    >>> headline({"low": 0.8, "high": 0.95}, 0.7)
    'Better than the best of other methods'
    """
    place = "Competitive with other methods, without a proven lead"
    if facts["high"] < 1:
        place = "Better than the best of other methods"
    elif facts["low"] > 1:
        place = "Not as good as the best of other methods"
    cost = "and slow" if times > 5 else "and more expensive" if times > 1 else ""
    return ", ".join(filter(None, (place, cost)))


def seeds_in_words(rows: pd.DataFrame, *, datasets: Sequence[str] = PUBLIC) -> str:
    """Return how many seeds the methods in the rows have, and on which data sets fewer.

    >>> rows = pd.DataFrame({"method": "head", "split": "random", "seed": [0, 1, 0],
    ...                      "dataset": ["plastic", "plastic", "boom_bikes"]})
    >>> seeds_in_words(rows)
    '2 seeds on 1 data set, and with 1 by some methods on the others (boom bikes) for lack of time'
    """
    used = rows[(rows.split == "random") & rows.dataset.isin(datasets)]
    seeds = used.groupby(["method", "dataset"]).seed.nunique().groupby("dataset").min()
    few = seeds[seeds < seeds.max()]
    if few.empty:
        return f"{count(seeds.max(), 'seed', 'seeds')} on every data set"
    full = count(len(seeds) - len(few), "data set", "data sets")
    at = ", ".join(map(printed, few.index))
    return (
        f"{count(seeds.max(), 'seed', 'seeds')} on {full}, and with {extent(few)} by some methods "
        f"on the others ({at}) for lack of time"
    )
