"""The paper's four data sets, their scaling and their splits.

The files are in `data/` as gzipped CSV, so nothing here needs a network; their
checksum is verified on every load. See `data/README.md` for their sources and
the script that makes them.
"""

from __future__ import annotations

import gzip
import hashlib
import zlib
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gt2lite._validation import Array, matrix, one_of, vector, whole
from gt2lite.splits import group_parts, random_parts

Index = NDArray[np.int64]
_LICENCE = "CC BY 4.0"
_UCI = "UCI Machine Learning Repository, https://doi.org/10.24432"
_RECORDS = {  # name: (title, source, SHA-256 of the uncompressed bytes)
    "ww": (
        "White Wine quality",
        f"Cortez et al. (2009), Wine Quality, {_UCI}/C56S3T",
        "d99ea899f7ea892b717e34b0b6eaca33244c52d0d038dc4fcb6c728a64842562",
    ),
    "pm": (
        "Parkinson's telemonitoring",
        f"Tsanas and Little (2009), Parkinsons Telemonitoring, {_UCI}/C5ZS3N",
        "58b29027a9cf8c8d0347d8a6ff7f715bee7e4bd0bd20062a0818f85445ffb572",
    ),
    "aids": (
        "AIDS clinical trial ACTG 175",
        f"Hammer et al. (1996), AIDS Clinical Trials Group Study 175, {_UCI}/C5ZG8F",
        "689a5279c4957875f14a59fedd8e5db2791bb6e46e26ffa11f7463b4121f4bfc",
    ),
    "pp": (
        "Combined cycle power plant",
        f"Tüfekci and Kaya (2014), Combined Cycle Power Plant, {_UCI}/C5002N",
        "51848da3c8b8c29f709f159fad95443eaa8ff2e95c721a00bba582048cd207e4",
    ),
}
DATASETS = tuple(_RECORDS)
"""The names of the data sets."""


class DataError(RuntimeError):
    """A data file is missing or has the wrong content."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """A data set in its own units: inputs `X (N, M)`, target `y (N,)`, names and source.

    `groups (N,)` numbers the patient of each row if rows belong together, else it is None.
    """

    name: str
    title: str
    X: Array = field(repr=False)
    y: Array = field(repr=False)
    groups: Index | None = field(repr=False)
    feature_names: tuple[str, ...]
    target_name: str
    source: str
    licence: str
    sha256: str


def data_path(*parts: str) -> Path:
    """Return a path in the data folder: inside the installed package, else beside it.

    >>> data_path("paper", "table.csv").relative_to(data_path()).as_posix()
    'paper/table.csv'
    """
    package = Path(__file__).resolve().parent
    inside, beside = package / "data", package.parent / "data"
    folder = beside if beside.is_dir() and not inside.is_dir() else inside
    return folder.joinpath(*parts)


def load_dataset(name: str) -> Dataset:
    """Return the data set "ww", "pm", "aids" or "pp", in fresh arrays.

    >>> wine = load_dataset("ww")
    >>> wine.X.shape, wine.target_name
    ((4898, 11), 'quality')
    >>> len(set(load_dataset("pm").groups))
    42
    """
    title, source, sha256 = _RECORDS[one_of("name", name, DATASETS)]
    header, *lines = _verified(data_path(f"{name}.csv.gz"), sha256).decode("ascii").splitlines()
    names = header.split(",")
    values = np.loadtxt(lines, delimiter=",")
    first = 1 if names[0] == "subject" else 0  # a group label is not an input
    return Dataset(
        name=name,
        title=title,
        X=values[:, first:-1].copy(),
        y=values[:, -1].copy(),
        groups=values[:, 0].astype(np.int64) if first else None,
        feature_names=tuple(names[first:-1]),
        target_name=names[-1],
        source=source,
        licence=_LICENCE,
        sha256=sha256,
    )


def _verified(path: Path, sha256: str) -> bytes:
    """Return the uncompressed bytes of a data file, or raise a `DataError`."""
    remedy = "remake it with `python data/extract.py` in a checkout, or reinstall gt2lite"
    try:
        content = gzip.decompress(path.read_bytes())
    except FileNotFoundError:
        raise DataError(f"{path} is missing: {remedy}") from None
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path} cannot be read ({error}): {remedy}") from error
    digest = hashlib.sha256(content).hexdigest()
    if digest != sha256:
        raise DataError(f"{path} has SHA-256 {digest}, should be {sha256}: {remedy}")
    return content


FARTHEST = 1e150  # standard deviations from the training data beyond which nothing is computed
LARGEST, LEAST_SPREAD = 1e300, 1e-300  # numbers are at most this large, and vary by this
TRANSFORMS = ("log",)  # the values of `target_transform` besides None
_LARGEST_LOG = float(np.log(np.finfo(float).max))  # its exponential is finite


@dataclass(frozen=True, eq=False)
class Scaler:
    """Means and standard deviations that turn inputs and target into z-scores.

    With the `target_transform` "log", mean and standard deviation of y are those of its logarithm.

    >>> scaler = Scaler.fit([[1.0, 5.0], [3.0, 5.0]], [10.0, 30.0])
    >>> scaler.transform_X([[2.0, 6.0]]).tolist(), scaler.inverse_y([0.5]).tolist()
    ([[0.0, 1.0]], [25.0])
    >>> scaler = Scaler.fit([[1.0], [3.0]], [10.0, 1000.0], "log")
    >>> scaler.transform_y([100.0]).tolist(), scaler.inverse_y([0.0]).round(6).tolist()
    ([0.0], [100.0])
    """

    x_mean: Array  # (M,)
    x_std: Array  # (M,)
    y_mean: float
    y_std: float
    target_transform: str | None = None

    @classmethod
    def fit(cls, X: ArrayLike, y: ArrayLike, target_transform: str | None = None) -> Scaler:
        """Fit to `X (N, M)` and `y (N,)`; std divides by N (ddof 0), a constant's is 1."""
        X = matrix("X", X)
        y = _transformed(vector("y", y, len(X)), target_transform)
        x_mean, x_std = _moments("X", X)
        y_mean, y_std = _moments("y", y[:, None])
        return cls(x_mean, x_std, float(y_mean[0]), float(y_std[0]), target_transform)

    def transform_X(self, X: ArrayLike) -> Array:
        """Return the z-scores of inputs `X (N, M)`."""
        X = matrix("X", X)
        if X.shape[1] != self.x_mean.size:
            raise ValueError(f"X must have {self.x_mean.size} columns, got shape {X.shape}")
        with np.errstate(over="ignore"):
            Z = X - self.x_mean
            Z /= self.x_std  # in place: a large table is copied once, not twice
        if not max(Z.max(), -Z.min()) <= FARTHEST:
            i, j = np.unravel_index(np.argmax(np.abs(Z)), Z.shape)
            raise ValueError(
                f"column {j} of X holds {X[i, j]:g} in row {i}, more than {FARTHEST:g} "
                "standard deviations away from the training data"
            )
        return Z

    def transform_y(self, y: ArrayLike) -> Array:
        """Return the z-scores of target values, of any shape."""
        y = _transformed(np.asarray(y, dtype=float), self.target_transform)
        with np.errstate(over="ignore"):
            z = np.asarray((y - self.y_mean) / self.y_std)
        if z.size and not max(z.max(), -z.min()) <= FARTHEST:
            raise ValueError(
                f"y holds {y.flat[np.argmax(np.abs(z))]:g}, more than {FARTHEST:g} standard "
                "deviations away from the training data"
            )
        return z

    def inverse_y(self, y: ArrayLike) -> Array:
        """Return z-scores of the target, of any shape, in the target's own units.

        With logarithms, what is larger than any float becomes the largest one: a row far away from
        the training data must not take the others with it, and such a bound still covers every
        target.
        """
        with np.errstate(over="ignore"):
            found = np.asarray(y, dtype=float) * self.y_std + self.y_mean
        if not np.isfinite(found).all():
            raise ValueError(
                "y is so large that a prediction overflows: divide it by a power of ten before "
                "training"
            )
        if self.target_transform == "log":
            return np.asarray(np.exp(np.minimum(found, _LARGEST_LOG)))
        return found

    def inverse_bounds(self, bounds: Array) -> Array:
        """Return scaled bounds of intervals, of any shape, in units of y; infinite ones stay so.

        With logarithms, the open lower bound is 0.
        """
        is_open = np.isinf(bounds)
        if not is_open.any():
            return self.inverse_y(bounds)
        found = self.inverse_y(np.where(is_open, 0.0, bounds))
        return np.where(is_open, np.where(bounds > 0, np.inf, self._lowest_y), found)

    @property
    def _lowest_y(self) -> float:
        """The lower bound of y if none is given."""
        return 0.0 if self.target_transform == "log" else -np.inf

    def learned_name(self, target: str) -> str:
        """Return the name of what the system learns, given that of the target."""
        return f"log({target})" if self.target_transform == "log" else target

    def without_transform(self) -> Scaler:
        """Return the scaler of what the system learns: with logarithms, of log(y)."""
        return self if self.target_transform is None else replace(self, target_transform=None)


def check_target(target_transform: str | None, values: Array) -> None:
    """Raise an error, with the first row in question, if a target cannot be transformed."""
    low = values <= 0 if target_transform == "log" else np.zeros(1, dtype=bool)
    if low.any():
        first = int(np.argmax(low.ravel()))
        raise ValueError(
            f"y must be above 0 if target_transform='log', got {values.flat[first]:g} in row "
            f"{first} ({int(low.sum())} such rows): leave the transform out, or add a "
            "constant to y"
        )


def _transformed(y: Array, target_transform: str | None) -> Array:
    check_target(target_transform, y)
    return np.log(y) if target_transform == "log" else y


def _moments(name: str, X: Array) -> tuple[Array, Array]:
    """Return mean and std of each column, exactly (its value, 1) where it is constant.

    Squares of very large or very small numbers overflow or vanish. So each column is computed in
    a unit of its own size, a power of two, which changes no digit.
    """
    top = np.abs(X).max(axis=0)
    _refuse_columns(name, X, top > LARGEST, f"holds numbers beyond {LARGEST:g}: divide it")
    # Rounding gives a column of 0.1 a std of some 1e-17, and dividing by that would blow it up.
    constant = X.min(axis=0) == X.max(axis=0)
    exponent = np.frexp(top)[1]
    scaled = np.ldexp(X, -exponent)
    mean, std = np.ldexp(scaled.mean(axis=0), exponent), np.ldexp(scaled.std(axis=0), exponent)
    little = ~constant & (std < LEAST_SPREAD)
    _refuse_columns(name, X, little, f"varies by less than {LEAST_SPREAD:g}: multiply it")
    return np.where(constant, X[0], mean), np.where(constant, 1.0, std)


def _refuse_columns(name: str, X: Array, bad: NDArray[np.bool_], what: str) -> None:
    if bad.any():
        j = int(np.argmax(bad))
        value = X[np.argmax(np.abs(X[:, j])), j]
        which = name if name == "y" else f"column {j} of {name}"
        raise ValueError(f"{which} {what} by a power of ten first (its largest number: {value:g})")


@dataclass(frozen=True, eq=False)
class Split:
    """Row numbers of the three sets: disjoint, and together every row."""

    train: Index
    calibration: Index
    test: Index


def split(n: int, seed: int, *, groups: ArrayLike | None = None) -> Split:
    """Split `n` rows at random into 70% training, 15% calibration and 15% test rows.

    Train and test are rounded, calibration is the rest. With `groups (n,)`, rows of one
    group stay together, and the shares are as near to these as whole groups allow.

    >>> parts = split(4898, seed=0)
    >>> len(parts.train), len(parts.calibration), len(parts.test)
    (3429, 734, 735)
    >>> split(6, seed=0, groups=["a", "a", "a", "a", "b", "c"]).train.tolist()
    [0, 1, 2, 3]
    """
    n = whole("n", n, low=6)  # with fewer rows, rounding leaves the calibration set empty
    rng = np.random.default_rng(whole("seed", seed, low=0))
    n_train, n_test = round(0.7 * n), round(0.15 * n)
    sizes = n_train, n - n_train - n_test
    if groups is None:
        return Split(*random_parts(n, sizes, rng))
    labels = np.asarray(groups)
    if labels.shape != (n,):
        raise ValueError(f"groups must be a 1-D array of length {n}, got shape {labels.shape}")
    return Split(*group_parts(labels, sizes, rng))


@dataclass(frozen=True, eq=False)
class Prepared:
    """Training, calibration and test sets as z-scores, with their scaler and split."""

    X_train: Array
    y_train: Array
    X_cal: Array
    y_cal: Array
    X_test: Array
    y_test: Array
    scaler: Scaler
    split: Split


def prepare(
    dataset: Dataset, seed: int, *, scaling: str = "train", by_group: bool = False
) -> Prepared:
    """Split and scale a data set; `by_group` keeps the rows of one patient together.

    >>> parts = prepare(load_dataset("ww"), seed=0)
    >>> parts.X_train.shape, bool(abs(parts.y_train.mean()) < 1e-9)
    ((3429, 11), True)
    """
    one_of("scaling", scaling, ("train", "authors"))
    if by_group and dataset.groups is None:
        raise ValueError(f"by_group must be False for {dataset.name!r}, which has no groups")
    rows = split(len(dataset.y), seed, groups=dataset.groups if by_group else None)
    # Deviation: the authors scale all rows before they split, so that calibration and test
    # rows leak a little into mean and std. We fit on the training set; "authors" on all rows.
    fitted = slice(None) if scaling == "authors" else rows.train
    scaler = Scaler.fit(dataset.X[fitted], dataset.y[fitted])
    return scale_parts(dataset, rows, scaler)


def scale_parts(dataset: Dataset, rows: Split, scaler: Scaler) -> Prepared:
    """Return the training, calibration and test set of a data set, scaled."""
    X, y = scaler.transform_X(dataset.X), scaler.transform_y(dataset.y)
    train, cal, test = rows.train, rows.calibration, rows.test
    return Prepared(X[train], y[train], X[cal], y[cal], X[test], y[test], scaler, rows)
