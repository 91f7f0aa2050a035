"""The progress bar of tqdm, on terminals."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec


@contextlib.contextmanager
def progress_bar(
    total: int, what: str, unit: str, *, show: bool | None = None
) -> Iterator[Callable[[str], None]]:
    """Yield a function to call after each of `total` steps, with a few words to show.

    Args:
        total: number of steps.
        what: the name of the work.
        unit: the name of a step.
        show: None for a bar if standard error is a terminal and tqdm is installed.
    """
    if show is None:
        show = sys.stderr is not None and sys.stderr.isatty() and find_spec("tqdm") is not None
    if not show:
        yield lambda words: None
        return
    try:
        from tqdm import tqdm
    except ImportError:
        raise ImportError(
            "a progress bar needs tqdm, which is not installed: pip install 'gt2lite[parallel]', "
            "or leave verbose (in train, progress) as None"
        ) from None
    with tqdm(total=total, desc=what, unit=unit, leave=False) as bar:

        def step(words: str) -> None:
            bar.set_postfix_str(words, refresh=False)
            bar.update()

        yield step
