"""Execution of chapters by papermill, several at a time, each in a kernel of its own.

The executed notebook is stored without random ids and time stamps, so that a second run yields the
same pages. Its metadata hold a stamp: the run time, and a hash of everything that went in, which is
code, parameters, library, data and lock. A chapter whose stamp is current is not run again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import multiprocessing
import os
import signal
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

import psutil

from builder.source import Chapter, Notebook, Parameters, read_notebook, tags_of

# ipykernel warns about its transport on every start; retina figures are for the screen, SVG for
# paper, with the same names of parts in each run; kernels that run at the same time would share one
# history.
_KERNEL_CONFIG = """\
c.IPKernelApp.log_level = 50
c.InlineBackend.figure_formats = {"retina", "svg"}
c.InlineBackend.rc = {"svg.hashsalt": "gt2lite"}
c.HistoryManager.enabled = False
"""


STAMP = "gt2lite"  # its key in the metadata of a notebook


@dataclass(frozen=True)
class Job:
    """A chapter to run."""

    chapter: Chapter
    parameters: Parameters  # that differ from its defaults
    output: Path  # of the executed notebook
    failed: Path  # of the notebook with the traceback, if it fails
    inputs: str  # the hash of what all chapters depend on

    def fingerprint(self) -> str:
        """Return a hash of all that can change the outputs of the chapter; its prose cannot."""
        given = [self.chapter.code, self.parameters, self.inputs, _KERNEL_CONFIG]
        content = json.dumps(given, sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()

    def is_current(self) -> bool:
        """Return whether the executed notebook is what a new run would yield."""
        if not self.output.is_file():
            return False
        stamp = read_notebook(self.output)["metadata"].get(STAMP, {})
        return bool(stamp.get("inputs") == self.fingerprint())


def shared_inputs(root: Path) -> str:
    """Return a hash of what every chapter depends on: library, study, data and lock."""
    digest = hashlib.sha256()
    folders = (root / folder for folder in ("gt2lite", "study", "data"))
    found = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    for path in sorted([*found, *root.glob("requirements.lock")]):
        if "__pycache__" not in path.parts and path.suffix != ".md":
            digest.update(path.relative_to(root).as_posix().encode() + b"\0")
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def run_all(jobs: Sequence[Job], root: Path) -> Iterator[tuple[Job, float, str | None]]:
    """Run `jobs`, one for each core at a time; closing the iterator stops what is still running.

    Yields each job when it has ended, its seconds and, if it failed, the error in one line.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    spawn = multiprocessing.get_context("spawn")
    theirs, ours = spawn.Pipe(duplex=False)
    # what a worker leaves behind when it is stopped goes away with this folder
    with tempfile.TemporaryDirectory(prefix="gt2lite-", ignore_cleanup_errors=True) as folder:
        environment = _environment(root) | {"TMPDIR": folder}
        pool = ProcessPoolExecutor(cores, spawn, _begin, (theirs, environment))
        try:
            running = {pool.submit(_run, job): job for job in jobs}
            for done in as_completed(running):
                try:
                    seconds, error = done.result()
                except BrokenProcessPool as failure:  # killed, or out of memory
                    seconds, error = 0.0, f"its process ended: {failure}"
                yield running[done], seconds, error
        finally:
            ours.close()
            pool.shutdown(cancel_futures=True)


def _environment(root: Path) -> dict[str, str]:
    """Return the variables of a kernel, independent of the reader's own IPython settings."""
    home = root / "_build" / "ipython"
    (home / "profile_default").mkdir(parents=True, exist_ok=True)
    (home / "profile_default" / "ipython_kernel_config.py").write_text(_KERNEL_CONFIG)
    paths = [str(root), os.environ.get("PYTHONPATH")]
    return {
        **dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"], "1"),
        "IPYTHONDIR": str(home),
        "JUPYTER_PREFER_ENV_PATH": "1",
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "SOURCE_DATE_EPOCH": "0",  # the date in an SVG
    }


def _begin(build: Connection, environment: dict[str, str]) -> None:
    """Prepare a worker: it ends with the build, whose end of the pipe closes however it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the build
    os.environ.update(environment)
    threading.Thread(target=_end_with, args=(build,), daemon=True).start()


def _end_with(build: Connection) -> None:
    build.poll(None)
    worker = psutil.Process()
    for process in [*worker.children(recursive=True), worker]:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()


def _run(job: Job) -> tuple[float, str | None]:
    """Run a chapter in a temporary folder, store its notebook; return seconds and error."""
    from papermill import PapermillExecutionError, execute_notebook

    parameters = json.loads(json.dumps(job.parameters))  # papermill takes lists, not tuples
    job.failed.unlink(missing_ok=True)  # of an earlier run
    start, error = time.monotonic(), None
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        executed = Path(folder) / "executed.ipynb"
        try:
            execute_notebook(
                job.chapter.path, executed, parameters, cwd=folder, kernel_name="python3",
                progress_bar=False,
                coalesce_streams=True,  # a kernel sends one text in pieces whose number varies
                record_timing=False,
            )  # fmt: skip
        except PapermillExecutionError as failure:
            error = f"{failure.ename}: {failure.evalue}"
        except Exception as failure:  # such as a kernel that died
            error = f"{type(failure).__name__}: {failure}"
        notebook = read_notebook(executed) if executed.is_file() else job.chapter.notebook
    seconds = round(time.monotonic() - start, 1)
    normalise(notebook)
    notebook["metadata"][STAMP] = {"inputs": job.fingerprint(), "seconds": seconds}
    write_notebook(job.failed if error else job.output, notebook)
    return seconds, error and error.splitlines()[0]


def normalise(notebook: Notebook) -> None:
    """Strip `notebook` of what differs from run to run, and hide the injected cell."""
    for part in [notebook, *notebook["cells"]]:
        part["metadata"].pop("papermill", None)
        if "injected-parameters" in tags_of(part):
            part["id"] = "injected-parameters"
            part["metadata"]["tags"] = ["injected-parameters", "remove-cell"]


def write_notebook(path: Path, notebook: Notebook) -> None:
    """Write `notebook` in one canonical form, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_suffix(".tmp")
    text = json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
    aside.write_text(text, encoding="utf-8")
    aside.replace(path)
