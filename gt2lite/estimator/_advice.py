"""What `GT2Regressor` says of its own accord: a level that was missed, an envelope too narrow.

Both rules ask for a difference that matters in practice and is no play of chance or of rounding.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from typing import Any

from gt2lite.calibration import RANKED, Cut, ReportRow, TwoSidedCalibrator
from gt2lite.memberships import ALPHA_0

FAR, FAR_ABOVE = 0.02, 0.05
"""How far from its level a coverage may lie: either way, and above it where ranks decide."""

SHORT, CHANCE = 0.05, 1e-3
"""How much less than trained for an envelope may cover, and how unlikely that has to be."""


class MissedLevelWarning(UserWarning):
    """The interval for a level covers another share of the calibration rows than was asked for."""


class NarrowEnvelopeWarning(UserWarning):
    """The trained envelope covers far less of the calibration rows than it was trained for."""


# ---------------------------------------------------------------------- levels


def warn_if_missed(
    calibrator: Any, levels: Iterable[float], told: set[float], stacklevel: int = 3
) -> None:
    """Warn of each level that a calibration misses, unless it is among those `told` before.

    Args:
        calibrator: any `gt2lite.calibration.Calibration`.
        levels: the levels asked for.
        told: those that were looked at before; the new ones are added.
        stacklevel: whose line the warning names.
    """
    method = calibrator.method
    sides = "each" if isinstance(calibrator, TwoSidedCalibrator) else "both"
    each = getattr(calibrator, "sides", sides) == "each"
    for level in map(float, levels):
        if level in told:
            continue
        told.add(level)
        missed = [
            row
            for row in calibrator.report(level)
            if row.calibrated_on in ("all", "group")
            and is_far(row.reached, level, row.n_samples, method, each)
        ]
        if missed:
            words = _missed(missed, level, method)
            warnings.warn(words, MissedLevelWarning, stacklevel=stacklevel)


def is_far(reached: float, level: float, n_samples: int, method: str, each: bool = False) -> bool:
    """Return whether the share of calibration rows covered is far from the level.

    For "table" and "search": more than 2 points away, and more than two rows. For "exact" and
    "conformal", which never fall short: more than 5 points above, and more than the
    rounding of ranks explains, which is two rows, or four where each end has its own rank.

    >>> is_far(0.97, 0.9, 1000, "search"), is_far(0.91, 0.9, 1000, "search")
    (True, False)
    >>> is_far(0.94, 0.9, 1000, "conformal"), is_far(1.0, 0.9, 9, "conformal")
    (False, False)
    """
    rows = (4 if each else 2) / n_samples
    if method in RANKED:
        return reached - level > max(FAR_ABOVE, rows)
    return abs(reached - level) > max(FAR, rows)


def _missed(rows: list[ReportRow], level: float, method: str) -> str:
    worst = max(rows, key=lambda row: abs(row.reached - level))
    among = "" if worst.group is None else f" of group {worst.group!r}"
    more = f" ({len(rows) - 1} more groups likewise)" if len(rows) > 1 else ""
    told = (
        f"coverage {level:g} was asked for, and the interval that method={method!r} chose covers "
        f"{worst.reached:.1%} of the {worst.n_samples} calibration rows{among}{more}: "
    )
    if method in RANKED:
        return told + (
            "many rows are first covered by one and the same interval, as where the target has few "
            "values or is met exactly, and there is none in between. No level is missed from "
            "below; the intervals are wider than this one needs"
        )
    why = "its search stalled" if method == "search" else "it interpolates between few planes"
    return told + (
        f'{why}. calibrate(X, y, method="conformal") comes as near as the rows allow, with a '
        'guarantee, and method="exact" without'
    )


# -------------------------------------------------------------------- envelope


def warn_if_narrow(calibrator: Any, trained_for: float, stacklevel: int = 3) -> None:
    """Warn where the plane alpha_0 covers far less of the calibration rows than it should.

    Args:
        calibrator: any `gt2lite.calibration.Calibration`, fitted.
        trained_for: the coverage that training aimed at.
        stacklevel: whose line the warning names.
    """
    n = calibrator.n_samples
    if calibrator.method in RANKED:
        k = int(calibrator.scores.covered(Cut(ALPHA_0)).sum())
    else:
        k = round(calibrator.coverage(ALPHA_0) * n)
    if is_narrow(k, n, trained_for):
        warnings.warn(
            f"the envelope was trained to cover {trained_for:.1%}, and covers {k / n:.1%} of the "
            f"{n} calibration rows: the system fits its training rows better than new ones, was "
            "trained too briefly, or these rows come from elsewhere. Calibration mends the "
            "coverage, at the price of wider intervals. Fewer rules (n_rules), weight_decay, "
            'keep="validation", more training rows or epochs help',
            NarrowEnvelopeWarning,
            stacklevel=stacklevel,
        )


def is_narrow(n_covered: int, n_samples: int, trained_for: float) -> bool:
    """Return whether an envelope covers less than it was trained for, by more than chance.

    More than 5 points less, and so few that an envelope with the coverage trained for
    has a chance of at most 1 in 1,000 to cover no more.

    >>> is_narrow(65, 100, 0.99), is_narrow(97, 100, 0.99), is_narrow(9, 10, 0.99)
    (True, False, False)
    """
    short = trained_for - n_covered / n_samples > SHORT
    return short and at_most(n_covered, n_samples, trained_for) <= CHANCE


def at_most(k: int, n: int, p: float) -> float:
    """Return the chance of at most `k` hits in `n` trials with chance `p`, for ``k < n * p``.

    From the term of `k` downwards, where each term is a falling share of the one before.

    >>> round(at_most(1, 4, 0.5), 12)  # (1 + 4) / 16
    0.3125
    """
    ways = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    term = math.exp(ways + k * math.log(p) + (n - k) * math.log1p(-p))
    total = term
    for j in range(k, 0, -1):
        term *= j / (n - j + 1) * (1 - p) / p
        total += term
        if term <= 1e-16 * total:
            break
    return total
