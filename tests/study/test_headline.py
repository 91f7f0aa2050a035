"""The sentence of the first page, on made-up rows."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from study.field.contestant import answer_name
from study.field.contestants import BOOSTED
from study.field.public import PUBLIC
from study.headline import NOTHING, headline

pytest.importorskip("scipy")
NO_BREAK = "\N{NO-BREAK SPACE}"


def rows_of(**scores):
    """Rows of two seeds on two tables, with the score of each contestant."""
    return [
        SimpleNamespace(
            dataset=table, split="random", seed=seed, contestant=name, level=level,
            interval_score=score + 0.01 * seed, n_test=15, n_train=70,
        )
        for table in PUBLIC[:2]
        for seed in (0, 1)
        for level in (0.90, 0.95)
        for name, score in scores.items()
    ]  # fmt: skip


def test_smaller_and_larger_scores_are_told_with_their_interval():
    scores = {"strong": 0.805, answer_name("strong", "constant"): 1.005, BOOSTED[0]: 0.5}
    found = headline(rows_of(**scores))
    assert found.tables == 2
    assert found.constant.startswith(f"20{NO_BREAK}% smaller (95 % interval of the difference: -20")
    assert found.boosted.startswith("60") and "% larger" in found.boosted


def test_without_runs_nothing_is_claimed():
    found = headline(rows_of(strong=1.0))
    assert found == (0, NOTHING, NOTHING)
