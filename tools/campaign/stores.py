"""What may happen to a store: kills, crowds, a full disk, a folder that cannot be written.

Processes are forked, so that a kill meets one that is at work and not one that still starts.
"""

from __future__ import annotations

import errno
import os
import resource
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from study import store as store_module
from study.store import Store

N_RUNS = 40
NOBODY = 65534


def kills(folder: Path, n_kills: int, seed: int) -> Counter[str]:
    """Kill processes that open a store and write to it; then open it, and finish the work.

    After each kill every stored run is whole, every other can be claimed at once, and nothing
    that the dead process left stays.
    """
    rng, counts = np.random.default_rng(seed), Counter[str]()
    for i in range(n_kills):
        place = folder / str(i // 4)  # a new store for every fourth
        child = _fork(lambda place=place: _fill(Store(place)))
        _wait_for(place, len(_runs(place)) + int(rng.integers(4)))
        time.sleep(float(rng.uniform(0, 0.02)) * (1 if i % 4 else 0.1))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        counts["kills"] += 1
        counts["runs found whole"] += _examined(place, counts)
    for place in sorted(folder.iterdir()):
        _fill(Store(place))
        counts["wrong"] += not _is_complete(place)
    return counts


def openings(folder: Path, n_stores: int) -> Counter[str]:
    """Open new stores from two processes at once."""
    counts = Counter[str]()
    begin = time.monotonic() + 0.1

    def open_all() -> None:
        for i in range(n_stores):
            while time.monotonic() < begin + i * 2e-3:
                pass
            Store(folder / str(i))

    children = [_fork(open_all) for _ in range(2)]
    counts["stores"] = n_stores
    counts["wrong"] = sum(os.waitpid(child, 0)[1] != 0 for child in children)
    counts["wrong"] += sum(not (folder / str(i) / "store.json").exists() for i in range(n_stores))
    return counts


def three_writers(folder: Path) -> Counter[str]:
    """Let three processes fill a store of stale claims; each run is computed once."""
    store, log = Store(folder / "store"), folder / "log"
    for i in range(0, N_RUNS, 3):
        (store.folder / f"{_key(i)}.claim").write_text("elsewhere 1")

    def work() -> None:
        _fill(Store(store.folder), log)

    children = [_fork(work) for _ in range(3)]
    wrong = sum(os.waitpid(child, 0)[1] != 0 for child in children)
    computed = log.read_text().split()
    wrong += len(computed) - len(set(computed)) + (not _is_complete(store.folder))
    return Counter({"runs": N_RUNS, "computed": len(computed), "wrong": wrong})


def full_disk(folder: Path, seed: int, n_cases: int = 100) -> Counter[str]:
    """Let the system refuse a write after some bytes; the store is as it was, or has the run."""
    rng, counts = np.random.default_rng(seed), Counter[str]()
    store = Store(folder)
    header, arrays = _run(0)
    store.save(_key(0), header, arrays)
    size = store.path(_key(0)).stat().st_size
    before = _listing(folder)

    def save(limit: int) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        store.save(_key(0), {**header, "again": True}, arrays)

    for limit in rng.integers(size, size=n_cases):
        child = _fork(lambda limit=int(limit): save(limit))
        failed = os.waitpid(child, 0)[1] != 0
        counts["writes refused"] += failed
        counts["wrong"] += not failed or _listing(folder) != before
    return counts


def read_only(folder: Path) -> Counter[str]:
    """Use a store that cannot be written to: reading works, all else is refused by name."""
    store = Store(folder / "store")
    _fill(store)
    before = _listing(store.folder)

    def use() -> None:
        if os.getuid() == 0:  # who may write everywhere
            os.setuid(NOBODY)
        again = Store(store.folder)
        assert all(_is_right(again, i) for i in range(N_RUNS))
        _refused(lambda: again.claim("f" * 24))
        _refused(lambda: again.save("f" * 24, *_run(1)))

    folder.chmod(0o755)
    store.folder.chmod(0o555)
    child = _fork(use)
    wrong = os.waitpid(child, 0)[1] != 0
    store.folder.chmod(0o755)
    return Counter({"runs read": N_RUNS, "wrong": wrong + (_listing(store.folder) != before)})


# ------------------------------------------------------------------ inside


def _fork(work: Callable[[], object]) -> int:
    """Return the id of a new process that does something; its status is 0 where that succeeds."""
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        work()
        status = 0
    except OSError as error:
        if error.errno != errno.EFBIG:  # the one that `full_disk` asks for
            print(f"{type(error).__name__}: {error}", flush=True)
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", flush=True)
    finally:
        os._exit(status)


def _runs(place: Path) -> list[Path]:
    return list(place.glob("*.npz"))


def _wait_for(place: Path, n_runs: int) -> None:
    deadline = time.monotonic() + 5
    while len(_runs(place)) < min(n_runs, N_RUNS) and time.monotonic() < deadline:
        time.sleep(1e-4)


def _fill(store: Store, log: Path | None = None) -> None:
    for i in range(N_RUNS):
        while not store.has(_key(i)):
            if store.claim(_key(i)):
                if not store.has(_key(i)):
                    store.save(_key(i), *_run(i))
                    if log is not None:
                        with log.open("a") as file:
                            file.write(f"{i}\n")
                store.release(_key(i))


def _examined(place: Path, counts: Counter[str]) -> int:
    if not place.exists():  # killed before it could begin
        return 0
    half_written = sum(path.name.startswith(".") for path in place.iterdir())
    claims = len(list(place.glob("*.claim")))
    counts["half-written files"] += half_written
    counts["claims left"] += claims
    allowed, store_module.LEFTOVER_SECONDS = store_module.LEFTOVER_SECONDS, -1.0
    store = Store(place)
    store_module.LEFTOVER_SECONDS = allowed
    counts["wrong"] += sum(path.suffix != ".npz" for path in place.iterdir()) - 1  # the mark
    found = [i for i in range(N_RUNS) if store.has(_key(i))]
    counts["wrong"] += sum(not _is_right(store, i) for i in found)
    for i in set(range(N_RUNS)) - set(found):
        counts["wrong"] += not store.claim(_key(i))
        store.release(_key(i))
    return len(found)


def _is_complete(place: Path) -> bool:
    store = Store(place)
    names = {f"{_key(i)}.npz" for i in range(N_RUNS)} | {"store.json"}
    return all(_is_right(store, i) for i in range(N_RUNS)) and set(os.listdir(place)) == names


def _is_right(store: Store, i: int) -> bool:
    found = store.load(_key(i))
    return found is not None and np.array_equal(found[1]["values"], _run(i)[1]["values"])


def _run(i: int) -> tuple[dict[str, Any], dict[str, Any]]:
    return {"number": i}, {"values": np.random.default_rng(i).normal(size=(50, 20))}


def _key(i: int) -> str:
    return f"{i:024x}"


def _listing(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def _refused(act: Callable[[], object]) -> None:
    try:
        act()
    except PermissionError:
        return
    raise AssertionError("a folder that cannot be written to was written to")
