"""The field: all contestants on the same splits, stored as they finish, and compared in pairs.

An `Entry` is one contestant on one split of one data set. `run` does many of them like
`gt2lite.study.protocol.run`; `records` gives a flat row for each (dataset, split, seed, contestant,
level) and `counts` one for each bin of the test rows. What contestants do is told in
`gt2lite.study.field.contestants`; to add one, add it to `CONTESTANTS`.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from gt2lite._checks import Array, one_of
from gt2lite.datasets import DATASETS, checksum
from gt2lite.presets import STRONG
from gt2lite.recipe import Recipe
from gt2lite.study import runner
from gt2lite.study.field.baselines import boosted_mean, boosted_quantiles, linear_quantiles
from gt2lite.study.field.contestants import Contestant, Direct, Outside, Point, System, judge
from gt2lite.study.field.shared import Setting
from gt2lite.study.protocol import SEEDS, Record, n_values, provenance
from gt2lite.study.statistics import paired_half, paired_p
from gt2lite.study.store import Store, digest_of

CONTESTANTS: dict[str, Contestant] = {
    "paper": System("GT2-FLS", Recipe()),
    "paper_point": Point("GT2-FLS, output only", System("", Recipe())),
    "aligned": System("GT2-FLS, aligned", Recipe(objective="aligned")),
    "strong": System("GT2-FLS, strong", STRONG),
    "direct": Direct("GT2-FLS per level"),
    "direct_85": Direct("GT2-FLS per level, 85 %", calibrated=False),
    "gb_cqr": Outside("boosted quantiles", boosted_quantiles),
    "gb_split": Outside("boosted mean", boosted_mean),
    "linear_cqr": Outside("linear quantiles", linear_quantiles, boosted=False),
}
"""Who takes part, by name."""


@dataclass(frozen=True)
class Entry(Setting):
    """One contestant on one split of one data set."""

    contestant: str = "paper"

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("contestant", self.contestant, CONTESTANTS)

    @property
    def key(self) -> str:
        """The key under which the outcome is stored."""
        who = CONTESTANTS[self.contestant]
        return Store.key(
            kind="entry",
            **asdict(self),
            data=checksum(self.dataset),
            identity=who.identity(),
            code=digest_of(who.makers),
        )

    @property
    def cost(self) -> float:
        """How long it takes, in no particular unit: those that tune take longest."""
        weights = {"gb_cqr": 10, "strong": 10, "gb_split": 2, "linear_cqr": 0.3}
        return weights.get(self.contestant, 1) * n_values(self.dataset) * self.effort

    @property
    def label(self) -> str:
        """What it is, in a few words."""
        return f"{self.dataset} {self.split} seed {self.seed} {self.contestant}"


class Outcome(NamedTuple):
    """What came of an entry."""

    entry: Entry
    records: list[Record]  # one for each level
    counts: list[Record]  # one for each bin of rows at each level
    y_hat: Array  # (L, N) estimates for the test part
    ends: Array  # (L, 2, N) intervals for the test part
    provenance: dict[str, Any]


def entries(
    datasets: Sequence[str] = DATASETS,
    seeds: Sequence[int] = SEEDS,
    contestants: Sequence[str] | None = None,
    *,
    split: str = "random",
    effort: float = 1.0,
) -> list[Entry]:
    """Return the entries of all contestants, or of some, on all data sets and seeds.

    >>> len(entries(contestants=["paper", "gb_cqr"]))
    40
    """
    return [
        Entry(dataset, seed, split, effort, contestant)
        for dataset in datasets
        for seed in seeds
        for contestant in contestants or CONTESTANTS
    ]


def execute(entry: Entry, store: Store | None = None) -> Outcome:
    """Train, calibrate and judge one contestant; trainings in the store are not done again."""
    with runner.one_blas_thread():
        data = entry.prepare()
        entered = CONTESTANTS[entry.contestant].enter(entry, data, store)
        rows, bins = judge(entry, data, entered)
    names = {name: getattr(entry, name) for name in ("dataset", "split", "seed", "contestant")}
    return Outcome(
        entry,
        [names | row for row in rows],
        [names | row for row in bins],
        entered.y_hat,
        entered.ends,
        provenance(),
    )


def run(
    todo: Iterable[Entry],
    store: Store | None = None,
    *,
    n_jobs: int = -1,
    progress: bool | None = None,
) -> list[Outcome]:
    """Execute entries in parallel and return their outcomes, in order; see `gt2lite.study.runner.run`.

    Args:
        todo: what to execute.
        store: where outcomes and trainings are kept; None keeps them in memory only, and
            contestants that could share a training repeat it.
        n_jobs: processes, -1 for one per core. More than one need joblib.
        progress: show a progress bar; None shows one on a terminal if tqdm is installed.
    """
    work = runner.Work(functools.partial(execute, store=store), _pack, _unpack)
    return runner.run(todo, work, store, n_jobs=n_jobs, progress=progress)


def records(outcomes: Iterable[Outcome]) -> list[Record]:
    """Return a record for each (dataset, split, seed, contestant, level)."""
    return [dict(row) for outcome in outcomes for row in outcome.records]


def counts(outcomes: Iterable[Outcome]) -> list[Record]:
    """Return a record for each bin: rows and how many are covered, by width, input and group."""
    return [dict(row) for outcome in outcomes for row in outcome.counts]


# ---------------------------------------------------------------------------- in pairs


class Paired(NamedTuple):
    """How much larger a metric is for one contestant than for another, over the seeds."""

    dataset: str
    level: float
    n: int  # seeds
    mean: float  # of the differences
    half: float  # of the 95 % interval of that mean
    p: float  # of a paired t-test against 0
    percent: float  # the mean difference as a share of the other's mean

    @property
    def verdict(self) -> str:
        """What the test says: "less", "more" or "undecided"."""
        if not self.p < 0.05:
            return "undecided"
        return "less" if self.mean < 0 else "more"


def paired(
    rows: Iterable[Record], a: str, b: str, metric: str, *, split: str = "random"
) -> list[Paired]:
    """Compare two contestants seed by seed: `metric` of `a` minus that of `b`.

    A comparison is made for each data set and level that both have. Five seeds are few: a paired
    t-test on five differences finds a true difference of one standard deviation of these
    differences in about two of five cases only, so that "undecided" is no sign of
    equality. And the seeds split the same rows anew: their tests overlap.

    >>> rows = [{"dataset": "pp", "split": "random", "seed": s, "contestant": c, "level": 0.9,
    ...          "rmse": v} for c, vs in {"a": [1, 2, 4], "b": [0, 0, 1]}.items()
    ...          for s, v in enumerate(vs)]
    >>> found, = paired(rows, "a", "b", "rmse")
    >>> found.n, found.mean, round(found.p, 3), found.verdict  # differences 1, 2, 3
    (3, 2.0, 0.074, 'undecided')
    """
    by_cell: dict[tuple[str, float], dict[str, dict[int, float]]] = {}
    for row in rows:
        if row["split"] == split and row["contestant"] in (a, b) and metric in row:
            cell = by_cell.setdefault((row["dataset"], row["level"]), {a: {}, b: {}})
            cell[row["contestant"]][row["seed"]] = row[metric]
    found = []
    for (dataset, level), sides in by_cell.items():
        if not (sides[a] and sides[b]):
            continue
        if sides[a].keys() != sides[b].keys():
            raise ValueError(
                f"{a!r} and {b!r} must have the same seeds to be paired; on {dataset} at {level} "
                f"they have {sorted(sides[a])} and {sorted(sides[b])}"
            )
        ours = np.array([sides[a][seed] for seed in sorted(sides[a])])
        theirs = np.array([sides[b][seed] for seed in sorted(sides[b])])
        gap = ours - theirs
        found.append(
            Paired(
                dataset,
                level,
                gap.size,
                float(gap.mean()),
                paired_half(gap),
                paired_p(gap),
                100 * float(gap.mean() / theirs.mean()),
            )
        )
    return found


# ---------------------------------------------------------------------------- inside


def _pack(outcome: Outcome) -> tuple[dict[str, Any], dict[str, Array]]:
    header = {
        "entry": asdict(outcome.entry),
        "records": outcome.records,
        "counts": outcome.counts,
        "provenance": outcome.provenance,
    }
    return header, {"y_hat": outcome.y_hat, "ends": outcome.ends}


def _unpack(entry: Entry, header: dict[str, Any], arrays: dict[str, Array]) -> Outcome:
    return Outcome(
        entry,
        header["records"],
        header["counts"],
        arrays["y_hat"],
        arrays["ends"],
        header["provenance"],
    )
