"""Every figure of the book: a function takes `ax`, draws on it and returns it.

A figure carries no title: its caption stands on the page. `use_style` sets the look that all
of them share (`style`); the functions are grouped by what they show. This is the only
part of the package that needs matplotlib.
"""

from gt2lite.plots.intervals import calibration_curves, interval_bands
from gt2lite.plots.sets import (
    alpha_planes,
    kappa_curve,
    primary_membership,
    secondary_membership,
    z_gt2_set,
    z_gt2_surface,
)
from gt2lite.plots.style import BLUE, STYLE, VERMILION, use_style

__all__ = [
    "BLUE",
    "STYLE",
    "VERMILION",
    "alpha_planes",
    "calibration_curves",
    "interval_bands",
    "kappa_curve",
    "primary_membership",
    "secondary_membership",
    "use_style",
    "z_gt2_set",
    "z_gt2_surface",
]
