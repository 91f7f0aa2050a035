"""Interactive figures: no server, no network, no library.

Each function here returns an `Interactive`, which a notebook shows when a cell ends in it. Its
HTML is complete in itself: a still figure, the data as JSON, a style and scripts (`controls.js`
and `interactive.js`). Where scripts run, sliders and live drawings replace the still: on the pages
of the book, in JupyterLab, in Colab. Elsewhere the still stays. Every element carries the scripts,
which are small, so that each cell works without the others.
"""

from __future__ import annotations

import base64
import io
import json
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.style import context

from gt2lite._validation import Array, vector
from gt2lite.memberships import ALPHA_0
from gt2lite.plots.method import interval_bands
from gt2lite.plots.style import STYLE, labelled

if TYPE_CHECKING:
    from gt2lite.system import Planes

_HERE = Path(__file__).parent
START = 0.3
"""The plane that is shown first."""

_STEPS = 999  # bounds are drawn, not read: this is finer than a screen


@dataclass(frozen=True)
class Interactive:
    """A figure with sliders, shown by a notebook when a cell ends in it.

    Args:
        kind: name of its drawing in the script.
        data: the data of that drawing.
        figure: the figure shown if no script runs.
        alt: description of the figure.
        scripts: paths of the scripts that draw it, with `controls.js`.
    """

    kind: str
    data: dict[str, Any] = field(repr=False)
    figure: Figure = field(repr=False)
    alt: str
    scripts: tuple[Path, ...] = (_HERE / "interactive.js",)

    def _repr_html_(self) -> str:
        data = json.dumps(
            self.data, separators=(",", ":"), allow_nan=False, default=np.ndarray.tolist
        )
        data = data.replace("<", r"\u003c")  # nothing in it may end the script element
        still = io.BytesIO()
        with context(STYLE):
            self.figure.savefig(still, format="png", dpi=100)
        picture = "data:image/png;base64," + base64.b64encode(still.getvalue()).decode()
        sources = [_HERE / "controls.js", *self.scripts]
        style = (_HERE / "interactive.css").read_text(encoding="utf-8")
        script = "".join(path.read_text(encoding="utf-8") for path in sources)
        return (
            f'<div class="gt2-live" data-kind="{self.kind}"><style>{style}</style>'
            f'<img class="gt2-still" alt="{escape(self.alt)}" src="{picture}">'
            '<p class="gt2-still">A still picture: where scripts run, it has sliders.</p>'
            f'<script type="application/json">{data}</script>'
            f"<script>{script}</script></div>"
        )


def alpha_slider(
    planes: Planes, y: Array, *, y_name: str = "target", n_shown: int = 60
) -> Interactive:
    """Return a slider over alpha: intervals shrink as it rises, and coverage falls.

    Args:
        planes: the planes of a system at some rows.
        y: their targets (N,), on the scale of the system.
        y_name: name of the targets.
        n_shown: number of rows drawn, spread evenly over the predictions (the plane
            alpha = 1). Coverage and width are those of all rows.
    """
    if not (hasattr(planes, "X") and hasattr(planes, "ends")):
        raise TypeError(
            "alpha_slider takes the planes of a system at the rows of y, got "
            f"{type(planes).__name__}; those of an estimator are Planes(reg.params_, "
            "reg.scaler_.transform_X(X)), with Planes from gt2lite.system, and y is "
            "reg.scaler_.transform_y(y)"
        )
    y = vector("y", y, len(planes.X))
    alphas = np.linspace(ALPHA_0, 1, 100)
    lower, upper = planes.ends(alphas)  # (100, N) each
    covered = ((lower <= y) & (y <= upper)).sum(axis=1)
    chosen = np.linspace(0, y.size - 1, min(n_shown, y.size)).round().astype(int)
    rows = np.argsort(lower[-1], kind="stable")[chosen]
    lo, up, target = lower[:, rows], upper[:, rows], y[rows]
    ends = float(min(lo.min(), target.min())), float(max(up.max(), target.max()))
    pad = 0.03 * (ends[1] - ends[0]) or 1.0
    scale = ends[0] - pad, ends[1] + pad

    def drawn(values: Array) -> Any:
        return np.rint(_STEPS * (values - scale[0]) / (scale[1] - scale[0])).astype(int).tolist()

    figure, ax = still_figure()
    first = int(np.argmin(np.abs(alphas - START)))
    bands = {rf"$\alpha = {alphas[k]:.2g}$": (lo[k], up[k]) for k in (0, first)}
    interval_bands(ax, target, bands, order=np.arange(rows.size))
    labelled(ax, "rows, in the order of their prediction", y_name)
    data = {
        "name": y_name, "scale": scale, "start": START, "total": y.size, "y": drawn(target),
        "lower": drawn(lo), "upper": drawn(up), "covered": covered.tolist(),
        "width": (upper - lower).mean(axis=1).round(6).tolist(),
    }  # fmt: skip
    share = 100 * covered[[0, first]] / y.size
    alt = (
        f"Targets with two bands of intervals: the plane alpha = {ALPHA_0:g} covers "
        f"{share[0]:.1f}% of the rows, the plane alpha = {START:g} lies inside it and "
        f"covers {share[1]:.1f}%."
    )
    return Interactive("alpha", data, figure, alt)


def still_figure(
    size: tuple[float, float] = (7, 3.6), columns: int = 1, **axes: Any
) -> tuple[Figure, Any]:
    """Return a figure that no notebook shows by itself, and its axes."""
    with context(STYLE):
        figure = Figure(figsize=size)
        return figure, figure.subplots(1, columns, subplot_kw=axes)
