"""A build that is stopped ends everything that it started."""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
import time

import pytest
from tinybook import add_commands, plain_environment, write_chapter

book = importlib.import_module("book")
psutil = importlib.import_module("psutil")

# A chapter with a worker, which writes a file when it has begun and then does not end.
SLEEPS = """\
import os, pathlib, subprocess, sys, time
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
pathlib.Path(os.environ["BEGUN"]).touch()
while True:
    try:
        time.sleep(600)
    except KeyboardInterrupt:
        pass
"""
BUILD = ("tools/book.py", "build")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="needs the signals of POSIX"),
]


def start(root, command):
    """Start a build and return it with all its descendants, once its chapter has begun."""
    begun = root / "begun"
    build = subprocess.Popen(
        command, cwd=root, env={**plain_environment(), "BEGUN": str(begun)},
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        start_new_session=True,
        # whoever runs the tests may ignore it
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    deadline = time.monotonic() + 120
    while not begun.exists():
        assert build.poll() is None and time.monotonic() < deadline, "the chapter did not begin"
        time.sleep(0.05)
    return build, psutil.Process(build.pid).children(recursive=True)


def have_ended(processes):
    _, left = psutil.wait_procs(processes, timeout=20)
    left = [p for p in left if p.is_running() and p.status() != psutil.STATUS_ZOMBIE]
    for process in left:
        process.kill()  # a test that fails leaves nothing running either
    return not left


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=["Ctrl-C", "KILL"])
def test_after_a_signal_no_process_is_left(tiny, number):
    add_commands(tiny)
    write_chapter(tiny, "one", SLEEPS)
    keyboard = number == signal.SIGINT
    build, started = start(tiny, ["make", "book"] if keyboard else [sys.executable, *BUILD])
    assert len(started) >= 3  # the runner, its kernel, and the worker of that
    if keyboard:
        os.killpg(build.pid, number)  # to the whole group, as a terminal sends it
    else:
        os.kill(build.pid, number)
    _, said = build.communicate(timeout=60)
    assert have_ended(started)
    assert build.returncode != 0
    assert "Traceback" not in said.decode()
    assert ("book: stopped; chapters that had finished are kept" in said.decode()) == keyboard


def test_a_request_to_end_is_answered_like_the_keyboard(capsys):
    before = signal.getsignal(signal.SIGTERM)
    try:
        assert book.finish("book", lambda: os.kill(os.getpid(), signal.SIGTERM)) == 130
    finally:
        signal.signal(signal.SIGTERM, before)
    assert capsys.readouterr().err == "book: stopped\n"
