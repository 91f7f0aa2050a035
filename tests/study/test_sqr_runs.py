"""SQR beside aligned training: both judged alike, raw and conformal, and stored once."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gt2lite.calibration import rank
from gt2lite.datasets import load_dataset, prepare
from gt2lite.losses import make_objective
from gt2lite.metrics import covers
from gt2lite.system import Planes
from gt2lite.training import Recipe, train
from study import runner, sqr
from study.field.runs import Entry
from study.field.simultaneous import Simultaneous
from study.sqr_runs import (
    FORMS,
    MODELS,
    AlignedForecast,
    Race,
    SqrForecast,
    crossed,
    crps,
    races,
)
from study.sqr_training import SqrTraining
from study.store import Store

SHORT = replace(sqr.RECIPE, n_rules=3, epochs=2)


@pytest.fixture(scope="module")
def data():
    return prepare(load_dataset("aids"), 0)


@pytest.fixture(scope="module")
def forecasts(data):
    params = sqr.train_sqr(data.X_train, data.y_train, SHORT).params
    aligned = train(
        data.X_train, data.y_train, Recipe(n_rules=3, epochs=2, objective="aligned"), progress=False
    ).params
    found = {"sqr": SqrForecast(params), "aligned": AlignedForecast(aligned)}
    for forecast in found.values():
        forecast.calibrate(data.X_cal, data.y_cal)
    return found


def test_raw_quantiles_of_sqr_are_middles_of_planes(forecasts, data):
    forecast = forecasts["sqr"]
    found = forecast.quantiles(data.X_test, "raw")
    assert found.shape == (99, len(data.y_test))
    assert_allclose(found, sqr.quantiles(forecast.params, data.X_test, sqr.LEVELS), rtol=1e-10)


def test_raw_intervals_of_the_aligned_system_are_the_planes_that_learnt_the_level(forecasts, data):
    objective = make_objective("aligned")
    planes = Planes(forecasts["aligned"].params, data.X_test)
    for level, alpha in zip(objective.levels, objective.alphas, strict=False):
        found = forecasts["aligned"].interval(data.X_test, float(level), "raw")
        assert_allclose(found, planes(alpha), rtol=1e-9, atol=1e-12)
    assert_array_equal(forecasts["aligned"].median(data.X_test), planes(1.0)[0])


@pytest.mark.parametrize("model", ["sqr", "aligned"])
@pytest.mark.parametrize("level", [0.5, 0.9, 0.95])
def test_conformal_intervals_cover_their_rank_of_the_calibration_part(
    forecasts, data, model, level
):
    ends = forecasts[model].interval(data.X_cal, level, "conformal")
    assert covers(data.y_cal, *ends).sum() >= rank(level, len(data.y_cal) + 1)


def test_the_margin_is_that_of_conformalised_quantile_regression(forecasts, data):
    forecast = forecasts["sqr"]
    lower, upper = sqr.interval(forecast.params, data.X_cal, 0.9)
    lacking = sorted(max(a - y, y - b) for a, b, y in zip(lower, upper, data.y_cal, strict=True))
    assert forecast.margin(0.9) == lacking[int(np.ceil(0.9 * 322)) - 1]


def test_the_crps_of_a_step_is_that_of_the_integral():
    # the quantiles of U(0, 1) against y: the integral of (F(x) - 1[x >= y])**2 is y^2 - y + 1/3
    found = np.repeat(sqr.LEVELS[:, None], 3, axis=1)
    y = np.array([0.2, 0.5, 0.9])
    assert crps(found, y) == pytest.approx(np.mean(y**2 - y + 1 / 3), abs=0.005)


def test_crossing_counts_rows_not_quantiles():
    assert crossed(np.array([[0.0, 0.0, 0.0], [1.0, 0.0, -1.0], [0.5, 0.0, -2.0]])) == 2 / 3


def test_a_race_trains_once_and_tells_the_same_from_the_store(tmp_path, monkeypatch):
    todo = [Race("aids", 0, model, replace(MODELS[model], n_rules=2, epochs=2)) for model in MODELS]
    store = Store(tmp_path)
    first = runner.run(todo, store, n_jobs=1)
    assert store.has(runner.key_of(SqrTraining("aids", 0, todo[0].recipe)))
    monkeypatch.setattr(SqrTraining, "execute", lambda *_: pytest.fail("trained again"))
    assert runner.run(todo, store, n_jobs=1) == first
    rows = [row for records in first for row in records]
    assert [(row.model, row.form, row.level) for row in rows[:4]] == [
        ("sqr", form, level) for form in FORMS for level in (0.90, 0.95)
    ]
    ours, theirs = rows[0], rows[-1]
    assert ours.steps == 2 * ((1497 - 299) // 64)
    assert theirs.steps == 2 * (1497 // 64)
    assert ours.aside_error is not None and theirs.aside_error is None


def test_races_are_told_apart_by_all_that_matters():
    keys = {runner.key_of(race) for race in races()}
    assert len(keys) == len(races()) == 24


@pytest.mark.parametrize("change", [{"dataset": "xx"}, {"seed": -1}, {"model": "dual"}])
def test_a_race_that_cannot_be_is_an_error(change):
    (name,) = change
    with pytest.raises(ValueError, match=f"{name} must be"):
        replace(races()[0], **change)


def test_a_contestant_of_the_field_shares_the_training(tmp_path):
    contestant = Simultaneous("sqr", "GT2-FLS, SQR")
    assert contestant.tables is not None and "pp" in contestant.tables
    store = Store(tmp_path)
    entry = Entry("aids", 0, effort=0.0002, contestant=contestant)  # two epochs
    (run,) = runner.run([entry], store, n_jobs=1)
    recipe = replace(sqr.RECIPE, epochs=2)
    system = SqrTraining("aids", 0, recipe)
    assert store.has(runner.key_of(system))
    forecast = SqrForecast(system.unpack(*store.load(runner.key_of(system))).params)
    data = entry.prepare()
    forecast.calibrate(data.X_cal, data.y_cal)
    (record, *_) = run.records
    assert record.level == 0.90
    lower, upper = forecast.interval(data.X_test, 0.90, "conformal")
    assert record.picp == np.mean(covers(data.y_test, lower, upper))
    assert record.pinaw == pytest.approx(np.mean(upper - lower) / np.ptp(data.y_test), rel=1e-12)


def test_a_contestant_that_gets_fewer_rows_trains_on_those_alone(tmp_path):
    entry = Entry(
        "aids", 0, effort=0.0001, most_rows=200, contestant=Simultaneous("sqr", "GT2-FLS, SQR")
    )
    store = Store(tmp_path)
    runner.run([entry], store, n_jobs=1)
    assert not store.has(runner.key_of(SqrTraining("aids", 0, replace(sqr.RECIPE, epochs=1))))
