"""Type reduction of 10,000 rows: ours against what can be installed, in time and in error.

All others work on one row at a time; they are timed on a few rows and scaled up. Consequents
come in any order, and a library that wants them sorted has the sorting in its time.

Errors are the largest over many rows, against all 2^P choices of weights up to 12 rules and
against `gt2lite.reduction.karnik_mendel` beyond, for three kinds of firings: *even* ones, drawn
from (0, 1); *uneven* ones, drawn from (1e-6, 1) on a logarithmic scale, as products of many
memberships are; and *sparse* ones, of which many are 0, as with triangular memberships, with
consequents that tie. A row for which a library raises an error, returns no number or does not
come back has failed; it is counted apart.
"""

from __future__ import annotations

import contextlib
import logging
import signal
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import _measure
import numpy as np
import pandas as pd

from gt2lite import reduction

ENUMERABLE = 12
KINDS = ("even", "uneven", "sparse")
PATIENCE = 0.1  # seconds of work on one row, which takes others about a millisecond
PACKAGES = ("pyit2fls", "fuzzytool", "ex-fuzzy", "type2fuzzy")

Row = Callable[[np.ndarray, np.ndarray, np.ndarray], Sequence[float]]
"""From the lower and upper firings and the consequents of one row, (P,) each, to its two ends."""


def draw(P: int, B: int, kind: str, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return lower firings, upper firings and consequents, (B, P) each."""
    rng = np.random.default_rng([seed, P])
    upper = 10 ** rng.uniform(-6, 0, (B, P)) if kind == "uneven" else rng.uniform(size=(B, P))
    lower, y = upper * rng.uniform(size=(B, P)), rng.normal(size=(B, P))
    if kind == "sparse":
        fires = rng.uniform(size=(B, P)) < 0.6
        fires[:, 0] |= ~fires.any(axis=1)
        upper, lower = upper * fires, lower * fires * (rng.uniform(size=(B, P)) < 0.5)
        y = y.round(1)
    return lower, upper, y


def rivals() -> dict[str, Row]:
    """Return what is installed, by name."""
    found: dict[str, Row] = {}
    if pyit2fls := _measure.competitor("pyit2fls"):

        def intervals(lo: np.ndarray, up: np.ndarray, y: np.ndarray) -> np.ndarray:
            return np.column_stack([y, y, lo, up])

        found["PyIT2FLS KM"] = lambda *row: pyit2fls.KM_algorithm(intervals(*row))
        found["PyIT2FLS EKM"] = lambda *row: pyit2fls.EKM_algorithm(intervals(*row))
        found["PyIT2FLS EIASC"] = lambda *row: pyit2fls.EIASC_algorithm(intervals(*row))
    if fuzzytool := _measure.competitor("fuzzytool.type2"):
        found["fuzzytool KM"] = lambda lo, up, y: fuzzytool.karnik_mendel(y, lo, up)
        found["fuzzytool EIASC"] = lambda lo, up, y: fuzzytool.eiasc(y, lo, up)
    if ex_fuzzy := _measure.competitor("ex_fuzzy.centroid"):

        def by_ex_fuzzy(lo: np.ndarray, up: np.ndarray, y: np.ndarray) -> Any:
            order = np.argsort(y)
            z = y[order]
            return ex_fuzzy.consequent_centroid(
                np.column_stack([lo[order], up[order]]), np.column_stack([z, z])
            )

        found["ex-fuzzy"] = by_ex_fuzzy
    if type2fuzzy := _measure.competitor("type2fuzzy"):

        def by_type2fuzzy(lo: np.ndarray, up: np.ndarray, y: np.ndarray) -> tuple[float, float]:
            order = np.argsort(y)
            rows = y[order].tolist(), up[order].tolist(), lo[order].tolist()
            fuzzy_set = type2fuzzy.IntervalType2FuzzySet.from_hmf_lmf(*rows)
            ends = type2fuzzy.it2_kernikmendel_reduce(fuzzy_set, precision=15)
            return ends.left, ends.right

        found["type2fuzzy"] = by_type2fuzzy
    return found


@contextlib.contextmanager
def patience() -> Iterator[None]:
    """Raise TimeoutError in what works for longer than `PATIENCE`, where the system can."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def stop(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, PATIENCE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def judge(row: Row, data: tuple[np.ndarray, ...], truth: np.ndarray) -> dict[str, float | None]:
    """Return the largest error of an end over the rows of `data`, and the share that failed."""

    def patient(*data: np.ndarray) -> Sequence[float]:
        with patience():
            return row(*data)

    ends = [tuple(tried(patient, *one))[:2] for one in zip(*data, strict=True)]
    gap = np.abs(np.array(ends, dtype=float) - truth).max(axis=1)
    good = np.isfinite(gap)
    largest = float(gap[good].max()) if good.any() else None
    return {"error": largest, "failed": float(1 - good.mean())}


def tried(row: Row, *data: np.ndarray) -> Sequence[float]:
    """Return the ends of one row, or two NaN in place of an error."""
    try:
        return row(*data)
    except Exception:
        return np.nan, np.nan


def exact_ends(data: tuple[np.ndarray, ...]) -> np.ndarray:
    """Return the ends (B, 2) by what is exact beyond doubt, or nearly so for many rules."""
    many = data[0].shape[1] > ENUMERABLE
    row = reduction.karnik_mendel if many else reduction.enumerate_weights
    return np.array([row(*r)[:2] for r in zip(*data, strict=True)])


def compare(P: int, args: Any, others: dict[str, Row]) -> list[dict[str, Any]]:
    """Return a line for each way of reducing rows of P rules."""
    lower, upper, y = draw(P, args.rows, "even")
    few = [v[: args.few] for v in (lower, upper, y)]
    by_row = dict(others)
    by_row["gt2lite, one row of Karnik-Mendel"] = reduction.karnik_mendel
    if P <= ENUMERABLE:
        by_row["all 2^P choices"] = reduction.enumerate_weights

    def each(row: Row) -> Callable[[], object]:
        return lambda: [tried(row, *one) for one in zip(*few, strict=True)]

    cases: dict[str, Callable[[], object]] = {
        "gt2lite": lambda: reduction.type_reduce(lower, upper, y)
    }
    cases |= {name: each(row) for name, row in by_row.items()}
    seconds = _measure.take_turns(cases, args.rounds, at_least=0.001)
    for name in by_row:
        seconds[name] = [s * args.rows / args.few for s in seconds[name]]

    lines = [
        {
            "name": name,
            "P": P,
            **_measure.summary(turns),
            "over_ours": 1 / _measure.ratio(seconds["gt2lite"], turns),
        }
        for name, turns in seconds.items()
    ]
    by_row["gt2lite"] = reduction.type_reduce
    for kind in KINDS:
        data = draw(P, args.checked, kind, seed=1)
        truth = exact_ends(data)
        for line in lines:
            row = by_row[line["name"]]
            by_itself = P > ENUMERABLE and row is reduction.karnik_mendel
            line[kind] = None if by_itself else judge(row, data, truth)
    return lines


def main() -> None:
    """Time, judge, print, write.

    Others are timed on a `few` rows; errors are looked for on the rows `checked`.
    """
    rules = [5, 10, 12, 20, 50, 100]
    args = _measure.options(__doc__, rows=10_000, rules=rules, few=50, checked=500, rounds=7)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # theirs, and what they log
        logging.disable(logging.CRITICAL)
        others = rivals()
        lines = [line for P in args.rules for line in compare(P, args, others)]
    columns = ["P", "name", "seconds", "over_ours", *(f"{kind}.error" for kind in KINDS)]
    title = f"{args.rows} rows; largest error on {args.checked}, and share of rows that failed"
    columns += [f"{kind}.failed" for kind in KINDS]
    _measure.show(title, pd.json_normalize(lines), columns)
    against = f"all 2^P choices up to P = {ENUMERABLE}, then Karnik-Mendel"
    _measure.write(args, {"lines": lines}, PACKAGES, error_against=against)


if __name__ == "__main__":
    main()
