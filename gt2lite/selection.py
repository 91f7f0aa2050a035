"""Systems for practice: candidates, folds, the ensemble, ranks of inputs and margins."""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np

from gt2lite._progress import progress_bar
from gt2lite._sklearn import not_fitted_error
from gt2lite._validation import Array, IntArray, between, match_table, one_of, whole
from gt2lite.calibration import Calibration, rank
from gt2lite.calibration.margins import POWERS, MarginFamily, Margins
from gt2lite.datasets import Scaler
from gt2lite.memberships import ALPHA_0, alpha_of
from gt2lite.metrics import interval_score
from gt2lite.system import Params, Planes
from gt2lite.training import STRONG, Callback, InterruptedTrainingWarning, Recipe, Trained, train

EPOCHS, MIN_STEPS = 100, 3000

_OWN: dict[str, tuple[str, Any]] = {  # type and default
    "epochs": ("int | None", None),
    "n_systems": ("int", 1),
    "choose": ("bool", False),
    "inputs": ("str", "scaled"),
    "margins": ("float | None", None),
    "target_transform": ("str | None", None),
    "n_jobs": ("int | None", None),
    "verbose": ("bool | None", None),
    "random_state": ("Any", 0),
}

_DESCRIBED = """\
    n_systems: how many systems are trained, from different starts; planes and outputs are
        means over all of them.
    choose: whether rows of training decide on the number of rules, how wide sets start, weight
        decay, the form of the inputs, the length of training and the family of intervals. The
        rows are dealt into `n_systems` folds, and each system is trained without one of them;
        where the mean of two settings is best, there are twice as many systems. Settings that
        differ from those of `strong` stay as given.
    inputs: "scaled", or "ranks", for inputs with long tails.
    margins: None for intervals that are planes; or a power in [0, 1], for intervals
        ``y_hat -+ t * w ** margins`` with the width w of the widest plane: 0 is the same
        margin for all rows.
    target_transform: None, or "log" for targets above 0, such as prices: the system learns
        log(y), and no end is negative. The exponential function rises, so that an interval
        of log(y) covers if and only if its exponential does: levels and guarantee carry over.
        The prediction is nearer to the median of y than to its mean; rules speak of log(y).
    n_jobs: processes that train; None for one, -1 for one a system. Needs joblib.
    verbose: whether a progress bar is shown (needs tqdm); None shows one on a terminal.
    random_state: the seed of start values, row order and folds; None for another one at
        each fit."""

INPUTS = ("scaled", "ranks")

TRANSFORMS = ("log",)
"""Of the target; None is the target as it is."""

MOST_SYSTEMS = 1000

_TYPED = {field.name: (field.type, field.default) for field in fields(Recipe)} | _OWN

DEFAULTS: dict[str, Any] = {name: default for name, (_, default) in _TYPED.items()}
"""Every setting with its default, in the order of `Recipe`."""


SIGNATURE = inspect.Signature(
    [
        inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD),
        *(
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
            )
            for name, (annotation, default) in _TYPED.items()
        ),
    ],
    return_annotation=None,
)
"""The signature of a method that takes them all, by name."""


def complete(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return all settings: those given, and the defaults of the others.

    >>> complete({"n_rules": 3})["n_rules"], complete({})["epochs"]
    (3, None)
    """
    for name in settings:
        if name not in DEFAULTS:
            raise TypeError(f"there is no setting {name!r}, only {', '.join(DEFAULTS)}")
    return DEFAULTS | dict(settings)


def make_recipe(settings: Mapping[str, Any], n_rows: int) -> Recipe:
    """Return the recipe that the settings stand for with so many rows to learn from.

    >>> make_recipe(DEFAULTS, n_rows=640).epochs  # 10 steps each
    300
    """
    chosen = {field.name: settings[field.name] for field in fields(Recipe)}
    if chosen["epochs"] is None:
        chosen["epochs"] = _enough_epochs(chosen["batch_size"], n_rows)
    return Recipe(**chosen)


class Plan(NamedTuple):
    """The settings that `Recipe` does not have, checked."""

    n_systems: int
    choose: bool
    inputs: str
    margins: float | None
    target_transform: str | None
    n_jobs: int | None
    verbose: bool | None


def make_plan(settings: Mapping[str, Any]) -> Plan:
    """Return the estimator's own settings, or say what is wrong with them.

    >>> make_plan(DEFAULTS)[:4]
    (1, False, 'scaled', None)
    """
    n_systems = whole("n_systems", settings["n_systems"], high=MOST_SYSTEMS)
    choose, margins, n_jobs = settings["choose"], settings["margins"], settings["n_jobs"]
    if not isinstance(choose, (bool, np.bool_)):
        raise ValueError(f"choose must be True or False, got {choose!r}")
    if choose and n_systems < 2:
        raise ValueError(
            f"choose=True needs n_systems of at least 2, one for each fold, got {n_systems}"
        )
    if margins is not None:
        margins = between("margins", margins, 0, 1, closed=True)
    if n_jobs is not None and n_jobs != -1:
        n_jobs = whole("n_jobs", n_jobs)
    transform, verbose = settings["target_transform"], settings["verbose"]
    if transform is not None:
        one_of("target_transform", transform, TRANSFORMS)
    if verbose is not None:
        if not (isinstance(verbose, (bool, np.bool_)) or verbose in (0, 1)):
            raise ValueError(f"verbose must be True, False or None, got {verbose!r}")
        verbose = bool(verbose)
    inputs = one_of("inputs", settings["inputs"], INPUTS)
    return Plan(n_systems, bool(choose), inputs, margins, transform, n_jobs, verbose)


def _enough_epochs(batch_size: Any, n_rows: int) -> int:
    if not isinstance(batch_size, (int, np.integer)) or batch_size <= 0:
        return EPOCHS  # the recipe says what is wrong with such a batch
    return max(EPOCHS, math.ceil(MIN_STEPS / max(n_rows // batch_size, 1)))


def describe() -> str:
    """Return what the settings mean, as a list with one indent."""
    _, _, told = inspect.cleandoc(Recipe.__doc__ or "").partition("Attributes:\n")
    return f"{told}\n{_DESCRIBED}"


MOST_KNOTS = 101
SPREAD = float(np.sqrt(1 / 12))
"""The standard deviation of ranks that are spread evenly over [0, 1]."""


@dataclass(frozen=True, eq=False)
class Ranks:
    """The quantiles of each input, between which a rank is interpolated.

    Attributes:
        knots: (G, M) quantiles of training, from the smallest to the largest value.

    >>> ranks = Ranks.fit(np.array([[0.0], [1.0], [10.0], [1000.0], [2000.0]]))
    >>> (ranks.share(np.array([[1.0], [505.0], [9999.0]])) * 100).ravel().tolist()
    [25.0, 62.5, 100.0]
    """

    knots: Array

    @classmethod
    def fit(cls, X: Array) -> Ranks:
        """Learn the quantiles of inputs `X` (N, M)."""
        return cls(np.quantile(X, np.linspace(0, 1, min(MOST_KNOTS, max(len(X), 2))), axis=0))

    def share(self, X: Array) -> Array:
        """Return the ranks (N, M) of inputs, in [0, 1]; a value that is often met has its middle.

        A column that was constant in training has the rank 1/2.
        """
        grid = np.linspace(0, 1, len(self.knots))
        found = np.empty_like(X)
        for x, knots, out in zip(X.T, self.knots.T, found.T, strict=True):
            # equal knots: from the left the highest of their ranks, from the right the lowest
            low = np.interp(x, knots, grid)
            high = 1 - np.interp(-x, -knots[::-1], grid)
            out[:] = (low + high) / 2
            if knots[0] == knots[-1]:
                out[:] = 0.5
        return found

    def transform(self, X: Array) -> Array:
        """Return ranks (N, M) with mean 0 and spread 1, as a system learns from them."""
        return (self.share(X) - 0.5) / SPREAD


R = TypeVar("R")


class System(NamedTuple):
    """A trained system: its parameters, how it was trained, and on which form of the inputs."""

    params: Params
    recipe: Recipe
    history: Array  # mean loss of each epoch
    inputs: str = "scaled"  # or "ranks", see `gt2lite.selection`


class MeanPlanes:
    """The planes of several systems at the same rows: means of their ends.

    They go down as far as those of every system.

    Args:
        members: the planes of each system.

    >>> from gt2lite.training import init_params
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(5, 2))
    >>> members = [Planes(init_params(X, 3, rng), X) for _ in range(2)]
    >>> both, alone = MeanPlanes(members)(0.5)[0], [planes(0.5)[0] for planes in members]
    >>> bool(np.allclose(both, np.mean(alone, axis=0)))
    True
    """

    def __init__(self, members: Sequence[Planes]) -> None:
        self.members = tuple(members)

    def __call__(self, alpha: float | Array) -> tuple[Array, Array]:
        """Return lower and upper ends (N,) of one plane, or of a plane for each row (N,)."""
        lower, upper = self._mean(lambda planes: np.stack(planes(alpha)))
        return lower, upper

    def __len__(self) -> int:
        return len(self.members[0].X)

    def ends(self, alphas: Sequence[float] | Array) -> Array:
        """Return the ends (2, K, N) of the planes `alphas` (K,)."""
        return self._mean(lambda planes: planes.ends(alphas))

    def output(self, alphas: Sequence[float] | Array) -> Array:
        """Return the output (N,), each system being made of the planes `alphas`."""
        return self._mean(lambda planes: planes.output(alphas))

    @property
    def alpha_min(self) -> float:
        """The lowest plane that all systems have."""
        return max(planes.alpha_min for planes in self.members)

    def parts(self) -> Iterator[tuple[slice, MeanPlanes]]:
        """Yield the rows in stretches whose memberships can be kept: (rows, their planes)."""
        fits = min(next(planes.parts())[0].stop for planes in self.members)
        size = max(fits // len(self.members), 1)
        if len(self) <= size:
            yield slice(0, len(self)), self
            return
        for start in range(0, len(self), size):
            rows = slice(start, min(start + size, len(self)))
            yield rows, MeanPlanes([Planes(p.params, p.X[rows]) for p in self.members])

    def _mean(self, ask: Callable[[Planes], Array]) -> Array:
        total = ask(self.members[0])
        for planes in self.members[1:]:
            total = total + ask(planes)
        return total / len(self.members)


def seeds_of(seed: Any, n: int) -> list[Any]:
    """Return the seeds of `n` systems; the first is the one given, where that is a number.

    >>> seeds_of(3, 3)
    [3, [3, 1], [3, 2]]
    """
    if n == 1:
        return [seed]
    if isinstance(seed, int):
        return [seed, *([seed, k] for k in range(1, n))]
    drawn = np.random.default_rng(seed).integers(2**63, size=n)
    return [int(number) for number in drawn]


def call_all(
    todo: Sequence[Callable[[], R]],
    n_jobs: int | None = None,
    done: Callable[[str], object] = lambda told: None,
    found: list[R] | None = None,
) -> list[R]:
    """Return what each of several calls returns, in their order.

    Args:
        todo: the calls, such as trainings.
        n_jobs: None or 1 for one after another; otherwise processes, -1 for one each, but no
            more than four for each core, which share the cores evenly. Needs joblib.
        done: called after each of them.
        found: a list that outcomes are added to as they come, for whoever is interrupted.
    """
    found = [] if found is None else found
    for outcome in _outcomes(todo, n_jobs):
        found.append(outcome)
        done("")
    return found


def _outcomes(todo: Sequence[Callable[[], R]], n_jobs: int | None) -> Iterable[R]:
    if n_jobs in (None, 1) or len(todo) == 1:
        return (call() for call in todo)
    joblib = _import_joblib()
    most = 4 * joblib.cpu_count() if n_jobs == -1 else n_jobs
    pool = joblib.Parallel(n_jobs=min(len(todo), most), return_as="generator", batch_size=1)
    outcomes: Iterable[R] = pool(joblib.delayed(call)() for call in todo)
    return outcomes


def _import_joblib() -> Any:
    try:
        import joblib
    except ImportError:
        raise ImportError(
            "n_jobs other than None and 1 needs joblib, which is not installed: pip install "
            "'gt2lite[parallel]', or leave n_jobs as it is"
        ) from None
    return joblib


LEVELS = (0.9, 0.95)
"""The coverages whose interval scores decide."""

PATIENCE = 3
"""Moments in a row without a better score, after which a course ends."""

GRID = np.asarray(alpha_of(np.linspace(0, 1, 9)))
"""Planes at which intervals are known; in between they are interpolated."""


class Seen(NamedTuple):
    """Intervals and outputs of rows that training has not seen, and their targets."""

    ends: Array  # (2, G, n) of the planes from alpha = 1 to alpha_0
    output: Array  # (n,)
    y: Array  # (n,)

    @classmethod
    def at(cls, params: Params, X: Array, y: Array, alphas: Array) -> Seen:
        """Return what a system says of inputs `X` (n, M) with targets `y` (n,)."""
        planes = Planes(params, X)
        return cls(planes.ends(GRID), planes.output(alphas), y)

    @classmethod
    def joined(cls, parts: Sequence[Seen]) -> Seen:
        """Return rows one after another: those of several folds."""
        ends, outputs, targets = zip(*parts, strict=True)
        return cls(np.concatenate(ends, axis=2), np.concatenate(outputs), np.concatenate(targets))

    @classmethod
    def mean(cls, members: Sequence[Seen]) -> Seen:
        """Return what several systems say of the same rows together."""
        ends, outputs, targets = zip(*members, strict=True)
        return cls(np.mean(ends, axis=0), np.mean(outputs, axis=0), targets[0])


class Quality(NamedTuple):
    """How good the intervals of a family are at their best."""

    score: float  # geometric mean of the interval scores at `LEVELS`
    margins: Margins | None  # None for the planes themselves


def quality(seen: Seen, power: float | None = None) -> Quality:
    """Return how good planes are, or the best family of margins around their output.

    Each level gets the interval that just covers its share of these very rows, so that only
    shape and accuracy count, and not how well the trained coverage was met.

    Args:
        seen: rows that training has not seen.
        power: that of the margins, where it is not to be chosen.
    """
    return min(_families(seen, power), key=lambda found: found.score)


def _families(seen: Seen, power: float | None) -> Iterator[Quality]:
    y = seen.y
    if power is None:
        radius = _radius(seen.ends, y)
        yield Quality(_score(y, radius, lambda r: _interval(seen.ends, r)), None)
    width = seen.ends[1, -1] - seen.ends[0, -1]
    usual = float(np.mean(width)) or 1.0  # planes may have no width at all
    for tried in POWERS if power is None else (power,):
        margins = Margins(tried, usual)
        centre, half = seen.output, margins.given(seen.output, width).half
        radius = np.abs(y - centre) / half
        score = _score(y, radius, partial(_symmetric, centre, half))
        yield Quality(score, margins)


def _score(y: Array, radius: Array, interval: Callable[[float], tuple[Array, Array]]) -> float:
    """Return the score of nested intervals, each level by the one that just covers its share.

    Args:
        y: targets (n,).
        radius: how far out in its family each row is first covered (n,).
        interval: the ends (n,) of the member that lies so far out.
    """
    needed = np.sort(radius)
    found = []
    for level in LEVELS:
        lower, upper = interval(float(needed[rank(level, y.size) - 1]))
        found.append(interval_score(y, lower, upper, level))
    return math.exp(np.mean(np.log(np.maximum(found, np.finfo(float).tiny))))


def _symmetric(centre: Array, half: Array, radius: float) -> tuple[Array, Array]:
    return centre - radius * half, centre + radius * half


def _radius(ends: Array, y: Array) -> Array:
    """Return how far out in its family each row is first covered (n,).

    Counted in planes of the grid, from 0; beyond the last one in units of the target.
    """
    missing = np.maximum(ends[0] - y, y - ends[1])  # (G, n), falls to 0 and below
    last = len(missing) - 1
    inside = missing <= 0
    first = np.argmax(inside, axis=0)
    before = np.maximum(first - 1, 0)
    rows = np.arange(y.size)
    short, over = missing[before, rows], -missing[first, rows]
    way = np.where(short + over > 0, short + over, 1.0)
    part = np.where(first > 0, short / way, 0.0)
    return np.where(inside.any(axis=0), before + part, last + np.maximum(missing[last], 0))


def _interval(ends: Array, radius: float) -> tuple[Array, Array]:
    """Return the ends (n,) of the member of a family that lies so far out."""
    last = ends.shape[1] - 1
    if radius >= last:
        return ends[0, last] - (radius - last), ends[1, last] + (radius - last)
    g = int(radius)
    lower, upper = ends[:, g] + (radius - g) * (ends[:, g + 1] - ends[:, g])
    return lower, upper


class Moment(NamedTuple):
    """A system on its way through training."""

    epoch: int
    params: Params
    history: Array  # mean loss of each epoch until then
    seen: Seen


@dataclass(frozen=True, eq=False)
class Course:
    """One training of which several moments are kept; it travels to other processes.

    Attributes:
        X: scaled inputs (N, M) to learn from.
        y: scaled targets (N,).
        X_judge: inputs that judge.
        y_judge: their targets.
        recipe: how to train.
        epochs: the moments, rising.
        seed: that of the training.
    """

    X: Array
    y: Array
    X_judge: Array
    y_judge: Array
    recipe: Recipe
    epochs: tuple[int, ...]
    seed: Any

    def __call__(self) -> list[Moment]:
        """Train until the judging rows have seen no gain for some moments, and return all."""
        found: list[Moment] = []
        history: list[float] = []
        scores: list[float] = []
        alphas = self.recipe.planes.alphas

        def look(epoch: int, loss: float, params: Params) -> bool:
            history.append(loss)
            if epoch not in self.epochs:
                return False
            kept = {name: value.copy() for name, value in params.items()}
            seen = Seen.at(kept, self.X_judge, self.y_judge, alphas)
            found.append(Moment(epoch, kept, np.array(history), seen))
            scores.append(quality(seen).score)
            return len(scores) - 1 - int(np.argmin(scores)) >= PATIENCE

        train(self.X, self.y, self.recipe, seed=self.seed, callback=look, progress=False)
        return found


MOMENTS = tuple(round(100 * 1.5**i) for i in range(11))
"""Steps of training after which a candidate is judged: 100, 150, 225, ..., 5767."""

ENOUGH_STEPS, ENOUGH_EPOCHS = 1500, 40
"""A training is not followed beyond the first moment that has both."""

FINALISTS = 3
"""Candidates that go through all folds, and of which the best mean is kept."""

HARMLESS = 0.01
"""How much worse, relatively, the mean may look with one candidate more."""

MOST_JUDGING = 1000
"""Rows of a fold that judge; of more, some are taken."""

CANDIDATES: tuple[dict[str, Any], ...] = (
    {},
    {"n_rules": 10},
    {"n_rules": 60, "sigma_scale": 0.5, "learning_rate": 0.05},
    {"start": "per_input", "sigma_scale": 0.5},
    {"weight_decay": 0.1},
    {"inputs": "ranks"},
    {"inputs": "ranks", "start": "per_input", "sigma_scale": 0.5},
)
"""What is tried: settings that differ from those of `gt2lite.training.STRONG`."""


class Judged(NamedTuple):
    """What a candidate came to."""

    settings: dict[str, Any]  # those in which it differs
    n_folds: int  # that it was judged on
    epochs: int  # the length of training that was best there
    score: float  # geometric mean of the interval scores, in spreads of the target
    kept: bool


class Choice(NamedTuple):
    """The systems that were chosen, the intervals that suit them, and all that was tried."""

    systems: list[System]
    margins: Margins | None  # None for planes
    judged: list[Judged]


@dataclass(eq=False)
class _Candidate:
    """One of the settings that are tried, and how its courses went, fold by fold."""

    settings: dict[str, Any]
    recipe: Recipe
    inputs: str
    courses: list[list[Moment]] = field(default_factory=list)
    best: tuple[int, Quality] | None = None  # the moment and its quality

    def at(self, fold: int, moment: int) -> Moment:
        """Return a moment of a course, or its last one where it ended before."""
        course = self.courses[fold]
        return course[min(moment, len(course) - 1)]

    @property
    def score(self) -> float:
        assert self.best is not None
        return self.best[1].score


class _Search:
    """Rows in folds, and candidates that are judged on them."""

    def __init__(
        self, X: Array, y: Array, ranks: Ranks, n_folds: int, seed: int, power: float | None
    ) -> None:
        self.X = {"scaled": X, "ranks": ranks.transform(X)}
        self.y, self.seed, self.power = y, seed, power
        order = np.random.default_rng([2, seed]).permutation(len(y))
        self.folds: list[IntArray] = [np.sort(order[i::n_folds]) for i in range(n_folds)]
        self.judging = [rows[:: max(len(rows) // MOST_JUDGING, 1)] for rows in self.folds]

    def course(self, candidate: _Candidate, index: int, fold: int) -> Course:
        """Return the training of a candidate on all folds but one."""
        X = self.X[candidate.inputs]
        learn = np.sort(np.concatenate([r for i, r in enumerate(self.folds) if i != fold]))
        judge = self.judging[fold]
        n_learn = min(len(self.y) - len(rows) for rows in self.folds)
        epochs = moments(n_learn, candidate.recipe)
        recipe = replace(candidate.recipe, epochs=epochs[-1])
        return Course(
            X[learn], self.y[learn], X[judge], self.y[judge], recipe, epochs,
            [self.seed, 1 + index, fold],
        )  # fmt: skip

    def judge(self, candidate: _Candidate) -> None:
        """Find the moment at which a candidate is best on the folds it has gone through."""
        n_moments = max(len(course) for course in candidate.courses)
        found = [self.quality([(candidate, m)]) for m in range(n_moments)]
        best = min(range(n_moments), key=lambda m: found[m].score)
        candidate.best = best, found[best]

    def quality(self, members: Sequence[tuple[_Candidate, int]]) -> Quality:
        """Return how good the mean of candidates is, each at a moment, on rows out of fold."""
        n_folds = min(len(candidate.courses) for candidate, _ in members)
        folds = [
            Seen.mean([candidate.at(fold, moment).seen for candidate, moment in members])
            for fold in range(n_folds)
        ]
        return quality(Seen.joined(folds), self.power)


def choose_systems(
    X: Array,
    y: Array,
    recipe: Recipe,
    ranks: Ranks,
    *,
    n_folds: int,
    seed: int,
    inputs: str = "scaled",
    power: float | None = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> Choice:
    """Return the systems that judge best by rows of training that they have not seen.

    Args:
        X: scaled inputs (N, M).
        y: scaled targets (N,).
        recipe: the first candidate; the others differ from it by `CANDIDATES`, except in
            settings in which it differs itself from `gt2lite.training.STRONG`: what a user sets is
            not chosen. Its `epochs` are the most that are tried.
        ranks: the ranks of the inputs.
        n_folds: into how many folds the rows are dealt, and how many systems a candidate has.
        seed: that of folds and trainings.
        inputs: "ranks" for candidates that all learn from ranks.
        power: that of margins, where it is given; None tries planes and several powers.
        n_jobs: see `call_all`.
        progress: show a progress bar; None shows one on a terminal if tqdm is installed.
    """
    search = _Search(X, y, ranks, n_folds, seed, power)
    running = _candidates(recipe, inputs)
    index = {id(candidate): i for i, candidate in enumerate(running)}
    everyone = list(running)
    n_left = [_left(len(running), fold) for fold in range(n_folds)]
    with progress_bar(sum(n_left), "choosing", "training", show=progress) as done:
        for fold in range(n_folds):
            running = running[: n_left[fold]]
            todo = [search.course(candidate, index[id(candidate)], fold) for candidate in running]
            for candidate, course in zip(running, call_all(todo, n_jobs, done), strict=True):
                candidate.courses.append(course)
                search.judge(candidate)
            running.sort(key=lambda candidate: candidate.score)
    kept, best = _mix(search, running)
    systems = [
        _system(candidate, candidate.at(fold, moment))
        for candidate, moment in kept
        for fold in range(n_folds)
    ]
    chosen = [candidate for candidate, _ in kept]
    judged = [_judged(candidate, candidate in chosen) for candidate in everyone]
    return Choice(systems, best.margins, sorted(judged, key=lambda j: (-j.n_folds, j.score)))


def moments(n_rows: int, recipe: Recipe) -> tuple[int, ...]:
    """Return the epochs after which a candidate is judged, with so many rows to learn from.

    >>> moments(800, STRONG)  # 25 steps each
    (4, 6, 9, 14, 20, 30, 46, 68)
    """
    steps = max(n_rows // recipe.batch_size, 1)  # in an epoch
    enough = max(ENOUGH_STEPS, ENOUGH_EPOCHS * steps)
    followed = [m for i, m in enumerate(MOMENTS) if i == 0 or MOMENTS[i - 1] < enough]
    return tuple(sorted({min(max(round(m / steps), 1), recipe.epochs) for m in followed}))


def _mix(
    search: _Search, finalists: Sequence[_Candidate]
) -> tuple[list[tuple[_Candidate, int]], Quality]:
    """Return the best finalist, and the others whose part in the mean does no harm.

    A mean varies less than its parts, more so with as many systems as are kept than with the one
    of each candidate that judges a row here; so a small loss is accepted.
    """
    members: list[tuple[_Candidate, int]] = []
    best: Quality | None = None
    for candidate in finalists:
        assert candidate.best is not None
        tried = [*members, (candidate, candidate.best[0])]
        found = search.quality(tried)
        if best is None or found.score <= (1 + HARMLESS) * best.score:
            members, best = tried, found
    assert best is not None
    return members, best


def _left(n_candidates: int, fold: int) -> int:
    """Return how many candidates go through a fold: all, the better half, then the finalists.

    >>> [_left(7, fold) for fold in range(5)]
    [7, 4, 3, 3, 3]
    """
    if fold == 0:
        return n_candidates
    return min(n_candidates, max(math.ceil(n_candidates / 2**fold), FINALISTS))


def _candidates(recipe: Recipe, inputs: str) -> list[_Candidate]:
    found: list[_Candidate] = []
    for settings in CANDIDATES:
        free = {
            name: value
            for name, value in settings.items()
            if name != "inputs" and getattr(recipe, name) == getattr(STRONG, name)
        }
        form = "ranks" if "ranks" in (inputs, settings.get("inputs")) else "scaled"
        if all((known.recipe, known.inputs) != (replace(recipe, **free), form) for known in found):
            found.append(_Candidate(free, replace(recipe, **free), form))
    return found


def _system(candidate: _Candidate, moment: Moment) -> System:
    recipe = replace(candidate.recipe, epochs=moment.epoch)
    return System(moment.params, recipe, moment.history, candidate.inputs)


def _judged(candidate: _Candidate, kept: bool) -> Judged:
    assert candidate.best is not None
    moment, found = candidate.best
    n_folds = len(candidate.courses)
    epochs = max(candidate.at(fold, moment).epoch for fold in range(n_folds))
    settings = candidate.settings | {"inputs": candidate.inputs}
    return Judged(settings, n_folds, epochs, found.score, kept)


class Fitted(NamedTuple):
    """What was learnt, in scaled units: systems, the form of their inputs, and their intervals."""

    systems: tuple[System, ...]
    ranks: Ranks | None  # where a system needs them
    margins: Margins | None  # None where intervals are planes
    judged: tuple[Judged, ...] = ()  # what a choice has tried

    @property
    def alphas(self) -> Array:
        """The planes that make up the output."""
        return self.systems[0].recipe.planes.alphas

    def planes(self, X: Array) -> Planes | MeanPlanes:
        """Return the planes at scaled inputs `X` (N, M)."""
        ranked = self.ranks.transform(X) if self.ranks is not None else X
        members = [
            Planes(system.params, ranked if system.inputs == "ranks" else X)
            for system in self.systems
        ]
        return members[0] if len(members) == 1 else MeanPlanes(members)

    def inputs(self, X: Array, system: int) -> Array:
        """Return scaled inputs (N, M) in the form that a system learns from."""
        if self.systems[system].inputs == "scaled" or self.ranks is None:
            return X
        return self.ranks.transform(X)

    def family(self, planes: Planes | MeanPlanes) -> Planes | MeanPlanes | MarginFamily:
        """Return the intervals that are calibrated: the planes, or margins around the output."""
        return planes if self.margins is None else self.margins.around(planes, self.alphas)

    def with_margins(self, power: float, X: Array) -> Fitted:
        """Return the same with margins; their usual width is that at scaled inputs `X` (N, M)."""
        lower, upper = self.planes(X)(ALPHA_0)
        usual = float(np.mean(upper - lower)) or 1.0  # planes may have no width at all
        return self._replace(margins=Margins(power, usual))


class Learnt:
    """What an estimator keeps of its training, as attributes and as one object."""

    systems_: tuple[System, ...]
    ranks_: Ranks | None
    margins_: Margins | None
    chosen_: tuple[Judged, ...]
    scaler_: Scaler
    n_features_in_: int
    calibrator_: Calibration

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "params_")

    def _fitted(self) -> Fitted:
        """Return systems, ranks and margins as one object, in scaled units; for other modules."""
        return Fitted(self.systems_, self.ranks_, self.margins_, self.chosen_)

    def use_margins(self, power: float, X: Any) -> None:
        """Calibrate margins instead of planes from now on; `X` (N, M) was trained on; likewise."""
        self._keep(self._fitted().with_margins(power, self._scaled(X)))

    def calibration_inputs(self) -> Array | None:
        """Return the scaled inputs (Q, M) that the calibrator may need again, if any; likewise."""
        return self.__dict__.get("_calibration_X")

    def _keep(self, fitted: Fitted) -> None:
        """Keep what was learnt: the one place where attributes of training are set."""
        self.systems_, self.ranks_, self.margins_, self.chosen_ = fitted
        self.params_, self.recipe_, self.history_, _ = fitted.systems[0]

    def _scaled(self, X: Any) -> Array:
        self._check_fitted()
        names = getattr(self, "feature_names_in_", None)
        values = match_table(X, self.n_features_in_, names, type(self).__name__)
        return self.scaler_.transform_X(values)

    def _planes(self, X: Any) -> Planes | MeanPlanes:
        scaled = self._scaled(X)
        return self._fitted().planes(scaled)

    def _calibrated(self) -> Calibration:
        if not hasattr(self, "calibrator_"):
            raise RuntimeError(
                "a coverage needs a calibration: call calibrate(X_cal, y_cal) with rows that "
                "training has not seen, or fit_calibrate(X, y) instead of fit. The uncalibrated "
                f"envelope is predict_interval(X, alpha={ALPHA_0})"
            )
        return self.calibrator_

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise not_fitted_error(type(self).__name__)

    def _forget(self, *names: str) -> None:
        for name in names:
            self.__dict__.pop(name, None)


def check_watch(plan: Plan, callback: Callback | None) -> None:
    """Raise where a callback cannot be called: in other processes, and in a choice."""
    if callback is None:
        return
    if plan.choose:
        raise ValueError(
            "callback must be None where choose=True: a choice goes through many trainings. For a "
            "look at them set verbose=True"
        )
    if plan.n_systems > 1 and plan.n_jobs not in (None, 1):
        raise ValueError(
            f"callback must be None where n_jobs={plan.n_jobs}: other processes would call it. Set "
            "n_jobs=None"
        )


def fit_systems(
    X: Array, y: Array, recipe: Recipe, plan: Plan, seed: Any, callback: Callback | None = None
) -> Fitted:
    """Train what a plan asks for on scaled inputs `X` (N, M) and targets `y` (N,)."""
    progress = plan.verbose
    ranks = Ranks.fit(X) if plan.choose or plan.inputs == "ranks" else None
    if plan.choose and ranks is not None:
        number = seed if isinstance(seed, int) else int(np.random.default_rng(seed).integers(2**63))
        choice = choose_systems(
            X, y, recipe, ranks, n_folds=plan.n_systems, seed=number, inputs=plan.inputs,
            power=plan.margins, n_jobs=plan.n_jobs, progress=progress,
        )  # fmt: skip
        needed = ranks if any(system.inputs == "ranks" for system in choice.systems) else None
        return Fitted(tuple(choice.systems), needed, choice.margins, tuple(choice.judged))
    X_learn = X if ranks is None else ranks.transform(X)
    fitted = Fitted(tuple(_train(X_learn, y, recipe, plan, seed, callback)), ranks, None)
    return fitted if plan.margins is None else fitted.with_margins(plan.margins, X)


def _train(
    X: Array, y: Array, recipe: Recipe, plan: Plan, seed: Any, callback: Callback | None
) -> list[System]:
    seeds, learn = seeds_of(seed, plan.n_systems), partial(train, X, y, recipe, callback=callback)
    trained: list[Trained] = []
    if len(seeds) == 1:
        trained = [learn(seed=seeds[0], on_interrupt="keep", progress=plan.verbose)]
    else:
        calls = [partial(learn, seed=one, progress=False) for one in seeds]
        try:
            with progress_bar(len(calls), "training", "system", show=plan.verbose) as done:
                call_all(calls, plan.n_jobs, done, trained)
        except KeyboardInterrupt:
            if not trained:
                raise
            words = f"after {len(trained)} of {len(calls)} systems"
            warnings.warn(
                f"stopped by hand {words}: those that are complete are kept",
                InterruptedTrainingWarning,
                stacklevel=5,
            )
    return [System(params, recipe, history, plan.inputs) for params, history in trained]
