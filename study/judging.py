r"""The rules of judgement, by which a claim is decided; fixed before the run of 50 seeds, at 5 %.

**In every row.** Most claims say that one model beats another in each row (a data set at a
level). Each row has a t-test over the seeds. The seeds split one table anew, so that their
differences are not independent: the test carries the variance of Nadeau and Bengio,
:math:`s^2 (1/J + 15/70)` for J seeds, with J - 1 degrees of freedom. The claim *holds* where every
row goes its way beyond chance (a claim about all rows needs no correction: each of them has to
pass); it *does not hold* where some row goes against it beyond chance, with Holm's correction over
the rows; in between the data cannot tell: *within chance*. The usual t-interval, which speaks of
re-splits of this very table and of no other, is told beside it.

**Reaching a level.** The claim *holds* where every row is shown to reach its level: two one-sided
t-tests over the seeds show that mean coverage is within 1 point of it. These are about the table at
hand. It *does not hold* where a mean is shown to be farther off, with Holm over the rows, or
where a single run is off beyond chance, with Holm over all runs: what chance gives a run is
Beta-binomial after calibration, binomial after training
(`study.statistics.coverage_p_value`).

**Comparable** is non-inferiority: worse by no more than 5 % of the mean. The claim *holds* where in
every row the one-sided 95 % upper bound of the mean excess lies within these 5 %, and *does not
hold* where some lower bound lies beyond them, with Holm over the rows. The variance is that of
re-splits.

**A choice that matters.** The claim *holds* where some alternative changes a mean by more than 5 %
of it, beyond chance, with Holm over the alternatives, and *does not hold* where each of them is
shown to change it by less: two one-sided tests. The variance is that of re-splits.

**Counting.** A claim without noise in it holds in all cases or not at all.

**Argument.** What needs no run has a reason in place of numbers.

Which of these rules were others before, and what they said, stands on the page on deviations.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from gt2lite._validation import Array
from gt2lite.datasets import DATASETS
from study.design import LEVELS, TEST_OVER_TRAIN
from study.records import Cell, Runs
from study.statistics import (
    SIGNIFICANCE,
    beyond_p,
    corrected_t,
    coverage_p_value,
    equal_p,
    holm,
    paired_half,
    upper_bound,
)

HOLDS, FAILS, CHANCE, UNTESTABLE = "holds", "does not hold", "within chance", "not testable"
MARGIN = 0.05
"""A mean that is worse by no more than this share is comparable; a change by less is none."""

LEVEL_MARGIN = 1.0
"""A level is reached where coverage is within so many points of it."""

SHOWN = 6
"""So many runs that miss their level are named; the others are counted."""

Finding = tuple[str, dict[str, float], str]
"""Verdict, the numbers behind it, and an explanation."""


def table_rows(
    datasets: Sequence[str] = DATASETS, levels: Sequence[float] = LEVELS
) -> list[tuple[str, float]]:
    """Return the rows of the paper's tables, a data set at a level.

    >>> table_rows(["pm", "pp"], [0.9])
    [('pm', 0.9), ('pp', 0.9)]
    """
    return [(dataset, level) for dataset in datasets for level in levels]


def label(dataset: str, level: float) -> str:
    """Return the name of a row.

    >>> label("ww", 0.9)
    'ww 90 %'
    """
    return f"{dataset} {100 * level:g} %"


def in_every_row(gains: Mapping[str, Array]) -> Finding:
    """Judge gains (runs,) by row, positive where the claim is right."""
    tests = {row: corrected_t(gain, TEST_OVER_TRAIN) for row, gain in gains.items()}
    verdict, numbers, text = every_row({row: (mean, p) for row, (mean, _, p) in tests.items()})
    here = 0
    for row, (mean, half, _) in tests.items():
        alone = paired_half(gains[row])
        numbers |= {f"{row} half": half, f"{row} half here": alone}
        here += mean > alone
    numbers["as claimed for this table"] = here
    return verdict, numbers, f"{text} On these tables alone, beyond chance in {here}."


def every_row(rows: Mapping[str, tuple[float, float]]) -> Finding:
    """Judge the mean gain and p-value of each row.

    >>> every_row({"a": (0.1, 0.01), "b": (-0.1, 0.4)})[::2]
    ('within chance', 'As claimed in 1 of 2 rows, beyond chance in 1; within chance: b.')
    """
    corrected = dict(zip(rows, holm([p for _, p in rows.values()]), strict=True))
    clear = [row for row, (gain, p) in rows.items() if gain > 0 and p < SIGNIFICANCE]
    against = [row for row, (gain, _) in rows.items() if gain < 0 and corrected[row] < SIGNIFICANCE]
    n_right = sum(gain > 0 for gain, _ in rows.values())
    numbers: dict[str, float] = {
        "rows": len(rows),
        "as claimed": n_right,
        "as claimed beyond chance": len(clear),
        "against beyond chance": len(against),
    }
    for row, (gain, p) in rows.items():
        numbers |= {row: gain, f"{row} p": p}
    text = f"As claimed in {n_right} of {len(rows)} rows, beyond chance in {len(clear)}"
    verdict, end = _by_row(rows, clear, against, "against the claim beyond chance")
    return verdict, numbers, text + end


def reaches(runs: Runs, cells: Sequence[Cell]) -> Finding:
    """Judge the test coverage of cells, in points from their levels: its mean, and every run."""
    numbers: dict[str, float] = {"rows": len(cells)}
    near, far, mean, alone = {}, {}, {}, {}
    for cell in cells:
        dataset, model, level, _ = cell
        row, picp = label(dataset, level), runs.values("picp", *cell)
        off = 100 * (picp - level)
        near[row] = equal_p(off, LEVEL_MARGIN)
        far[row] = beyond_p(abs(off.mean()), off, LEVEL_MARGIN)
        mean[row] = float(off.mean())
        numbers |= {row: 100 * float(picp.mean()), f"{row} p of near": near[row]}
        n_test, n_cal = (runs.values(key, *cell).astype(int) for key in ("n_test", "n_cal"))
        for seed, share, n, q in zip(runs.seeds, picp, n_test, n_cal, strict=True):
            law = [int(n)], [int(q)] if model == "calibrated" else None
            name = f"{row} seed {seed} ({100 * share:.2f} %)"
            alone[name] = coverage_p_value(float(share), level, *law)
    shown = [row for row, p in near.items() if p < SIGNIFICANCE]
    missed = [row for row, p in zip(far, holm(list(far.values())), strict=True) if p < SIGNIFICANCE]
    single = [run for run, p in zip(alone, holm(list(alone.values())), strict=True)
              if p < SIGNIFICANCE]  # fmt: skip
    single.sort(key=alone.__getitem__)
    numbers |= {"shown": len(shown), "missed": len(missed), "runs": len(alone)}
    numbers["runs beyond chance"] = len(single)
    text = f"Mean coverage is shown to be within {LEVEL_MARGIN:g} point of the level in "
    text += f"{len(shown)} of {len(cells)} rows"
    if missed:
        text += "; farther off: " + ", ".join(f"{row} by {mean[row]:+.2f} points" for row in missed)
    if single:
        more = f" and {len(single) - SHOWN} more" if len(single) > SHOWN else ""
        text += f"; of {len(alone)} runs {len(single)} beyond chance: "
        text += ", ".join(single[:SHOWN]) + more
    if missed or single:
        return FAILS, numbers, f"{text}."
    unclear = [row for row in near if row not in shown]
    if unclear:
        return CHANCE, numbers, f"{text}; within chance: {', '.join(unclear)}."
    return HOLDS, numbers, f"{text}."


def comparable(excess: Mapping[str, Array]) -> Finding:
    """Judge by row how much worse (runs,) one model is than the other, in per cent."""
    allowed = 100 * MARGIN
    mean = {row: float(gap.mean()) for row, gap in excess.items()}
    under = {row: beyond_p(allowed, gap, mean[row], TEST_OVER_TRAIN) for row, gap in excess.items()}
    over = {row: beyond_p(mean[row], gap, allowed, TEST_OVER_TRAIN) for row, gap in excess.items()}
    upper = {row: upper_bound(gap, TEST_OVER_TRAIN) for row, gap in excess.items()}
    numbers: dict[str, float] = {}
    for row in excess:
        numbers |= {row: mean[row], f"{row} upper": upper[row], f"{row} p": under[row]}
    shown = [row for row in excess if upper[row] <= allowed]
    beyond = [row for row, q in zip(over, holm(list(over.values())), strict=True)
              if q < SIGNIFICANCE]  # fmt: skip
    worst = max(mean, key=mean.__getitem__)
    text = (
        f"Shown to be within {allowed:g} % in {len(shown)} of {len(excess)} rows; the worst is "
        f"{worst} with {mean[worst]:+.1f} %, at most {upper[worst]:+.1f} %"
    )
    verdict, end = _by_row(excess, shown, beyond, "worse beyond chance")
    return verdict, numbers, text + end


def matters(differences: Mapping[str, Array], scale: float) -> Finding:
    """Judge by alternative whether signed differences (runs,) matter beside a mean.

    >>> import numpy as np
    >>> few = {"a": np.array([0.9, 1.0, 1.1]), "b": np.array([-0.01, 0.0, 0.02])}
    >>> matters(few, 10.0)[::2]
    ('holds', 'The mean changes by more than 5 % with a (+10 %).')
    >>> matters({"b": few["b"]}, 10.0)[::2]
    ('does not hold', 'Every alternative is shown to change the mean by less than 5 %.')
    """
    margin = MARGIN * scale
    far = {name: beyond_p(abs(gap.mean()), gap, margin, TEST_OVER_TRAIN)
           for name, gap in differences.items()}  # fmt: skip
    near = {name: equal_p(gap, margin, TEST_OVER_TRAIN) for name, gap in differences.items()}
    clear = [name for name, q in zip(far, holm(list(far.values())), strict=True)
             if q < SIGNIFICANCE]  # fmt: skip
    numbers: dict[str, float] = {"alternatives": len(far), "that matter": len(clear)}
    for name, gap in differences.items():
        change = 100 * float(gap.mean()) / scale
        numbers |= {name: change, f"{name} p": far[name], f"{name} p of equal": near[name]}
    by = f"{100 * MARGIN:g} %"
    if clear:
        told = ", ".join(f"{name} ({numbers[name]:+.0f} %)" for name in clear)
        return HOLDS, numbers, f"The mean changes by more than {by} with {told}."
    if all(p < SIGNIFICANCE for p in near.values()):
        return FAILS, numbers, f"Every alternative is shown to change the mean by less than {by}."
    return CHANCE, numbers, f"No alternative is shown to change the mean by more than {by}."


def argued(verdict: str, reason: str) -> Finding:
    """Judge a claim by a reason that needs no run."""
    return verdict, {}, f"By argument: {reason}"


def _by_row(
    rows: Iterable[str], clear: Sequence[str], against: Sequence[str], how: str
) -> tuple[str, str]:
    """Return the verdict where every row has to be clear and none may be against, and why."""
    unclear = [row for row in rows if row not in clear]
    if against:
        return FAILS, f"; {how}: {', '.join(against)}."
    if unclear:
        return CHANCE, f"; within chance: {', '.join(unclear)}."
    return HOLDS, "."


def counted(n_right: int, n: int, what: str, **numbers: float) -> Finding:
    """Judge a claim by the number of cases in which it is right.

    >>> counted(3, 4, "It rains")[::2]
    ('does not hold', 'It rains in 3 of 4 cases.')
    """
    verdict = HOLDS if n_right == n else FAILS
    return (
        verdict,
        {"cases": n, "as claimed": n_right} | numbers,
        f"{what} in {n_right} of {n} cases.",
    )
