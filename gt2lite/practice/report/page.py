"""The page of a report: figures, tables, and the template `page.html.j2`.

The page is one file. It makes no request, and suits small screens and dark mode. It contains the
model: its panel "What if?" (`whatif.js`) evaluates it in the reader's browser, by `evaluator.js`.
The template has the text; it escapes everything that comes from the table.
"""

from __future__ import annotations

import base64
import io
import json
import math
from collections.abc import Callable, Sequence
from importlib import resources

import jinja2
import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from gt2lite._validation import Array
from gt2lite._version import __version__
from gt2lite.plots.style import (
    BLUE,
    GREY,
    ORANGE,
    SKY,
    STYLE,
    VERMILION,
    legend_above,
    plain_text,
)
from gt2lite.practice import model_file
from gt2lite.practice.columns import Frame
from gt2lite.practice.frames import bound_names, percent
from gt2lite.practice.plots import plot_wealth
from gt2lite.practice.presets import STRONG
from gt2lite.practice.report.analysis import Coverage, Findings
from gt2lite.practice.report.reading import Table

MOST_POINTS = 150  # test rows in a figure
MOST_BARS = 15
MOST_ROWS = 10  # of the widest intervals, and of the misses
MOST_COLUMNS = 5  # columns shown beside them
MOST_DROPPED = 6  # columns in the summary
MOST_TERMS = 4  # inputs shown of a rule
MOST_BYTES = 3_000_000  # of a model that a page contains
SCRIPTS = ("plots/controls.js", "practice/evaluator.js", "practice/report/whatif.js")


def render(found: Findings, source: Table) -> str:
    """Return the page as HTML."""
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"number": number, "percent": percent, "share": "{:.1%}".format}
    environment.filters["brief"] = lambda value: number(float(f"{value:.3g}"))
    environment.filters["bound"] = lambda value: number(value) if math.isfinite(value) else "any"
    environment.tests["dropped"] = lambda column: column.treatment.startswith("dropped")
    template = _package_text("practice/report/page.html.j2")
    at = found.model.levels.index(found.main)
    widest, misses = _extremes(found)
    return environment.from_string(template).render(
        found=found,
        source=source,
        version=__version__,
        strong=STRONG,
        at=at,
        infinite=math.inf,
        verdict=judge(found),
        typical=float(np.median(np.abs(found.y - found.predictions["prediction"]))),
        middle=np.quantile(found.y, [0.25, 0.75]).tolist(),
        most_terms=MOST_TERMS,
        most_dropped=MOST_DROPPED,
        widest=widest,
        misses=misses,
        figures=_figures(found, fixed=found.accuracies[1].widths[at]),
        live=live_data(found),
        live_style=_package_text("plots/interactive.css"),
        live_script="".join(map(_package_text, SCRIPTS)),
    )


def judge(found: Findings) -> str:
    """Return the verdict that the page begins with."""
    main = next(row for row in found.coverages if row.level == found.main)
    ours, _, mean, *_ = found.accuracies
    if main.verdict == "too low":
        return "Not ready for use: the intervals cover fewer test rows than promised."
    if ours.rmse >= mean.rmse:
        return (
            "Of little use: predictions are no better than the mean. Either the columns say little "
            "about the target, or there are too few rows."
        )
    kept = "The intervals keep their promise on the test rows"
    if main.share < main.level:
        kept = "On the test rows coverage is as promised, up to sampling variation"
    if found.alerts:
        n = len(found.alerts)
        return f"{kept}. Read the alert{'s' if n > 1 else ''} below before you use them."
    if found.order.mark == "changed":
        return f"{kept}. But rows change with their order, see below."
    return f"{kept}. No alert was raised."


def _package_text(name: str) -> str:
    return resources.files("gt2lite").joinpath(name).read_text("utf-8")


def live_data(found: Findings) -> str | None:
    """Return the data of the panel "What if?" as JSON for a script element; None if too large."""
    model, rows = found.model, found.rows

    def is_whole(name: str) -> bool:
        values = rows[name]
        return pd.api.types.is_numeric_dtype(values) and bool((values.dropna() % 1 == 0).all())

    readable = found.readable
    data = {
        "model": model_file.for_evaluator("table model", model.content()),
        "readable": readable
        and model_file.for_evaluator("regressor", model_file.pack_regressor(readable)),
        "rules": [
            {
                "number": r.number,
                "condition": r.condition(MOST_TERMS),
                "formula": r.formula(MOST_TERMS),
            }
            for r in found.rules
        ],
        "about": "The rules below are those of the section Rules, with their present share: "
        + ("of a small system that imitates the model." if readable else "of its first system."),
        "order": [name for name, _ in found.importance],
        "whole": [c.name for c in model.columns.used if c.kind == "number" and is_whole(c.name)],
        "range": found.target_range,
        "target": model.target,
        "level": round(100 * found.main),
        "clipped": bool(model.regressor.clip_inputs),
    }
    text = json.dumps(data, separators=(",", ":"), default=model_file.plain)
    text = text.replace("<", r"\u003c")  # nothing in it may end the script element
    return text if len(text) <= MOST_BYTES else None


def _extremes(found: Findings) -> tuple[Frame, Frame]:
    """Return the rows with the widest intervals, and the misses that lie farthest outside.

    The columns are target, prediction and bounds, then the most important inputs.
    """
    lower, upper = found.bounds(found.main)
    outside = np.maximum(lower - found.y, found.y - upper)
    missed = np.flatnonzero(outside > 0)
    widest = np.argsort(lower - upper, kind="stable")[:MOST_ROWS]
    farthest = missed[np.argsort(-outside[missed], kind="stable")][:MOST_ROWS]
    numbers = found.predictions[["prediction", *bound_names(found.main)]].set_axis(
        ["prediction", "lower", "upper"], axis=1
    )
    numbers.insert(0, found.model.target, found.y, allow_duplicates=True)
    inputs = found.rows[[name for name, _ in found.importance[:MOST_COLUMNS]]]
    rows = pd.concat([numbers, inputs], axis=1)
    return rows.iloc[widest], rows.iloc[farthest]


def _figures(found: Findings, fixed: float) -> dict[str, str]:
    """Return all figures; `fixed` is the one width of the intervals of boosted trees."""
    lower, upper = found.bounds(found.main)
    y_hat, target = found.predictions["prediction"].to_numpy(), found.model.target
    top, test = found.importance[:MOST_BARS], found.order.test
    wealth = {} if test is None else {"wealth": _picture(lambda ax: plot_wealth(ax, test))}
    return wealth | {
        "intervals": _picture(lambda ax: plot_intervals(ax, found.y, y_hat, lower, upper, target)),
        "coverage": _picture(lambda ax: plot_coverage(ax, found.curve)),
        "widths": _picture(lambda ax: plot_widths(ax, upper - lower, fixed, found.main)),
        "importance": _picture(lambda ax: plot_importance(ax, top), 1.0 + 0.3 * len(top)),
    }


# ------------------------------------------------------------------- numbers


def number(value: object) -> str:
    """Return a value for readers: numbers with four digits, a dash for nothing.

    >>> number(1234567.0), number(0.123456), number(12)
    ('1,234,567', '0.1235', '12')
    """
    if isinstance(value, (float, np.floating)):
        if not math.isfinite(value):
            return "\N{EN DASH}"
        return f"{value:,.0f}" if abs(float(value)) >= 1000 else f"{value:.4g}"
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return f"{int(value):,}" if abs(int(value)) >= 10_000 else str(value)
    return "\N{EN DASH}" if value is None else str(value)


# ------------------------------------------------------------------- figures


def _picture(draw: Callable[[Axes], object], height: float = 3.8) -> str:
    """Return a figure as the address of a PNG inside the page, without a display."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(6.4, height))
        FigureCanvasAgg(figure)
        draw(figure.add_subplot())
        content = io.BytesIO()
        figure.savefig(content, format="png", dpi=110)
    return "data:image/png;base64," + base64.b64encode(content.getvalue()).decode()


def plot_intervals(
    ax: Axes, y: Array, y_hat: Array, lower: Array, upper: Array, target: str
) -> Axes:
    """Draw test rows in the order of their predictions, with their intervals."""
    order = np.argsort(y_hat, kind="stable")
    if len(order) > MOST_POINTS:
        order = order[np.linspace(0, len(order) - 1, MOST_POINTS).astype(int)]
    inside, values = ((lower <= y) & (y <= upper))[order], y[order]
    place = np.arange(len(order))
    ax.vlines(place, lower[order], upper[order], color=SKY, linewidth=2, label="interval")
    ax.plot(place, y_hat[order], color=BLUE, linewidth=1.2, label="prediction")
    ax.plot(place[inside], values[inside], "o", ms=3, color="black", label="inside")
    ax.plot(place[~inside], values[~inside], "X", ms=6, color=VERMILION, label="outside")
    ax.set(xlabel="test rows, by prediction", ylabel=plain_text(target))
    legend_above(ax, 4)
    return ax


def plot_coverage(ax: Axes, rows: Sequence[Coverage]) -> Axes:
    """Draw coverage against level, with the range of sampling variation."""
    levels = [row.level for row in rows]
    band = ([row.low for row in rows], [row.high for row in rows])
    ax.fill_between(levels, *band, color=SKY, alpha=0.35, label="sampling variation (95%)")
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle="--", label="coverage = level")
    ax.plot(levels, [row.share for row in rows], "o-", ms=4, color=BLUE, label="test rows")
    ax.set(xlabel="level", ylabel="share of test rows covered", xlim=(0, 1), ylim=(0, 1.02))
    ax.legend(loc="upper left")
    return ax


def plot_widths(ax: Axes, width: Array, fixed: float, level: float) -> Axes:
    """Draw a histogram of widths, and the one width of boosted trees."""
    varies = float(np.ptp(width)) > 1e-9 * float(np.abs(width).max())
    ax.hist(width, bins=30 if varies else 1, color=SKY, edgecolor=BLUE, label="this model")
    ax.axvline(fixed, color=ORANGE, linestyle="--", label="boosted trees: one width for all rows")
    ax.set(xlabel=f"width of the {percent(level)}% interval", ylabel="test rows")
    legend_above(ax, 2)
    return ax


def plot_importance(ax: Axes, items: Sequence[tuple[str, float]]) -> Axes:
    """Draw the growth of the error for each column as bars, the first on top."""
    names = [plain_text(name if len(name) < 26 else f"{name[:24]}...") for name, _ in items][::-1]
    ax.barh(np.arange(len(names)), [value for _, value in items][::-1], color=BLUE)
    ax.set_yticks(np.arange(len(names)), names)
    ax.set_xlabel("growth of the error (%)")
    return ax
