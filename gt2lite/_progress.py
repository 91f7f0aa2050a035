"""A progress bar on terminals, if tqdm is installed."""

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
        show: None decides by whether standard error is a terminal.
    """
    if show is None:
        show = sys.stderr is not None and sys.stderr.isatty()
    if not show or find_spec("tqdm") is None:
        yield lambda words: None
        return
    from tqdm import tqdm

    with tqdm(total=total, desc=what, unit=unit, leave=False) as bar:

        def step(words: str) -> None:
            bar.set_postfix_str(words, refresh=False)
            bar.update()

        yield step
