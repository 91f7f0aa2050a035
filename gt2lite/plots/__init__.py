"""Figures of fuzzy sets, inference, training, calibration and fitted estimators.

A figure function takes `ax`, draws on it and returns it. A figure has no title: its caption is on
the page. `use_style` sets the look that all share (`style`). Functions called `plot_...` take a
fitted `GT2Regressor` and rows in the user's units. This is the only part of the package that
needs matplotlib.
"""

from gt2lite.plots.calibration import (
    bin_coverage,
    calibration_curves,
    coverage_curves,
    critical_ranks,
    interval_bands,
)
from gt2lite.plots.comparison import (
    firing_ranges,
    forest,
    level_costs,
    log_curves,
    paired_dots,
    strips,
    target_histogram,
)
from gt2lite.plots.estimator import (
    plot_calibration,
    plot_coverage_by,
    plot_history,
    plot_intervals,
    plot_rules,
    plot_sets,
)
from gt2lite.plots.inference import (
    bands_along,
    chosen_weights,
    plane_bands,
    points_along,
    rule_lines,
    rule_sets,
    switch_means,
)
from gt2lite.plots.interactive import (
    Interactive,
    alpha_slider,
    calibration_play,
    rank_play,
    set_3d,
    switch_drag,
    switch_point,
)
from gt2lite.plots.learning import (
    accuracy_losses,
    by_epoch,
    pinball_losses,
    pinball_risk,
    rules_along,
    sets_moved,
    start_sets,
)
from gt2lite.plots.sets import (
    alpha_planes,
    kappa_curve,
    secondary_membership,
    z_gt2_set,
    z_gt2_surface,
)
from gt2lite.plots.style import BLUE, STYLE, VERMILION, use_style

__all__ = [
    "BLUE", "STYLE", "VERMILION", "Interactive", "accuracy_losses", "alpha_planes", "alpha_slider",
    "bands_along", "bin_coverage", "by_epoch", "calibration_curves", "calibration_play",
    "chosen_weights", "coverage_curves", "critical_ranks", "firing_ranges", "forest",
    "interval_bands", "kappa_curve", "level_costs", "log_curves", "paired_dots", "pinball_losses",
    "pinball_risk", "plane_bands", "plot_calibration", "plot_coverage_by", "plot_history",
    "plot_intervals", "plot_rules", "plot_sets", "points_along", "rank_play", "rule_lines",
    "rule_sets", "rules_along", "secondary_membership", "set_3d", "sets_moved", "start_sets",
    "strips", "switch_drag", "switch_means", "switch_point", "target_histogram", "use_style",
    "z_gt2_set", "z_gt2_surface",
]  # fmt: skip
