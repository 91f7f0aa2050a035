"""Facts about running tasks: each is computed once, stored when it is done, returned in order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from gt2lite.study import runner
from gt2lite.study.runner import Work, run
from gt2lite.study.store import Store


@dataclass(frozen=True)
class Square:
    """The smallest task there is."""

    number: int

    @property
    def key(self):
        return Store.key(kind="square", number=self.number)

    @property
    def cost(self):
        return float(self.number)

    @property
    def label(self):
        return f"square of {self.number}"


def square(task):
    return task.number**2


def pack(outcome):
    return {"square": outcome}, {"as array": np.array([float(outcome)])}


def unpack(task, header, arrays):
    assert arrays["as array"] == [task.number**2]
    return header["square"]


def forbidden(task):
    pytest.fail("computed again")


SQUARES = Work(square, pack, unpack)
TODO = [Square(3), Square(1), Square(3), Square(2)]


@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_outcomes_come_in_the_order_of_the_tasks(tmp_path, stored, n_jobs):
    if n_jobs > 1:
        pytest.importorskip("joblib")
    assert run(TODO, SQUARES, Store(tmp_path) if stored else None, n_jobs=n_jobs) == [9, 1, 9, 4]


def test_the_long_ones_are_begun_first_and_a_task_asked_for_twice_is_done_once():
    begun = []

    def execute(task):
        begun.append(task.number)
        return square(task)

    run(TODO, SQUARES._replace(execute=execute), n_jobs=1)
    assert begun == [3, 2, 1]


def test_what_is_stored_is_not_computed_again(tmp_path):
    store = Store(tmp_path)
    run(TODO, SQUARES, store, n_jobs=1)
    assert run(TODO, SQUARES._replace(execute=forbidden), store, n_jobs=1) == [9, 1, 9, 4]


def test_a_failing_task_loses_nothing_that_was_done_and_leaves_no_claim(tmp_path):
    store = Store(tmp_path)

    def execute(task):
        if task.number == 1:
            raise RuntimeError("one is too few")
        return square(task)

    with pytest.raises(RuntimeError, match="too few"):
        run(TODO, SQUARES._replace(execute=execute), store, n_jobs=1)
    assert store.has(Square(3).key) and store.has(Square(2).key) and not store.has(Square(1).key)
    assert not list(tmp_path.glob("*.claim"))


def test_a_task_may_run_others_through_the_same_store(tmp_path):
    store = Store(tmp_path)

    def sum_of_squares(task):  # needs the squares below it
        return sum(run([Square(i) for i in range(task.number)], SQUARES, store, n_jobs=1))

    outer = SQUARES._replace(execute=sum_of_squares, pack=lambda s: ({"square": s}, {}))
    outer = outer._replace(unpack=lambda task, header, arrays: header["square"])
    assert run([Square(4)], outer, store, n_jobs=1) == [14]
    assert store.has(Square(3).key)


def test_an_outcome_that_arrives_while_we_look_is_not_computed_again(tmp_path, monkeypatch):
    store = Store(tmp_path)
    run(TODO[:1], SQUARES, store, n_jobs=1)
    really, looks = runner._load, []

    def late(store, work, task):  # at the first look it is not there yet
        looks.append(task)
        return really(store, work, task) if len(looks) > 1 else None

    monkeypatch.setattr(runner, "_load", late)
    assert runner._wait_for(store, SQUARES._replace(execute=forbidden), TODO[0]) == 9
    assert len(looks) == 2 and not list(tmp_path.glob("*.claim"))


def test_a_task_whose_owner_gave_up_is_computed_by_the_one_that_waits(tmp_path):
    assert runner._wait_for(Store(tmp_path), SQUARES, TODO[0]) == 9


def test_without_joblib_more_than_one_process_is_refused_kindly(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "joblib", None)
    with pytest.raises(ImportError, match="n_jobs=1"):
        run(TODO, SQUARES, n_jobs=2)
