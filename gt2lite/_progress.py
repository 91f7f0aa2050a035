"""A progress bar on terminals: that of tqdm, or a line of text if it is not installed."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator


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
    if not show:
        yield lambda words: None
        return
    try:
        from tqdm import tqdm
    except ImportError:
        yield from _text_line(total, what, unit)
        return

    with tqdm(total=total, desc=what, unit=unit, leave=False) as bar:

        def step(words: str) -> None:
            bar.set_postfix_str(words, refresh=False)
            bar.update()

        yield step


def _text_line(total: int, what: str, unit: str) -> Iterator[Callable[[str], None]]:
    """Yield a function that writes one line again and again; the line vanishes at the end."""
    n_done = 0

    def write(line: str) -> None:
        print(f"\r{line[:79]:<79}\r", end="", file=sys.stderr, flush=True)

    def step(words: str) -> None:
        nonlocal n_done
        n_done += 1
        write(f"{what}: {unit} {n_done} of {total} {words}")

    try:
        yield step
    finally:
        write("")
