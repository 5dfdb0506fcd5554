"""Programs of eager solvers: kept by what functions do, whatever numbers they use."""

from __future__ import annotations

import math

import numpy as np
import pytest

import quabla as qb
from quabla.ode import odeint
from quabla.transforms import programs

NUMBERS = [0.3, 0.7, 2.9, 13]


@pytest.fixture(autouse=True)
def no_programs(monkeypatch):
    monkeypatch.setattr(programs, "_programs", {})


def made():
    return len(programs._programs)


@pytest.mark.parametrize("method", ["rk4", "dopri5", "tsit5", "radau", "rosenbrock23"])
def test_odeint_takes_numbers_from_anywhere(method):
    """In args, closed over, and in y0 and t_span."""
    options = {"steps": 200} if method == "rk4" else {"rtol": 1e-8, "max_steps": 5000}
    for k in NUMBERS:
        c = 0.1 + k
        y = odeint(lambda y, t, k, c=c: c - k * y, k, (0.0, 1.0 / k), method=method, args=(k,), **options)
        assert y.item() == pytest.approx(c / k + (k - c / k) * math.exp(-1.0), rel=1e-5)
    assert made() == 1
    for k in NUMBERS:
        odeint(lambda y, t, k: 0.2 - k * y, 1.0, (0.0, 0.1), method=method, args=(np.float64(k),), **options)
    assert made() == 2


def test_a_number_is_still_one_in_the_function():
    def f(y, t, k, n):
        for _ in range(n):
            y = 1.5 * y
        return -k * y if k > 1.0 else k * y

    for k in (0.25, 0.75, 3.0, 4.0):
        sign = -1.0 if k > 1.0 else 1.0
        got = odeint(f, 1.0, (0.0, 0.1), method="dopri5", args=(k, 2))
        assert got.item() == pytest.approx(math.exp(sign * k * 1.5**2 * 0.1), rel=1e-5)
    assert made() == 1  # -k and k alike are a number times y


def test_numbers_in_regions_and_small_arrays():
    def operator(x, k, a):
        return a * qb.fori_loop(0, 3, lambda i, c: qb.cond(k > 0.0, lambda: 1.5 * k * c, lambda: c), x)

    for k in NUMBERS:
        a = qb.array([k, 2.0 * k, 3.0 * k])
        x = qb.linalg.cg(lambda x, k, a=a: operator(x, qb.array(k), a), qb.ones(3), args=(k,), tol=1e-12)
        np.testing.assert_allclose(x.numpy(), 1.0 / (np.arange(1.0, 4.0) * k * (1.5 * k) ** 3), rtol=1e-10)
    assert made() == 1


def test_solvers_and_minimisation():
    for k in NUMBERS:
        assert qb.newton(lambda x, k: x**3 - 2.2 * k, 1.0, args=(k,)).item() == pytest.approx((2.2 * k) ** (1 / 3))
    assert made() == 1
    for k in NUMBERS:
        x = qb.linalg.gmres(lambda x, k=k: k * x + 0.1 * qb.roll(x, 1), qb.ones(3))
        np.testing.assert_allclose(x.numpy(), 1.0 / (k + 0.1), rtol=1e-6)
    assert made() == 2
    large = qb.array(np.linspace(1.0, 2.0, 100))
    for k in NUMBERS:
        p, info = qb.optim.LBFGS(tolerance_grad=1e-10).minimize(
            lambda p, k: qb.sum(large * (p["x"] - k) ** 2), {"x": qb.zeros(100), "unused": qb.zeros(2)}, k
        )
        assert info["converged"]
        np.testing.assert_allclose(p["x"].numpy(), k, rtol=1e-6)
    assert made() == 3


def test_masks_keep_their_meaning():
    """Constants that derivatives look at are no inputs: Jacobians of masked functions are finite."""
    for k in NUMBERS:

        def f(y, t, k=k):
            mask = qb.array([1.0, 0.0])
            return mask * (qb.where(y > 0.0, qb.sqrt(y), 0.0) - k * y)

        y = odeint(f, [0.0, 2.0], (0.0, 1.0), method="radau")
        np.testing.assert_allclose(y.numpy(), [0.0, 2.0])
        root = qb.newton(lambda x, k=k: qb.where(x > 0.0, qb.log(x) - k, x - 1.0), 1.0)
        assert root.item() == pytest.approx(math.exp(k), rel=1e-6)


def test_functions_with_rules_of_their_own():
    @qb.custom_jvp
    def cube(x):
        return x**3

    @cube.defjvp
    def _(primals, tangents):
        return cube(primals[0]), 3.0 * primals[0] ** 2 * tangents[0]

    for k in NUMBERS:
        assert qb.newton(lambda x, k=k: cube(x) - k, 1.0).item() == pytest.approx(k ** (1 / 3))
