"""Facts about a fit that somebody watches: callback, progress, Ctrl-C."""

import numpy as np
import pytest

from gt2lite import GT2Regressor
from gt2lite.training import InterruptedTrainingWarning

SETTINGS = {"n_rules": 3, "epochs": 30, "learning_rate": 0.03}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    return X, X[:, 0] + 0.3 * rng.normal(size=400)


class Heard:
    """A callback that counts, and at some epoch answers or raises."""

    def __init__(self, epoch=10**6, answer=None, error=None):
        self.epoch, self.answer, self.error, self.epochs = epoch, answer, error, []

    def __call__(self, epoch, loss, params):
        self.epochs.append(epoch)
        if epoch == self.epoch and self.error is not None:
            raise self.error
        return self.answer if epoch == self.epoch else None


def test_the_callback_hears_every_epoch_and_changes_nothing(table):
    heard = Heard()
    reg = GT2Regressor(**SETTINGS).fit(*table, callback=heard)
    assert heard.epochs == list(range(1, 31))
    plain = GT2Regressor(**SETTINGS).fit(*table)
    np.testing.assert_array_equal(reg.predict(table[0]), plain.predict(table[0]))


@pytest.mark.parametrize("ask", ["fit", "fit_calibrate"])
def test_the_callback_can_end_training(table, ask):
    reg = getattr(GT2Regressor(**SETTINGS), ask)(*table, callback=Heard(7, answer=True))
    assert len(reg.history_) == 7


def test_patience_is_a_setting(table):
    settings = SETTINGS | {"epochs": 400, "keep": "validation", "patience": 2}
    assert len(GT2Regressor(**settings).fit(*table).history_) < 400
    with pytest.raises(ValueError, match="patience must be None where keep='last'"):
        GT2Regressor(**SETTINGS, patience=2).fit(*table)


def test_ctrl_c_keeps_what_was_learnt_and_says_so(table):
    X, y = table
    reg = GT2Regressor(**SETTINGS).fit(X, -y)
    with pytest.warns(InterruptedTrainingWarning, match=r"after epoch 9 of 30.*is kept"):
        reg.fit(X, y, callback=Heard(9, error=KeyboardInterrupt))
    told = GT2Regressor(**SETTINGS).fit(X, y, callback=Heard(9, answer=True))
    assert len(reg.history_) == 9
    np.testing.assert_array_equal(reg.predict(X), told.predict(X))


def test_ctrl_c_before_the_first_epoch_keeps_the_old_model(table, monkeypatch):
    X, y = table
    reg = GT2Regressor(**SETTINGS).fit_calibrate(X, y)
    before = reg.predict_interval(X)

    def struck(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("gt2lite.training._batches", struck)
    with pytest.raises(KeyboardInterrupt):
        reg.fit(X, -y)
    np.testing.assert_array_equal(reg.predict_interval(X), before)


@pytest.mark.parametrize("verbose", [None, True, False, 0, 1])
def test_progress_is_shown_where_asked(table, verbose, capsys):
    pytest.importorskip("tqdm")
    GT2Regressor(**SETTINGS, verbose=verbose).fit(*table)
    assert ("training" in capsys.readouterr().err) == (verbose in (True, 1))


def test_what_is_no_verbosity_is_named(table):
    with pytest.raises(ValueError, match="verbose must be True, False or None, got 'much'"):
        GT2Regressor(**SETTINGS, verbose="much").fit(*table)


class Later(Heard):
    """A callback that is struck in some epoch of the third system."""

    def __call__(self, epoch, loss, params):
        self.epochs.append(epoch)
        if self.epochs.count(epoch) == 3 and epoch == self.epoch:
            raise KeyboardInterrupt


def test_of_several_systems_those_that_are_complete_are_kept(table):
    X, y = table
    reg = GT2Regressor(**SETTINGS, n_systems=4)
    with pytest.warns(InterruptedTrainingWarning, match=r"after 2 of 4 systems.*are kept"):
        reg.fit(X, y, callback=Later(5))
    whole = GT2Regressor(**SETTINGS, n_systems=4).fit(X, y)
    assert len(reg.systems_) == 2
    for one, other in zip(reg.systems_, whole.systems_[:2], strict=True):
        np.testing.assert_array_equal(one.params["a"], other.params["a"])
    assert np.isfinite(reg.predict(X)).all()


def test_before_the_first_system_is_complete_there_is_nothing_to_keep(table):
    X, y = table
    reg = GT2Regressor(**SETTINGS, n_systems=2).fit(X, y)
    before = reg.predict(X)
    with pytest.raises(KeyboardInterrupt):
        reg.fit(X, -y, callback=Heard(9, error=KeyboardInterrupt))
    np.testing.assert_array_equal(reg.predict(X), before)


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"n_systems": 2, "choose": True}, "callback must be None where choose=True"),
        ({"n_systems": 2, "n_jobs": 2}, "callback must be None where n_jobs=2"),
    ],
)
def test_a_callback_that_could_not_be_called_is_refused(table, settings, named):
    with pytest.raises(ValueError, match=named):
        GT2Regressor(**SETTINGS, **settings).fit(*table, callback=Heard())
