"""L-BFGS beside SciPy's L-BFGS-B: evaluations on standard test functions, and on functions with flat tails.

Most are of J. J. Moré, B. S. Garbow and K. E. Hillstrom, Testing unconstrained optimization software, ACM Transactions on
Mathematical Software 7 (1981) 17-41, with the starts given there.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import optimize

import quabla as qb
from quabla.optim import LBFGS
from quabla.optim.line_search import strong_wolfe

RNG = np.random.default_rng(1)


def rosenbrock(p):
    return qb.sum((1.0 - p[:-1]) ** 2 + 100.0 * (p[1:] - p[:-1] ** 2) ** 2)


def beale(p):
    x, y = p[0], p[1]
    return (1.5 - x + x * y) ** 2 + (2.25 - x + x * y**2) ** 2 + (2.625 - x + x * y**3) ** 2


def powell_singular(p):
    a, b, c, d = p[0], p[1], p[2], p[3]
    return (a + 10.0 * b) ** 2 + 5.0 * (c - d) ** 2 + (b - 2.0 * c) ** 4 + 10.0 * (a - d) ** 4


def wood(p):
    a, b, c, d = p[0], p[1], p[2], p[3]
    rest = 10.0 * (b + d - 2.0) ** 2 + 0.1 * (b - d) ** 2
    return 100.0 * (b - a * a) ** 2 + (1.0 - a) ** 2 + 90.0 * (d - c * c) ** 2 + (1.0 - c) ** 2 + rest


def brown_badly_scaled(p):
    return (p[0] - 1e6) ** 2 + (p[1] - 2e-6) ** 2 + (p[0] * p[1] - 2.0) ** 2


def helical_valley(p):
    turns = qb.atan2(p[1], p[0]) / (2.0 * math.pi)
    return 100.0 * ((p[2] - 10.0 * turns) ** 2 + (qb.hypot(p[0], p[1]) - 1.0) ** 2) + p[2] ** 2


TENTHS = qb.array(0.1 * np.arange(1, 14))


def box(p):
    t = TENTHS[:10]
    return qb.sum((qb.exp(-t * p[0]) - qb.exp(-t * p[1]) - p[2] * (qb.exp(-t) - qb.exp(-10.0 * t))) ** 2)


def biggs(p):
    t = TENTHS
    y = qb.exp(-t) - 5.0 * qb.exp(-10.0 * t) + 3.0 * qb.exp(-4.0 * t)
    return qb.sum((p[2] * qb.exp(-t * p[0]) - p[3] * qb.exp(-t * p[1]) + p[5] * qb.exp(-t * p[4]) - y) ** 2)


def freudenstein(p):
    x, y = p[0], p[1]
    return (-13.0 + x + ((5.0 - y) * y - 2.0) * y) ** 2 + (-29.0 + x + ((y + 1.0) * y - 14.0) * y) ** 2


def variably_dimensioned(p):
    s = qb.sum(qb.arange(1, p.shape[0] + 1) * (p - 1.0))
    return qb.sum((p - 1.0) ** 2) + s**2 + s**4


def trigonometric(p):
    n = p.shape[0]
    i = qb.arange(1, n + 1)
    return qb.sum((n - qb.sum(qb.cos(p)) + i * (1.0 - qb.cos(p)) - qb.sin(p)) ** 2)


def penalty(p):
    return 1e-5 * qb.sum((p - 1.0) ** 2) + (qb.sum(p * p) - 0.25) ** 2


TIMES = np.linspace(0.0, 4.0, 50)
DECAYS = qb.array(2.5 * np.exp(-1.3 * TIMES) + 0.5 * np.exp(-0.2 * TIMES) + 0.01 * RNG.normal(size=50))
TIMES = qb.array(TIMES)


def two_decays(p):
    return qb.sum((p[0] * qb.exp(-p[1] * TIMES) + p[2] * qb.exp(-p[3] * TIMES) - DECAYS) ** 2)


FEATURES = qb.array(RNG.normal(size=(200, 10)))
LABELS = qb.array((FEATURES.numpy() @ RNG.normal(size=10) + RNG.normal(size=200) > 0) * 1.0)


def logistic_regression(p):
    z = qb.matmul(FEATURES, p)
    return qb.mean(qb.softplus(z) - LABELS * z) + 1e-3 * qb.sum(p * p)


FUNCTIONS = {
    **{f"rosenbrock, {n}": (rosenbrock, np.resize([-1.2, 1.0], n)) for n in (2, 5, 10, 20, 50)},
    "beale": (beale, [1.0, 1.0]),
    "powell singular": (powell_singular, [3.0, -1.0, 0.0, 1.0]),
    "wood": (wood, [-3.0, -1.0, -3.0, -1.0]),
    "brown badly scaled": (brown_badly_scaled, [1.0, 1.0]),
    "helical valley": (helical_valley, [-1.0, 0.0, 0.0]),
    "box": (box, [0.0, 10.0, 20.0]),
    "biggs": (biggs, [1.0, 2.0, 1.0, 1.0, 1.0, 1.0]),
    "freudenstein": (freudenstein, [0.5, -2.0]),
    "variably dimensioned": (variably_dimensioned, 1.0 - np.arange(1, 11) / 10),
    "trigonometric": (trigonometric, np.full(10, 0.1)),
    "penalty": (penalty, np.arange(1.0, 11.0)),
    "two decays": (two_decays, [1.0, 1.0, 1.0, 0.1]),
    "logistic regression": (logistic_regression, np.zeros(10)),
}
#: Functions whose slope vanishes far from the minimum, with how far.
FLAT = {
    "tanh": (lambda p: qb.sum(qb.tanh(p - 1.0) ** 2), ([2.0], [3.0], [5.0], [8.0], [3.0, -2.0, 5.0])),
    "tanh fit": (lambda p: qb.sum((qb.tanh(p) - 0.5) ** 2), ([3.0], [5.0], [-4.0], [3.0, -3.0, 6.0, 0.0])),
    "sigmoid": (lambda p: qb.sum((qb.sigmoid(p) - 0.3) ** 2), ([-8.0], [5.0, -8.0, 3.0])),
    "bell": (lambda p: -qb.sum(qb.exp(-((p - 1.0) ** 2))), ([2.0], [3.0], [4.0])),
    "lorentz": (lambda p: -qb.sum(1.0 / (1.0 + (p - 1.0) ** 2)), ([5.0], [30.0])),
    "cauchy": (lambda p: qb.sum(qb.log1p((p - 1.0) ** 2)), ([3.0], [10.0], [100.0])),
    "log cosh": (lambda p: qb.sum(qb.softplus(2.0 * p) - p), ([20.0], [20.0, -3.0])),
}
CASES = [
    *((name, fun, start) for name, (fun, start) in FUNCTIONS.items()),
    *((f"{name} from {start}", fun, start) for name, (fun, starts) in FLAT.items() for start in starts),
]


@pytest.mark.parametrize(("fun", "start"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_evaluations_beside_scipy(fun, start):
    """At most 1.3 times those of SciPy's L-BFGS-B, both until no element of the gradient exceeds 1e-7."""
    compiled = qb.jit(qb.value_and_grad(fun))

    def evaluate(x):
        value, gradient = compiled(qb.array(x))
        return value.item(), gradient.numpy().copy()

    options = {"maxcor": 10, "gtol": 1e-7, "ftol": 0.0, "maxiter": 500}
    theirs = optimize.minimize(evaluate, start, jac=True, method="L-BFGS-B", options=options)
    assert np.abs(theirs.jac).max() <= 1e-7
    _, info = LBFGS(tolerance_change=0.0).minimize(fun, qb.array(start))
    assert info["reason"] == "gradient_tolerance"
    assert info["loss"] == pytest.approx(theirs.fun, rel=1e-6, abs=1e-9)
    assert info["evaluations"] <= 1.3 * theirs.nfev, (info["evaluations"], theirs.nfev)


def test_a_bracket_is_kept():
    """Once two steps enclose a minimum every further trial lies between them."""

    def evaluate(a):  # flat at both sides of the minimum, which is at 3 - artanh(1/2)
        r = math.tanh(3.0 - a) - 0.5
        trials.append(a)
        return r * r, -2.0 * r / math.cosh(3.0 - a) ** 2

    trials = []
    value, slope = evaluate(0.0)
    found = strong_wolfe(evaluate, value, slope, 1.0, 100)
    assert found is not None
    low, high = 0.0, math.inf
    for a in trials[1:]:
        assert low <= a <= high
        low, high = (max(low, a), high) if a < 3.0 - math.atanh(0.5) else (low, min(high, a))
    assert len(trials) < 12
