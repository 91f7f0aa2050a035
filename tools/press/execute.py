"""Chapters run by papermill, and what stays of a run.

Every chapter is a process of its own, a few at a time, with a working directory
that is thrown away. What it leaves is its executed notebook without the marks
of the moment (random ids, time stamps), so that a second run yields the same bytes.
"""

from __future__ import annotations

import base64
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

from press.source import Chapter, Notebook, Parameters, read_notebook, tags_of

# ipykernel warns about its transport on every start; retina pictures are sharp on any
# screen; a history would be shared by kernels that run at the same time.
_KERNEL_CONFIG = """\
c.IPKernelApp.log_level = 40
c.InlineBackend.figure_formats = {"retina"}
c.HistoryManager.enabled = False
"""
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
    waiting = deque(jobs)
    running: list[_Run] = []
    try:
        while waiting or running:
            while waiting and len(running) < workers:
                running.append(_Run(waiting.popleft(), build, environment))
            done = [run for run in running if run.process.poll() is not None]
            for run in done:
                running.remove(run)
                yield run.finish()
            if not done:
                time.sleep(0.05)
    finally:
        for run in running:
            run.stop()


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

    def __init__(self, job: Job, build: Path, environment: dict[str, str]) -> None:
        self.job = job
        self.folder = Path(tempfile.mkdtemp(prefix=f"{job.chapter.name}-", dir=build))
        self.notebook = self.folder / f"{job.chapter.name}.ipynb"
        self.log = self.folder / "papermill.log"
        (self.folder / "cwd").mkdir()
        parameters = base64.b64encode(json.dumps(job.parameters).encode()).decode()
        command = [sys.executable, "-m", "papermill", "--no-progress-bar", "--log-level", "ERROR"]
        command += ["--kernel", "python3", "--cwd", str(self.folder / "cwd")]
        command += ["--parameters_base64", parameters, str(job.chapter.path), str(self.notebook)]
        self.start = time.monotonic()
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment,
            )

    def finish(self) -> ChapterRun:
        """Put the notebook where it belongs and say how the run went."""
        seconds = time.monotonic() - self.start
        failed = self.process.returncode != 0
        notebook = read_notebook(self.notebook if self.notebook.exists() else self.job.chapter.path)
        error = (error_of(notebook) or self._last_words()) if failed else None
        self.job.failed.unlink(missing_ok=True)
        write_notebook(self.job.failed if failed else self.job.output, normalised(notebook))
        shutil.rmtree(self.folder, ignore_errors=True)
        return ChapterRun(self.job, seconds, error)

    def _last_words(self) -> str:
        lines = self.log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return lines[-1] if lines else f"papermill ended with code {self.process.returncode}"

    def stop(self) -> None:
        """End the process, and with it its kernel, and leave nothing behind."""
        self.process.terminate()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


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
    text = json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
    path.write_text(text, encoding="utf-8")
