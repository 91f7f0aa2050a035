"""Cases of the campaign: run, watched and counted.

A case is a function of a seed and an index, so that each can be run again alone. It returns
whether the library answered or refused, and raises `Wrong` for what must never be. Errors of
any other kind are wrong as well.
"""

from __future__ import annotations

import contextlib
import signal
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from gt2lite.calibration import SmallCalibrationWarning
from gt2lite.regressor import MissedLevelWarning, NarrowEnvelopeWarning

ANSWERED, REFUSED = "answered", "refused"
PATIENCE = 60
"""Seconds that a case may take; none should need one."""
_CHUNK = 50

Case = Callable[[int, int], tuple[str, str]]
"""From a seed and an index to the kind of the case, and `ANSWERED` or `REFUSED`."""


class Wrong(AssertionError):
    """The library did what it must never do."""


class Verdict(NamedTuple):
    """What became of a case; `wrong` says what was wrong with it, if anything."""

    kind: str
    end: str
    index: int
    wrong: str = ""


@dataclass
class Tally:
    """What became of all cases of one kind."""

    name: str
    cases: int = 0
    refused: int = 0
    answered: int = 0
    wrong: int = 0
    told: list[str] = field(default_factory=list)  # of some that were wrong

    def add(self, verdict: Verdict) -> None:
        """Count one case."""
        self.cases += 1
        if verdict.wrong:
            self.wrong += 1
            self.told.append(f"case {verdict.index} ({verdict.kind}): {verdict.wrong}")
        elif verdict.end == REFUSED:
            self.refused += 1
        else:
            self.answered += 1


def judge(case: Case, seed: int, index: int) -> Verdict:
    """Run one case; whatever it raises is its verdict."""
    try:
        with _in_time():
            kind, end = case(seed, index)
        return Verdict(kind, end, index)
    except Exception as error:
        kind = getattr(error, "kind", "error")
        if isinstance(error, Wrong):
            return Verdict(kind, "", index, str(error))
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{last.filename.rpartition('/')[2]}:{last.lineno}"
        return Verdict(kind, "", index, f"{type(error).__name__} in {where}: {error}"[:400])


def run(case: Case, cases: int, seed: int, jobs: int = 1) -> list[Tally]:
    """Run the cases 0, 1, ... and return a tally for each kind, by name."""
    starts = range(0, cases, _CHUNK)
    spans = [range(start, min(start + _CHUNK, cases)) for start in starts]
    if jobs == 1:
        found = [_chunk(case, seed, span) for span in spans]
    else:
        from joblib import Parallel, delayed

        found = Parallel(n_jobs=jobs)(delayed(_chunk)(case, seed, span) for span in spans)
    tallies: dict[str, Tally] = {}
    for verdict in (verdict for chunk in found for verdict in chunk):
        tallies.setdefault(verdict.kind, Tally(verdict.kind)).add(verdict)
    return [tallies[name] for name in sorted(tallies)]


def _chunk(case: Case, seed: int, span: range) -> list[Verdict]:
    return [judge(case, seed, index) for index in span]


@contextlib.contextmanager
def _in_time() -> Iterator[None]:
    """Raise where a case takes too long; a system without alarms waits."""
    able = hasattr(signal, "SIGALRM") and threading.current_thread() is threading.main_thread()
    if not able:
        yield
        return

    def ring(*_: Any) -> None:
        raise Wrong(f"it took more than {PATIENCE} seconds")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(PATIENCE)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


# ------------------------------------------------------------------ what is watched


@contextlib.contextmanager
def of_kind(kind: str) -> Iterator[None]:
    """Give errors the kind of the case that they come from."""
    try:
        yield
    except Exception as error:
        error.kind = kind  # type: ignore[attr-defined]
        raise


_MEANT = (SmallCalibrationWarning, MissedLevelWarning, NarrowEnvelopeWarning)
# the last is NumPy's own word on a list that holds `np.ma.masked`, before we see the list
_FOR_PEOPLE = ("feature names", "A column-vector y was passed", "converting a masked element")


@contextlib.contextmanager
def watched() -> Iterator[None]:
    """Raise `Wrong` where a warning is not meant for people, or NumPy's state was changed."""
    before = _numpy_state()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        finally:
            after = _numpy_state()
            np.seterr(**before[0])
            np.setbufsize(before[1])
    for warning in caught:
        text = str(warning.message)
        if not issubclass(warning.category, _MEANT) and not any(
            words in text for words in _FOR_PEOPLE
        ):
            raise Wrong(f"{warning.category.__name__}: {text}")
    if after != before:
        raise Wrong(f"the state of NumPy was {before[:2]} and is {after[:2]}")


def _numpy_state() -> tuple[Any, int, bytes, Any]:
    _, keys, place, *_ = np.random.get_state()  # noqa: NPY002 - that nobody draws from it
    return np.geterr(), np.getbufsize(), keys.tobytes(), place


def expect_refusal(act: Callable[[], Any], *names: str) -> str:
    """Run what must be refused by a ValueError or TypeError that has one of the names."""
    try:
        act()
    except (ValueError, TypeError) as error:
        if not any(name in str(error) for name in names):
            raise Wrong(
                f"{type(error).__name__} does not name {' or '.join(names)}: {error}"
            ) from error
        return REFUSED
    raise Wrong(f"was accepted, though {names[0]} is bad")
