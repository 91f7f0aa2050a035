"""Chapters run by papermill, and what stays of a run.

Every chapter is a process of its own, a few at a time, with a working directory
that is thrown away; a build that was killed leaves it to the next one to throw away.
What stays is the executed notebook without the marks of the moment (random ids, time
stamps), so that a second run yields the same bytes.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from press.processes import end
from press.runner import write_order
from press.source import BookError, Chapter, Notebook, Parameters, read_notebook, tags_of

# ipykernel warns about its transport on every start; retina pictures are sharp on any
# screen; a history would be shared by kernels that run at the same time.
_KERNEL_CONFIG = """\
c.IPKernelApp.log_level = 40
c.InlineBackend.figure_formats = {"retina"}
c.HistoryManager.enabled = False
"""
_RUNNER = (
    "import sys; sys.path.insert(0, sys.argv[1]); from press.runner import main; main(sys.argv[2])"
)
_TOOLS = Path(__file__).resolve().parents[1]
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class Job:
    """A chapter to run, its parameters, and where the result goes, good or bad."""

    chapter: Chapter
    parameters: Parameters
    output: Path
    failed: Path


@dataclass(frozen=True)
class ChapterRun:
    """How a job went: its seconds and, if it failed, the error in one line."""

    job: Job
    seconds: float
    error: str | None


def run_all(jobs: Sequence[Job], root: Path, build: Path, workers: int) -> Generator[ChapterRun]:
    """Run `jobs`, `workers` at a time, and yield each run as it ends.

    Closing the iterator stops what is still running.
    """
    environment = _environment(root, build)
    folder = build / "running"
    folder.mkdir(parents=True, exist_ok=True)
    remove_leftovers(folder)
    waiting = deque(jobs)
    running: list[_Run] = []
    try:
        while waiting or running:
            while waiting and len(running) < workers:
                running.append(_Run(waiting.popleft(), folder, environment))
            done = [run for run in running if run.process.poll() is not None]
            for run in done:
                running.remove(run)
                yield run.finish()
            if not done:
                time.sleep(0.05)
    finally:
        end(run.process.pid for run in running)
        for run in running:
            run.put_away()


def remove_leftovers(folder: Path) -> None:
    """Remove from `folder` what builds left there that are no more.

    The name of a folder starts with the number of the process it belongs to; a process that
    is younger than the folder only has the same number.
    """
    for path in folder.iterdir():
        number = path.name.partition("-")[0]
        try:
            process = psutil.Process(int(number))
            alive = process.create_time() <= path.stat().st_mtime + 2  # clocks tick coarsely
        except (ValueError, OverflowError, OSError, psutil.Error):
            alive = False
        if not alive:
            remove(path)


def remove(path: Path) -> None:
    """Remove whatever is at `path`, if anything is."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _environment(root: Path, build: Path) -> dict[str, str]:
    """Return the environment of a chapter: ours, not the reader's own settings."""
    profile = build / "ipython" / "profile_default"
    profile.mkdir(parents=True, exist_ok=True)
    (profile / "ipython_kernel_config.py").write_text(_KERNEL_CONFIG, encoding="utf-8")
    python_path = os.pathsep.join(filter(None, [str(root), os.environ.get("PYTHONPATH")]))
    return {
        **os.environ,
        **dict.fromkeys(_ONE_THREAD, "1"),
        "GT2LITE_STORE": str(build / "store"),  # runs outlive the chapter that made them
        "IPYTHONDIR": str(build / "ipython"),
        "JUPYTER_PREFER_ENV_PATH": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": python_path,
    }


class _Run:
    """A chapter while papermill runs it."""

    def __init__(self, job: Job, folder: Path, environment: dict[str, str]) -> None:
        self.job = job
        prefix = f"{os.getpid()}-{job.chapter.name}-"
        self.folder = Path(tempfile.mkdtemp(prefix=prefix, dir=folder))
        self.notebook = self.folder / f"{job.chapter.name}.ipynb"
        self.log = self.folder / "papermill.log"
        (self.folder / "cwd").mkdir()
        write_order(self.folder, job.chapter.path, self.notebook, job.parameters)
        # Files that describe a kernel go away with the folder.
        environment = {**environment, "JUPYTER_RUNTIME_DIR": str(self.folder / "runtime")}
        self.start = time.monotonic()
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-c", _RUNNER, str(_TOOLS), str(self.folder)],
                stdin=subprocess.PIPE,  # nothing comes through it but its end
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,  # Ctrl-C is for the build, which then ends its chapters
            )

    def finish(self) -> ChapterRun:
        """Put the notebook where it belongs and say how the run went."""
        seconds = time.monotonic() - self.start
        failed = self.process.returncode != 0
        try:
            notebook = read_notebook(self.notebook)
        except (OSError, BookError):  # a runner that was killed may leave none, or half of one
            failed, notebook = True, self.job.chapter.notebook
        error = (error_of(notebook) or self._last_words()) if failed else None
        remove(self.job.failed)
        write_notebook(self.job.failed if failed else self.job.output, normalised(notebook))
        self.put_away()
        return ChapterRun(self.job, seconds, error)

    def _last_words(self) -> str:
        lines = self.log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return lines[-1] if lines else f"papermill ended with code {self.process.returncode}"

    def put_away(self) -> None:
        """Let go of a process that has ended, and leave nothing behind."""
        self.process.wait()
        assert self.process.stdin is not None
        self.process.stdin.close()
        remove(self.folder)


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
    moment = ("papermill", "execution")
    metadata = {key: value for key, value in cell["metadata"].items() if key not in moment}
    cell = {**cell, "metadata": metadata}
    if "injected-parameters" in tags_of(cell):
        cell["id"] = "injected-parameters"
        metadata["tags"] = ["injected-parameters", "remove-cell"]
    if "outputs" in cell:
        cell["outputs"] = _joined(cell["outputs"])
    return cell


def _joined(outputs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Join what a cell printed: the kernel sends it in pieces, as time will have it."""
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
    """Write `notebook` in one canonical form."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        remove(path)
    text = json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
    path.write_text(text, encoding="utf-8")
