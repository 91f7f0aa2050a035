"""Alerts of a report: what may be wrong with a table, and what may void the guarantee.

Each function returns sentences, none if all is well. They go by what the cells hold, not by the
names of columns; where it matters how much coverage is lost, boosted trees measure it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import chatterjeexi
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import GroupKFold, KFold
from threadpoolctl import threadpool_limits

from gt2lite._validation import Array, IntArray
from gt2lite.calibration import rank
from gt2lite.practice.columns import Columns, Frame, as_labels
from gt2lite.practice.frames import percent
from gt2lite.practice.printing import number

LEAK = 0.9  # dependence of the target on one column from which it is suspicious
PERFECT = 0.9995  # R^2 from which it is, whatever columns the target depends on
EXACT = 0.95  # share of the rows in which a formula holds
FINEST = 0.05  # of the target's standard deviation: a formula is no rougher than that
MOST_TERMS = 60  # columns among which a formula is looked for
FAR = 10  # times the distance that 95% of the targets keep from their median: an outlier
MANY_ZEROS, MANY_COPIES = 0.1, 0.01  # shares of rows
ENOUGH_GROUPS = 20  # fewer groups that calibrate or test are warned about
FEWEST_BLOCKS = 10  # values that stand together from which they may be groups
LOST = 0.03  # coverage that new groups or later rows may lose without an alert
MOST_COMPARED = 40  # columns among which groups are looked for
SMOOTH = 0.5  # dependence of one column on another from which it is a function of it
TRIED = 2_000  # rows from which boosted trees learn to measure that loss
FOLDS = 5
MIXED = 0.05  # of what chance would mix: values that follow each other, or those within a group
SEEN = 20  # changes that chance must make for their lack to mean something


def find_alerts(
    frame: Frame, y: Array, columns: Columns, X_train: Frame, y_train: Array, seed: int
) -> list[str]:
    """Return alerts about values: leaks, outliers and zeros of the target, duplicated rows."""
    formula = find_formula(_numbers(frame, columns), y)
    found = [] if formula is None else [str(formula)]
    # Chatterjee's correlation is 1 if y is a function of x; ties of x in the order of the table,
    # which may be that of y, would look like one
    order = np.random.default_rng(seed).permutation(len(y_train))
    for name, places in columns.places().items():
        if formula is not None and name in formula.terms:
            continue
        _, code = np.unique(X_train.to_numpy()[:, places], axis=0, return_inverse=True)
        alone = ""
        if chatterjeexi(code.ravel()[order], y_train[order]).statistic > LEAK:
            alone = "alone nearly determines the target"
        elif _separates(code.ravel()[order], y_train[order]):
            alone = "tells in which range the target lies: targets of different values do not mix"
        if alone:
            found.append(
                f"Column {name!r} {alone}. If it is computed from the target, or known only "
                f"afterwards, leave it out: --drop {name!r}."
            )
    distance = np.abs(y - np.median(y))
    far = np.flatnonzero(distance > FAR * (usual := np.quantile(distance, 0.95)))
    if usual > 0 and len(far):
        first = far[np.argmax(distance[far])]
        found.append(
            f"{len(far):,} target value(s) lie far from all others, such as {y[first]:,.10g} in "
            f"row {frame.index[first]}. If they are codes or mistakes, correct or remove them: "
            "they widen every interval."
        )
    if (zeros := float(np.mean(y == 0))) >= MANY_ZEROS and len(np.unique(y)) > 10:
        found.append(
            f"{zeros:.0%} of the targets are 0. If they are missing amounts, remove these rows; if "
            "most rows have no amount, predict first which ones do."
        )
    names = [column.name for column in columns.used]
    copies = int(pd.concat([frame[names], pd.Series(y, frame.index)], axis=1).duplicated().sum())
    if copies > MANY_COPIES * len(frame):
        found.append(
            f"{copies:,} of {len(frame):,} rows repeat another one in the target and all inputs. "
            "Copies of training rows among test rows make errors and widths look too small: "
            "remove them if they are mistakes."
        )
    return found


def find_negative_bounds(y: Array, lower: Array, level: float) -> list[str]:
    """Return an alert if at least 1% of the intervals begin below 0, and no target lies there."""
    share = float((lower < 0).mean())
    if y.min() < 0 or share < 0.01:
        return []
    return [
        f"The target is never negative, and {share:.0%} of the {percent(level)}% intervals begin "
        "below 0: try --bounds 0 none" + (", or --log." if y.min() > 0 else ".")
    ]


def _separates(code: IntArray, y: Array) -> bool:
    """Return whether the few values of a column follow each other as the target rises.

    By chance, or if the target merely depends on it, they change far more often from row to row.
    """
    _, counts = np.unique(code, return_counts=True)
    fewest = len(counts) - 1
    by_chance = len(code) - (counts**2).sum() / len(code) - fewest  # changes beyond these
    changes = int(np.count_nonzero(np.diff(code[np.argsort(y, kind="stable")]))) - fewest
    return bool(by_chance >= SEEN and changes <= MIXED * by_chance)


def find_perfect(names: Sequence[str], r2: float) -> list[str]:
    """Return an alert if a model explains more of the target than measurements allow."""
    if r2 <= PERFECT:
        return []
    return [
        f"Too good to be true: the error of new rows is {np.sqrt(1 - r2):.1%} of the target's "
        "standard deviation. Check whether inputs were computed from the target, or are known only "
        f"afterwards, first the most important: {_list(names)}."
    ]


# ------------------------------------------------------------------- leaks of several columns


class Formula(NamedTuple):
    """A formula that gives the target of nearly every row, up to the rounding of its cells."""

    terms: dict[str, float]  # factors by column or, in a product, exponents
    constant: float
    is_product: bool
    share: float  # of the rows in which it holds

    @property
    def text(self) -> str:
        """The formula, with at most four of its columns."""

        def size(value: float) -> str:
            return number(abs(value), 1e-3 * abs(value), trim=True)

        parts = []
        for name, value in list(self.terms.items())[:4]:
            factor = f"{size(value)} {name!r}", f"{name!r}^{size(value)}"
            parts.append((value < 0, repr(name) if size(value) == "1" else factor[self.is_product]))
        if len(self.terms) > 4:
            parts.append((False, f"... ({len(self.terms)} columns)"))
        if self.constant != (1 if self.is_product else 0):
            parts.insert(0, (self.constant < 0, size(self.constant)))
        parts.sort(key=lambda part: part[0])  # what is subtracted comes last
        signs = ("* ", "/ ") if self.is_product else ("+ ", "- ")
        text = " ".join(signs[below] + part for below, part in parts)
        return f"1 {text}" if text[0] == "/" else text.removeprefix(signs[0])

    def __str__(self) -> str:
        names = list(self.terms)
        return (
            f"Too good to be true: in {self.share:.0%} of the rows the target is {self.text}, up "
            f"to rounding. If {_list(names)} {'are' if names[1:] else 'is'} known only afterwards, "
            f"leave {'them' if names[1:] else 'it'} out: --drop {' '.join(map(repr, names))}. "
            "Otherwise use this formula: it needs no model."
        )


def find_formula(numbers: Frame, y: Array) -> Formula | None:
    """Return an exact formula of few columns: a linear one, or a product of powers; None if none.

    It must hold in nearly all rows without an error beyond what rounding of the cells explains.
    This tells a target that was computed from these columns from one that is nearly free of noise.

    >>> rng = np.random.default_rng(0)
    >>> inputs = pd.DataFrame(rng.uniform(1, 9, (99, 3)).round(1), columns=["a", "b", "c"])
    >>> find_formula(inputs, inputs["a"].to_numpy() + inputs["c"].to_numpy()).text
    "'a' + 'c'"
    """
    enough = numbers.notna().mean() >= EXACT
    numbers = numbers.loc[:, enough]
    rows = numbers.notna().all(axis=1).to_numpy()
    some = np.flatnonzero(rows)[:: max(1, int(rows.sum()) // 1_000)]
    x, y = numbers.to_numpy(float)[some], y[some]
    x, names = x[:, keep := np.ptp(x, axis=0) > 0 if len(x) else []], numbers.columns[keep]
    if not 0 < x.shape[1] <= min(MOST_TERMS, len(y) // 5) or len(np.unique(y)) < 10:
        return None
    # a target with all of its digits was not computed from inputs before they were rounded
    half_y = _half_unit(y)
    half_x = np.array([_half_unit(values) if half_y else 0.0 for values in x.T])
    found = _search(x, y, half_x, half_y)
    is_product = False
    if found is None and y.min() > 0 and (positive := x.min(axis=0) > 0).any():
        is_product, x, names, half_x = True, x[:, positive], names[positive], half_x[positive]
        found = _search(np.log(x), np.log(y), half_x / x, half_y / y)
    if found is None:
        return None
    kept, factors, constant, share = found
    if is_product and (np.abs(factors).max() > 3 or (factors * 2 % 1).any()):
        return None  # powers that no formula has: collinear inputs come close to anything
    terms = dict(zip(names[kept], factors.tolist(), strict=True))
    return Formula(terms, float(np.exp(constant)) if is_product else constant, is_product, share)


def _half_unit(values: Array) -> float:
    """Return half a unit of the last place of values, decimal or in single precision, or 0."""
    for digits in range(7):
        if np.allclose(values, values.round(digits), rtol=1e-12, atol=1e-9):
            return 0.5 * 10.0**-digits
    single = values.astype(np.float32)
    if np.allclose(values, single, rtol=1e-14, atol=0):
        return 0.5 * float(np.spacing(np.abs(single).max()))
    return 0.0


def _search(
    x: Array, y: Array, half_x: Array, half_y: Array | float
) -> tuple[IntArray, Array, float, float] | None:
    """Return columns, factors, constant and share of rows of an exact linear formula, or None.

    Columns without which it is exact as well are left out, those that matter least first.
    """
    spread = float(np.std(y))

    def share_of(error: Array, factors: Array, kept: IntArray) -> float:
        """Return the share of rows whose error is explained by rounding."""
        rounding = half_y + np.broadcast_to(half_x, x.shape)[:, kept] @ np.abs(factors)
        limit = np.minimum(rounding, FINEST * spread) + 1e-9 * np.abs(y).max()
        return float((np.abs(error) <= limit).mean())

    def fit(kept: IntArray) -> tuple[Array, float]:
        """Return factors and the constant, from the four fifths of the rows that fit best."""
        A = np.column_stack([x[:, kept], np.ones(len(y))])
        size = np.maximum(np.abs(A).max(axis=0), 1e-300)
        b = np.linalg.lstsq(A / size, y, rcond=None)[0] / size
        for _ in range(8):
            best = np.argsort(np.abs(y - A @ b), kind="stable")[: 1 + 4 * len(y) // 5]
            b = np.linalg.lstsq(A[best] / size, y[best], rcond=None)[0] / size
        return b, share_of(y - A @ b, b[:-1], kept)

    kept = np.arange(x.shape[1])
    b, share = fit(kept)
    if share < EXACT:
        return None
    for column in np.argsort(np.abs(b[:-1]) * x.std(axis=0), kind="stable"):
        if len(fewer := kept[kept != column]) and fit(fewer)[1] >= EXACT:
            kept = fewer
    b, share = fit(kept)
    for digits in range(4):  # 0.5 instead of 0.5015, if that is exact as well
        plain = b[:-1].round(digits)
        rest = y - x[:, kept] @ plain
        for constant in (0.0, float(np.median(rest))):
            agreed = share_of(rest - constant, plain, kept)
            if plain.all() and agreed >= min(share, 0.99):
                return kept, plain, constant, agreed
    return kept, b[:-1], float(b[-1]), share


def _numbers(frame: Frame, columns: Columns) -> Frame:
    """Return the inputs that are numbers, as numbers."""
    used = [column for column in columns.used if column.kind == "number"]
    return pd.DataFrame({c.name: c.read(frame[c.name]) for c in used}, frame.index)


# ------------------------------------------------------------------- groups and order in time


def find_dependence(
    frame: Frame, y: Array, X: Frame, columns: Columns, level: float, seed: int
) -> list[str]:
    """Return alerts if rows belong together in groups, or if they have an order in time.

    Rows are thought to be drawn at random; boosted trees measure what coverage of new groups, or
    of later rows, would be instead, see `measure_loss`. `frame` is the table without the target.
    """
    found = []
    for column in (column for column in columns.columns if column.kind == "date"):
        days = column.read(frame[column.name]).to_numpy()
        loss = measure_loss(X, y, *later_rows(np.argsort(days, kind="stable")), level, seed)
        found.append(
            f"Column {column.name!r} holds dates. If new rows come later than these, coverage "
            f"measured on rows drawn at random is too optimistic: try --time {column.name!r}."
            f"{loss.words('the latest fifth')}"
        )
    groups = find_groups(frame, columns) or find_blocks(frame, columns)
    for column in columns.columns:
        if column.identifier == "repeats":
            groups.setdefault(column.name, [])
    for name, constant in groups.items():
        labels = as_labels(frame[name])
        loss = measure_loss(X, y, *new_groups(labels, seed), level, seed)
        is_named = next(c.identifier == "repeats" for c in columns.columns if c.name == name)
        if not loss.is_large and (constant or not is_named):
            continue
        how = "rows of one value stand together"
        if constant:
            how = f"rows of one value agree in {_list(constant)}"
        elif is_named:
            how = "it looks like an identifier that repeats"
        maybe = constant if is_named else [name, *constant]
        running = [other for other in maybe if _is_sorted(frame[other])]
        found.append(
            f"Column {name!r} has {len(set(labels)):,} values in {len(frame):,} rows, and {how}. "
            "If new rows have new values, intervals calibrated on rows drawn at random may cover "
            f"fewer of them: try --groups {name!r}"
            + "".join(f", or, if {other!r} counts time, --time {other!r}" for other in running[:1])
            + f".{loss.words('the rows of new values')}"
        )
    if found:
        return found
    loss = measure_loss(X, y, *later_rows(np.arange(len(y))), level, seed)
    if loss.is_large and not _is_sorted(y):
        rising = [name for name in frame if _is_sorted(frame[name])]
        time = f"try --time {rising[0]!r}" if rising else "number the rows in a column for --time"
        found.append(
            "The last rows of the table differ from those before. If the rows are in the order of "
            "time, and new rows come later, intervals calibrated on rows drawn at random may cover "
            f"fewer of them: {time}.{loss.words('the last fifth')}"
        )
    return found


class Loss(NamedTuple):
    """Coverage of new groups or later rows by intervals that cover rows drawn at random."""

    level: float
    share: float
    n_new: int

    @property
    def is_large(self) -> bool:
        """Whether it is larger than LOST, and than three standard deviations of the share."""
        deviation = float(np.sqrt(self.level * (1 - self.level) / self.n_new))
        return self.share < self.level - max(LOST, 3 * deviation)

    def words(self, what: str) -> str:
        """Return a sentence about it, or nothing if it is small."""
        if not self.is_large:
            return ""
        return (
            f" Here, intervals of boosted trees that cover {percent(self.level)}% of rows drawn at "
            f"random cover {self.share:.0%} of {what}."
        )


Folds = list[tuple[IntArray, IntArray]]  # positions, among some rows, to train on and to test


def measure_loss(X: Frame, y: Array, rows: IntArray, folds: Folds, level: float, seed: int) -> Loss:
    """Return the coverage of test folds by the one width that covers random folds at a level.

    Args:
        X: inputs (N, M).
        y: targets (N,).
        rows: positions of the rows to use.
        folds: pairs of positions among them, to train on and to test.
        level: the coverage of random folds.
        seed: the seed of random folds.
    """
    inputs, targets = X.to_numpy()[rows], y[rows]

    def errors(folds: Iterable[tuple[IntArray, IntArray]]) -> Array:
        found = []
        for train, test in folds:
            trees = HistGradientBoostingRegressor(random_state=seed)
            y_hat = trees.fit(inputs[train], targets[train]).predict(inputs[test])
            found.append(np.abs(targets[test] - y_hat))
        return np.concatenate(found)

    with threadpool_limits(1):  # trees of so few rows take longer on several threads
        known = np.sort(errors(KFold(FOLDS, shuffle=True, random_state=seed).split(inputs)))
        new = errors(folds)
    radius = known[min(len(known), rank(level, len(known) + 1)) - 1]
    return Loss(level, float(np.mean(new <= radius)), len(new))


def later_rows(order: IntArray) -> tuple[IntArray, Folds]:
    """Return at most `TRIED` rows in an order, and one fold that tests the last fifth of them."""
    rows = order[:: -(-len(order) // TRIED)]
    train, test = np.split(np.arange(len(rows)), [len(rows) - len(rows) // FOLDS])
    return rows, [(train, test)]


def new_groups(labels: NDArray[np.object_], seed: int) -> tuple[IntArray, Folds]:
    """Return rows of whole groups, about `TRIED` at most, and folds of whole groups."""
    codes = pd.factorize(labels)[0]
    rows = _whole_groups(codes, TRIED, seed)
    return rows, list(GroupKFold(FOLDS).split(rows, groups=codes[rows]))


def _whole_groups(codes: IntArray, most: int, seed: int) -> IntArray:
    """Return the rows of groups drawn at random, about so many at most; groups by `codes` (N,)."""
    place = np.random.default_rng(seed).permutation(codes.max() + 1)[codes]
    return np.flatnonzero(place <= max(np.sort(place)[:most][-1], FOLDS - 1))


def find_groups(frame: Frame, columns: Columns, seed: int = 0) -> dict[str, list[str]]:
    """Return a column whose values repeat, and columns that are constant within each of them.

    A column is constant if shuffling it among rows would multiply its values within groups, and
    counts unless it is a smooth function of the first one, as degrees Fahrenheit of Celsius are.
    Of several groupings that with the most constant columns is returned.

    >>> frame = pd.DataFrame({"who": [*range(30)] * 3, "age": [i * 7 % 31 for i in range(30)] * 3})
    >>> from gt2lite.practice.columns import learn
    >>> find_groups(frame, learn(frame))
    {'who': ['age']}
    """
    best: dict[str, list[str]] = {}
    codes: dict[str, IntArray] = {}
    values: dict[str, NDArray[Any]] = {}  # numbers, or the codes of everything else
    for column in columns.columns:
        if column.kind == "date" or column.name not in frame or len(codes) == MOST_COMPARED:
            continue
        code = pd.factorize(as_labels(frame[column.name]))[0]
        if 0 < code.max() < len(frame) // 2:
            codes[column.name] = values[column.name] = code
            if column.kind == "number":
                values[column.name] = column.read(frame[column.name]).to_numpy()
    for name, code in codes.items():
        if code.max() + 1 < ENOUGH_GROUPS:
            continue
        rows = _whole_groups(code, FOLDS * TRIED, seed)
        shuffled = np.random.default_rng(seed).permutation(rows)
        groups, first = np.unique(code[rows], return_index=True)
        first = rows[first]
        by_value = first[np.argsort(values[name][first])]
        constant = []
        for other in codes.keys() - {name}:
            n_values, by_chance = (
                len(np.unique(code[rows] * len(frame) + codes[other][some])) - len(groups)
                for some in (rows, shuffled)
            )
            if by_chance < 0.5 * len(groups) or n_values > MIXED * by_chance:
                continue
            along = values[other][by_value]
            is_number = values[name] is not code
            if is_number and chatterjeexi(np.arange(len(along)), along).statistic > SMOOTH:
                continue
            constant.append(other)
        if len(constant) > max(map(len, best.values()), default=0):
            best = {name: [other for other in codes if other in constant]}
    return best


def find_blocks(frame: Frame, columns: Columns) -> dict[str, list[str]]:
    """Return a column whose equal values stand together in the table, of several the finest.

    >>> frame = pd.DataFrame({"who": [i // 3 * 7 % 31 for i in range(90)], "dose": range(90)})
    >>> from gt2lite.practice.columns import learn
    >>> find_blocks(frame, learn(frame))
    {'who': []}
    """
    sizes = {}
    for column in columns.columns:
        if column.kind != "date" and column.name in frame:
            code = pd.factorize(as_labels(frame[column.name]))[0]
            n_groups, n_blocks = code.max() + 1, 1 + np.count_nonzero(np.diff(code))
            if n_groups >= FEWEST_BLOCKS and n_blocks <= min(1.25 * n_groups, len(frame) / 2):
                sizes[column.name] = n_groups
    return {max(sizes, key=lambda name: sizes[name]): []} if sizes else {}


def find_few_groups(labels: NDArray[np.object_], sets: Iterable[IntArray]) -> list[str]:
    """Return an alert if few groups calibrate or test; `sets` are training, calibration, test."""
    train, calibrate, test = (len(set(labels[rows])) for rows in sets)
    if min(calibrate, test) >= ENOUGH_GROUPS:
        return []
    return [
        f"Of {train + calibrate + test} groups {train} train, {calibrate} calibrate and {test} "
        "test. Rows of a group are alike, so the number of groups counts: nothing is guaranteed "
        "for a new group, and other groups would give another coverage. More groups help; more "
        "rows of the same groups do not."
    ]


def _is_sorted(values: Sequence[float] | Array | pd.Series) -> bool:
    """Return whether numbers never fall, or never rise, and take many values."""
    column = pd.Series(values)
    return (
        column.dtype.kind in "iuf"
        and column.nunique() > 4
        and bool(column.is_monotonic_increasing or column.is_monotonic_decreasing)
    )


def _list(names: Sequence[str], most: int = 4) -> str:
    """Return names as a list in words.

    >>> _list(["a"]), _list(["a", "b"]), _list(["a", "b", "c"], most=1)
    ("'a'", "'a' and 'b'", "'a' and 2 others")
    """
    shown = [repr(name) for name in names[:most]]
    if left := len(names) - len(shown):
        shown.append(f"{left} other{'s' * (left > 1)}")
    return " and ".join([*([", ".join(shown[:-1])] if shown[1:] else []), shown[-1]])
