"""The process that runs one chapter: papermill, and a leash.

It reads what to do from a file, as JSON, so that every parameter keeps its type: the command
line of papermill would read them as YAML 1.1, which takes ``1e-5`` for a word. Its standard
input is the leash: when that ends, the build is gone, and the chapter goes too.
"""

from __future__ import annotations

import json
import logging
import os
import threading
from pathlib import Path
from typing import Any

ORDER = "order.json"


def write_order(folder: Path, notebook: Path, output: Path, parameters: dict[str, Any]) -> None:
    """Write into `folder` what its runner is to do."""
    order = {"notebook": str(notebook), "output": str(output), "parameters": parameters}
    (folder / ORDER).write_text(json.dumps(order), encoding="utf-8")


def main(folder: str) -> None:
    """Run the chapter that the order in `folder` names."""
    threading.Thread(target=_end_with_the_build, daemon=True).start()
    logging.basicConfig(level=logging.ERROR)
    from papermill import execute_notebook

    order = json.loads((Path(folder) / ORDER).read_text(encoding="utf-8"))
    execute_notebook(
        _path(order["notebook"]),
        _path(order["output"]),
        order["parameters"],
        kernel_name="python3",
        progress_bar=False,
        cwd=str(Path(folder) / "cwd"),
    )


def _path(name: str) -> str:
    """Return `name` as papermill wants it, which formats paths with the parameters."""
    return name.replace("{", "{{").replace("}", "}}")


def _end_with_the_build() -> None:
    os.read(0, 1)  # nothing is ever written: this returns when the other end is closed
    from press.processes import end

    end([os.getpid()])
