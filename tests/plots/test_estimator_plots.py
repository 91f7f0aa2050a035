"""Figures of an estimator: they show its predictions, whatever the rows' index."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

matplotlib = pytest.importorskip("matplotlib", reason="needs the extra `plot`")
matplotlib.use("agg")

from planted_system import planted, two_rules  # noqa: E402

from gt2lite import GT2Regressor, plots  # noqa: E402
from gt2lite.metrics import covers, picp  # noqa: E402
from gt2lite.practice.exchangeability import ExchangeabilityTest  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore:the envelope was trained"),
    pytest.mark.filterwarnings("ignore:coverage .* was asked for"),
]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(1)
    z = rng.normal(size=(700, 2))
    y = 50 + 8 * (np.sin(2 * z[:, 0]) + 0.4 * z[:, 1] * rng.normal(size=700))
    return z * [5, 100] + [15, 1000], y


@pytest.fixture(scope="module")
def reg(table):
    X, y = table
    reg = GT2Regressor(n_rules=4, epochs=10, learning_rate=0.02).fit(X[:300], y[:300])
    return reg.calibrate(X[300:500], y[300:500], "conformal")


@pytest.fixture(scope="module")
def new(table):
    return table[0][500:], table[1][500:]


DRAW = {
    "plot_intervals": lambda ax, reg, X, y: plots.plot_intervals(ax, reg, X, y, [0.5, 0.9]),
    "plot_calibration": plots.plot_calibration,
    "plot_sets": lambda ax, reg, X, y: plots.plot_sets(ax, reg, 1, X=X),
    "plot_rules": lambda ax, reg, X, y: plots.plot_rules(ax, reg, X),
    "plot_coverage_by": lambda ax, reg, X, y: plots.plot_coverage_by(ax, reg, X, y, 0),
}


def test_wealth_is_drawn_with_alarms_and_rules_that_changed(ax, check_axes, reg, table):
    X, y = table
    test = ExchangeabilityTest(reg, X[300:500], y[300:500])
    with pytest.raises(ValueError, match="test must have new rows"):
        plots.plot_wealth(ax, test)
    test.update(X[500:], y[500:] + np.where(np.arange(200) < 50, 0, 40))
    check_axes(plots.plot_wealth(ax, test))
    drawn = {line.get_label(): line for line in ax.lines}
    assert ax.get_yscale() == "log" and test.changed_rules
    assert_allclose(drawn["scores"].get_ydata(), np.exp(test.scores.log_wealth))
    for number in test.changed_rules:
        assert drawn[f"rule {number}"].get_ydata().max() > test.threshold
    marks = [line.get_xdata() for line in ax.lines if line.get_linestyle() == "None"]
    assert_array_equal(marks[0], np.array(test.scores.alarms) + 1)
    assert set(drawn["threshold"].get_ydata()) == {100}
    ax.clear()
    plots.plot_wealth(ax, test, rules=False)
    assert not [line for line in ax.lines if line.get_label().startswith("rule ")]


@pytest.mark.parametrize("draw", DRAW.values(), ids=DRAW)
def test_a_figure_is_labelled_and_an_index_changes_nothing(ax, draw, check_axes, reg, new):
    pd = pytest.importorskip("pandas")
    check_axes(draw(ax, reg, *new))
    drawn = [line.get_xydata() for line in ax.lines]
    index = np.random.default_rng(0).permutation(200)
    ax.clear()
    draw(ax, reg, pd.DataFrame(new[0], index=index), pd.Series(new[1], index=index))
    for line, before in zip(ax.lines, drawn, strict=True):
        assert_array_equal(line.get_xydata(), before)


def test_bands_pair_targets_with_their_own_intervals_whatever_the_index(ax):
    pd = pytest.importorskip("pandas")
    y = pd.Series([3.0, 1.0, 2.0], index=[2, 0, 1])
    plots.interval_bands(ax, y, {"band": (y - 0.1, y + 0.1)}, order=pd.Series([1, 2, 3]))
    assert_array_equal(ax.lines[0].get_ydata(), [3, 1, 2])
    place, height = ax.collections[0].get_paths()[0].vertices.T
    assert_allclose(np.unique(height[place < 1.4].round(6)), [2.9, 3.1])  # beside the first sample


def test_intervals_are_those_of_the_estimator_in_the_order_of_targets(ax, reg, new):
    X, y = new
    plots.plot_intervals(ax, reg, X, y, 0.8)
    assert_array_equal(ax.lines[0].get_ydata(), np.sort(y))
    lower, upper = reg.predict_interval(X, coverage=0.8)
    heights = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert_allclose([heights.min(), heights.max()], [lower.min(), upper.max()])


def test_the_calibration_curve_is_the_share_covered(ax, reg, new):
    X, y = new
    plots.plot_calibration(ax, reg, X, y, levels=[0.5, 0.9, 0.9999])  # the last is out of reach
    levels, shares = ax.lines[1].get_data()
    assert_allclose(levels, [50, 90])
    assert_allclose(
        shares, [100 * picp(y, *reg.predict_interval(X, coverage=c)) for c in (0.5, 0.9)]
    )
    level, band = ax.collections[0].get_paths()[0].vertices.T
    half = band[np.isclose(level, 50)].max() - 50
    assert_allclose(half, 200 * np.sqrt(0.25 * (1 / 200 + 1 / 200)))


def test_sets_are_where_they_were_planted(ax):
    plots.plot_sets(ax, two_rules(), "x0", X=[[0.0], [30.0]])
    peaks = {line.get_label(): line.get_xdata()[line.get_ydata().argmax()] for line in ax.lines}
    assert peaks == pytest.approx({"rule 1": 5.0, "rule 2": 25.0})
    assert ax.get_xlabel() == "x0"


def test_the_map_gives_rows_to_the_rule_that_weighs_most_over_the_inputs_that_decide(ax):
    reg = planted([[-1.0, 0], [1.0, 0]], [[0.5, 9], [0.5, 9]], [[0.0, 0]] * 2, [0, 1])
    rng = np.random.default_rng(0)
    plots.plot_rules(ax, reg, 15 + 5 * rng.normal(size=(100, 2)), inputs=(0, 1))
    for line in ax.lines:
        left = line.get_label().startswith("rule 1")
        assert ((line.get_xdata() < 15) == left).all()
    assert sum(len(line.get_xdata()) for line in ax.lines) == 100
    ax.clear()
    sigma = np.full((7, 4), 50.0)
    sigma[:, [1, 3]] = 0.4
    reg = planted(rng.normal(size=(7, 4)), sigma, np.zeros((7, 4)), np.arange(7))
    plots.plot_rules(ax, reg, 15 + 5 * rng.normal(size=(200, 4)), top=3)
    assert {ax.get_xlabel(), ax.get_ylabel()} == {"x1", "x3"}
    assert ax.lines[0].get_label() == "other rules" and len(ax.lines) == 4


@pytest.mark.parametrize("kind", ["number", "values", "names", "few"])
def test_coverage_by_bins_counts_the_rows_of_each(ax, reg, new, kind):
    X, y = new
    warm = X[:, 0] > 15
    by = {
        "number": 1,
        "values": X[:, 1],
        "names": np.where(warm, "warm", "cold"),
        "few": warm.astype(int),
    }[kind]
    plots.plot_coverage_by(ax, reg, X, y, by, 0.8, bins=4)
    covered = covers(y, *reg.predict_interval(X, coverage=0.8))
    place = warm.astype(int)
    if kind in ("number", "values"):
        place = np.searchsorted(np.quantile(X[:, 1], [0.25, 0.5, 0.75]), X[:, 1], side="right")
    shares = [100 * covered[place == k].mean() for k in range(place.max() + 1)]
    assert_allclose(ax.lines[-1].get_ydata(), shares)
    if kind == "names":
        assert [tick.get_text() for tick in ax.get_xticklabels()] == ["cold", "warm"]


@pytest.mark.parametrize(
    ("draw", "match"),
    [
        (lambda ax, r, X, y: plots.plot_sets(ax, r, "age"), "input"),
        (lambda ax, r, X, y: plots.plot_sets(ax, r, 2), "input"),
        (lambda ax, r, X, y: plots.plot_sets(ax, r, 0, alpha=2), "alpha"),
        (lambda ax, r, X, y: plots.plot_rules(ax, r, X, inputs="ab"), "inputs"),
        (lambda ax, r, X, y: plots.plot_intervals(ax, r, X, y[:-1]), "y must"),
        (lambda ax, r, X, y: plots.plot_intervals(ax, r, X, y, [0.1, 0.2, 0.3, 0.4]), "coverage"),
        (lambda ax, r, X, y: plots.plot_coverage_by(ax, r, X, y, X), "by must"),
        (lambda ax, r, X, y: plots.plot_calibration(ax, r, X, y, levels=[0.9999]), "reach"),
        (lambda ax, r, X, y: plots.plot_sets(ax, GT2Regressor(), 0), "fitted"),
    ],
)
def test_wrong_arguments_are_refused(ax, reg, new, draw, match):
    with pytest.raises(ValueError, match=match):
        draw(ax, reg, *new)


def test_names_from_data_are_no_formulas(ax, reg, new):
    name = r"$\broken{$"
    plots.plot_intervals(ax, reg, *new, target=name)
    ax.figure.canvas.draw()
    ax.clear()
    plots.plot_coverage_by(ax, reg, *new, np.where(new[0][:, 0] > 15, name, "b"))
    ax.figure.canvas.draw()
