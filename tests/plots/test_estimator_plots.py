"""Figures of an estimator: what they draw is what it says, whatever the rows' index."""

from __future__ import annotations

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

matplotlib = pytest.importorskip("matplotlib", reason="needs the extra `plot`")
matplotlib.use("agg")

from planted_system import planted, two_rules  # noqa: E402

from gt2lite import GT2Regressor, plots  # noqa: E402
from gt2lite.metrics import picp  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore:the envelope was trained"),
    pytest.mark.filterwarnings("ignore:coverage .* was requested"),
]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(700, 2)) * [5, 100] + [15, 1000]
    z = (X - [15, 1000]) / [5, 100]
    return X, 50 + 8 * (np.sin(2 * z[:, 0]) + 0.4 * z[:, 1] * rng.normal(size=700))


@pytest.fixture(scope="module")
def reg(table):
    X, y = table
    reg = GT2Regressor(n_rules=4, epochs=40, learning_rate=0.02).fit(X[:300], y[:300])
    return reg.calibrate(X[300:500], y[300:500], "conformal")


@pytest.fixture(scope="module")
def new(table):
    return table[0][500:], table[1][500:]


DRAW = {
    "plot_intervals": lambda ax, reg, X, y: plots.plot_intervals(ax, reg, X, y, [0.5, 0.9]),
    "plot_calibration": plots.plot_calibration,
    "plot_sets": lambda ax, reg, X, y: plots.plot_sets(ax, reg, 1, X=X),
    "plot_history": lambda ax, reg, X, y: plots.plot_history(ax, reg),
    "plot_rules": lambda ax, reg, X, y: plots.plot_rules(ax, reg, X),
    "plot_coverage_by": lambda ax, reg, X, y: plots.plot_coverage_by(ax, reg, X, y, 0),
}


@pytest.mark.parametrize("draw", DRAW.values(), ids=DRAW)
def test_a_figure_returns_its_axes_with_both_labelled_and_no_title(ax, draw, check_axes, reg, new):
    check_axes(draw(ax, reg, *new))


@pytest.mark.parametrize("draw", DRAW.values(), ids=DRAW)
def test_an_index_changes_nothing(draw, table, new):
    pd, plt = pytest.importorskip("pandas"), pytest.importorskip("matplotlib.pyplot")
    names = ["warmth", "size"]
    reg = GT2Regressor(n_rules=3, epochs=5).fit(pd.DataFrame(table[0][:300], columns=names),
                                                table[1][:300])  # fmt: skip
    reg.calibrate(pd.DataFrame(table[0][300:500], columns=names), table[1][300:500], "conformal")
    drawn = []
    for index in (np.arange(200), np.random.default_rng(0).permutation(200), list("ab") * 100):
        figure, ax = plt.subplots()
        draw(ax, reg, pd.DataFrame(new[0], columns=names, index=index),
             pd.Series(new[1], index=index))  # fmt: skip
        drawn.append([line.get_xydata() for line in ax.lines]
                     + [p.vertices for c in ax.collections for p in c.get_paths()])  # fmt: skip
        plt.close(figure)
    for other in drawn[1:]:
        for first, second in zip(drawn[0], other, strict=True):
            assert_array_equal(first, second)


def test_bands_pair_targets_with_their_own_intervals_whatever_the_index(ax):
    pd = pytest.importorskip("pandas")
    y = pd.Series([3.0, 1.0, 2.0], index=[2, 0, 1])
    plots.interval_bands(ax, y, {"band": (y - 0.1, y + 0.1)}, order=pd.Series([1, 2, 3]))
    assert_array_equal(ax.lines[0].get_ydata(), [3, 1, 2])
    (path,) = ax.collections[0].get_paths()
    heights = np.unique(path.vertices[:, 1].round(6))
    assert_allclose(heights, [0.9, 1.1, 1.9, 2.1, 2.9, 3.1])
    first = path.vertices[path.vertices[:, 0] < 1.4][:, 1]  # beside the first sample
    assert_allclose(sorted(set(first.round(6))), [2.9, 3.1])


def test_intervals_are_those_of_the_estimator_in_the_order_of_targets(ax, reg, new):
    X, y = new
    plots.plot_intervals(ax, reg, X, y, 0.8)
    assert_array_equal(ax.lines[0].get_ydata(), np.sort(y))
    lower, upper = reg.predict_interval(X, coverage=0.8)
    (path,) = ax.collections[0].get_paths()
    assert_allclose([path.vertices[:, 1].min(), path.vertices[:, 1].max()],
                    [lower.min(), upper.max()])  # fmt: skip
    assert ax.get_legend().texts[0].get_text() == "80 % intervals"


def test_the_calibration_curve_is_the_share_covered(ax, reg, new):
    X, y = new
    plots.plot_calibration(ax, reg, X, y, levels=[0.5, 0.9, 0.9999])  # the last has no answer
    levels, shares = ax.lines[1].get_data()
    assert_allclose(levels, [50, 90])
    wanted = [100 * picp(y, *reg.predict_interval(X, coverage=c)) for c in (0.5, 0.9)]
    assert_allclose(shares, wanted)
    band = ax.collections[0].get_paths()[0].vertices
    at_half = band[np.isclose(band[:, 0], 50), 1]
    assert_allclose(at_half.max() - 50, 200 * np.sqrt(0.25 * (1 / 200 + 1 / 200)))


def test_a_curve_without_any_answer_says_why(ax, reg, new):
    with pytest.raises(ValueError, match="out of reach"):
        plots.plot_calibration(ax, reg, *new, levels=[0.9999])


def test_sets_stand_where_they_were_planted(ax):
    reg = two_rules()
    plots.plot_sets(ax, reg, "x0", X=[[0.0], [30.0]])
    peaks = {line.get_label(): line.get_xdata()[line.get_ydata().argmax()] for line in ax.lines}
    assert peaks == pytest.approx({"rule 1": 5.0, "rule 2": 25.0})
    assert ax.get_xlabel() == "x0"
    # at its centre a set reaches from 1 - s_l to 1, far from it from 0 to s_r
    for collection in ax.collections:
        heights = collection.get_paths()[0].vertices[:, 1]
        assert_allclose([heights.min(), heights.max()], [0, 1], atol=1e-3)


def test_sets_of_the_plane_1_have_no_footprint(ax):
    plots.plot_sets(ax, two_rules(), 0, alpha=1.0)
    line = ax.lines[0]
    heights = ax.collections[0].get_paths()[0].vertices
    assert_allclose(np.interp(heights[:, 0], *line.get_data()), heights[:, 1], atol=1e-9)


def test_history_counts_epochs_from_1(ax):
    plots.plot_history(ax, two_rules())
    assert_array_equal(ax.lines[0].get_xydata(), [[1, 1.0], [2, 0.5]])


def test_the_map_gives_each_row_to_the_rule_that_leads(ax):
    reg = planted([[-1.0, 0], [1.0, 0]], [[0.5, 9], [0.5, 9]], [[0.0, 0]] * 2, [0, 1])
    rng = np.random.default_rng(0)
    X = 15 + 5 * rng.normal(size=(100, 2))
    plots.plot_rules(ax, reg, X, inputs=(0, 1))
    for line in ax.lines:
        left = line.get_label().startswith("rule 1")
        assert ((line.get_xdata() < 15) == left).all()
    assert sum(len(line.get_xdata()) for line in ax.lines) == 100
    weights = reg.rule_weights(X)
    assert_allclose(weights.sum(axis=1), 1)
    assert_array_equal(weights.argmax(axis=1), X[:, 0] > 15)


def test_the_map_takes_the_inputs_that_decide_and_greys_other_rules(ax):
    M = 4
    sigma = np.full((7, M), 50.0)
    sigma[:, [1, 3]] = 0.4
    rng = np.random.default_rng(0)
    reg = planted(rng.normal(size=(7, M)), sigma, np.zeros((7, M)), np.arange(7))
    plots.plot_rules(ax, reg, 15 + 5 * rng.normal(size=(200, M)), top=3)
    assert {ax.get_xlabel(), ax.get_ylabel()} == {"x1", "x3"}
    assert ax.lines[0].get_label() == "other rules"
    assert len(ax.lines) == 4


def test_the_map_of_one_input_is_drawn_over_the_prediction(ax):
    reg, X = two_rules(), np.linspace(0, 30, 50)[:, None]
    plots.plot_rules(ax, reg, X)
    drawn = np.concatenate([line.get_xydata() for line in ax.lines])
    order = np.argsort(drawn[:, 0])
    assert_allclose(drawn[order], np.column_stack([X[:, 0], reg.predict(X)]))


@pytest.mark.parametrize("kind", ["number", "values", "names", "few"])
def test_coverage_by_bins_counts_the_rows_of_each(ax, reg, new, kind):
    X, y = new
    by = {
        "number": 1,
        "values": X[:, 1],
        "names": np.where(X[:, 0] > 15, "warm", "cold"),
        "few": (X[:, 0] > 15).astype(int),
    }[kind]
    plots.plot_coverage_by(ax, reg, X, y, by, 0.8, bins=4)
    lower, upper = reg.predict_interval(X, coverage=0.8)
    covered = (lower <= y) & (y <= upper)
    if kind in ("number", "values"):
        place = np.searchsorted(np.quantile(X[:, 1], [0.25, 0.5, 0.75]), X[:, 1], side="right")
    else:
        place = (X[:, 0] > 15).astype(int)
    wanted = [100 * covered[place == k].mean() for k in range(place.max() + 1)]
    assert_allclose(ax.lines[-1].get_ydata(), wanted)
    if kind == "names":
        assert [tick.get_text() for tick in ax.get_xticklabels()] == ["cold", "warm"]


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda ax, r, X, y: plots.plot_sets(ax, r, "age"), "input must be one of x0, x1, got"),
        (lambda ax, r, X, y: plots.plot_sets(ax, r, 2), "input must be a whole number of at most"),
        (lambda ax, r, X, y: plots.plot_sets(ax, r, 0, alpha=2), "alpha must be a number"),
        (lambda ax, r, X, y: plots.plot_rules(ax, r, X, inputs="ab"), "inputs must be two names"),
        (lambda ax, r, X, y: plots.plot_intervals(ax, r, X, y[:-1]), "y must"),
        (lambda ax, r, X, y: plots.plot_intervals(ax, r, X, y, [0.1, 0.2, 0.3, 0.4]), "at most 3"),
        (lambda ax, r, X, y: plots.plot_coverage_by(ax, r, X, y, X), "by must be an input, or 200"),
        (lambda ax, r, X, y: plots.plot_history(ax, GT2Regressor()), "is not fitted yet"),
        (lambda ax, r, X, y: plots.rule_sets(ax, y, r.params_, 0.1), "one input, and this one has"),
    ],
)
def test_errors_are_kind(ax, reg, new, draw, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        draw(ax, reg, *new)


def test_the_slider_says_what_it_takes(reg, new):
    with pytest.raises(TypeError, match=r"takes the planes of a system.*got GT2Regressor.*Planes"):
        plots.alpha_slider(reg, new[1])
