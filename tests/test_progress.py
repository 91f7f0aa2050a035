"""The progress bar of a training."""

from __future__ import annotations

import io
import sys

import pytest
from learners import a_table

from gt2lite.training import Recipe, train


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("make", "progress", "shown"),
    [
        (io.StringIO, None, False),
        (lambda: None, None, False),  # pythonw on Windows has no standard error
        (Terminal, None, True),
        (io.StringIO, True, True),
        (Terminal, False, False),
    ],
)
def test_a_bar_is_shown_on_a_terminal_or_on_request_if_tqdm_is_there(
    make, progress, shown, monkeypatch
):
    pytest.importorskip("tqdm")
    for tqdm, wanted in ((sys.modules["tqdm"], shown), (None, False)):
        stream = make()
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setitem(sys.modules, "tqdm", tqdm)
        train(*a_table(N=10), Recipe(n_rules=2, epochs=2), progress=progress)
        assert ("training" in (stream.getvalue() if stream else "")) == wanted
