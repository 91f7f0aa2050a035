"""Execution of chapters by papermill, several at a time, each in a process of its own.

The executed notebook is stored without random ids and time stamps, so that a second run yields the
same bytes. A stamp beside it records a hash of everything that went in: code, parameters, library,
data and lock. A chapter whose stamp is current is not run again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from builder.source import BookError, Chapter, Notebook, Parameters, read_notebook, tags_of

# ipykernel warns about its transport on every start; retina figures are sharp on any screen;
# kernels that run at the same time would share one history.
_KERNEL_CONFIG = """\
c.IPKernelApp.log_level = 40
c.InlineBackend.figure_formats = {"retina"}
c.HistoryManager.enabled = False
"""
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_RUNNER = "import sys; sys.path.insert(0, sys.argv[1]); import builder.execute as e; e.main()"
_PATIENCE = 3.0  # seconds for an interrupted kernel to finish what it is writing


@dataclass(frozen=True)
class Job:
    """A chapter to run, its parameters, and the paths for its notebook if it succeeds or fails."""

    chapter: Chapter
    parameters: Parameters
    output: Path
    failed: Path


@dataclass(frozen=True)
class ChapterRun:
    """The result of a job: its seconds and, if it failed, the error in one line."""

    job: Job
    seconds: float
    error: str | None


# ------------------------------------------------------------------------------ stamps


def shared_inputs(root: Path) -> str:
    """Return a hash of what every chapter depends on: library, study, data and lock."""
    digest = hashlib.sha256()
    for path in sorted(_input_files(root)):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0")
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _input_files(root: Path) -> Iterator[Path]:
    for folder in ("gt2lite", "study", "data"):
        for path in (root / folder).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".md":
                yield path
    yield from root.glob("requirements.lock")


def _fingerprint(job: Job, inputs: str) -> str:
    """Return a hash of all that can change the outputs of a chapter; its prose cannot."""
    content = json.dumps([job.chapter.code, job.parameters, inputs], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()


def read_stamp(output: Path) -> dict[str, Any]:
    """Return the stamp of an executed notebook; empty if there is none, or no notebook."""
    try:
        stamp = json.loads(output.with_suffix(".stamp.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return stamp if isinstance(stamp, dict) and output.is_file() else {}


def write_stamp(run: ChapterRun, inputs: str) -> None:
    """Record the inputs and the run time of an executed notebook."""
    stamp = {"inputs": _fingerprint(run.job, inputs), "seconds": round(run.seconds, 1)}
    path = run.job.output.with_suffix(".stamp.json")
    path.write_text(json.dumps(stamp) + "\n", encoding="utf-8")


def is_current(job: Job, inputs: str) -> bool:
    """Return whether the executed notebook of `job` is what a new run would yield."""
    return read_stamp(job.output).get("inputs") == _fingerprint(job, inputs)


# --------------------------------------------------------------------------- processes


def run_all(jobs: Sequence[Job], root: Path, build: Path, workers: int) -> Generator[ChapterRun]:
    """Run `jobs`, `workers` at a time, and yield each run as it ends.

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
    tools = str(Path(__file__).resolve().parents[1])
    paths = [str(root), tools, os.environ.get("PYTHONPATH")]
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
        self.job = job
        self.folder = tempfile.TemporaryDirectory(prefix="gt2lite-", ignore_cleanup_errors=True)
        place = Path(self.folder.name)
        self.notebook, self.log = place / f"{job.chapter.name}.ipynb", place / "papermill.log"
        (place / "cwd").mkdir()
        order = {
            "notebook": str(job.chapter.path),
            "output": str(self.notebook),
            "parameters": job.parameters,
            "cwd": str(place / "cwd"),
        }
        (place / "order.json").write_text(json.dumps(order), encoding="utf-8")
        self.start = time.monotonic()
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-c", _RUNNER, environment["PYTHONPATH"], str(place)],
                stdin=subprocess.PIPE,  # closes when the build ends, however it ends
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**environment, "JUPYTER_RUNTIME_DIR": str(place / "runtime")},
                start_new_session=True,  # Ctrl-C reaches the build, which then ends its chapters
            )

    def finish(self) -> ChapterRun:
        """Store the notebook and return how the run went."""
        seconds = time.monotonic() - self.start
        failed = self.process.returncode != 0
        try:
            notebook = read_notebook(self.notebook)
        except (OSError, BookError):  # a killed process may leave none, or half of one
            failed, notebook = True, self.job.chapter.notebook
        error = (error_of(notebook) or self._last_line()) if failed else None
        self.job.failed.unlink(missing_ok=True)
        write_notebook(self.job.failed if failed else self.job.output, normalised(notebook))
        end(self.process)
        self.folder.cleanup()
        return ChapterRun(self.job, seconds, error)

    def _last_line(self) -> str:
        lines = self.log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return lines[-1] if lines else f"papermill ended with code {self.process.returncode}"


def main() -> None:
    """Run one chapter: the process that `_Run` starts.

    Parameters come from a JSON file, so that each keeps its type: papermill's command line would
    read them as YAML 1.1, which takes ``1e-5`` for a string.
    """
    threading.Thread(target=_end_with_the_build, daemon=True).start()
    from papermill import execute_notebook

    order = json.loads((Path(sys.argv[2]) / "order.json").read_text(encoding="utf-8"))
    # papermill formats paths with the parameters, so braces are doubled
    paths = [order[key].replace("{", "{{").replace("}", "}}") for key in ("notebook", "output")]
    execute_notebook(
        *paths, order["parameters"], kernel_name="python3", progress_bar=False, cwd=order["cwd"]
    )


def _end_with_the_build() -> None:
    os.read(0, 1)  # nothing is ever written: this returns when the build is gone
    _end_family(os.getpid())


def end(process: subprocess.Popen[bytes]) -> None:
    """End a process with all that it started, and let go of it."""
    if process.poll() is None:
        _end_family(process.pid)
    process.wait()
    if process.stdin is not None:
        process.stdin.close()


def _end_family(pid: int) -> None:
    """Interrupt the descendants of a process as Ctrl-C would, then kill what is left, and it."""
    import psutil

    try:
        parent = psutil.Process(pid)
        children = parent.children(recursive=True)
    except psutil.NoSuchProcess:
        return
    for stop in (_interrupt, psutil.Process.kill):
        for child in children:
            with contextlib.suppress(psutil.Error):
                stop(child)
        psutil.wait_procs(children, timeout=_PATIENCE)
    parent.kill()


def _interrupt(process: Any) -> None:
    import signal

    if os.name != "nt":
        process.send_signal(signal.SIGINT)


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
    """Return `notebook` without what differs from run to run."""
    metadata = {key: value for key, value in notebook["metadata"].items() if key != "papermill"}
    return {**notebook, "metadata": metadata, "cells": [_cell(c) for c in notebook["cells"]]}


def _cell(cell: dict[str, Any]) -> dict[str, Any]:
    dropped = ("papermill", "execution")
    metadata = {key: value for key, value in cell["metadata"].items() if key not in dropped}
    cell = {**cell, "metadata": metadata}
    if "injected-parameters" in tags_of(cell):
        cell["id"] = "injected-parameters"
        metadata["tags"] = ["injected-parameters", "remove-cell"]
    if "outputs" in cell:
        cell["outputs"] = _joined(cell["outputs"])
    return cell


def _joined(outputs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Join the pieces in which the kernel sent one printed stream: their number varies."""
    joined: list[dict[str, Any]] = []
    for output in outputs:
        if output["output_type"] != "stream":
            joined.append(output)
            continue
        text = "".join(output["text"])
        if joined and joined[-1].get("name") == output["name"]:
            joined[-1]["text"] += text
        else:
            joined.append({**output, "text": text})
    return joined


def write_notebook(path: Path, notebook: Notebook) -> None:
    """Write `notebook` in one canonical form, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
    aside = path.with_suffix(".tmp")
    aside.write_text(text, encoding="utf-8")
    shutil.move(aside, path)
