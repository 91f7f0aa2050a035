"""Warnings about calibrations and inputs: missed levels, narrow envelopes, clipped rows."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from gt2lite._validation import Array, warn
from gt2lite.practice.calibrators import RANKED, Calibration

FAR = 0.5
"""Share of the training range; inputs farther outside it are reported."""


class MissedLevelWarning(UserWarning):
    """The coverage of the calibration rows is far from the coverage requested."""


class ClippedInputsWarning(UserWarning):
    """Rows have inputs far outside the range seen in training, and were clipped to it."""


class NarrowEnvelopeWarning(UserWarning):
    """The trained envelope covers far fewer calibration rows than it was trained for."""


def warn_if_missed(calibrator: Calibration, level: float) -> None:
    """Warn if the coverage of the calibration rows, or of a group of them, is far from a level.

    Far is more than 2 points for "table" and "search", and more than 5 for "exact" and
    "conformal", whose ranks never fall short. Four rows are never far: each bound rounds its rank.
    """
    ranked = calibrator.method in RANKED
    missed = [
        row
        for row in calibrator.report(level)
        if row.calibrated_on in ("all", "group")
        and abs(row.reached - level) > max(0.05 if ranked else 0.02, 4 / row.n_samples)
    ]
    if not missed:
        return
    worst = max(missed, key=lambda row: abs(row.reached - level))
    group = "" if worst.group is None else f" of group {worst.group!r}"
    others = f" ({len(missed) - 1} more groups likewise)" if len(missed) > 1 else ""
    if ranked:
        reason = (
            "many rows are first covered by the same interval, because the target has few values "
            "or is predicted exactly. The intervals are wider than necessary"
        )
    else:
        reason = (
            "it evaluates too few planes or stalled. "
            'method="conformal" and method="exact" come as close as the rows allow'
        )
    warn(
        f"coverage {level:g} was requested, but method={calibrator.method!r} covers "
        f"{worst.reached:.1%} of the {worst.n_samples} calibration rows{group}{others}: {reason}",
        MissedLevelWarning,
    )


def warn_if_clipped(X: Array, limits: Array, names: Sequence[str]) -> None:
    """Warn if a row lies outside the range of training by more than half of it (`FAR`).

    Values just outside are common, and clipping hardly changes them.
    """
    low, high = limits
    reach = FAR * (high - low)
    far = (low - reach > X) | (high + reach < X)
    if far.any():
        columns = ", ".join(str(names[m]) for m in np.flatnonzero(far.any(axis=0))[:5])
        warn(
            f"{far.any(axis=1).sum()} of {len(X)} rows have inputs far outside the range seen in "
            f"training; they are clipped to it. Such columns (at most 5 are listed): {columns}",
            ClippedInputsWarning,
        )


def warn_if_narrow(calibrator: Calibration, trained_for: float) -> None:
    """Warn if the plane alpha_0 covers far fewer calibration rows than it was trained for."""
    n = calibrator.n_samples
    k = round(calibrator.max_coverage * n)
    if is_narrow(k, n, trained_for):
        warn(
            f"the envelope was trained to cover {trained_for:.1%}, but covers {k / n:.1%} of the "
            f"{n} calibration rows: the system overfits, was trained too briefly, or these rows "
            "are of another kind. Calibration corrects the coverage by wider intervals. To avoid "
            "it, try fewer rules (n_rules), recipe=Recipe(weight_decay=0.1), "
            'Recipe(keep="validation"), more training rows or epochs',
            NarrowEnvelopeWarning,
        )


def is_narrow(n_covered: int, n_samples: int, trained_for: float) -> bool:
    """Return whether an envelope covers significantly less than it was trained for.

    By more than 5 points, and so little that an envelope with the coverage trained for would
    cover as little with a probability of at most 1 in 1,000, by Chernoff's bound on it.

    >>> is_narrow(65, 100, 0.99), is_narrow(97, 100, 0.99), is_narrow(9, 10, 0.99)
    (True, False, False)
    """
    share = n_covered / n_samples
    if not trained_for - share > 0.05:
        return False
    divergence = (1 - share) * math.log((1 - share) / (1 - trained_for))  # Kullback-Leibler
    divergence += share * math.log(share / trained_for) if share else 0.0
    return n_samples * divergence > math.log(1000)
