"""Figures of fuzzy sets, inference, calibration and fitted estimators.

A figure function takes `ax`, draws on it and returns it. A figure has no title: its caption is on
the page. `use_style` sets the look that all share (`style`). Functions called `plot_...` take a
fitted `GT2Regressor` and rows in the user's units; they live in `gt2lite.practice.plots` and are
loaded from there on first use. This is the only part of the package that needs matplotlib.
"""

from typing import TYPE_CHECKING, Any

try:
    import matplotlib  # noqa: F401
except ImportError as error:  # pragma: no cover
    raise ImportError(
        "gt2lite.plots draws with matplotlib, which is not installed: pip install 'gt2lite[plot]'"
    ) from error

from gt2lite.plots.interactive import Interactive, alpha_slider
from gt2lite.plots.method import (
    alpha_planes,
    bands_along,
    bin_coverage,
    coverage_curves,
    interval_bands,
    plane_bands,
    points_along,
    rule_sets,
    z_gt2_set,
)
from gt2lite.plots.style import BLUE, STYLE, VERMILION, use_style

if TYPE_CHECKING:
    from gt2lite.practice.plots import (
        plot_calibration,
        plot_coverage_by,
        plot_intervals,
        plot_rules,
        plot_sets,
        plot_wealth,
    )

__all__ = [
    "BLUE", "STYLE", "VERMILION", "Interactive", "alpha_planes", "alpha_slider", "bands_along",
    "bin_coverage", "coverage_curves", "interval_bands", "plane_bands", "plot_calibration",
    "plot_coverage_by", "plot_intervals", "plot_rules", "plot_sets", "plot_wealth",
    "points_along", "rule_sets", "use_style", "z_gt2_set",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in __all__ and name.startswith("plot_"):
        from gt2lite.practice import plots

        return getattr(plots, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
