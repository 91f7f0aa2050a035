"""When a chapter must run again, and when it need not.

Beside every executed notebook stands a stamp: what went in, what came out, and how
long it took. A chapter runs again when its code or parameters, the library, the
data or the lock are no longer what its stamp says, or its notebook is not.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from press.execute import ChapterRun, Job, remove
from press.source import Chapter, Parameters


def fingerprint(chapter: Chapter, parameters: Parameters, inputs: str) -> str:
    """Return a hash of all that can change what `chapter` computes; its prose cannot."""
    content = json.dumps([chapter.code, parameters, inputs], sort_keys=True, default=repr)
    return hashlib.sha256(content.encode()).hexdigest()


def shared_inputs(root: Path) -> str:
    """Return a hash of what every chapter depends on: the library, the data and the lock."""
    digest = hashlib.sha256()
    for path in sorted(_input_files(root)):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0")
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _input_files(root: Path) -> Iterator[Path]:
    for folder in ("gt2lite", "data"):
        for path in (root / folder).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".md":
                yield path
    if (root / "requirements.lock").is_file():
        yield root / "requirements.lock"


def stamp_path(output: Path) -> Path:
    """Return where the stamp of an executed notebook stands."""
    return output.with_suffix(".stamp.json")


def read_stamp(output: Path) -> dict[str, Any]:
    """Return the stamp of `output`, empty if that has none or is not the file it was.

    A damaged stamp is none.
    """
    try:
        stamp = json.loads(stamp_path(output).read_text(encoding="utf-8"))
        return stamp if _is_stamp(stamp) and stamp["output"] == _sha256(output) else {}
    except (OSError, ValueError, RecursionError):
        return {}


def _is_stamp(content: Any) -> bool:
    if not isinstance(content, dict):
        return False
    words = (content.get("inputs"), content.get("output"))
    seconds = content.get("seconds")
    return (
        all(isinstance(word, str) for word in words)
        and isinstance(content.get("parameters"), dict)
        and type(seconds) in (int, float)
        and 0 <= seconds < math.inf
    )


def write_stamp(run: ChapterRun, inputs: str) -> None:
    """Record what went into an executed notebook, what came out and how long it took."""
    job = run.job
    stamp = {
        "inputs": fingerprint(job.chapter, job.parameters, inputs),
        "output": _sha256(job.output),
        "parameters": job.parameters,
        "seconds": round(run.seconds, 1),
    }
    path = stamp_path(job.output)
    if path.is_dir():
        remove(path)
    path.write_text(json.dumps(stamp, indent=1) + "\n", encoding="utf-8")


def is_current(job: Job, inputs: str) -> bool:
    """Tell whether the executed notebook of `job` is what a new run would yield."""
    stamp = read_stamp(job.output)
    return stamp.get("inputs") == fingerprint(job.chapter, job.parameters, inputs)


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
