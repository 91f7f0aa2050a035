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


def errors_shown(monkeypatch, stream, **arguments):
    monkeypatch.setattr(sys, "stderr", stream)
    X, y = a_table(N=10)
    train(X, y, Recipe(n_rules=2, epochs=2), **arguments)
    return stream.getvalue() if stream is not None else ""


def test_there_is_no_progress_bar_where_there_is_no_terminal(monkeypatch):
    assert errors_shown(monkeypatch, io.StringIO()) == ""
    assert errors_shown(monkeypatch, None) == ""


def test_there_is_one_on_a_terminal_or_on_request(monkeypatch):
    pytest.importorskip("tqdm")
    assert "training" in errors_shown(monkeypatch, Terminal())
    assert "training" in errors_shown(monkeypatch, io.StringIO(), progress=True)
    assert errors_shown(monkeypatch, Terminal(), progress=False) == ""


def test_without_tqdm_it_is_a_line_of_text(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)  # import fails
    assert "training: [" in errors_shown(monkeypatch, Terminal())
    assert errors_shown(monkeypatch, io.StringIO()) == ""
