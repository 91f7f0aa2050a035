"""Every figure of the book: a function takes `ax`, draws on it and returns it.

A figure carries no title: its caption stands on the page. `use_style` sets the look that all
of them share (`style`); the functions are grouped by what they show. Those called `plot_...`
take a fitted `GT2Regressor` and rows in the user's units. This is the only part of the package
that needs matplotlib.
"""

from gt2lite.plots.along import bands_along, points_along
from gt2lite.plots.calibration import (
    calibration_curves,
    coverage_curves,
    coverage_laws,
    interpolations,
    search_misses,
    search_path,
    step_tradeoff,
)
from gt2lite.plots.comparisons import (
    factor_steps,
    forest,
    paired_dots,
    power_curves,
    row_shares,
    rule_curves,
    strips,
    target_histogram,
)
from gt2lite.plots.costs import growth_curves, level_costs, time_bars
from gt2lite.plots.coverage import (
    bin_coverage,
    coverage_by_size,
    coverage_histogram,
    critical_ranks,
    family_ends,
    group_coverage,
    interval_bands,
    promises,
    tail_misses,
    width_by_level,
)
from gt2lite.plots.estimator import (
    plot_calibration,
    plot_coverage_by,
    plot_history,
    plot_intervals,
    plot_rules,
    plot_sets,
)
from gt2lite.plots.interactive import Interactive, alpha_slider, set_3d, switch_point
from gt2lite.plots.learning import (
    accuracy_losses,
    by_epoch,
    pinball_losses,
    pinball_risk,
    rules_along,
    sets_moved,
    start_sets,
)
from gt2lite.plots.play import calibration_play, rank_play, switch_drag
from gt2lite.plots.rules import (
    chosen_weights,
    firing_ranges,
    log_curves,
    plane_bands,
    rule_lines,
    rule_sets,
    switch_means,
)
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
    "Interactive",
    "accuracy_losses",
    "alpha_planes",
    "alpha_slider",
    "bands_along",
    "bin_coverage",
    "by_epoch",
    "calibration_curves",
    "calibration_play",
    "chosen_weights",
    "coverage_by_size",
    "coverage_curves",
    "coverage_histogram",
    "coverage_laws",
    "critical_ranks",
    "factor_steps",
    "family_ends",
    "firing_ranges",
    "forest",
    "group_coverage",
    "growth_curves",
    "interpolations",
    "interval_bands",
    "kappa_curve",
    "level_costs",
    "log_curves",
    "paired_dots",
    "pinball_losses",
    "pinball_risk",
    "plane_bands",
    "plot_calibration",
    "plot_coverage_by",
    "plot_history",
    "plot_intervals",
    "plot_rules",
    "plot_sets",
    "points_along",
    "power_curves",
    "primary_membership",
    "promises",
    "rank_play",
    "row_shares",
    "rule_curves",
    "rule_lines",
    "rule_sets",
    "rules_along",
    "search_misses",
    "search_path",
    "secondary_membership",
    "set_3d",
    "sets_moved",
    "start_sets",
    "step_tradeoff",
    "strips",
    "switch_drag",
    "switch_means",
    "switch_point",
    "tail_misses",
    "target_histogram",
    "time_bars",
    "use_style",
    "width_by_level",
    "z_gt2_set",
    "z_gt2_surface",
]
