"""A build that is stopped takes with it all that it started, and leaves nothing to trip over."""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest
from tinybook import plain_environment, write_chapter

psutil = importlib.import_module("psutil")
execute = importlib.import_module("builder.execute")

# A chapter with a worker, which says when it has begun and then does not end.
SLEEPS = """\
import os, pathlib, subprocess, sys, time
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
pathlib.Path(os.environ["BEGUN"]).touch()
time.sleep(600)
"""
STUBBORN = SLEEPS.replace(
    "time.sleep(600)\n",
    "while True:\n    try:\n        time.sleep(600)\n    except KeyboardInterrupt:\n        pass\n",
)
BOOK = [sys.executable, "tools/book.py", "build"]
MAKE = ["make", "book"]

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs the signals of POSIX")


def interruptible():
    for number in (signal.SIGINT, signal.SIGHUP):  # which whoever runs the tests may ignore
        signal.signal(number, signal.SIG_DFL)


def start(root, command, **variables):
    """Start a build and return it with all its descendants, once its chapter has begun."""
    begun = root / "begun"
    build = subprocess.Popen(
        command, cwd=root, env={**plain_environment(), "BEGUN": str(begun), **variables},
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        start_new_session=True, preexec_fn=interruptible,
    )  # fmt: skip
    deadline = time.monotonic() + 120
    while not begun.exists():
        assert build.poll() is None and time.monotonic() < deadline, "the chapter did not begin"
        time.sleep(0.05)
    return build, psutil.Process(build.pid).children(recursive=True)


def running(processes):
    return [p for p in processes if p.is_running() and p.status() != psutil.STATUS_ZOMBIE]


def ended(processes, seconds=20):
    deadline = time.monotonic() + seconds
    while running(processes) and time.monotonic() < deadline:
        time.sleep(0.05)
    left = running(processes)
    for process in left:
        process.kill()  # a test that fails leaves nothing running either
    return not left


def send(build, number, to):
    os.killpg(build.pid, number) if to == "all" else os.kill(build.pid, number)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "number", "to", "code"),
    [
        (BOOK, signal.SIGINT, "one", SLEEPS),
        (BOOK, signal.SIGTERM, "one", STUBBORN),
        (BOOK, signal.SIGHUP, "one", SLEEPS),
        (MAKE, signal.SIGINT, "all", SLEEPS),  # as a terminal sends it
        (MAKE, signal.SIGTERM, "one", SLEEPS),
    ],
    ids=["book-INT", "book-TERM-stubborn", "book-HUP", "make-INT", "make-TERM"],
)
def test_after_a_signal_no_process_and_no_folder_is_left(
    tiny_with_commands, command, number, to, code
):
    root = tiny_with_commands
    write_chapter(root, "one", code)
    build, started = start(root, command)
    assert len(started) >= 3  # the runner, its kernel, the worker of that
    send(build, number, to)
    _, said = build.communicate(timeout=60)
    assert ended(started)
    assert "book: stopped; chapters that had finished are kept" in said.decode()
    assert "Traceback" not in said.decode()
    assert build.returncode == (128 + number if command is BOOK else build.returncode) != 0
    assert list((root / "_build" / "running").iterdir()) == []


# What Sphinx loads, and then waits for.
SLOW_EXTENSION = f"def setup(app):\n{textwrap.indent(SLEEPS, '    ')}"


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_pages_that_are_being_compiled_stop_too(tiny_with_commands, number):
    root = tiny_with_commands
    (root / "_toc.yml").write_text("format: jb-book\nroot: index\n")
    (root / "chapters" / "profiles.yml").write_text("full: {}\n")
    (root / "_config.yml").write_text("title: x\nsphinx: {extra_extensions: [slow_extension]}\n")
    (root / "slow_extension.py").write_text(SLOW_EXTENSION)
    build, started = start(root, BOOK, PYTHONPATH=str(root))
    assert len(started) >= 2  # the compiler and what it started
    send(build, number, "one")
    build.communicate(timeout=60)
    assert ended(started)
    assert build.returncode == 128 + number


@pytest.mark.slow
def test_chapters_of_a_build_that_was_killed_end_and_the_next_run_tidies_up(tiny_with_commands):
    root = tiny_with_commands
    write_chapter(root, "one", SLEEPS)
    build, started = start(root, BOOK)
    build.kill()
    build.communicate(timeout=60)
    assert ended(started)
    folder = root / "_build" / "running"
    assert list(folder.iterdir()), "the killed build left nothing: what is there to tidy up?"
    assert list(execute.run_all([], root, root / "_build", 1)) == []
    assert list(folder.iterdir()) == []


def test_what_a_living_build_uses_stays_and_all_else_goes(tmp_path):
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    alive = tmp_path / f"{os.getpid()}-one-abc"
    reused = tmp_path / f"{os.getpid()}-two-abc"
    names = [f"{gone.pid}-one-abc", "one-abc", "-1-one", f"{10**30}-one"]
    for path in (alive, reused, *(tmp_path / name for name in names)):
        (path / "cwd").mkdir(parents=True)
    (tmp_path / "file").touch()
    os.utime(reused, (0, 0))  # older than the process that has its number
    execute.remove_leftovers(tmp_path)
    assert list(tmp_path.iterdir()) == [alive]
