"""Many runs in parallel, each computed once.

`run_all` calls a function with many settings on all cores, or on a Dask cluster. Finished runs
are cached on disk by joblib, so an interrupted command continues where it stopped when it is
repeated. A cache belongs to one state of the code: its folder is named after a hash of all
source files, the data and the package versions, so numbers of older code are never returned.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import joblib

from gt2lite._progress import progress_bar

R = TypeVar("R")
ROOT = Path(__file__).resolve().parents[1]

OLDER_PROCESSOR = {
    "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR",
    "OPENBLAS_CORETYPE": "Nehalem",
}
"""Environment variables that keep NumPy and OpenBLAS from AVX2 and AVX-512, so that sums are
rounded differently. They are read when NumPy is imported: such a run needs its own process."""


def run_all(
    function: Callable[..., R],
    settings: Sequence[Mapping[str, Any]],
    *,
    n_jobs: int = -1,
    label: str = "",
    dask: str | None = None,
    cache: bool = True,
) -> list[R]:
    """Return `function(**setting)` for each setting, in their order.

    Args:
        function: a function of a module, so that other processes can import it. Its arguments
            and its result must be picklable.
        settings: keyword arguments of each call. Long runs first keep all cores busy.
        n_jobs: number of processes, -1 for one per core.
        label: text beside the progress bar, which is shown on a terminal.
        dask: address of a Dask scheduler whose workers run the calls, or "local" for a cluster
            on this machine. Workers elsewhere need this folder on a shared file system.
        cache: keep results on disk, and return those that are there.
    """
    call = joblib.Memory(cache_folder(), verbose=0).cache(function) if cache else function
    results: list[R] = []
    with _cluster(dask), progress_bar(len(settings), label, "run") as step:
        pool = joblib.Parallel(n_jobs, return_as="generator", batch_size=1)
        for result in pool(joblib.delayed(call)(**setting) for setting in settings):
            step(" ".join(map(str, settings[len(results)].values()))[:40])
            results.append(result)
    return results


def cache_folder(root: Path = ROOT) -> Path:
    """Return the folder for results of the code as it is now, below `_build/cache/`."""
    return root / "_build" / "cache" / code_hash(root)


def clear_cache(root: Path = ROOT) -> None:
    """Delete all cached results, of this and of older code: a release starts empty."""
    shutil.rmtree(root / "_build" / "cache", ignore_errors=True)


@functools.cache
def code_hash(root: Path = ROOT) -> str:
    """Return a hash of all that a result depends on.

    These are the source files of `gt2lite/` and `study/`, committed or not, the data sets, the
    versions of Python and of the packages that compute, and the variables that restrict the
    instructions of the processor (`OLDER_PROCESSOR`).
    """
    digest = hashlib.sha256(sys.version.encode())
    for name in OLDER_PROCESSOR:
        digest.update(f"{name}={os.environ.get(name, '')}\n".encode())
    for package in ("autograd", "numpy", "scikit-learn", "scipy"):
        digest.update(f"{package} {version(package)}\n".encode())
    sources = [*root.glob("gt2lite/**/*.py"), *root.glob("study/**/*.py")]
    data = [*root.glob("data/*.csv.gz"), *root.glob("data/*.toml")]
    for path in sorted([*sources, *data]):
        digest.update(f"{path.relative_to(root).as_posix()} ".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]


@contextlib.contextmanager
def _cluster(dask: str | None) -> Iterator[None]:
    """Let joblib send its work to a Dask cluster, if there is one."""
    with contextlib.ExitStack() as stack:
        if dask is not None:
            from distributed import Client

            stack.enter_context(Client(None if dask == "local" else dask))  # type: ignore[no-untyped-call]
            stack.enter_context(joblib.parallel_config(backend="dask"))
        yield
