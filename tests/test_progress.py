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


def shown(monkeypatch, stream, progress=None):
    monkeypatch.setattr(sys, "stderr", stream)
    train(*a_table(N=10), Recipe(n_rules=2, epochs=2), progress=progress)
    return stream is not None and "training" in stream.getvalue()


def test_there_is_a_progress_bar_on_a_terminal_or_on_request(monkeypatch):
    pytest.importorskip("tqdm")
    assert shown(monkeypatch, Terminal()) and shown(monkeypatch, io.StringIO(), progress=True)
    for stream, progress in ((Terminal(), False), (io.StringIO(), None), (None, None)):
        assert not shown(monkeypatch, stream, progress)


def test_without_tqdm_there_is_none_and_a_request_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)  # import fails
    assert not shown(monkeypatch, Terminal())
    with pytest.raises(ImportError, match="tqdm"):
        shown(monkeypatch, io.StringIO(), progress=True)
