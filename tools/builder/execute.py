"""Execution of chapters by papermill, several at a time, each in a process of its own.

The executed notebook is stored without random ids and time stamps, so that a second run yields the
same bytes. A stamp beside it records a hash of everything that went in: code, parameters, library,
data and lock. A chapter whose stamp is current is not run again.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from builder.source import BookError, Chapter, Notebook, Parameters, read_notebook, tags_of

# ipykernel warns about its transport on every start; retina figures are sharp on any screen;
# kernels that run at the same time would share one history.
_KERNEL_CONFIG = """\
c.IPKernelApp.log_level = 40
c.InlineBackend.figure_formats = {"retina"}
c.HistoryManager.enabled = False
"""
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class Job:
    """A chapter to run, its parameters, and the paths for its notebook if it succeeds or fails."""

    chapter: Chapter
    parameters: Parameters
    output: Path
    failed: Path


Result = tuple[Job, float, str | None]
"""A job that ended, its seconds and, if it failed, the error in one line."""


# ------------------------------------------------------------------------------ stamps


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


def _fingerprint(job: Job, inputs: str) -> str:
    """Return a hash of all that can change the outputs of a chapter; its prose cannot."""
    content = json.dumps([job.chapter.code, job.parameters, inputs], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()


def read_stamp(output: Path) -> dict[str, Any]:
    """Return the stamp of an executed notebook; empty if there is none, or no notebook."""
    stamp = output.with_suffix(".stamp.json")
    if not (output.is_file() and stamp.is_file()):
        return {}
    content: dict[str, Any] = json.loads(stamp.read_text(encoding="utf-8"))
    return content


def write_stamp(job: Job, seconds: float, inputs: str) -> None:
    """Record the inputs and the run time of an executed notebook."""
    stamp = {"inputs": _fingerprint(job, inputs), "seconds": round(seconds, 1)}
    write_whole(job.output.with_suffix(".stamp.json"), json.dumps(stamp) + "\n")


def is_current(job: Job, inputs: str) -> bool:
    """Return whether the executed notebook of `job` is what a new run would yield."""
    return read_stamp(job.output).get("inputs") == _fingerprint(job, inputs)


# --------------------------------------------------------------------------- processes


def run_all(jobs: Sequence[Job], root: Path, build: Path, workers: int) -> Generator[Result]:
    """Run `jobs`, `workers` at a time, and yield each result as it ends.

    Closing the iterator stops what is still running.
    """
    environment = _environment(root, build)
    waiting = deque(jobs)
    running: list[_Run] = []
    try:
        while waiting or running:
            while waiting and len(running) < workers:
                running.append(_Run(waiting.popleft(), environment))
            done = [run for run in running if run.process.poll() is not None]
            for run in done:
                running.remove(run)
                yield run.finish()
            if not done:
                time.sleep(0.05)
    finally:
        for run in running:
            end(run.process)
            run.folder.cleanup()


def _environment(root: Path, build: Path) -> dict[str, str]:
    """Return the environment of a chapter, independent of the reader's own IPython settings."""
    profile = build / "ipython" / "profile_default"
    profile.mkdir(parents=True, exist_ok=True)
    (profile / "ipython_kernel_config.py").write_text(_KERNEL_CONFIG, encoding="utf-8")
    paths = [str(root), str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH")]
    return {
        **os.environ,
        **dict.fromkeys(_ONE_THREAD, "1"),
        "IPYTHONDIR": str(build / "ipython"),
        "JUPYTER_PREFER_ENV_PATH": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
    }


class _Run:
    """A chapter while papermill runs it, in a temporary working directory."""

    def __init__(self, job: Job, environment: dict[str, str]) -> None:
        self.job, self.start = job, time.monotonic()
        self.folder = tempfile.TemporaryDirectory(prefix="gt2lite-", ignore_cleanup_errors=True)
        place = Path(self.folder.name)
        self.notebook, self.log = place / "executed.ipynb", place / "papermill.log"
        # Parameters travel as JSON, so that each keeps its type: papermill's command line would
        # read them as YAML 1.1, which takes 1e-5 for a string.
        order = [str(job.chapter.path), str(self.notebook), job.parameters, str(place)]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-m", "builder.execute", json.dumps(order)],
                stdin=subprocess.PIPE,  # closes when the build ends, however it ends
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**environment, "JUPYTER_RUNTIME_DIR": str(place / "runtime")},
                start_new_session=True,  # Ctrl-C reaches the build, which then ends its chapters
            )

    def finish(self) -> Result:
        """Store the notebook and return how the run went."""
        seconds = time.monotonic() - self.start
        failed = self.process.returncode != 0
        try:
            notebook = read_notebook(self.notebook)
        except (OSError, BookError):  # a killed process may leave none, or half of one
            failed, notebook = True, self.job.chapter.notebook
        log = self.log.read_text(encoding="utf-8", errors="replace").strip()
        told = log.splitlines() or [f"papermill ended with code {self.process.returncode}"]
        self.job.failed.unlink(missing_ok=True)
        write_notebook(self.job.failed if failed else self.job.output, normalised(notebook))
        end(self.process)
        self.folder.cleanup()
        return self.job, seconds, (error_of(notebook) or told[-1]) if failed else None


def main() -> None:
    """Run one chapter: the process that `_Run` starts."""
    threading.Thread(target=_end_with_the_build, daemon=True).start()
    from papermill import execute_notebook

    source, target, parameters, folder = json.loads(sys.argv[1])
    execute_notebook(
        source, target, parameters, cwd=folder, kernel_name="python3", progress_bar=False,
        coalesce_streams=True,  # the kernel sends one printed text in pieces whose number varies
        record_timing=False,
    )  # fmt: skip


def _end_with_the_build() -> None:
    os.read(0, 1)  # nothing is ever written: this returns when the build is gone
    _kill_family(os.getpid())


def end(process: subprocess.Popen[bytes]) -> None:
    """End a process with all that it started, and let go of it."""
    if process.poll() is None:
        _kill_family(process.pid)
    process.wait()
    if process.stdin is not None:
        process.stdin.close()


def run_to_end(command: Sequence[str], **settings: Any) -> int:
    """Run a command and return its exit code; if this is interrupted, end all that it started."""
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, start_new_session=True, **settings
    )
    try:
        return process.wait()
    finally:
        end(process)


def _kill_family(pid: int) -> None:
    parent = psutil.Process(pid)
    for member in [*parent.children(recursive=True), parent]:
        with contextlib.suppress(psutil.NoSuchProcess):
            member.kill()


# --------------------------------------------------------------------------- notebooks


def error_of(notebook: Notebook) -> str | None:
    """Return the first error among the outputs of a notebook, in one line."""
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            if output["output_type"] == "error" and "raises-exception" not in tags_of(cell):
                first = output["evalue"].strip().splitlines()[:1]
                return ": ".join([output["ename"], *first])
    return None


def normalised(notebook: Notebook) -> Notebook:
    """Return `notebook` without what differs from run to run, and injected parameters hidden."""
    notebook = copy.deepcopy(notebook)
    for part in [notebook, *notebook["cells"]]:
        part["metadata"].pop("papermill", None)
        if "injected-parameters" in tags_of(part):
            part["id"] = "injected-parameters"
            part["metadata"]["tags"] = ["injected-parameters", "remove-cell"]
    return notebook


def write_notebook(path: Path, notebook: Notebook) -> None:
    """Write `notebook` in one canonical form, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n")


def write_whole(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    aside = path.with_suffix(".tmp")
    aside.write_text(text, encoding="utf-8")
    aside.replace(path)


if __name__ == "__main__":
    main()
