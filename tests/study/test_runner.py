"""Facts about running tasks: each is computed once, stored when it is done, returned in order."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from study import runner
from study.runner import key_of, run
from study.store import Store


@dataclass(frozen=True)
class Square:
    """The smallest task there is."""

    number: int
    begun: ClassVar[list[int]] = []  # numbers, in the order in which they were begun

    @property
    def code(self):
        return ("gt2lite.memberships",)

    @property
    def cost(self):
        return float(self.number)

    @property
    def label(self):
        return f"square of {self.number}"

    def asked(self):
        return {"number": self.number}

    def execute(self, get=None):
        self.begun.append(self.number)
        return self.number**2

    def pack(self, outcome):
        return {"square": outcome}, {"as array": np.array([float(outcome)])}

    def unpack(self, header, arrays):
        assert arrays["as array"] == [header["square"]]
        return header["square"]


class SumOfSquares(Square):
    """A task that needs the outcomes of others."""

    def execute(self, get=None):
        return sum(get(Square(i)) for i in range(self.number))


TODO = [Square(3), Square(1), Square(3), Square(2)]


@pytest.fixture(autouse=True)
def _nothing_begun():
    Square.begun.clear()


@pytest.fixture
def forbidden(monkeypatch):
    monkeypatch.setattr(Square, "execute", lambda *_: pytest.fail("computed again"))


@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_outcomes_come_in_the_order_of_the_tasks(tmp_path, stored, n_jobs):
    if n_jobs > 1:
        pytest.importorskip("joblib")
    assert run(TODO, Store(tmp_path) if stored else None, n_jobs=n_jobs) == [9, 1, 9, 4]


def test_the_long_ones_are_begun_first_and_a_task_asked_for_twice_is_done_once():
    run(TODO, n_jobs=1)
    assert Square.begun == [3, 2, 1]


def test_what_is_stored_is_not_computed_again(tmp_path, request):
    store = Store(tmp_path)
    run(TODO, store, n_jobs=1)
    request.getfixturevalue("forbidden")
    assert run(TODO, store, n_jobs=1) == [9, 1, 9, 4]


def test_tasks_of_two_kinds_that_ask_the_same_have_two_keys():
    assert key_of(Square(3)) != key_of(SumOfSquares(3))
    assert key_of(Square(3)) != key_of(Square(2))
    assert key_of(Square(3)) == key_of(Square(3))


def test_a_failing_task_loses_nothing_that_was_done_and_leaves_no_claim(tmp_path, monkeypatch):
    store, really = Store(tmp_path), Square.execute

    def execute(task, get):
        if task.number == 1:
            raise RuntimeError("one is too few")
        return really(task, get)

    monkeypatch.setattr(Square, "execute", execute)
    with pytest.raises(RuntimeError, match="too few"):
        run(TODO, store, n_jobs=1)
    assert [store.has(key_of(Square(n))) for n in (3, 2, 1)] == [True, True, False]
    assert not list(tmp_path.glob("*.claim"))


def test_a_task_gets_the_outcomes_of_others_through_the_same_store(tmp_path):
    store = Store(tmp_path)
    assert run([SumOfSquares(4)], store, n_jobs=1) == [14]
    assert store.has(key_of(Square(3)))
    Square.begun.clear()
    assert run([SumOfSquares(5)], store, n_jobs=1) == [30]
    assert Square.begun == [4]


def test_a_stored_run_tells_where_it_comes_from(tmp_path):
    store = Store(tmp_path)
    run([Square(2)], store, n_jobs=1)
    header, _ = store.load(key_of(Square(2)))
    assert header["provenance"].keys() >= {"gt2lite", "numpy", "python", "machine", "date"}


def test_an_outcome_that_arrives_while_we_look_is_not_computed_again(
    tmp_path, monkeypatch, request
):
    store = Store(tmp_path)
    run(TODO[:1], store, n_jobs=1)
    really, looks = runner._load, []

    def late(store, task):  # at the first look it is not there yet
        looks.append(task)
        return really(store, task) if len(looks) > 1 else None

    monkeypatch.setattr(runner, "_load", late)
    request.getfixturevalue("forbidden")
    assert runner._wait_for(store, TODO[0]) == 9
    assert len(looks) == 2 and not list(tmp_path.glob("*.claim"))


def test_a_task_whose_owner_gave_up_is_computed_by_the_one_that_waits(tmp_path):
    assert runner._wait_for(Store(tmp_path), TODO[0]) == 9


def test_without_joblib_more_than_one_process_is_refused_kindly(monkeypatch):
    monkeypatch.setitem(sys.modules, "joblib", None)
    with pytest.raises(ImportError, match="n_jobs=1"):
        run(TODO, n_jobs=2)
