"""The same run as another processor would round it: instruction sets held back on purpose.

NumPy and OpenBLAS choose their loops by what the processor can do, and other loops add up in
another order. A variable of the environment, read when they are loaded, takes the newer
instructions from them. So a run that asks for it must be started in a process of its own.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from gt2lite._validation import one_of

HELD: Mapping[str, Mapping[str, str]] = {
    "": {},
    "sse4": {
        "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR",
        "OPENBLAS_CORETYPE": "Nehalem",
    },
}
"""What the environment must say: nothing, or that neither AVX2 nor AVX-512 may be used."""


def check(name: str) -> None:
    """Raise where the environment does not hold the processor to what a run asks for.

    Args:
        name: one of `HELD`.
    """
    wanted = HELD[one_of("processor", name, HELD)]
    wrong = [key for key, value in wanted.items() if os.environ.get(key) != value]
    if wrong:
        words = " ".join(f"{key}={value!r}" for key, value in wanted.items())
        raise RuntimeError(
            f"a run with processor {name!r} must be started with {words}: the environment has "
            f"another {', '.join(wrong)}"
        )
