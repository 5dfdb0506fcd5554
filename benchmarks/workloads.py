"""Programs of scientific computing, each written once for quabla and for JAX: what ``engines.py`` measures."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np


class Quabla:
    """quabla's functions under the names that the programs use."""

    def __init__(self) -> None:
        import quabla as qb

        self.np, self.array, self.jit, self.wait = qb, qb.array, qb.jit, lambda r: r
        self.grad, self.value_and_grad, self.vmap, self.hessian = qb.grad, qb.value_and_grad, qb.vmap, qb.hessian
        self.jacobian, self.jvp, self.softmax, self.logsumexp = qb.jacobian, qb.jvp, qb.softmax, qb.logsumexp
        self.cond, self.fori_loop, self.while_loop = qb.cond, qb.fori_loop, qb.while_loop
        self.cg = qb.linalg.cg
        self.indices = lambda a: qb.array(a, dtype=qb.int64)

    def scan(self, f: Callable[[Any], Any], init: Any, length: int) -> Any:
        import quabla as qb

        return qb.scan(lambda c, i: f(c), init, length=length)

    def newton(self, f: Callable[..., Any], x0: Any, *args: Any) -> Any:
        import quabla as qb

        return qb.newton(f, x0, args=args)


class Jax:
    """JAX's."""

    def __init__(self) -> None:
        import jax

        jax.config.update("jax_enable_x64", True)
        self.np, self.array, self.jit, self.wait = jax.numpy, jax.numpy.asarray, jax.jit, jax.block_until_ready
        self.grad, self.value_and_grad, self.vmap, self.hessian = jax.grad, jax.value_and_grad, jax.vmap, jax.hessian
        self.jacobian, self.jvp = jax.jacobian, jax.jvp
        self.softmax, self.logsumexp = jax.nn.softmax, jax.scipy.special.logsumexp
        self.cond, self.fori_loop, self.while_loop = jax.lax.cond, jax.lax.fori_loop, jax.lax.while_loop
        self.indices = jax.numpy.asarray

    def scan(self, f: Callable[[Any], Any], init: Any, length: int) -> Any:
        import jax

        return jax.lax.scan(lambda c, _: f(c), init, None, length)

    def cg(self, matvec: Callable[[Any], Any], b: Any, tol: float) -> Any:
        import jax

        return jax.scipy.sparse.linalg.cg(matvec, b, tol=tol)[0]

    def newton(self, f: Callable[..., Any], x0: Any, *args: Any) -> Any:
        """Newton's method with the derivative of the root, as JAX has it to be written."""
        import jax

        def solve(g: Callable[[Any], Any], x: Any) -> Any:
            def go(state: Any) -> Any:
                x, _ = state
                step = jax.numpy.linalg.solve(jax.jacobian(g)(x), g(x))
                return x - step, jax.numpy.max(jax.numpy.abs(step))

            return jax.lax.while_loop(lambda s: s[1] > 1e-10, go, (x, jax.numpy.inf))[0]

        def linear(g: Callable[[Any], Any], y: Any) -> Any:
            return jax.numpy.linalg.solve(jax.jacobian(g)(y), y)

        return jax.lax.custom_root(lambda x: f(x, *args), x0, solve, linear)


def mlp(np_: Any, params: Any, x: Any, y: Any) -> Any:
    """The mean squared error of a tanh network."""
    h = x
    for w, b in params[:-1]:
        h = np_.tanh(np_.matmul(h, w) + b)
    w, b = params[-1]
    return np_.mean((np_.matmul(h, w) + b - y) ** 2)


def workloads(m: Any) -> dict[str, tuple[Any, ...]]:
    """Functions and arguments, by name."""
    rng = np.random.default_rng(0)
    np_ = m.np

    def normal(*shape: int) -> Any:
        return m.array(rng.normal(size=shape))

    def layers(*sizes: int) -> Any:
        return [(m.array(rng.normal(size=(a, b)) / np.sqrt(a)), m.array(np.zeros(b))) for a, b in pairwise(sizes)]

    found: dict[str, tuple[Any, ...]] = {}

    # Training
    net, x, y = layers(2, 64, 64, 1), normal(256, 2), normal(256, 1)
    loss = partial(mlp, np_)
    found["call on 4 doubles"] = (lambda x: x * 2.0 + 1.0, normal(4))
    found["MLP gradient, batch 256"] = (m.value_and_grad(loss), net, x, y)
    found["MLP HVP, batch 256"] = (lambda p, x, y: m.jvp(lambda q: m.grad(loss)(q, x, y), (p,), (p,)), net, x, y)

    def u(x: Any, p: Any) -> Any:
        h = np_.reshape(x, (1, -1))
        for w, b in p[:-1]:
            h = np_.tanh(np_.matmul(h, w) + b)
        w, b = p[-1]
        return np_.reshape(np_.matmul(h, w) + b, ())

    def poisson(p: Any, xs: Any) -> Any:
        def residual(x: Any, p: Any) -> Any:
            h = m.hessian(lambda z: u(z, p))(x)
            return h[0, 0] + h[1, 1] + np_.sin(np.pi * x[0]) * np_.sin(np.pi * x[1])

        return np_.mean(m.vmap(residual, (0, None))(xs, p) ** 2)

    small = layers(1, 32, 32, 1)

    def line(p: Any, xs: Any) -> Any:
        second = m.vmap(lambda x, p: m.grad(m.grad(lambda y: u(y, p)))(x), (0, None))
        return np_.mean((second(xs, p) + np.pi**2 * np_.sin(np.pi * xs)) ** 2)

    found["PINN 1-32-32-1, 128 points"] = (m.value_and_grad(line), small, m.array(np.linspace(0.0, 1.0, 128)))
    for points in (256, 4096):
        found[f"PINN 2-64-64-1, {points} points"] = (m.value_and_grad(poisson), net, normal(points, 2))

    # Derivatives
    def wave(v: Any) -> Any:
        return np_.sum(np_.sin(v) * v) ** 2

    wide = normal(100, 100)
    found["hessian, 50 variables"] = (m.hessian(wave), normal(50))
    found["jacobian, 100 to 100"] = (m.jacobian(lambda v: np_.tanh(np_.matmul(wide, v)) * v), normal(100))
    found["vmap(grad), 1000 x 20"] = (m.vmap(m.grad(lambda v: np_.sum(np_.sin(v) * v) ** 2)), normal(1000, 20))

    def unrolled(x: Any) -> Any:
        for i in range(200):
            x = x + 1e-3 * np_.sin(x) * np_.cos(x * (1.0 + i))
        return np_.mean(x)

    found["200 unrolled steps, gradient"] = (m.value_and_grad(unrolled), m.array(np.linspace(0.1, 1.0, 8)))

    # Loops
    def field(y: Any, p: Any) -> Any:
        return np_.stack([p[0] * y[0] - p[1] * y[0] * y[1], p[2] * y[0] * y[1] - p[3] * y[1]])

    def runge_kutta(y: Any, p: Any, h: float = 0.02) -> Any:
        a = field(y, p)
        b = field(y + 0.5 * h * a, p)
        c = field(y + 0.5 * h * b, p)
        d = field(y + h * c, p)
        return y + h / 6.0 * (a + 2.0 * b + 2.0 * c + d)

    def fit(p: Any, data: Any) -> Any:
        def step(y: Any) -> Any:
            y = runge_kutta(y, p)
            return y, y

        return np_.mean((m.scan(step, m.array([1.0, 1.0]), 200)[1] - data) ** 2)

    def gated(x: Any) -> Any:
        def step(c: Any) -> Any:
            c = m.cond(c > 1.0, lambda c: c * 0.5, lambda c: c * 1.7 + 0.01, c)
            return c, c

        return np_.sum(m.scan(step, x, 500)[1])

    def babylonian(x: Any) -> Any:
        return m.while_loop(
            lambda s: np_.abs(s[0] * s[0] - x) > 1e-12 * x, lambda s: (s[0] - 1e-2 * (s[0] - x / s[0]), s[0]), (x, x)
        )[0]

    found["rk4 fit, 200 steps, gradient"] = (m.value_and_grad(fit), m.array([1.5, 1.0, 1.0, 3.0]), normal(200, 2))
    found["10,000 scalar steps"] = (
        lambda x: m.fori_loop(0, 10_000, lambda i, c: c - 1e-3 * c * c + 1e-4, x),
        m.array(np.asarray(0.7)),
    )
    found["cond in scan, gradient"] = (m.value_and_grad(gated), m.array(np.asarray(0.3)))
    found["while to a tolerance"] = (babylonian, m.array(np.asarray(2.0)))

    # Solvers
    spd = rng.normal(size=(100, 100)) / 10.0
    spd = m.array(spd @ spd.T + np.eye(100))

    def root(p: Any) -> Any:
        z = m.newton(lambda x, p: x + 0.1 * np_.matmul(spd, np_.tanh(x)) - p, np_.zeros_like(p), p)
        return np_.sum(z**2)

    found["newton, 100 variables, gradient"] = (m.value_and_grad(root), normal(100))
    found["cg, 100 variables, gradient"] = (
        m.value_and_grad(lambda b: np_.sum(m.cg(lambda v: np_.matmul(spd, v), b, tol=1e-10) ** 2)),
        normal(100),
    )

    # Arrays
    million, square = normal(1_000_000), normal(1000, 1000)

    def chain(x: Any) -> Any:
        for _ in range(5):
            x = np_.tanh(x) * 1.01 + 0.1
        return x

    found["tanh chain, 1e6"] = (chain, million)
    found["arithmetic chain, 1e6"] = (lambda x: ((x * 2.0 + 1.0) * x - 3.0) / (x * x + 1.0), million)
    found["softmax, 1e6"] = (m.softmax, million)
    found["logsumexp gradient, 1e6"] = (m.grad(m.logsumexp), million)
    for axis in (0, 1, None):
        found[f"sum, 1000 x 1000, axis {axis}"] = (lambda a, axis=axis: np_.sum(a, axis=axis), square)
        found[f"max, 1000 x 1000, axis {axis}"] = (lambda a, axis=axis: np_.max(a, axis=axis), square)
    found["variance, 1000 x 1000, axis 0"] = (lambda a: np_.var(a, axis=0), square)
    found["matmul 512"] = (lambda a: np_.matmul(a, a), normal(512, 512))
    found["matmul chain 64"] = (lambda a: np_.matmul(np_.matmul(np_.matmul(a, a), a), a), normal(64, 64))
    found["einsum bij,bjk->bik"] = (
        lambda a, b: np_.einsum("bij,bjk->bik", a, b),
        normal(64, 32, 32),
        normal(64, 32, 32),
    )
    found["einsum ij,kj,ik->"] = (
        lambda a, b, c: np_.einsum("ij,kj,ik->", a, b, c),
        *(normal(200, 200) for _ in range(3)),
    )
    found["sort, 1e5"] = (np_.sort, normal(100_000))
    found["sort gradient, 1e5"] = (m.grad(lambda v: np_.sum(np_.sort(v) ** 3)), normal(100_000))
    found["cumsum, 1e6"] = (np_.cumsum, million)
    found["cumsum gradient, 1e5"] = (m.grad(lambda v: np_.sum(np_.cumsum(v) ** 2)), normal(100_000))
    found["cumprod gradient, 1e3"] = (
        m.grad(lambda v: np_.sum(np_.cumprod(v))),
        m.array(1.0 + 0.001 * rng.normal(size=1000)),
    )
    places = m.indices(rng.integers(0, 10_000, 100_000))
    found["gather, 1e5"] = (lambda v, i: v[i], normal(10_000), places)
    found["gather gradient, 1e5"] = (m.grad(lambda v, i: np_.sum(v[i] ** 2)), normal(10_000), places)
    found["scatter add, 1e5"] = (lambda v, i, w: v.at[i].add(w), normal(10_000), places, normal(100_000))
    found["searchsorted, 1e4 in 1e4"] = (
        np_.searchsorted,
        m.array(np.sort(rng.normal(size=10_000))),
        normal(10_000),
    )

    def stencil(a: Any) -> Any:
        def sweep(a: Any) -> Any:
            inner = 0.25 * (a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:])
            return np_.pad(inner, 1)

        for _ in range(10):
            a = sweep(a)
        return np_.sum(a * a)

    found["stencil 256 x 256, gradient"] = (m.value_and_grad(stencil), normal(256, 256))
    return found
