"""Draw the method on one page: python tools/overview.py writes assets/method.svg.

Every curve is computed: a system with three rules learns the power of a plant from the air
temperature, and is calibrated to 90% on rows held back.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from gt2lite.calibration import ExactCalibrator
from gt2lite.datasets import load_dataset, prepare
from gt2lite.memberships import kappa_of, log_firing, primary, secondary
from gt2lite.plots.method import staircase
from gt2lite.recipe import Recipe
from gt2lite.reduction import type_reduce
from gt2lite.system import Planes, constrain
from gt2lite.training import train

WIDTH, HEIGHT, GAP, TOPS = 960, 130, 32, (58, 290)  # pixels: picture, panel, between, of the rows
ALPHA = "\N{GREEK SMALL LETTER ALPHA}"
PLANES, CUT, LEVEL, SHOWN = (0.01, 0.1, 0.5, 0.9), 0.5, 0.9, 90
HUES = (
    ("blue", "#0072b2", "#62b6ee"),
    ("red", "#c04f00", "#ff9d4d"),
    ("green", "#00805d", "#3fd0a4"),
)
INKS = (
    ("ink", "#1b1f24", "#e6edf3"),
    ("note", "#57606a", "#9da7b1"),
    ("line", "#afb8c1", "#59636e"),
)


def style() -> str:
    """Return the style: each colour for light and dark, of the page or of a picture on its own."""
    rules = [
        ":root.gt2-method { color-scheme: light dark }",
        ".gt2-method text { font: 13px system-ui, sans-serif }",
        ".gt2-method .title { font-size: 15px; font-weight: 600 }",
        ".gt2-method path { fill: none; stroke-width: 2 }",
    ]
    for name, light, dark in (*HUES, *INKS):
        color = f"light-dark({light}, {dark})"
        rules.append(f".gt2-method .{name} {{ stroke: {light}; stroke: {color} }}")
        fill = f"fill: {light}; fill: {color}; stroke: none"
        rules.append(f".gt2-method :is(text, circle, .area).{name} {{ {fill} }}")
    return "\n".join(rules)


class Panel:
    """A box of the picture with its own scale; what is drawn adds lines of SVG."""

    def __init__(self, left: float, top: float, width: float, x: ArrayLike, y: ArrayLike) -> None:
        """Place a box whose inside shows the range of `x` and that of `y`."""
        self.left, self.top, self.width = left, top, width
        (self.x0, self.x1), (self.y0, self.y1) = ((np.min(v), np.max(v)) for v in (x, y))
        box = f'x="{left:.0f}" y="{top}" width="{width:.0f}" height="{HEIGHT}" rx="6"'
        self.lines = [f'<rect {box} class="line" fill="none"/>']

    def at(self, x: ArrayLike, y: ArrayLike) -> list[tuple[float, float]]:
        """Return points of the picture for values."""
        right = self.left + 12 + (self.width - 24) * (np.asarray(x) - self.x0) / (self.x1 - self.x0)
        down = self.top + 12 + (HEIGHT - 24) * (self.y1 - np.asarray(y)) / (self.y1 - self.y0)
        return list(zip(right.tolist(), down.tolist(), strict=True))

    def curve(self, x: ArrayLike, y: ArrayLike, look: str, extra: str = "") -> None:
        """Draw a line through points."""
        self.lines.append(f'<path class="{look}" {extra} d="M{_joined(self.at(x, y))}"/>')

    def area(
        self, x: ArrayLike, low: ArrayLike, high: ArrayLike, look: str, opacity: float
    ) -> None:
        """Fill between two curves."""
        points = [*self.at(x, high), *self.at(x, low)[::-1]]
        attributes = f'class="area {look}" fill-opacity="{opacity:g}"'
        self.lines.append(f'<path {attributes} d="M{_joined(points)}Z"/>')

    def dots(self, x: ArrayLike, y: ArrayLike, look: str, r: float = 1.8) -> None:
        """Draw points."""
        self.lines += [
            f'<circle class="{look}" cx="{a:.1f}" cy="{b:.1f}" r="{r}"/>' for a, b in self.at(x, y)
        ]

    def label(
        self, x: float, y: float, text: str, look: str = "note", anchor: str = "middle"
    ) -> None:
        """Write a word at a point."""
        [(a, b)] = self.at([x], [y])
        self.lines.append(_text(a, b, text, look, anchor))


def _joined(points: Iterable[tuple[float, float]]) -> str:
    return "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def _text(x: float, y: float, text: str, look: str, anchor: str = "start") -> str:
    return f'<text class="{look}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{text}</text>'


def draw() -> str:
    """Train, calibrate and return the picture as the text of an SVG file."""
    data = prepare(load_dataset("pp"), seed=0)
    X, X_cal, X_test = (part[:, :1] for part in (data.X_train, data.X_cal, data.X_test))
    recipe = Recipe(n_rules=3, objective="aligned", learning_rate=0.01, epochs=40)
    params = train(X, data.y_train, recipe, seed=0, progress=False).params
    exact = ExactCalibrator().fit(Planes(params, X_cal), data.y_cal)
    alpha = exact.alpha(LEVEL)

    x = np.linspace(X.min(), X.max(), 61)
    c, sigma, s_l, s_r, _ = constrain(params)
    family, here = Planes(params, x[:, None]), np.array([[0.4]])
    kappa = kappa_of(CUT)
    whole = [*np.ravel(family(PLANES[0])), *data.y_test[:SHOWN]]
    four, three = (WIDTH - 3 * GAP) / 4, (WIDTH - 2 * GAP) / 3
    lefts = [i * (four + GAP) for i in range(4)], [i * (three + GAP) for i in range(3)]

    rows = Panel(lefts[0][0], TOPS[0], four, x, whole)
    rows.dots(X[:SHOWN, 0], data.y_train[:SHOWN], "ink")

    sets = Panel(lefts[0][1], TOPS[0], four, x, [0, 1])
    mu = primary(x[:, None], c, sigma)[:, :, 0]  # (n, P)
    for p, (look, *_) in enumerate(HUES):
        sets.area(x, *secondary(mu[:, p], kappa, s_l[0], s_r[0]), look, 0.2)
        sets.curve(x, mu[:, p], look)
    sets.curve([here[0, 0]] * 2, [0, 1], "note", 'stroke-dasharray="3 3"')

    f_lower, f_upper = (np.exp(f[0]) for f in log_firing(here, c, sigma, s_l, s_r, kappa))  # (P,)
    firing = Panel(lefts[0][2], TOPS[0], four, [0.4, 3.6], [-0.15, 1])
    for p, (look, *_) in enumerate(HUES):
        firing.curve([p + 1] * 2, [f_lower[p], f_upper[p]], look, 'style="stroke-width: 12"')
        firing.label(p + 1, -0.15, f"rule {p + 1}")

    y_rules = (here @ params["a"].T + params["a0"])[0]  # (P,)
    lower, upper = type_reduce(f_lower, f_upper, y_rules)
    span = np.ptp(y_rules)
    reduced = Panel(
        lefts[0][3], TOPS[0], four, [y_rules.min() - span / 6, y_rules.max() + span / 6], [-0.45, 1]
    )
    for p, (look, *_) in enumerate(HUES):
        reduced.curve([y_rules[p]] * 2, [0, f_upper[p]], look, 'stroke-dasharray="2 3"')
        reduced.curve([y_rules[p]] * 2, [0, f_lower[p]], look)
        reduced.dots([y_rules[p]], [0], look, 4)
    reduced.curve([lower, upper], [-0.2, -0.2], "ink", 'style="stroke-width: 6"')
    reduced.label((lower + upper) / 2, -0.45, "interval")

    nested = Panel(lefts[1][0], TOPS[1], three, x, whole)
    for one in PLANES:
        nested.area(x, *family(one), "blue", 0.25)
    nested.curve(x, family(1.0)[0], "blue")

    planes, coverage = staircase(exact.critical_alpha)
    some = np.linspace(0, len(planes) - 1, 80).astype(int)
    search = Panel(lefts[1][1], TOPS[1], three, [0, 1], [0, 1.05])
    search.curve(planes[some], coverage[some], "blue")
    search.curve([0, alpha, alpha], [LEVEL, LEVEL, 0], "note", 'stroke-dasharray="3 3"')
    search.dots([alpha], [LEVEL], "red", 5)
    search.label(alpha + 0.04, LEVEL + 0.03, "90% of the rows covered", anchor="start")
    search.label(alpha + 0.03, 0.02, f"by the plane {ALPHA} = {alpha:.2f}", anchor="start")

    done = Panel(lefts[1][2], TOPS[1], three, x, whole)
    done.area(x, *family(alpha), "blue", 0.4)
    done.curve(x, family(1.0)[0], "blue")
    new = X_test[:SHOWN], data.y_test[:SHOWN]
    low, high = Planes(params, new[0])(alpha)
    inside = (low <= new[1]) & (new[1] <= high)
    done.dots(new[0][inside, 0], new[1][inside], "ink")
    done.dots(new[0][~inside, 0], new[1][~inside], "red", 3)

    heads = [
        "Train once: the widest plane learns to cover 99%",
        "Then choose any level: nothing is trained again",
    ]
    names = [
        [("Data", "inputs and a target"), ("Sets", "a band of membership per rule"),
         ("Firing", "rules apply within a range"), ("Type reduction", "lowest and highest mean")],
        [("Planes", f"a nested interval for each height {ALPHA}"),
         ("Calibration", "the plane that covers 90% of rows held back"),
         ("Interval", "for new rows, at 90%; large dots are misses")],
    ]  # fmt: skip
    panels = [[rows, sets, firing, reduced], [nested, search, done]]
    height, number, lines = TOPS[1] + HEIGHT + 30, 0, []
    for head, line, row, top in zip(heads, names, panels, TOPS, strict=True):
        lines.append(_text(0, top - 36, head, "ink title"))
        for panel, (name, note) in zip(row, line, strict=True):
            number += 1
            lines += [
                *panel.lines,
                _text(panel.left, top - 10, f"{number}. {name}", "ink"),
                _text(panel.left, top + HEIGHT + 19, note, "note"),
            ]
        for panel in row[1:]:
            x1, y = panel.left - 7, top + HEIGHT / 2
            arrow = f"M{x1 - 18:.0f} {y:.0f}H{x1:.0f}m-6 -5l6 5l-6 5"
            lines.append(f'<path class="note" d="{arrow}"/>')
    title = "The method: train a general type-2 fuzzy system once, then calibrate it to any level"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-1 0 {WIDTH + 2} {height}" '
            'class="gt2-method" role="img" aria-label="' + title + '">',
            f"<title>{title}</title>\n<style>\n{style()}\n</style>",
            *lines,
            "</svg>\n",
        ]
    )


if __name__ == "__main__":
    target = Path(__file__).resolve().parents[1] / "assets" / "method.svg"
    target.write_text(draw(), encoding="utf-8", newline="\n")
