"""What importing costs, in fresh interpreters: gt2lite and its public names, NumPy and autograd.

Times are those of a whole interpreter less those of one that imports nothing. Beside them stands
which of the large packages came along.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence

import _measure

import gt2lite

LARGE = ("autograd", "joblib", "matplotlib", "numpy", "pandas", "scipy", "sklearn", "tqdm")


def interpreter(code: str) -> Callable[[], object]:
    """Return a call that runs `code` in a fresh interpreter."""

    def call() -> None:
        subprocess.run([sys.executable, "-c", code], cwd=_measure.ROOT, check=True)

    return call


def came_along(code: str) -> list[str]:
    """Return which of the large packages are loaded after `code`."""
    code += f"\nimport sys; print(*[name for name in {LARGE!r} if name in sys.modules])"
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=_measure.ROOT, capture_output=True, text=True, check=True
    )
    return run.stdout.split()


def main(words: Sequence[str] | None = None) -> None:
    """Time, print, write."""
    parser = _measure.options(__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--names", nargs="+", default=gt2lite.__all__, help="public names to try")
    args = parser.parse_args(words)
    _measure.pin()

    codes = {
        "nothing": "pass",
        "numpy": "import numpy",
        "numpy and autograd": "import numpy, autograd.numpy",
        "gt2lite": "import gt2lite",
        **{f"gt2lite.{n}": f"from gt2lite import {n}" for n in args.names if n != "__version__"},
    }
    cases = {name: interpreter(code) for name, code in codes.items()}
    seconds = _measure.take_turns(cases, args.rounds, at_least=0)
    rows = {}
    for name, turns in seconds.items():
        net = [a - b for a, b in zip(turns, seconds["nothing"], strict=True)]
        if name == "nothing":
            net = turns
        rows[name] = {"seconds": statistics.median(net), "came_along": came_along(codes[name])}
    print("Seconds of an import in a fresh interpreter, less those of the interpreter itself")
    _measure.table(
        ("", "ms", "came along"),
        [(n, 1e3 * row["seconds"], " ".join(row["came_along"]) or "-") for n, row in rows.items()],
    )
    packages = ("scikit-learn", "matplotlib", "scipy")
    _measure.write("imports", args.out, {"rounds": args.rounds}, {"imports": rows}, packages)


if __name__ == "__main__":
    main()
