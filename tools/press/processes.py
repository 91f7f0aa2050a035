"""Processes that do not outlive the build: they end with what they started.

A chapter is a process (`press.runner`), its kernel is a child of that and a session of its
own, and a kernel may have workers. Whoever ends a chapter ends them all; a build that is
told to stop ends its chapters first.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

PATIENCE = 3.0  # seconds that an interrupted kernel has to leave things in order


class Stopped(BaseException):
    """Somebody sent a signal: Ctrl-C, `kill`, or a terminal that was closed."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextmanager
def stoppable() -> Iterator[None]:
    """Turn the first signal to stop into `Stopped`; further ones do not disturb the tidying."""
    names = ("SIGINT", "SIGTERM", "SIGHUP")
    wanted = [getattr(signal, name) for name in names if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in wanted}
    heard = [number for number, handler in before.items() if handler is not signal.SIG_IGN]

    def stop(number: int, frame: object) -> None:
        for other in heard:
            signal.signal(other, signal.SIG_IGN)
        raise Stopped(number)

    for number in heard:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number in heard:
            signal.signal(number, before[number])


def finish(name: str, work: Callable[[], object], kept: str, *errors: type[Exception]) -> int:
    """Do the work of a command; return its exit code, with one line where it did not end well.

    Args:
        name: of the command, which begins the line.
        work: what is done.
        kept: what to say where it was stopped.
        errors: what is told in one line, beside trouble with files.
    """
    try:
        with stoppable():
            work()
    except (OSError, *errors) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 1
    except Stopped as stopped:
        print(f"{name}: {kept}", file=sys.stderr)
        return 128 + stopped.number
    return 0


def run(command: Sequence[str], log: Path, environment: Mapping[str, str]) -> int:
    """Run `command` to its end, what it says into `log`; return its code.

    Where this is stopped, the command ends too, with all that it started.
    """
    with log.open("wb") as sink:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=sink, stderr=subprocess.STDOUT,
            env=environment, start_new_session=True,
        )  # fmt: skip
    try:
        return process.wait()
    except BaseException:
        end([process.pid])
        process.wait()
        raise


def end(pids: Iterable[int]) -> None:
    """End the processes `pids` and all their descendants.

    What they started is interrupted first, as Ctrl-C would do it, so that it can put away
    what it was writing. What is left after `PATIENCE` seconds is killed.
    """
    started: list[psutil.Process] = []
    roots: list[psutil.Process] = []
    for pid in pids:
        with suppress(psutil.NoSuchProcess):
            root = psutil.Process(pid)
            started += root.children(recursive=True)
            roots.append(root)
    if started and os.name != "nt":
        _signal(started, signal.SIGINT)
        psutil.wait_procs(started, timeout=PATIENCE)
    _kill([*started, *roots])  # this process may be a root: last
    psutil.wait_procs([*roots, *started], timeout=PATIENCE)


def _kill(processes: list[psutil.Process]) -> None:
    if os.name != "nt":
        _signal(processes, signal.SIGKILL)
    for process in processes:
        with suppress(psutil.Error):
            process.kill()


def _signal(processes: list[psutil.Process], number: signal.Signals) -> None:
    """Send a signal to the groups of `processes`: a worker born meanwhile is in one of them."""
    for group in {_group(process) for process in processes} - {None, os.getpgid(0)}:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, number)


def _group(process: psutil.Process) -> int | None:
    try:
        return os.getpgid(process.pid)
    except ProcessLookupError:
        return None
