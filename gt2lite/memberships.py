r"""Fuzzy sets: memberships of a point, and the firing of a rule.

A general type-2 set of the Zadeh kind is a Gaussian `mu` over the input (the
*primary* membership, a type-1 set) with a second Gaussian standing upright on
every one of its points (the *secondary* membership). Cutting the second one at
height alpha leaves a band around `mu`: the alpha-plane, an interval type-2 set.

The sets, the exponent divided by the number of inputs and the widths as shares of
the room that is left, through a sigmoid, are those of the authors' papers and public
code. The form in kappa, and the proofs that use it, are this project's.

Heights enter every formula through ``kappa = sqrt(ln(alpha) / ln(0.01))``. It
is 0 at alpha = 1, where the band has no width and the set is of type 1, and 1
at alpha_0 = 0.01, the widest plane of the paper. We compute in kappa and show
alpha.

Everything here is written for reading, in `autograd.numpy`, so that gradients
come for free; `gt2lite._fast.planes` computes the same in a layout made for speed and is
tested against it.
"""

from __future__ import annotations

from typing import Any

import autograd.numpy as np
import numpy as onp

from gt2lite._validation import Array

ALPHA_0 = 0.01
"""The lowest plane: the logarithm in Eq. (5) of the paper forbids alpha = 0."""


def kappa_of(alpha: Any) -> Any:
    """Return the half-width of the plane `alpha`, in units of that of alpha_0.

    >>> kappa_of(1.0), kappa_of(0.01)
    (0.0, 1.0)
    """
    alpha = onp.asarray(alpha, dtype=float)
    if not ((alpha > 0) & (alpha <= 1)).all():
        raise ValueError(f"alpha must lie in (0, 1], got {alpha}")
    kappa = onp.sqrt(onp.abs(onp.log(alpha)) / -onp.log(ALPHA_0))
    return kappa if kappa.ndim else float(kappa)


def alpha_of(kappa: Any) -> Any:
    """Return the plane of half-width `kappa`: the inverse of `kappa_of`.

    >>> alpha_of(0.0), alpha_of(1.0)
    (1.0, 0.01)
    """
    kappa = onp.asarray(kappa, dtype=float)
    if not (kappa >= 0).all():
        raise ValueError(f"kappa must not be negative, got {kappa}")
    with onp.errstate(over="ignore", under="ignore"):
        alpha = ALPHA_0 ** (kappa**2)
    return alpha if alpha.ndim else float(alpha)


def log_primary(X: Array, c: Array, sigma: Array) -> Array:
    r"""Return the logarithm of the primary memberships, Eq. (4).

    .. math:: \ln\mu_{p,m}(x_m) = -\frac{(x_m - c_{p,m})^2}{2 M \sigma_{p,m}^2}

    Deviation: the paper prints no M; it points to the remedy for the curse of
    dimensionality instead, which is to average the exponent over the M inputs
    (HTSK). The authors' public code divides by M as we do. With it the product of
    all memberships stays a number.

    Args:
        X: inputs (N, M).
        c: centres (P, M).
        sigma: widths (P, M), positive.

    Returns:
        (N, P, M), never positive.
    """
    z = (X[:, None, :] - c) / sigma  # (N, P, M)
    return -(z**2) / (2 * X.shape[1])


def primary(X: Array, c: Array, sigma: Array) -> Array:
    """Return the primary memberships `mu` (N, P, M), Eq. (4).

    >>> float(primary(np.array([[0.0]]), np.array([[0.0]]), np.array([[1.0]]))[0, 0, 0])
    1.0
    """
    return np.exp(log_primary(X, c, sigma))


def secondary(mu: Any, kappa: float, s_l: Any, s_r: Any) -> tuple[Any, Any]:
    r"""Return the lower and upper membership of a plane, Eq. (5) with its constraints built in.

    .. math::
        \underline\mu = \mu\,(1 - \kappa s^l_m), \qquad
        \overline\mu = \mu + \kappa\,(1 - \mu)\,s^r_m

    The printed form, ``mu -+ sqrt(-2 ln alpha) * sigma``, can leave [0, 1]. With
    sigma_l = mu * s_l / sqrt(-2 ln 0.01), sigma_r = (1 - mu) * s_r / sqrt(-2 ln 0.01) and s
    in (0, 1) it cannot, and nothing has to be clipped. These widths are the ones of the
    authors' public code, which learns s through a sigmoid; the closed form is derived from them.

    Args:
        mu: primary memberships (..., M).
        kappa: the plane, see `kappa_of`.
        s_l: share of the room below `mu` that alpha_0 takes, (M,) or a number.
        s_r: share of the room above `mu` that alpha_0 takes, (M,) or a number.

    >>> secondary(0.5, kappa=1.0, s_l=0.5, s_r=0.5)
    (0.25, 0.75)
    >>> secondary(0.5, kappa=0.0, s_l=0.5, s_r=0.5)
    (0.5, 0.5)
    """
    return mu * (1 - kappa * s_l), mu + kappa * (1 - mu) * s_r


def secondary_grade(u: Array, mu: float | Array, s_l: float, s_r: float) -> Array:
    """Return the height alpha of the secondary membership at `u`, where the primary one is `mu`.

    This is `secondary` read the other way round: the plane on whose edge `u` lies.

    >>> secondary_grade(np.array([0.25, 0.5, 0.75]), mu=0.5, s_l=0.5, s_r=0.5)
    array([0.01, 1.  , 0.01])
    """
    u = onp.asarray(u, dtype=float)
    room = onp.where(u < mu, mu * s_l, (1 - mu) * s_r)
    with onp.errstate(divide="ignore", invalid="ignore", over="ignore"):
        kappa = onp.where(u == mu, 0.0, onp.abs(u - mu) / room)
        return onp.asarray(ALPHA_0 ** (kappa**2))


def log_firing(
    X: Array, c: Array, sigma: Array, s_l: Array, s_r: Array, kappa: float
) -> tuple[Array, Array]:
    r"""Return the logarithms of the lower and upper firing strengths of a plane, Eq. (9).

    The t-norm is the product. Products of many small numbers underflow, sums of
    their logarithms do not: a sample a million standard deviations out still has
    finite logarithms here.

    .. math::
        \ln\underline f_p = \sum_m \ln(1 - \kappa s^l_m) + \sum_m \ln\mu_{p,m}, \qquad
        \ln\overline f_p = \sum_m \ln(\mu_{p,m} + \kappa (1 - \mu_{p,m}) s^r_m)

    Returns:
        two arrays (N, P); equal at kappa = 0.
    """
    log_mu = log_primary(X, c, sigma)  # (N, P, M)
    log_f = np.sum(log_mu, axis=2)
    if kappa == 0:
        return log_f, log_f
    t = kappa * s_r
    # mu (1 - t) + t, added up in logarithms so that mu may be too small for a float
    log_upper = np.logaddexp(log_mu + np.log1p(-t), np.log(t))
    return log_f + np.sum(np.log1p(-kappa * s_l) * np.ones(X.shape[1])), np.sum(log_upper, axis=2)
