"""What the walk to the strong recipe found, as tables and facts for the page that tells of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np

from gt2lite._validation import Array
from gt2lite.training import Recipe
from study.tuning.walk import TrialRecord

Steps = dict[str, dict[str, float]]
"""Factor, value that was tried, and its score."""


class Tried(NamedTuple):
    """A factor of the path, and its values in words."""

    factor: str
    tried: str


class WalkFacts(NamedTuple):
    """What is told about the walk."""

    matters: str  # the factor whose values differ most
    matters_by: float  # their largest difference
    final: str  # scores of the finalists
    product: str  # the plain product against the scale of the centre
    minutes: float  # of one core, in trainings


class Repeat(NamedTuple):
    """A second walk beside the first."""

    n_common: int  # recipes that both tried
    noise_mean: float  # mean and largest difference of their scores
    noise: float
    turn: str  # where the second kept another value
    end: str  # where it ended, in words that go on from `turn`
    final: float  # and its final score


class Changed(NamedTuple):
    """A setting in which two recipes differ."""

    name: str
    before: Any
    after: Any


class Curves(NamedTuple):
    """A metric over the numbers of rules, for each data set."""

    rules: list[int]
    series: dict[str, Array]

    @property
    def least(self) -> str:
        """At which number of rules each data set has its smallest value, in words."""
        places = {name: self.rules[int(np.argmin(v))] for name, v in self.series.items()}
        return ", ".join(f"{name} {n}" for name, n in places.items())


class Variant(NamedTuple):
    """An objective and its score."""

    name: str
    score: float


class VariantFacts(NamedTuple):
    """How ways to teach planes a level compare; changes are in per cent."""

    best: str  # of those that teach every plane
    gain: float  # of the best, from *aligned*
    wins: str  # in how many pairs of data set, seed and level it has the smaller score
    dual: float  # of *aligned*, from *dual*
    far: float  # the largest change from *aligned*
    word: str  # how that compares with the change from *dual*


def path_steps(rows: Iterable[TrialRecord]) -> Steps:
    """Return the factors of the path in their order, with the values that were tried."""
    steps: Steps = {}
    for row in rows:
        if row.part == "path":
            steps.setdefault(row.factor, {})[row.value] = row.score
    return steps


def path_rows(steps: Steps) -> list[Tried]:
    """Return a row for each factor; the value that was kept is bold."""
    found = []
    for factor, scores in steps.items():
        kept = _best(scores)
        words = [f"**{v}** {s:.3f}" if v == kept else f"{v} {s:.3f}" for v, s in scores.items()]
        found.append(Tried(factor, ", ".join(words)))
    return found


def walk_facts(rows: Sequence[TrialRecord]) -> WalkFacts:
    """Return what is told about the walk."""
    steps = path_steps(rows)
    spread = {factor: max(s.values()) - min(s.values()) for factor, s in steps.items()}
    final = {row.value: row.score for row in rows if row.part == "final"}
    product = next(row.score for row in rows if row.part == "product")
    centre = steps["start"]["joint"]
    once = {(row.dataset, row.seed, row.train_seconds) for row in rows}  # some trials occur twice
    matters = max(spread, key=spread.__getitem__)
    return WalkFacts(
        matters,
        spread[matters],
        " and ".join(f"{score:.3f}" for score in final.values()),
        f"{product:.3f} against {centre:.3f}, {'better' if product < centre else 'worse'}",
        sum(seconds for *_, seconds in once) / 60,
    )


def repeat_facts(
    rows: Sequence[TrialRecord],
    again: Sequence[TrialRecord],
    recipe: Mapping[str, Any],
    recipe_again: Mapping[str, Any],
) -> Repeat:
    """Compare two walks: how much their scores differ where both tried the same, where they part.

    Args:
        rows: of the first.
        again: of the second.
        recipe: where the first ended.
        recipe_again: where the second ended.
    """
    first, second = _scores(rows), _scores(again)
    common = [trial for trial in first if trial[0] in ("product", "aligned")]
    turn = "went the same way to the end"
    for factor, scores in path_steps(rows).items():  # both go the same way up to some factor
        common += [("path", factor, value) for value in scores]
        theirs = {value: second["path", factor, value] for value in scores}
        if _best(scores) != _best(theirs):
            turn = f"kept another value of {factor}"
            break
    noise = [abs(first[trial] - second[trial]) for trial in common]
    other = [c for c in _changed(recipe, recipe_again) if c.name != "alphas"]
    went = turn.startswith("went")
    end = f"{'and' if went else 'but'} ended with the same recipe"
    if other:
        after = ", ".join(f"{c.name} {_plain(c.after)}" for c in other)
        before = ", ".join(f"{c.name} {_plain(c.before)}" for c in other)
        end = f"and ended with {after}, where the first has {before}"
    final = min(score for (part, *_), score in second.items() if part == "final")
    return Repeat(len(common), float(np.mean(noise)), max(noise), turn, end, final)


def changed_settings(before: Recipe, after: Recipe) -> list[Changed]:
    """Return the settings in which a recipe differs from another.

    >>> changed_settings(Recipe(), Recipe(n_rules=30))
    [Changed(name='n_rules', before=10, after=30)]
    """
    return _changed(asdict(before), asdict(after))


def curves(rows: Iterable[TrialRecord], metric: str) -> Curves:
    """Return what the number of rules does to a metric, times 100, mean over the seeds."""
    cells: dict[str, dict[int, list[float]]] = {}
    for row in rows:
        if row.part == "path" and row.factor == "n_rules":
            series = cells.setdefault(row.dataset.upper(), {})
            series.setdefault(int(row.value), []).append(100 * getattr(row, metric))
    rules = sorted(next(iter(cells.values())))
    means = {name: np.array([np.mean(v[n]) for n in rules]) for name, v in cells.items()}
    return Curves(rules, means)


def variants(rows: Iterable[TrialRecord]) -> list[Variant]:
    """Return the objectives that were tried at the paper's other settings, and their scores."""
    found = {row.value: row.score for row in rows if row.part == "aligned"}
    return [Variant(name, score) for name, score in found.items()]


def variant_facts(rows: Sequence[TrialRecord]) -> VariantFacts:
    """Return how the objectives compare."""
    scores = dict(variants(rows))
    rest = {name: score for name, score in scores.items() if name != "dual"}
    best = _best(rest)
    gain = rest["aligned"] / scores["dual"] - 1
    far = max(abs(score / rest["aligned"] - 1) for score in rest.values())
    better = _pairs(rows, best) < _pairs(rows, "aligned")
    return VariantFacts(
        best,
        100 * (rest[best] / rest["aligned"] - 1),
        f"{better.sum()} of {better.size}",
        100 * gain,
        100 * far,
        "less than" if far < abs(gain) else "at least as much as",
    )


def _best(scores: Mapping[str, float]) -> str:
    return min(scores, key=scores.__getitem__)


def _scores(rows: Iterable[TrialRecord]) -> dict[tuple[str, str, str], float]:
    return {(row.part, row.factor, row.value): row.score for row in rows}


def _changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Changed]:
    return [Changed(k, before[k], after[k]) for k in before if before[k] != after[k]]


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def _pairs(rows: Iterable[TrialRecord], name: str) -> Array:
    """Return the scores of an objective, a row for each data set and seed, a column per level."""
    return np.array([row.scores for row in rows if row.part == "aligned" and row.value == name])
