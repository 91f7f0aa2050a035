"""Numbers, tables and figures on pages."""

from collections import namedtuple

import numpy as np
import pandas as pd
import pytest

from gt2lite.calibration import ExactCalibrator, SearchCalibrator
from gt2lite.memberships import kappa_of
from study import figures
from study.pages import glue_facts, table


def test_facts_are_glued_under_the_prefix_as_plain_values(monkeypatch):
    glued = {}
    myst_nb = pytest.importorskip("myst_nb")
    monkeypatch.setattr(myst_nb, "glue", lambda name, value, display: glued.update({name: value}))
    glue_facts("cost", pd.Series({"width": np.float64(1.5)}), n=np.int64(3), b=np.bool_(True))
    assert glued == {"cost_width": 1.5, "cost_n": 3, "cost_b": True}
    assert [type(value) for value in glued.values()] == [float, int, bool]
    with pytest.raises(TypeError, match="seeds"):
        glue_facts("cost", seeds=[1.0])
    with pytest.raises(ValueError, match="seeds"):
        glue_facts("cost", {"seeds": 1}, seeds=5)


def markdown_table(rows, columns=None):
    pytest.importorskip("IPython")
    return table("name", rows, columns).data.splitlines()[3:-2]


def test_rows_of_every_kind_make_the_same_table():
    columns, row = {"row": "{dataset}", "PICP": "{picp:.2f}"}, {"dataset": "ww", "picp": 0.9}
    frame = pd.DataFrame([row])
    for rows in ([row], [namedtuple("Row", row)(**row)], frame, frame.set_index("dataset")):
        assert markdown_table(rows, columns) == ["| row | PICP |", "|---|---:|", "| ww | 0.90 |"]
    assert markdown_table([], columns)[2] == "| none |  |"
    frame = pd.DataFrame({"a b": [1, 2], "c.d": [0.5, 1.5]})
    assert markdown_table(frame)[2:] == ["| 1 | 0.5 |", "| 2 | 1.5 |"]


def test_bars_and_line_ends_do_not_break_a_row():
    head, _, *body = markdown_table([{"x": "$|a|$\nand"}, {"x": r"b\|c"}], {"|x|": "{x}"})
    assert head == r"| \|x\| |" and body == [r"| $\|a\|$ and |", r"| b\|c |"]


# ---------------------------------------------------------------------------------- figures

pytest.importorskip("matplotlib", reason="needs the extra `plot`").use("agg")
Y = np.linspace(-1.1, 1.1, 201)  # some lie outside every plane


def interval(alpha):
    kappa = np.broadcast_to(kappa_of(alpha), Y.shape)
    return -kappa, kappa


CRITICAL = ExactCalibrator().fit(interval, Y).critical_alpha
PATH = SearchCalibrator().fit(interval, Y).path(0.6)


def test_both_scales_place_a_rank_at_its_score_and_at_its_plane(ax):
    scores = np.array([0.9, 0.2, 1.3, 0.5])  # the largest needs a margin
    figures.both_scales(ax, scores, {"rank 3": 3})
    _, cut, *dots = ax.lines
    assert cut.get_xdata() == [0.9, 0.9]
    assert [dot.get_xdata()[0] for dot in dots] == sorted(scores)
    assert [text.get_text() for text in ax.texts] == ["1", "2", "3", "4"]
    (above,) = ax.child_axes
    alphas = [float(label.get_text()) for label in above.get_xticklabels()]
    assert above.get_xticks() == pytest.approx(kappa_of(alphas))


def test_figures_show_the_moves_of_a_search_and_the_means_of_runs(ax):
    for zoom, alphas in ((None, [alpha for alpha, _ in PATH]), ((0.35, 0.45), [0.4])):
        figures.search_path(ax, CRITICAL, PATH, 0.6, 0.0005, zoom=zoom)
        assert ax.lines[-1].get_xdata() == pytest.approx(alphas)
    ax.clear()
    rows = {"one": {"a": np.array([1.0, 3.0]), "b": np.array([5.0, 6.0])}, "two": {}}
    figures.paired_dots(ax, rows, "value")
    bars = [line.get_xdata()[0] for line in ax.lines if line.get_linewidth() == 2.5]
    assert bars == pytest.approx([2.0, 5.5])


def test_names_beside_points_do_not_cover_each_other():
    plt = pytest.importorskip("matplotlib.pyplot")
    from matplotlib.text import Text

    fig, ax = plt.subplots()
    ax.set(xlim=(0, 1), ylim=(0, 1))
    places = {"first": (0.5, 0.5), "second": (0.52, 0.5), "third": (0.99, 0.5)}
    places |= {f"a long name {i}": (0.3 + 0.02 * i, 0.5) for i in range(6)}  # most stand apart
    figures.names_apart(ax, places)
    fig.canvas.draw()
    boxes = [Text.get_window_extent(text) for text in ax.texts]  # without lines to their points
    assert [text.get_text() for text in ax.texts] == [*places]
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])
    assert boxes[2].x1 <= ax.bbox.x1
    plt.close(fig)
