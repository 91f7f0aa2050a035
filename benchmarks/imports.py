"""What importing costs, in fresh interpreters: gt2lite and its public names, NumPy and autograd.

Times are those of a whole interpreter less those of one that imports nothing. Beside them stands
which of the large packages came along.
"""

from __future__ import annotations

import functools
import statistics
import subprocess
import sys

import _measure

import gt2lite

LARGE = ("autograd", "joblib", "matplotlib", "numpy", "pandas", "scipy", "sklearn", "tqdm")
PACKAGES = ("scikit-learn", "matplotlib", "scipy")


def interpret(code: str) -> str:
    """Run `code` in a fresh interpreter and return what it printed."""
    command = [sys.executable, "-c", code]
    return subprocess.run(
        command, cwd=_measure.ROOT, check=True, stdout=subprocess.PIPE, text=True
    ).stdout


def main() -> None:
    """Time, print, write."""
    args = _measure.options(__doc__, rounds=5, names=list(gt2lite.__all__))
    codes = {
        "nothing": "pass",
        "numpy": "import numpy",
        "numpy and autograd": "import numpy, autograd.numpy",
        "gt2lite": "import gt2lite",
        **{f"gt2lite.{n}": f"from gt2lite import {n}" for n in args.names if n != "__version__"},
    }
    cases = {name: functools.partial(interpret, code) for name, code in codes.items()}
    seconds = _measure.take_turns(cases, args.rounds, at_least=0)
    loaded = f"\nimport sys; print(*[name for name in {LARGE!r} if name in sys.modules])"
    rows = {}
    for name, turns in seconds.items():
        nothing = [0.0] * args.rounds if name == "nothing" else seconds["nothing"]
        net = statistics.median(a - b for a, b in zip(turns, nothing, strict=True))
        rows[name] = {"seconds": net, "came_along": interpret(codes[name] + loaded).split()}
    _measure.show("Seconds of an import, less those of the interpreter itself", rows)
    _measure.write(args, {"imports": rows}, PACKAGES)


if __name__ == "__main__":
    main()
