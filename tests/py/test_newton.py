"""``newton``: roots, failures, and derivatives by the implicit function theorem."""

from __future__ import annotations

import math
import re

import mpmath
import numpy as np
import pytest
import scipy.optimize

import quabla as qb


def close(got, want, rtol=1e-12):
    got, want = (x.numpy() if hasattr(x, "numpy") else np.asarray(x) for x in (got, want))
    np.testing.assert_allclose(got, want, rtol=rtol, atol=1e-14)


def square(x, a):
    return x * x - a


def cube(x, a):
    return x**3 - a


# ---- roots --------------------------------------------------------------------------------------


def test_roots_to_the_last_digits():
    close(qb.newton(lambda x: x * x - 2.0, 1.0), math.sqrt(2.0), 4e-16)
    close(qb.newton(lambda x: qb.cos(x) - x, 1.0), float(mpmath.findroot(lambda x: mpmath.cos(x) - x, 1.0)), 4e-16)
    close(qb.newton(lambda x: x * qb.exp(x) - 1.0, 1.0), float(mpmath.lambertw(1)), 4e-16)
    close(qb.newton(square, qb.array([1.0, 1.0]), args=(qb.array([4.0, 9.0]),)), [2.0, 3.0], 4e-16)


def test_kepler():
    m, e = np.linspace(0.1, 3.0, 12), 0.9
    got = qb.newton(lambda x: x - e * qb.sin(x) - qb.array(m), qb.array(m + e))
    want = [float(mpmath.findroot(lambda x, m=m: x - e * mpmath.sin(x) - m, m + e)) for m in m.tolist()]
    close(got, want, 1e-14)


def test_system_of_scipy():
    def f(v, lib):
        x, y, z = v[0], v[1], v[2]
        return [x + y + z - 3.0, x * x + y * y + z * z - 5.0, lib.exp(x) + x * y - x * z - 1.0]

    start = np.array([1.1, 2.0, -1.0])
    got = qb.newton(lambda v: qb.stack(f(v, qb)), qb.array(start))
    want = scipy.optimize.fsolve(lambda v: f(v, np), start, xtol=1e-13)
    close(got, want, 1e-9)


def test_the_line_search_saves_starts_from_where_full_steps_diverge():
    x, info = qb.newton(qb.arctan, 10.0, info=True)
    assert abs(x.item()) < 1e-8
    assert info["success"].item()
    close(qb.newton(lambda x: qb.log(x) - 1.0, 0.01), math.e)  # a full step leads to where the logarithm is NaN
    rosenbrock = lambda v: qb.stack([10.0 * (v[1] - v[0] ** 2), 1.0 - v[0]])  # noqa: E731
    close(qb.newton(rosenbrock, qb.array([-1.2, 1.0])), [1.0, 1.0], 1e-10)


@pytest.mark.parametrize("scale", [1e-30, 1e-12, 1.0, 1e12, 1e30])
def test_the_scale_of_the_function_does_not_matter(scale):
    close(qb.newton(lambda x: scale * (x * x - 2.0), 1.0), math.sqrt(2.0), 1e-14)


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_the_scale_of_the_unknown_does_not_matter(scale):
    close(qb.newton(lambda x: x * x - 2.0 * scale * scale, scale), math.sqrt(2.0) * scale, 1e-12)


def test_info():
    x, info = qb.newton(square, 1.0, args=(2.0,), info=True)
    assert info["success"].item() is True
    assert 3.0 <= info["iterations"].item() <= 5.0
    assert info["residual_norm"].item() == abs(x.item() ** 2 - 2.0)
    x, info = qb.newton(square, 2.0, args=(4.0,), info=True)
    assert (x.item(), info["iterations"].item(), info["residual_norm"].item()) == (2.0, 0.0, 0.0)
    x, info = qb.newton(lambda x: x * x, 1.0, info=True)  # a double root: each step halves the distance
    assert info["success"].item()
    assert 10.0 < info["iterations"].item() < 20.0


def test_tolerance():
    loose, few = qb.newton(cube, 1.0, args=(1e3,), tol=1e-1, info=True)
    tight, many = qb.newton(cube, 1.0, args=(1e3,), tol=1e-14, info=True)
    assert few["iterations"].item() < many["iterations"].item()
    close(loose, 10.0, 1e-2)
    close(tight, 10.0, 1e-15)
    close(qb.newton(square, 1.0, args=(2.0,), tol=0.0), math.sqrt(2.0), 4e-16)


def test_float32():
    x, info = qb.newton(cube, qb.array(1.0, dtype=qb.float32), args=(2.0,), info=True)
    assert x.dtype is qb.float32
    assert info["success"].item()
    close(x, np.float32(2.0 ** (1 / 3)), 2e-7)


def test_any_shape_and_structure():
    close(qb.newton(square, qb.ones((2, 2)), args=(qb.array([[1.0, 4.0], [9.0, 16.0]]),)), [[1.0, 2.0], [3.0, 4.0]])
    close(qb.newton(square, 1, args=(9,)), 3.0)
    close(qb.newton(square, [1.0, 1.0], args=(4.0,)), [2.0, 2.0])
    got = qb.newton(lambda v: {"a": v["a"] ** 2 - v["b"], "b": v["b"] - 4.0}, {"a": 1.0, "b": qb.array(1.0)})
    close(got["a"], 2.0)
    close(got["b"], 4.0)


@pytest.mark.parametrize("run", [lambda f, x: f(x), lambda f, x: qb.jit(f)(x)], ids=["eager", "jit"])
@pytest.mark.parametrize(
    ("dtype", "scale"),
    [("float32", s) for s in (1.380649e-23, 1e-30, 1e20, 1e30)]
    + [("float64", s) for s in (1e-290, 1e-170, 1e170, 1e290)],
)
@pytest.mark.parametrize("size", [1, 3])
def test_the_scale_of_f_does_not_matter(run, dtype, scale, size):
    x0 = qb.ones((size,), dtype=getattr(qb, dtype))
    x, info = run(lambda x0: qb.newton(lambda x: scale * (x * x - 2.0), x0, info=True), x0)
    close(x, np.full(size, math.sqrt(2.0)), 4 * np.finfo(dtype).eps)
    assert info["success"].item()
    assert info["residual_norm"].item() <= 10 * size * np.finfo(dtype).eps * scale
    assert not qb.newton(lambda x: scale * (x * x + 1.0), x0, info=True)[1]["success"].item()


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_the_scale_of_the_root_does_not_matter(scale):
    right = np.array([1.5, 3.0])
    x = qb.newton(lambda x: x + x * (x / scale) / 9.0 - right * scale, qb.zeros((2,)))
    np.testing.assert_allclose(x.numpy() / scale, 4.5 * (np.sqrt(1.0 + 4.0 * right / 9.0) - 1.0), rtol=1e-14)


# ---- failures -----------------------------------------------------------------------------------


def test_failures():
    for message, call in (
        ("the Jacobian is singular at iteration 1; the last residual norms are 2, 2", lambda: qb.newton(square, 0.0, args=(2.0,))),
        ("the Jacobian is singular at iteration 2", lambda: qb.newton(lambda x: x * x + 1.0, 1.0)),
        ("the Jacobian is singular", lambda: qb.newton(lambda x: 0.0 * x + 1.0, qb.ones((2,)))),
        ("did not converge within 1 iterations; the last residual norms are 1, 0.25", lambda: qb.newton(square, 1.0, args=(2.0,), maxiter=1)),
        ("no step makes f smaller", lambda: qb.newton(lambda x: x * x + 1.0, 0.3)),
        ("f is not finite at x0", lambda: qb.newton(qb.log, -1.0)),
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match=re.escape(f"newton: {message}")):
            call()


def test_failures_inside_info():
    for f, x0 in ((lambda x: x * x + 1.0, 1.0), (lambda x: x * x - 2.0, 0.0)):
        x, info = qb.newton(f, x0, info=True)
        assert not info["success"].item()
        assert np.isfinite(x.item())
        assert info["residual_norm"].item() == abs(f(x).item())
    x, info = qb.newton(qb.log, -1.0, info=True)
    assert math.isnan(x.item())
    assert not info["success"].item()


def root_of(a):
    return qb.newton(lambda x: x**2 - a, 1.0)


@pytest.mark.parametrize("compiled", [False, True])
def test_a_lane_that_fails_is_nan_alone(compiled):
    maybe_jit = qb.jit if compiled else lambda f: f
    a = qb.array([4.0, 1e10, -1.0])
    roots, slopes = np.array([2.0, 1e5, np.nan]), np.array([0.25, 5e-6, np.nan])
    close(maybe_jit(qb.vmap(qb.grad(root_of)))(a), slopes)
    x, dx = maybe_jit(qb.vmap(lambda a: qb.jvp(root_of, (a,), (1.0,))))(a)
    close(x, roots)
    close(dx, slopes)
    close(maybe_jit(qb.vmap(qb.grad(qb.grad(root_of))))(a), -0.25 / roots**3)

    def total(a):  # a system of two, of which the Jacobian is singular where a is negative
        return qb.sum(qb.newton(lambda x: qb.stack([x[0] ** 2 - a, x[0] * x[1] - 1.0]), qb.array([1.0, 1.0])))

    close(maybe_jit(qb.vmap(qb.grad(total)))(a), 0.5 / roots - 0.5 / roots**3)


def test_a_failed_root_has_no_derivative_and_raises_nothing():
    for x0 in (0.0, 1.0):
        value, slope = qb.value_and_grad(lambda a, x0=x0: qb.newton(lambda x: x * x + a, x0))(1.0)
        assert math.isnan(value.item())
        assert math.isnan(slope.item())
    assert math.isnan(qb.grad(lambda a: qb.newton(lambda x: x * x - a, 0.0))(0.0).item())  # a double root
    with pytest.raises(ValueError, match="solve: the matrix is singular"):  # the user's own solve still says so
        qb.grad(lambda a: qb.sum(qb.linalg.solve(a, qb.ones(2))))(qb.zeros((2, 2)))


def test_wrong_arguments():
    for error, message, call in (
        (ValueError, "the result of f is tensor<1xf64> where x0 is tensor<2xf64>", lambda: qb.newton(lambda x: x[:1], qb.ones((2,)))),
        (ValueError, "maxiter must be at least 1", lambda: qb.newton(square, 1.0, args=(2.0,), maxiter=0)),
        (TypeError, "maxiter must be an int", lambda: qb.newton(square, 1.0, args=(2.0,), maxiter=1.5)),
        (ValueError, "tol must be", lambda: qb.newton(square, 1.0, args=(2.0,), tol=-1.0)),
        (ValueError, "needs a float array", lambda: qb.newton(lambda x: x, qb.array([True]))),
        (TypeError, "args must be a tuple", lambda: qb.newton(square, 1.0, args=qb.array(2.0))),
        (TypeError, "f: expected a function", lambda: qb.newton(1.0, 1.0)),
    ):  # fmt: skip
        with pytest.raises(error, match=re.escape(message)):
            call()


# ---- derivatives --------------------------------------------------------------------------------


def root_of_cube(a):
    """a ** (1 / 3), with the derivatives a ** (-2 / 3) / 3 and -2 / 9 a ** (-5 / 3)."""
    return qb.newton(lambda x: x**3 - a, 1.0)


def test_derivatives_of_every_order():
    a = 8.0
    want = [2.0, 1.0 / 12.0, -2.0 / 9.0 / 32.0, 10.0 / 27.0 / 256.0]
    f = root_of_cube
    for w in want:
        close(f(qb.array(a)), w)
        close(qb.jit(f)(qb.array(a)), w)
        f = qb.grad(f)
    close(qb.hessian(root_of_cube)(a), want[2])
    forward = lambda f: lambda a: qb.jvp(f, (a,), (1.0,))[1]  # noqa: E731
    close(forward(forward(root_of_cube))(a), want[2])
    close(forward(qb.grad(root_of_cube))(a), want[2])
    close(qb.grad(forward(root_of_cube))(a), want[2])


def test_arguments_and_closures_are_differentiated_alike():
    a = qb.array([8.0, 27.0])
    by_argument = lambda a: qb.newton(cube, qb.ones((2,)), args=(a,))  # noqa: E731
    by_closure = lambda a: qb.newton(lambda x: cube(x, a), qb.ones((2,)))  # noqa: E731
    for f in (by_argument, by_closure):
        close(qb.jacobian(f)(a), np.diag([1.0 / 12.0, 1.0 / 27.0]))
        close(qb.hessian(lambda a, f=f: qb.sum(f(a)))(a), np.diag([-1.0 / 144.0, -2.0 / 9.0 / 243.0]))
        _, t = qb.jvp(f, (a,), (qb.ones((2,)),))
        close(t, [1.0 / 12.0, 1.0 / 27.0])


def test_the_start_has_no_derivative():
    close(qb.grad(lambda s: qb.newton(square, s, args=(2.0,)))(1.0), 0.0)


def test_a_coupled_system_against_differences():
    def loss(p):
        x = qb.newton(lambda v: qb.matmul(p["m"], v) + 0.1 * v**3 - p["b"], qb.zeros((3,)), tol=1e-14)
        return qb.sum(qb.sin(x))

    rng = np.random.default_rng(0)
    m, b = rng.standard_normal((3, 3)) + 3.0 * np.eye(3), rng.standard_normal(3)
    g = qb.grad(loss)({"m": qb.array(m), "b": qb.array(b)})
    h = 1e-5
    for k in range(3):
        e = h * np.eye(3)[k]
        want = (loss({"m": qb.array(m), "b": qb.array(b + e)}) - loss({"m": qb.array(m), "b": qb.array(b - e)})) / (
            2 * h
        )
        close(g["b"][k], want, 1e-8)
        for j in range(3):
            e = h * np.outer(np.eye(3)[k], np.eye(3)[j])
            want = (loss({"m": qb.array(m + e), "b": qb.array(b)}) - loss({"m": qb.array(m - e), "b": qb.array(b)})) / (
                2 * h
            )
            close(g["m"][k, j], want, 1e-7)


def test_batched():
    a = qb.array([[8.0, 27.0], [1.0, 1.0], [64.0, 1e6]])
    x, info = qb.vmap(lambda a: qb.newton(cube, qb.ones((2,)), args=(a,), info=True))(a)
    close(x, np.cbrt(a.numpy()))
    k = info["iterations"].tolist()
    assert k[1] == 0.0 < k[0] < k[2]
    total = lambda a: qb.sum(qb.newton(cube, qb.ones((2,)), args=(a,)))  # noqa: E731
    close(qb.vmap(qb.grad(total))(a), np.cbrt(a.numpy()) ** -2 / 3.0)
    close(qb.vmap(qb.hessian(total))(a)[0], np.diag([-1.0 / 144.0, -2.0 / 9.0 / 243.0]))
    shared = lambda s: qb.sum(qb.vmap(lambda a: s * total(s * a))(a))  # noqa: E731
    close(qb.grad(shared)(1.0), 4.0 / 3.0 * np.cbrt(a.numpy()).sum())


def test_lanes_do_not_change_each_other():
    f = lambda a: qb.newton(lambda x: qb.arctan(x - a) + 0.1 * (x - a), 0.0)  # noqa: E731
    alone = qb.vmap(f)(qb.array([3.0])).tolist()
    for other in (50.0, 0.0, math.nan):
        assert qb.vmap(f)(qb.array([other, 3.0])).tolist()[1:] == alone


def test_in_loops_choices_and_checkpoints():
    step = lambda c: qb.newton(lambda x: x**3 + x - c, c)  # noqa: E731
    loop = lambda c: qb.fori_loop(0, 3, lambda i, c: step(c), c)  # noqa: E731

    def want(c):  # dx/dc = 1 / (3 x^2 + 1)
        slope = 1.0
        for _ in range(3):
            c = float(mpmath.findroot(lambda x, c=c: x**3 + x - c, c))
            slope /= 3.0 * c * c + 1.0
        return c, slope

    value, slope = qb.value_and_grad(loop)(2.0)
    close(value, want(2.0)[0])
    close(slope, want(2.0)[1])
    close(qb.jvp(loop, (2.0,), (1.0,))[1], want(2.0)[1])
    close(qb.grad(lambda c: qb.fori_loop(0, 3, lambda i, c: qb.checkpoint(step)(c), c))(2.0), want(2.0)[1])
    close(qb.vmap(qb.grad(loop))(qb.array([1.0, 2.0])), [want(1.0)[1], want(2.0)[1]])
    pick = qb.jit(qb.grad(lambda c: qb.cond(c > 0.0, step, lambda c: 5.0 * c, c)))
    close(pick(qb.array(-1.0)), 5.0)
    difference = (qb.grad(loop)(2.0 + 1e-5) - qb.grad(loop)(2.0 - 1e-5)) / 2e-5
    close(qb.grad(qb.grad(loop))(2.0), difference, 1e-8)


@pytest.mark.parametrize("engine", ["numpy", "xla"])
def test_compiled(engine, monkeypatch):
    monkeypatch.setattr(qb.config, "cpu_engine", engine)
    f = qb.jit(qb.value_and_grad(root_of_cube))
    value, slope = f(qb.array(8.0))
    close(value, 2.0)
    close(slope, 1.0 / 12.0)
    assert qb.jit(lambda a: qb.newton(lambda x: x * x + a, 1.0, info=True)[1])(qb.array(1.0))["success"].item() is False


def test_rules_inside_the_function():
    power = qb.custom_vjp(lambda x: x**3)
    power.defvjp(lambda x: (power(x), x), lambda x, ct: (3.0 * ct * x * x,))
    f = lambda a: qb.sum(qb.newton(lambda x: power(x) - a, qb.ones((2,))))  # noqa: E731
    close(f(qb.array([8.0, 27.0])), 5.0)
    close(qb.grad(f)(qb.array([8.0, 27.0])), [1.0 / 12.0, 1.0 / 27.0])


def test_jax_agrees_on_a_custom_root():
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    jnp = jax.numpy

    def f(x, a, exp):
        return exp(x) + x - a

    def solve(g, x):
        for _ in range(60):
            x = x - g(x) / jax.grad(g)(x)
        return x

    theirs = lambda a: jax.lax.custom_root(lambda x: f(x, a, jnp.exp), 0.0, solve, lambda g, y: y / g(1.0))  # noqa: E731
    ours = lambda a: qb.newton(lambda x: f(x, a, qb.exp), 0.0)  # noqa: E731
    close(ours(3.0), theirs(3.0))
    close(qb.grad(ours)(3.0), jax.grad(theirs)(3.0))
    close(qb.grad(qb.grad(ours))(3.0), jax.grad(jax.grad(theirs))(3.0))
