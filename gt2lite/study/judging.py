r"""The rules of judgement, by which a claim is decided; fixed before any run, all at 5 %.

**In every row.** Most claims say that one model beats another in each row (a data set at a
level). Each row has a paired t-test over the seeds. The claim *holds* where every row goes its
way beyond chance (a claim about all rows needs no correction: each of them has to pass);
it *does not hold* where some row goes against it beyond chance, with Holm's correction over
the rows; in between the data cannot tell: *within chance*.

**Reaching a level.** The mean coverage of the test parts is compared with the law that
chance gives it (see `gt2lite.study.statistics.coverage_p_value`): Beta-binomial after calibration,
binomial after training. The claim *holds* unless some row is rejected, with Holm over the rows.

**Comparable** means worse by at most 5 % of the mean. A row that exceeds this refutes the
claim where the difference is beyond chance, with Holm over the rows, else it is within chance.

**Making a difference.** The mean of a signed difference is compared with 0. The claim *holds*
where each row differs beyond chance (either way) and *does not hold* where some row is shown to be
comparable, which means within 5 % of its scale: two one-sided tests, with Holm over the rows. A
difference can be beyond chance and yet too small to matter; the claim does not hold then either.
(This rule was mended afterwards: it took the size of the difference before, so that no runs at all
could speak against the claim.)

**Counting.** A claim without noise in it holds in all cases or not at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from gt2lite._checks import Array
from gt2lite.datasets import DATASETS
from gt2lite.study.design import LEVELS
from gt2lite.study.records import Cell, Runs
from gt2lite.study.statistics import SIGNIFICANCE, coverage_p_value, equal_p, holm, paired_p

HOLDS, FAILS, CHANCE, UNTESTABLE = "holds", "does not hold", "within chance", "not testable"
MARGIN = 0.05
"""A mean that is worse by no more than this share is comparable."""

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
    return every_row({row: (float(gain.mean()), paired_p(gain)) for row, gain in gains.items()})


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
    """Judge the mean test coverage of cells, in per cent, against their levels."""
    numbers: dict[str, float] = {"rows": len(cells)}
    gaps, p = {}, []
    for cell in cells:
        dataset, model, level, _ = cell
        n_test, n_cal = ([int(n) for n in runs.values(key, *cell)] for key in ("n_test", "n_cal"))
        mean = float(np.average(runs.values("picp", *cell), weights=n_test))
        p.append(coverage_p_value(mean, level, n_test, n_cal if model == "calibrated" else None))
        row = label(dataset, level)
        gaps[row] = 100 * (mean - level)
        numbers |= {row: 100 * mean, f"{row} p": p[-1]}
    missed = [row for row, q in zip(gaps, holm(p), strict=True) if q < SIGNIFICANCE]
    numbers["missed"] = len(missed)
    if not missed:
        return HOLDS, numbers, f"In all {len(cells)} rows mean coverage is off only by chance."
    by = ", ".join(f"{row} by {gaps[row]:+.2f} points" for row in missed)
    return (
        FAILS,
        numbers,
        f"{len(missed)} of {len(cells)} rows miss their level beyond chance: {by}.",
    )


def comparable(excess: Mapping[str, Array]) -> Finding:
    """Judge by row how much worse (runs,) one model is than the other, in per cent."""
    p = [paired_p(gap) for gap in excess.values()]
    mean = {row: float(gap.mean()) for row, gap in excess.items()}
    numbers = mean | {f"{row} p": value for row, value in zip(excess, p, strict=True)}
    over = {row: q for row, q in zip(mean, holm(p), strict=True) if mean[row] > 100 * MARGIN}
    beyond = [row for row, q in over.items() if q < SIGNIFICANCE]
    worst = max(mean, key=mean.__getitem__)
    text = f"At most {mean[worst]:+.1f} % ({worst}), where {100 * MARGIN:g} % is allowed"
    if beyond:
        return FAILS, numbers, f"{text}; exceeded beyond chance: {', '.join(beyond)}."
    if over:
        return CHANCE, numbers, f"{text}; exceeded within chance: {', '.join(over)}."
    return HOLDS, numbers, f"{text}."


def matters(differences: Mapping[str, Array], scale: Mapping[str, float]) -> Finding:
    """Judge by row whether signed differences (runs,) matter, against a mean they are a share of.

    >>> matters({"a": np.array([0.9, 1.0, 1.1])}, {"a": 10.0})[::2]
    ('holds', 'A difference beyond chance in 1 of 1 rows.')
    >>> matters({"a": np.array([-0.01, 0.0, 0.02])}, {"a": 10.0})[::2]
    ('does not hold', 'A difference beyond chance in 0 of 1 rows; comparable: a.')
    """
    p = {row: paired_p(gap) for row, gap in differences.items()}
    same = {row: equal_p(gap, MARGIN * scale[row]) for row, gap in differences.items()}
    corrected = zip(same, holm(list(same.values())), strict=True)
    equal = [row for row, q in corrected if q < SIGNIFICANCE]
    clear = [row for row in p if p[row] < SIGNIFICANCE]
    numbers: dict[str, float] = {"rows": len(p), "beyond chance": len(clear)}
    for row, gap in differences.items():
        numbers |= {row: float(gap.mean()), f"{row} p": p[row], f"{row} p of equal": same[row]}
    text = f"A difference beyond chance in {len(clear)} of {len(p)} rows"
    verdict, end = _by_row(p, clear, equal, "comparable")
    return verdict, numbers, text + end


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
