"""Figures of fuzzy sets, inference, calibration and fitted estimators.

A figure function takes `ax`, draws on it and returns it. A figure has no title: its caption is on
the page. `use_style` sets the look that all share (`style`). Functions called `plot_...` take a
fitted `GT2Regressor` and rows in the user's units. This is the only part of the package that
needs matplotlib.
"""

from gt2lite.plots.estimator import (
    plot_calibration,
    plot_coverage_by,
    plot_intervals,
    plot_rules,
    plot_sets,
)
from gt2lite.plots.interactive import Interactive, alpha_slider, set_3d, switch_point
from gt2lite.plots.method import (
    alpha_planes,
    bands_along,
    bin_coverage,
    chosen_weights,
    coverage_curves,
    interval_bands,
    plane_bands,
    points_along,
    rule_sets,
    z_gt2_set,
    z_gt2_surface,
)
from gt2lite.plots.style import BLUE, STYLE, VERMILION, use_style

__all__ = [
    "BLUE", "STYLE", "VERMILION", "Interactive", "alpha_planes", "alpha_slider", "bands_along",
    "bin_coverage", "chosen_weights", "coverage_curves", "interval_bands", "plane_bands",
    "plot_calibration", "plot_coverage_by", "plot_intervals", "plot_rules",
    "plot_sets", "points_along", "rule_sets", "set_3d", "switch_point", "use_style", "z_gt2_set",
    "z_gt2_surface",
]  # fmt: skip
