"""One training step, as in step.py, with everybody held to AVX2, which most processors have.

NumPy has a vectorised exponential for AVX-512 only, so that the comparison with compilers depends
on the processor. On one without AVX-512 this measures the same as step.py.
"""

from __future__ import annotations

import importlib
import os

import _measure  # noqa: F401  (sets XLA_FLAGS)

HELD = {
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
    "OPENBLAS_CORETYPE": "Haswell",
    "ATEN_CPU_CAPABILITY": "avx2",
    "XLA_FLAGS": f"{os.environ['XLA_FLAGS']} --xla_cpu_max_isa=AVX2",
}


os.environ.update(HELD)  # read when the libraries start

if __name__ == "__main__":
    importlib.import_module("step").main()
