"""SciPy's optimizers and Matplotlib take arrays and functions of quabla as they are."""

import numpy as np
import pytest
from scipy import optimize

import quabla as qb

A = qb.array([1.0, 2.0, 3.0])


def rosenbrock(x):
    """Rosenbrock (1960): the minimum is 0 at (1, 1, ...)."""
    return qb.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


@pytest.mark.parametrize("dtype", [qb.float64, qb.float32, qb.bool_], ids=repr)
def test_dtypes_are_numpys_too(dtype):
    assert np.dtype(dtype) == dtype.dtype == dtype.numpy
    assert dtype.type is dtype.numpy.type
    assert np.zeros(3, dtype=dtype).dtype == dtype.numpy
    assert np.zeros(3, dtype=qb.zeros(1, dtype).dtype).dtype == dtype.numpy


@pytest.mark.parametrize("method", ["BFGS", "L-BFGS-B", "CG", "SLSQP"])
def test_scipy_minimizes_with_gradients(method):
    f = qb.jit(qb.value_and_grad(rosenbrock))
    found = optimize.minimize(f, np.zeros(3), jac=True, method=method, tol=1e-10)
    np.testing.assert_allclose(found.x, 1.0, atol=1e-4)


@pytest.mark.parametrize("compile", [qb.jit, lambda f: lambda x: f(qb.array(x))], ids=["jit", "eager"])
def test_scipy_minimizes_without_gradients(compile):
    found = optimize.minimize(compile(rosenbrock), np.zeros(2))
    np.testing.assert_allclose(found.x, 1.0, atol=1e-4)


def test_scipy_finds_roots_with_a_jacobian():
    f = qb.jit(lambda x: x**3 - qb.array([1.0, 8.0]))
    found = optimize.root(f, np.full(2, 3.0), jac=qb.jit(qb.jacobian(f)))
    np.testing.assert_allclose(found.x, [1.0, 2.0], rtol=1e-8)


@pytest.mark.parametrize("method", ["plot", "semilogy", "loglog", "scatter", "bar", "fill_between"])
def test_matplotlib_draws_arrays(method, tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots()
    getattr(axes, method)(A, A * A)
    figure.savefig(tmp_path / "figure.png")
    plt.close(figure)
