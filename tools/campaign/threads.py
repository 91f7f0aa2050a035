"""The same seed on any number of BLAS threads: the same bits.

As a program it prints a digest for each case: ``python tools/campaign/threads.py SEED CASES``.
The number of threads comes from the environment and is settled when NumPy is imported, so
that each number of threads needs a process of its own.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path

from cases import Tally

CASES = 20
THREADS = (1, 2, 4)
_LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def digest(seed: int, index: int) -> str:
    """Train, calibrate and predict; return a digest of all that came out."""
    import numpy as np

    from gt2lite import GT2Regressor

    rng = np.random.default_rng([seed, index])
    N, M = int(rng.integers(400, 3000)), int(rng.integers(2, 9))
    X = rng.normal(size=(N, M))
    y = X[:, 0] * X[:, 1] + rng.normal(size=N)
    reg = GT2Regressor(
        n_rules=int(rng.integers(5, 60)),
        epochs=2,
        batch_size=int(rng.choice([64, 256, 1024])),
        learning_rate=0.02,
        objective=str(rng.choice(["dual", "aligned"])),
        start=str(rng.choice(["per_input", "joint"])),
        random_state=index,
    ).fit(X, y)
    reg.calibrate(X, y, method="conformal", sides=str(rng.choice(["both", "each"])))
    found = [reg.predict(X), *reg.predict_interval(X), *reg.predict_interval(X, coverage=0.9)]
    return hashlib.sha256(np.array(found).tobytes()).hexdigest()


def digests(n_threads: int, cases: int, seed: int) -> list[str]:
    """Return the digests of all cases in a process with so many threads."""
    paths = [path for path in sys.path if path]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    environment |= dict.fromkeys(_LIMITS, str(n_threads))
    command = [sys.executable, str(Path(__file__).resolve()), str(seed), str(cases)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{n_threads} threads: {done.stderr.strip()[-400:]}")
    return done.stdout.split()


def run(cases: int, seed: int, jobs: int = 1) -> list[Tally]:
    """Compare the digests of each case over the numbers of threads."""
    tally = Tally("threads 1, 2, 4")
    if find_spec("threadpoolctl") is None:
        print("  threads: without threadpoolctl nothing is promised, and nothing tried")
        return [tally]
    found = zip(*(digests(n, cases, seed) for n in THREADS), strict=True)
    for index, same in enumerate(found):
        tally.cases += 1
        if len(set(same)) == 1:
            tally.answered += 1
        else:
            tally.wrong += 1
            tally.told.append(f"case {index}: the bits differ over {THREADS} threads")
    return [tally]


def main() -> int:
    """Print a digest for each case."""
    warnings.simplefilter("ignore")
    seed, cases = map(int, sys.argv[1:])
    for index in range(cases):
        print(digest(seed, index), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
