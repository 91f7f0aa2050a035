r"""Conformal calibration with weights, for new rows whose inputs are distributed differently.

If only the distribution of the inputs changed, from P to P', and not that of the target given the
inputs, calibration rows count with the likelihood ratio :math:`w(x) = dP'(x) / dP(x)`, up to a
factor. With the scores :math:`s_i` of Q calibration rows, the interval of a new row x is cut at
the smallest s such that

.. math:: \sum_{i : s_i \le s} w(x_i) \ge \phi \Bigl(\sum_{i=1}^Q w(x_i) + w(x)\Bigr)

and covers its target with a probability of at least :math:`\phi` (Tibshirani et al. 2019). Equal
weights give the conformal rank :math:`\lceil (Q + 1) \phi \rceil`.

The theorem needs the true ratio. With an estimate :math:`\hat w` that does not depend on the
calibration rows and has mean 1 under P, coverage is at least
:math:`\phi - E|\hat w(X) - w(X)| / 2`, X from P (Lei and Candès 2021).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gt2lite._validation import Array, between
from gt2lite.practice._sklearn import need_sklearn
from gt2lite.practice.tables import n_rows_of

CLIP = 20.0
"""Largest estimated likelihood ratio; the smallest is its inverse."""


class LikelihoodRatio:
    """An estimated likelihood ratio of new and old inputs, by a classifier that tells them apart.

    It is the odds of being new, times the number of old rows by that of new rows, clipped. The
    bounds of the clip limit how much one row can weigh, at the price of a bias.

    Args:
        X_old: inputs (Q, M) of the kind that the system was calibrated for, best the training
            rows: a ratio that depends on the calibration rows overfits to them.
        X_new: unlabelled inputs (N, M) of the new kind.
        classifier: any classifier of scikit-learn with `predict_proba`; None for a logistic
            regression of the standardised inputs, a good choice if inputs shift in mean.
        clip: the largest ratio; the smallest is its inverse.

    >>> rng = np.random.default_rng(0)
    >>> old, new = rng.normal(size=(5000, 1)), rng.normal(1.0, 1.0, size=(5000, 1))
    >>> ratio = LikelihoodRatio(old, new)
    >>> ratio([[0.5], [1.5]]).round(1)  # exp(x - 0.5)
    array([1. , 2.7])
    """

    def __init__(self, X_old: Any, X_new: Any, classifier: Any = None, clip: float = CLIP) -> None:
        need_sklearn(type(self).__name__)
        from sklearn.base import clone
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        if classifier is None:
            classifier = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
        self.clip = between("clip", clip, 1, np.inf)
        sizes = n_rows_of(X_old), n_rows_of(X_new)
        if hasattr(X_old, "iloc"):
            import pandas

            X = pandas.concat([X_old, X_new])
        else:
            X = np.concatenate([X_old, X_new])
        self.classifier = clone(classifier).fit(X, np.repeat([0, 1], sizes))
        self._old_by_new = sizes[0] / sizes[1]

    def __call__(self, X: Any) -> Array:
        """Return the ratios (N,) at rows `X` (N, M)."""
        old, new = self.classifier.predict_proba(X).T
        with np.errstate(divide="ignore"):
            ratio = self._old_by_new * new / old
        found: Array = np.clip(ratio, 1 / self.clip, self.clip)
        return found
