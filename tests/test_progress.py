"""The progress bar of a training."""

from __future__ import annotations

import io
import sys

import pytest
from learners import a_table

from gt2lite.recipe import Recipe
from gt2lite.training import train


class Terminal(io.StringIO):
    def isatty(self):
        return True


def shown(monkeypatch, stream, **arguments):
    monkeypatch.setattr(sys, "stderr", stream)
    train(*a_table(N=10), Recipe(n_rules=2, epochs=2), **arguments)
    return stream is not None and "training" in stream.getvalue()


@pytest.mark.parametrize("tqdm", ["with tqdm", "without"])
def test_there_is_a_progress_bar_on_a_terminal_or_on_request(monkeypatch, tqdm):
    if tqdm == "without":
        monkeypatch.setitem(sys.modules, "tqdm", None)  # import fails
    assert shown(monkeypatch, Terminal()) and shown(monkeypatch, io.StringIO(), progress=True)
    assert not shown(monkeypatch, Terminal(), progress=False)
    assert not shown(monkeypatch, io.StringIO()) and not shown(monkeypatch, None)
