"""Weights of rules in predictions and bounds, and groups of rows by their leading rule.

A prediction and both endpoints of a plane are weighted means of consequents. These functions take
an `Ensemble` and scaled rows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from gt2lite._validation import Array, IntArray
from gt2lite.memberships import kappa_of, log_firing
from gt2lite.practice.model import Ensemble, Reference
from gt2lite.reduction import type_reduce
from gt2lite.system import Params, constrain

POOLED = "other rules"
"""Name of the group of rules that are calibrated together."""

_COUNTED = 10**6  # memberships evaluated at most to count the rows that each rule leads on
_CHUNK_ELEMENTS = 2**18  # memberships handled at once: a few megabytes


def consequents(params: Params, X: Array) -> Array:
    """Return the consequents (N, P): what each rule says alone, for scaled inputs `X` (N, M)."""
    return np.asarray(X @ params["a"].T + params["a0"])


@np.errstate(under="ignore", divide="ignore")  # a share of 0 has the logarithm -inf
def end_weights(params: Params, X: Array, alpha: float) -> Array:
    """Return the weights (2, N, P) of the rules in both endpoints of the plane `alpha`.

    They add up to 1 in each row; the endpoints are their products with the consequents.

    >>> ones = np.ones((2, 1))
    >>> params = {"c": np.array([[-1.0], [1.0]]), "raw_sigma": ones, "raw_l": np.zeros(1),
    ...           "raw_r": np.zeros(1), "a": 0 * ones, "a0": np.array([2.0, 5.0])}
    >>> end_weights(params, np.array([[0.0]]), alpha=1.0)[0]  # halfway, and of type 1
    array([[0.5, 0.5]])
    """
    log_lower, log_upper = log_firing(X, *constrain(params)[:4], kappa_of(alpha))
    top = log_upper.max(axis=1, keepdims=True)  # a common factor does not matter
    upper = np.exp(log_upper - top)
    lower = np.minimum(np.exp(log_lower - top), upper)  # rounding may exchange them
    y = consequents(params, X)
    y_l, y_r = (end[:, None] for end in type_reduce(lower, upper, y))
    # rules beyond an endpoint take the upper firing; so may those at it, to within rounding
    near = 64 * np.finfo(float).eps * np.abs(y).max(axis=1, keepdims=True)
    outside = np.stack([y <= y_l + near, y >= y_r - near])
    weights = np.where(outside, upper, lower)
    return weights / weights.sum(axis=2, keepdims=True)


def rule_weights(ensemble: Ensemble, X: Array, *, system: int = 0) -> Array:
    """Return the weights (N, P) of a system's rules in its outputs at scaled rows `X` (N, M).

    A plane alpha_k enters with ``alpha_k / sum(alphas)``, one half of it for each endpoint.
    """
    params, Z, alphas = ensemble.pick(system).params, ensemble.inputs(X, system), ensemble.alphas
    shares = np.asarray(alphas, dtype=float) / (2 * np.sum(alphas))
    weights = np.zeros((len(X), len(params["c"])))
    size = max(_CHUNK_ELEMENTS // params["c"].size, 1)
    for start in range(0, len(X), size):
        rows = slice(start, start + size)
        for alpha, share in zip(alphas, shares, strict=True):
            weights[rows] += share * end_weights(params, Z[rows], float(alpha)).sum(axis=0)
    return weights


def even_rows(n_rows: int, most: int) -> IntArray:
    """Return the numbers of at most `most` evenly spaced rows, but not fewer than 1,000."""
    n = min(n_rows, max(most, 1000))
    return np.linspace(0, n_rows - 1, n).round().astype(int)


def rule_distance(ensemble: Ensemble, X: Array) -> Array:
    """Return how far scaled rows `X` (N, M) are from the nearest rule of the first system.

    It is minus the log firing of that rule in the type-1 system, the plane alpha = 1: half of the
    mean squared distance from its centre, in its widths. Inputs are not clipped.
    """
    one = ensemble.first
    if one.inputs == "ranks" and ensemble.ranks is not None:
        X = ensemble.ranks.transform(X)
    theta, size = constrain(one.params)[:4], max(_CHUNK_ELEMENTS // one.params["c"].size, 1)
    blocks = [X[i : i + size] for i in range(0, len(X), size)]
    return np.concatenate([-log_firing(block, *theta, 0.0)[0].max(axis=1) for block in blocks])


def refer_to(ensemble: Ensemble, X: Array) -> Reference:
    """Return what is kept of scaled calibration rows `X` (Q, M), to compare new rows with them."""
    return Reference(rule_weights(ensemble, X).argmax(axis=1), rule_distance(ensemble, X))


class RuleGroups(NamedTuple):
    """Groups of rows by their leading rule: some rules have their own group, the others share one.

    The group of a row depends on its inputs, on training and on the number of calibration rows,
    so that group-conditional conformal calibration applies.
    """

    system: int  # the system whose rules lead; `choose` takes the first
    own: tuple[int, ...]  # numbers of the rules with a group of their own, counted from 1

    @classmethod
    def choose(cls, ensemble: Ensemble, n_rows: int, min_rows: int) -> RuleGroups:
        """Return the groups for `n_rows` calibration rows, see `GT2Regressor.calibrate`.

        The shared group takes in further rules, the rarest first, until `min_rows` calibration
        rows are to be expected there, too.
        """
        leads = ensemble.systems[0].leads
        if leads is None:
            raise ValueError(
                'groups="rules" needs the training rows of each rule, which this model lacks: fit '
                "it again"
            )
        expected = n_rows * leads / leads.sum()  # (P,)
        order = np.argsort(expected, kind="stable")
        n_pooled = int((expected < min_rows).sum())
        while 0 < n_pooled < len(order) and expected[order[:n_pooled]].sum() < min_rows:
            n_pooled += 1
        return cls(0, tuple(sorted((order[n_pooled:] + 1).tolist())))

    def label(self, rule: int) -> int | str:
        """Return the group of a rule: its number, or "other rules"."""
        return rule if rule in self.own else POOLED

    def labels(self, ensemble: Ensemble, X: Array) -> list[int | str]:
        """Return the group of each scaled row of `X` (N, M)."""
        leader = rule_weights(ensemble, X, system=self.system).argmax(axis=1) + 1
        return [self.label(rule) for rule in leader.tolist()]


def count_leads(ensemble: Ensemble, X: Array) -> Ensemble:
    """Return the systems with the numbers of training rows on which each of their rules leads."""
    counted = []
    for k, system in enumerate(ensemble.systems):
        rows = even_rows(len(X), _COUNTED // system.params["c"].size)
        leader = rule_weights(ensemble, X[rows], system=k).argmax(axis=1)
        leads = np.bincount(leader, minlength=len(system.params["c"]))
        counted.append(system._replace(leads=leads))
    return replace(ensemble, systems=tuple(counted))
