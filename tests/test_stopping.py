"""When training stops before its last epoch: by patience, by the callback, by hand."""

from __future__ import annotations

import ctypes
import threading
import warnings

import numpy as np
import pytest
from learners import Recorder, a_table, assert_same

from gt2lite import training
from gt2lite.training import Adam, DivergenceError, InterruptedTrainingWarning, Recipe, train

JUDGED = {"n_rules": 6, "epochs": 60, "batch_size": 8, "learning_rate": 0.1}


class Stopping(Recorder):
    """A callback that returns an answer after some epoch, or does something then."""

    def __init__(self, epoch, answer=None, act=None):
        super().__init__()
        self.epoch, self.answer, self.act = epoch, answer, act

    def __call__(self, epoch, loss, params):
        super().__call__(epoch, loss, params)
        if epoch < self.epoch:
            return None
        if self.act is not None:
            raise self.act
        return self.answer


def by_hand(epoch):
    return Stopping(epoch, act=KeyboardInterrupt)


# Patience


def stops_at(losses, patience):
    """Where training must stop, and what is best then, by going through the losses."""
    for epoch in range(1, len(losses) + 1):
        best = int(np.argmin(losses[:epoch]))
        if epoch - (best + 1) >= patience:
            return epoch, best
    return len(losses), int(np.argmin(losses))


@pytest.mark.parametrize("keep", ["validation", "best"])
@pytest.mark.parametrize("patience", [1, 2, 5, 59, 1000])
def test_patience_stops_after_so_many_epochs_without_a_better_one(keep, patience):
    X, y = a_table(N=40)
    full, short = Recorder(), Recorder()
    train(X, y, Recipe(**JUDGED, keep=keep), callback=full)
    trained = train(X, y, Recipe(**JUDGED, keep=keep, patience=patience), callback=short)
    epoch, best = stops_at(full.losses, patience)
    assert len(trained.history) == epoch == short.epochs[-1]
    assert_same(trained.params, full.params[best], atol=0)
    np.testing.assert_array_equal(short.losses, full.losses[:epoch])


def test_patience_is_tested_by_trainings_that_stop_early_and_not():
    X, y = a_table(N=40)
    heard = Recorder()
    train(X, y, Recipe(**JUDGED, keep="validation"), callback=heard)
    assert stops_at(heard.losses, 5)[0] < 60 == stops_at(heard.losses, 59)[0]


# The callback


@pytest.mark.parametrize("keep", ["last", "best", "validation"])
@pytest.mark.parametrize("averaging", [0.0, 0.9])
@pytest.mark.parametrize("yes", [True, np.True_])
def test_a_callback_that_returns_true_ends_training_there(keep, averaging, yes):
    X, y = a_table(N=40)
    recipe = Recipe(**JUDGED, keep=keep, averaging=averaging)
    heard = Stopping(7, yes)
    trained = train(X, y, recipe, callback=heard)
    best = 6 if keep == "last" else int(np.argmin(heard.losses))
    assert heard.epochs == [1, 2, 3, 4, 5, 6, 7] and len(trained.history) == 7
    assert_same(trained.params, heard.params[best], atol=0)


@pytest.mark.parametrize("answer", [None, False, 1, 0.3, "stop", np.array([True])])
def test_no_other_answer_ends_training(answer):
    X, y = a_table()
    trained = train(X, y, Recipe(n_rules=2, epochs=4), callback=Stopping(1, answer))
    assert len(trained.history) == 4


class _Leaping(Adam):
    """An optimiser whose fifth step leads far away, though not to infinity."""

    def update(self, g, count=None):
        super().update(g, count)
        if self.steps == 5:
            self.vector *= 1e4


def test_a_training_that_got_nowhere_is_no_success_where_it_is_ended_early(monkeypatch):
    X, y = a_table()
    monkeypatch.setattr(training, "Adam", _Leaping)
    recipe, heard = Recipe(n_rules=3, epochs=50), Stopping(5, True)
    with pytest.raises(DivergenceError, match="epoch 5 of 50") as caught:
        train(X, y, recipe, callback=heard)
    assert_same(caught.value.params, heard.params[3], atol=0)
    np.testing.assert_array_equal(caught.value.history, heard.losses[:4])
    with pytest.raises(KeyboardInterrupt):  # nothing to keep: raised as usual
        train(X, y, recipe, callback=by_hand(5), on_interrupt="keep")


# Ctrl-C


@pytest.mark.parametrize("keep", ["last", "best", "validation"])
@pytest.mark.parametrize("averaging", [0.0, 0.9])
def test_ctrl_c_keeps_what_the_last_complete_epoch_would_keep(keep, averaging):
    X, y = a_table(N=40)
    recipe = Recipe(**JUDGED, keep=keep, averaging=averaging)
    told = train(X, y, recipe, callback=Stopping(9, True))
    with pytest.warns(InterruptedTrainingWarning, match=r"after epoch 9 of 60.*is kept") as seen:
        struck = train(X, y, recipe, callback=by_hand(9), on_interrupt="keep")
    assert_same(struck.params, told.params, atol=0)
    np.testing.assert_array_equal(struck.history, told.history)
    assert seen[0].filename == __file__


class _Struck(Adam):
    """An optimiser during whose 23rd step somebody presses Ctrl-C: in epoch 5 of 5 steps each."""

    def update(self, g, count=None):
        super().update(g, count)
        if self.steps == 23:
            raise KeyboardInterrupt


@pytest.mark.parametrize("keep", ["last", "best", "validation"])
@pytest.mark.parametrize("averaging", [0.0, 0.9])
def test_of_an_epoch_that_is_not_complete_nothing_is_kept(keep, averaging, monkeypatch):
    X, y = a_table(N=50 if keep == "validation" else 40)  # 40 to learn from
    recipe = Recipe(**JUDGED, keep=keep, averaging=averaging)
    told = train(X, y, recipe, callback=Stopping(4, True))
    monkeypatch.setattr(training, "Adam", _Struck)
    with pytest.warns(InterruptedTrainingWarning, match=r"after epoch 4 of 60"):
        struck = train(X, y, recipe, on_interrupt="keep")
    assert_same(struck.params, told.params, atol=0)
    np.testing.assert_array_equal(struck.history, told.history)


def test_ctrl_c_is_raised_unless_it_was_asked_to_keep():
    X, y = a_table()
    with pytest.raises(KeyboardInterrupt):
        train(X, y, Recipe(n_rules=2, epochs=9), callback=by_hand(3))


def test_before_the_end_of_the_first_epoch_there_is_nothing_to_keep(monkeypatch):
    X, y = a_table(N=400)
    monkeypatch.setattr(training, "Adam", _Struck)
    with pytest.raises(KeyboardInterrupt):
        train(X, y, Recipe(**JUDGED), on_interrupt="keep")


def test_what_an_interrupt_does_is_named():
    with pytest.raises(ValueError, match="on_interrupt must be one of 'raise', 'keep', got 'hm'"):
        train(*a_table(), on_interrupt="hm")


def test_ctrl_c_at_any_moment_keeps_a_whole_epoch_and_leaves_numpy_as_it_was():
    X, y = a_table(N=400)
    settings = {"n_rules": 2, "averaging": 0.9, "keep": "validation"}
    heard = Recorder()
    train(X, y, Recipe(**settings, epochs=300), callback=heard)
    before, kept = (np.geterr(), np.getbufsize()), 0
    strike = ctypes.pythonapi.PyThreadState_SetAsyncExc
    here = ctypes.c_ulong(threading.get_ident())
    for i in range(60):
        timer = threading.Timer(
            0.01 + 3e-4 * (i % 37), strike, (here, ctypes.py_object(KeyboardInterrupt))
        )
        try:
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                timer.start()
                found = train(X, y, Recipe(**settings, epochs=100_000), on_interrupt="keep")
        except KeyboardInterrupt:  # too early
            continue
        finally:
            timer.join()
            assert (np.geterr(), np.getbufsize()) == before
        assert [warning.category for warning in told] == [InterruptedTrainingWarning]
        if (n := len(found.history)) <= 300:
            kept += 1
            best = int(np.argmin(heard.losses[:n]))
            assert_same(found.params, heard.params[best], atol=0)
    assert kept >= 30
