"""Facts about claims: they end with their process, and nothing else in them matters."""

import os
import socket
import subprocess
import sys
import time

import pytest
from short_runs import FEW

from study.runner import key_of, run
from study.store import Store

needs_kill = pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")


def other_process(folder, key):
    """Start a process that claims a run and holds it; return it once it has answered."""
    code = (
        "import sys; from study.store import Store\n"
        f"print(Store({str(folder)!r}).claim({key!r}), flush=True); sys.stdin.read()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    return process, process.stdout.readline().strip() == "True"


def end(process):
    process.kill()
    process.communicate()


@needs_kill
def test_a_run_that_another_process_has_claimed_is_free_once_that_is_killed(tmp_path):
    shelf, key = Store(tmp_path), key_of(FEW[0])
    claim = tmp_path / f"{key}.claim"
    process, won = other_process(tmp_path, key)
    try:
        assert won and not shelf.claim(key)
        shelf.release(key)  # not ours to give up
        Store(tmp_path)  # nor to be cleaned
        assert claim.exists() and not shelf.claim(key)
    finally:
        end(process)
    assert claim.exists() and shelf.claim(key)  # at once
    assert shelf.claim(key)  # our own is no obstacle
    Store(tmp_path)
    process, won = other_process(tmp_path, key)
    end(process)
    assert not won
    shelf.release(key)
    assert not claim.exists()
    assert len(run(FEW[:1], shelf, n_jobs=1)) == 1


@needs_kill
@pytest.mark.parametrize(
    "content",
    [b"", b"\xff\x00 damaged", b"elsewhere 1", f"{socket.gethostname()} {os.getppid()}".encode()],
    ids=["empty", "damaged", "another machine", "a process number in use again"],
)
@pytest.mark.parametrize("hours", [0, 25, -25])
def test_what_a_claim_says_and_how_old_it_is_blocks_nobody(tmp_path, content, hours):
    shelf, key = Store(tmp_path), key_of(FEW[0])
    claim = tmp_path / f"{key}.claim"
    claim.write_bytes(content)
    date = time.time() + 3600 * hours
    os.utime(claim, (date, date))
    assert shelf.claim(key)
    shelf.release(key)
    assert not claim.exists()


@needs_kill
def test_of_several_that_take_over_a_claim_at_once_one_wins(tmp_path):
    key = key_of(FEW[0])
    Store(tmp_path)
    (tmp_path / f"{key}.claim").write_text("elsewhere 1")
    code = (
        "import sys, time; from study.store import Store\n"
        f"shelf = Store({str(tmp_path)!r})\n"
        "print('ready', flush=True); sys.stdin.readline()\n"
        f"print(shelf.claim({key!r}), flush=True); sys.stdin.read()\n"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    several = [subprocess.Popen([sys.executable, "-c", code], **pipes) for _ in range(4)]
    try:
        for process in several:
            process.stdout.readline()
        for process in several:
            print(file=process.stdin, flush=True)
        assert [p.stdout.readline().strip() for p in several].count("True") == 1
    finally:
        for process in several:
            end(process)


def test_a_folder_in_place_of_a_claim_blocks_nobody(tmp_path):
    shelf, key = Store(tmp_path), key_of(FEW[0])
    (tmp_path / f"{key}.claim").mkdir()
    assert shelf.claim(key)
    shelf.release(key)


@needs_kill
def test_without_locks_everybody_gets_what_they_ask_for(tmp_path, monkeypatch):
    def unsupported(*args):
        raise OSError(95, "Operation not supported")

    shelf, key = Store(tmp_path), key_of(FEW[0])
    monkeypatch.setattr("fcntl.flock", unsupported)
    assert shelf.claim(key)
    shelf.release(key)
    assert not (tmp_path / f"{key}.claim").exists()
