"""Facts about the store of the protocol: resumable, shared, never misread."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
from short_runs import FEW, SHORT, same

from study import store
from study.protocol import Task
from study.runner import key_of, run
from study.store import DamagedRunWarning, Store, StoreError

needs_kill = pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")


@pytest.mark.slow
def test_the_number_of_workers_does_not_change_a_bit(runs, tmp_path):
    pytest.importorskip("joblib")
    for n_jobs in (1, 2):
        again = run(FEW, Store(tmp_path / str(n_jobs)), n_jobs=n_jobs)
        assert all(map(same, again, runs))


def test_what_is_stored_is_not_computed_again(tmp_path, monkeypatch):
    shelf = Store(tmp_path)
    first = run(FEW[:2], shelf, n_jobs=1)
    monkeypatch.setattr(Task, "execute", lambda *_: pytest.fail("computed again"))
    assert all(map(same, run(FEW[:2], shelf, n_jobs=1), first))


def test_a_failing_run_loses_nothing_that_was_done(tmp_path, monkeypatch):
    shelf, really = Store(tmp_path), Task.execute

    def fail_at_the_second(task, get):
        if task.model == "trained_95":
            raise KeyboardInterrupt
        return really(task, get)

    monkeypatch.setattr(Task, "execute", fail_at_the_second)
    with pytest.raises(KeyboardInterrupt):
        run(FEW[:3], shelf, n_jobs=1)
    done = {path.stem for path in tmp_path.glob("*.npz")}
    assert done < {key_of(task) for task in FEW[:3]}
    monkeypatch.undo()
    assert len(run(FEW[:3], shelf, n_jobs=1)) == 3


def write_script(folder, n_jobs):
    """Write a script that runs FEW into the store "s" of the folder; return its path."""
    path = folder / "protocol.py"
    path.write_text(
        "from study.plans import tasks\n"
        "from study.runner import run\n"
        "from study.store import Store\n"
        "from gt2lite.training import Recipe\n"
        "if __name__ == '__main__':\n"
        f"    recipe = Recipe(**{SHORT.__dict__!r})\n"
        f"    store = Store({str(folder / 's')!r})\n"
        f"    run(tasks(['aids', 'pp'], [0], recipe=recipe), store, n_jobs={n_jobs})\n"
    )
    return path


@pytest.mark.slow
@needs_kill
def test_a_killed_process_ends_in_the_same_result_when_repeated(runs, tmp_path):
    script = write_script(tmp_path, n_jobs=2)
    for n_files in (1, 3):  # kill it as soon as so many runs are there
        process = subprocess.Popen([sys.executable, script], start_new_session=True)
        deadline = time.monotonic() + 120
        while len(list((tmp_path / "s").glob("*.npz"))) < n_files and process.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.005)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    before = {path: path.read_bytes() for path in (tmp_path / "s").glob("*.npz")}
    assert before
    subprocess.run([sys.executable, script], check=True)
    for path, content in before.items():
        assert path.read_bytes() == content
    assert all(map(same, run(FEW, Store(tmp_path / "s"), n_jobs=1), runs))


@pytest.mark.slow
def test_two_processes_may_share_a_store(runs, tmp_path):
    script = write_script(tmp_path, n_jobs=1)
    both = [subprocess.Popen([sys.executable, script]) for _ in range(2)]
    assert [process.wait(timeout=240) for process in both] == [0, 0]
    assert len(list((tmp_path / "s").glob("*.npz"))) == len(FEW)
    assert not list((tmp_path / "s").glob("*.claim"))
    assert all(map(same, run(FEW, Store(tmp_path / "s"), n_jobs=1), runs))


@needs_kill
@pytest.mark.slow
def test_a_dask_cluster_does_the_same_though_a_worker_dies(runs, tmp_path):
    joblib = pytest.importorskip("joblib")
    distributed = pytest.importorskip("distributed")
    long = [replace(task, recipe=replace(SHORT, epochs=60)) for task in FEW]
    expected = run(long, n_jobs=2)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
        joblib.parallel_config(backend="dask"),
    ):
        victim = min(client.run(os.getpid).values())
        killed = tmp_path / "killed"  # a file, since the store travels to the workers

        class Killing(Store):  # kills a worker once the first run is in
            def save(self, *args):
                super().save(*args)
                if not killed.exists():
                    killed.touch()
                    os.kill(victim, signal.SIGKILL)

        found = run(long, Killing(tmp_path / "store"))
        assert killed.exists()
    assert all(map(same, found, expected))


def test_a_damaged_run_is_named_set_aside_and_computed_again(runs, tmp_path):
    shelf = Store(tmp_path)
    run(FEW[:1], shelf, n_jobs=1)
    path = shelf.path(key_of(FEW[0]))
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.warns(DamagedRunWarning, match=key_of(FEW[0])):
        again = run(FEW[:1], shelf, n_jobs=1)
    assert same(again[0], runs[0])
    assert path.with_suffix(".damaged").exists() and path.exists()


def damage_by_folder(path):
    path.unlink()
    path.mkdir()


def damage_by_flag(path):  # the bit that says that a member is encrypted
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(content)


def damage_by_shift(path):  # members then lie before the beginning of the file
    content = path.read_bytes()
    place = int.from_bytes(content[-6:-2], "little") + 5000
    path.write_bytes(content[:-6] + place.to_bytes(4, "little") + content[-2:])


@pytest.mark.parametrize("damage", [damage_by_folder, damage_by_flag, damage_by_shift])
def test_no_damage_stops_the_store_twice(tmp_path, damage):
    shelf, key = Store(tmp_path), key_of(FEW[0])
    for _ in range(2):  # the second time there is one aside already
        shelf.save(key, {}, {"x": np.ones(3)})
        damage(shelf.path(key))
        with pytest.warns(DamagedRunWarning, match="set aside"):
            assert shelf.load(key) is None
    assert shelf.load(key) is None and not shelf.has(key)
    assert len(list(tmp_path.glob("*.damaged*"))) == 2
    Store(tmp_path)


def test_a_run_under_the_wrong_name_is_not_taken_for_another(tmp_path):
    shelf = Store(tmp_path)
    run(FEW[:1], shelf, n_jobs=1)
    os.replace(shelf.path(key_of(FEW[0])), shelf.path(key_of(FEW[1])))
    with pytest.warns(DamagedRunWarning, match="holds the run"):
        assert shelf.load(key_of(FEW[1])) is None


def test_a_store_of_another_layout_or_another_folder_is_refused(tmp_path):
    shelf = Store(tmp_path / "s")
    Store(tmp_path / "s")  # again is fine
    (shelf.folder / "store.json").write_text('{"layout": 99}')
    with pytest.raises(StoreError, match="layout 99"):
        Store(tmp_path / "s")
    (shelf.folder / "store.json").write_text("{")
    with pytest.raises(StoreError, match="damaged"):
        Store(tmp_path / "s")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("precious")
    with pytest.raises(StoreError, match="not a store"):
        Store(tmp_path / "mine")


def test_two_processes_may_open_a_new_store_at_once(tmp_path):
    code = (
        "import time; from study.store import Store\n"
        "print('ready', flush=True); begin = float(input())\n"
        "for i in range(150):\n"
        "    while time.time() < begin + 3e-3 * i: pass\n"
        f"    Store({str(tmp_path)!r} + f'/{{i}}')\n"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    both = [subprocess.Popen([sys.executable, "-c", code], **pipes) for _ in range(2)]
    for process in both:
        process.stdout.readline()
    begin = time.time() + 0.1
    for process in both:
        print(begin, file=process.stdin, flush=True)
    for process in both:
        process.communicate()
    assert [process.returncode for process in both] == [0, 0]


@pytest.mark.parametrize("left", [".store.json.0123456789abcdef", "store.4711"])
def test_a_process_that_was_killed_while_it_opened_a_store_does_not_spoil_the_folder(
    tmp_path, left
):
    (tmp_path / left).write_text('{"lay')
    os.utime(tmp_path / left, (0, 0))
    Store(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["store.json"]


@pytest.mark.parametrize("damage", ["", "{", "[]", "[" * 100_000, "folder"])
def test_the_advice_about_a_damaged_mark_works(tmp_path, damage):
    shelf, key, mark = Store(tmp_path), key_of(FEW[0]), tmp_path / "store.json"
    shelf.save(key, {}, {"x": np.ones(3)})
    mark.unlink()
    if damage == "folder":
        mark.mkdir()
    else:
        mark.write_text(damage)
    with pytest.raises(StoreError, match="delete it"):
        Store(tmp_path)
    mark.rmdir() if damage == "folder" else mark.unlink()
    assert Store(tmp_path).load(key)[1]["x"].sum() == 3


def test_a_file_cannot_be_a_store(tmp_path):
    (tmp_path / "file").write_text("precious")
    for place in (tmp_path / "file", tmp_path / "file" / "inside"):
        with pytest.raises(StoreError, match="no folder"):
            Store(place)


@needs_kill
def test_what_killed_writers_left_is_cleaned_by_the_next_that_opens_the_store(tmp_path):
    shelf, key = Store(tmp_path), key_of(FEW[0])
    shelf.save(key, {}, {"x": np.ones(3)})
    now = time.time()
    ages = {0: "at work", store.LEFTOVER_SECONDS + 9: "killed", -90_000: "of a clock ahead"}
    for i, age in enumerate(ages):
        path = tmp_path / f".{key}.npz.{i:016x}"
        path.write_text("half")
        os.utime(path, (now - age, now - age))
    (tmp_path / f"{key}.claim").write_text("")
    (tmp_path / "notes.txt").write_text("of the owner")
    Store(tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"store.json", f"{key}.npz", f".{key}.npz.{0:016x}", "notes.txt"}


def test_a_writer_whose_file_was_taken_for_a_leftover_writes_it_again(tmp_path, monkeypatch):
    shelf, key, really = Store(tmp_path), key_of(FEW[0]), np.savez

    def slow(file, **content):
        monkeypatch.undo()
        really(file, **content)
        os.unlink(file.name)

    monkeypatch.setattr(np, "savez", slow)
    shelf.save(key, {}, {"x": np.ones(3)})
    assert shelf.load(key)[1]["x"].sum() == 3


def test_a_full_disk_leaves_the_store_intact(tmp_path, monkeypatch, runs):
    shelf = Store(tmp_path)
    run(FEW[:1], shelf, n_jobs=1)
    before = sorted(path.name for path in tmp_path.iterdir())

    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(np, "savez", full)
        with pytest.raises(OSError, match="No space"):
            run(FEW[:2], shelf, n_jobs=1)
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    assert same(run(FEW[:2], shelf, n_jobs=1)[0], runs[0])
