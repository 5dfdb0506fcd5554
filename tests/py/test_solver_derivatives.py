"""Derivatives of ``cg`` and ``gmres`` against those of ``linalg.solve``: every mode and order, batched, in regions."""

from __future__ import annotations

import re

import numpy as np
import pytest

import quabla as qb

RNG = np.random.default_rng(3)
N = 4
R = RNG.standard_normal((N, N))
MATRICES = {"cg": qb.array(R @ R.T + N * np.eye(N)), "gmres": qb.array(R + N * np.eye(N))}
B = qb.array(RNG.standard_normal(N))
BS = qb.stack([B, 100.0 * B, 0.0 * B])
BOTH = pytest.mark.parametrize("name", ["cg", "gmres"])


def close(got, want, rtol=1e-9):
    got, want = (x.numpy() if hasattr(x, "numpy") else np.asarray(x) for x in (got, want))
    np.testing.assert_allclose(got, want, rtol=rtol, atol=1e-12 * max(1.0, np.abs(want).max()))


def pair(name):
    """A solver of ``m x = b`` without the matrix, and the dense one; cg sees the symmetric part of m."""

    def part(m):
        return 0.5 * (m + qb.transpose(m)) if name == "cg" else m

    def iterative(m, b):
        a = part(m)
        return getattr(qb.linalg, name)(lambda v: qb.matmul(a, v), b, tol=1e-13)

    return iterative, lambda m, b: qb.linalg.solve(part(m), b)


def losses(name):
    return [lambda m, b, f=f: qb.sum(qb.sin(f(m, b))) for f in pair(name)]


def both(name, transform, *args):
    """What a transform makes of both solvers."""
    return [transform(f)(*args) for f in losses(name)]


@BOTH
@pytest.mark.parametrize("wrap", [lambda f: f, qb.jit], ids=["plain", "jit"])
@pytest.mark.parametrize("argnum", [0, 1])
def test_gradient_and_tangent(name, wrap, argnum):
    m = MATRICES[name]
    close(*both(name, lambda f: wrap(qb.grad(f, argnums=argnum)), m, B))
    direction = [qb.zeros_like(m), qb.zeros_like(B)]
    direction[argnum] = qb.cos((m, B)[argnum])
    close(*both(name, lambda f: lambda m, b: qb.jvp(f, (m, b), tuple(direction))[1], m, B))


@BOTH
def test_second_order(name):
    m = MATRICES[name]
    for argnum in (0, 1):
        close(*both(name, lambda f, k=argnum: qb.hessian(f, argnums=k), m, B))
        square = lambda f, k=argnum: qb.grad(lambda m, b: qb.sum(qb.grad(f, argnums=k)(m, b) ** 2))  # noqa: E731
        close(*both(name, square, m, B))
    mixed = lambda f: qb.jacobian(qb.grad(f, argnums=1), argnums=0)  # noqa: E731
    close(*both(name, mixed, m, B))
    close(*both(name, lambda f: lambda m, b: qb.jvp(qb.grad(f), (m, b), (m, qb.cos(b)))[1], m, B))


@BOTH
def test_third_order(name):
    m = MATRICES[name]
    third = lambda f: qb.grad(qb.grad(qb.grad(lambda t: f(m + t * qb.eye(N), B))))  # noqa: E731
    close(*both(name, third, 0.3))


@BOTH
def test_jacobian_of_the_solution_is_the_inverse(name):
    m = MATRICES[name]
    f, _ = pair(name)
    close(qb.jacobian(f, argnums=1)(m, B), np.linalg.inv(m.numpy()))


def test_closed_form_of_a_scaled_operator():
    # x = A^-1 b / k, so sum(x) = c / k, and its derivatives are -c / k^2 and 2 c / k^3.
    def total(k):
        return qb.sum(qb.linalg.cg(lambda v: k * (2.0 * v - 0.5 * qb.flip(v)), qb.ones((8,)), tol=1e-12))

    c = 8.0 / 1.5
    close(total(qb.array(2.0)), c / 2)
    close(qb.grad(total)(2.0), -c / 4)
    close(qb.grad(qb.grad(total))(2.0), 2 * c / 8)


@BOTH
def test_batched_gradients(name):
    m = MATRICES[name]
    ms = qb.stack([m, 2.0 * m, m + qb.eye(N)])
    close(*both(name, lambda f: qb.vmap(qb.grad(f)), ms, BS))
    close(*both(name, lambda f: qb.vmap(qb.hessian(f, argnums=1)), ms, BS))
    shared = lambda f: qb.grad(lambda m: qb.sum(qb.vmap(lambda b: f(m, b))(BS)))  # noqa: E731
    close(*both(name, shared, m))
    nested = lambda f: qb.grad(lambda ms: qb.sum(qb.vmap(lambda m: qb.vmap(lambda b: f(m, b))(BS))(ms)))  # noqa: E731
    close(*both(name, nested, ms))


@BOTH
def test_in_loops_and_choices(name, monkeypatch):
    m = MATRICES[name]
    solvers = pair(name)

    def alike(program, transform=qb.grad, *args):
        close(*(transform(lambda m, b, s=s: qb.sum(program(s, m, b)))(m, *(args or (B,))) for s in solvers))

    def loop(solve, m, b):
        return qb.fori_loop(0, 3, lambda i, c: solve(m, c), b)

    def rows(solve, m, b):
        return qb.scan(lambda c, i: (solve(m, c), c), b, length=3)[1]

    def choice(solve, m, b):
        return qb.cond(qb.sum(b) > 0.0, lambda c: solve(m, c), lambda c: 2.0 * c, b)

    alike(loop)
    alike(loop, qb.hessian)
    alike(rows)
    alike(choice)
    alike(choice, qb.grad, -B)
    alike(choice, lambda f: qb.vmap(qb.grad(f), in_axes=(None, 0)), qb.stack([B, -B]))
    alike(lambda s, m, b: qb.fori_loop(0, 3, lambda i, c: qb.checkpoint(s)(m, c), b))
    monkeypatch.setattr(qb.config, "loop_checkpoint", "sqrt")
    alike(lambda s, m, b: qb.fori_loop(0, 9, lambda i, c: s(m, c), b))


@BOTH
def test_in_rules_and_checkpoints(name):
    m = MATRICES[name]
    iterative, dense = pair(name)
    f, want = losses(name)
    close(qb.grad(qb.checkpoint(f))(m, B), qb.grad(want)(m, B))
    close(qb.hessian(qb.checkpoint(f), argnums=1)(m, B), qb.hessian(want, argnums=1)(m, B))
    ruled = qb.custom_jvp(iterative)
    ruled.defjvp(lambda p, t: (ruled(*p), iterative(p[0], t[1])))
    close(qb.grad(lambda b: qb.sum(ruled(m, b)))(B), qb.grad(lambda b: qb.sum(dense(m, b)))(B))


@BOTH
def test_rules_inside_the_operator(name):
    product = qb.custom_vjp(qb.matmul)
    product.defvjp(
        lambda m, v: (product(m, v), (m, v)),
        lambda kept, ct: (qb.outer(ct, kept[1]), qb.matmul(qb.transpose(kept[0]), ct)),
    )
    m = MATRICES[name]
    solve = getattr(qb.linalg, name)
    got = qb.grad(lambda m: qb.sum(solve(lambda v: product(m, v), B, tol=1e-13) ** 2))(m)
    close(got, qb.grad(lambda m: qb.sum(qb.linalg.solve(m, B) ** 2))(m))


@BOTH
def test_solvers_inside_the_operator(name):
    m = MATRICES["cg"]
    inner, _ = pair("cg")
    solve = getattr(qb.linalg, name)
    f = lambda m: qb.sum(qb.sin(solve(lambda v: inner(m, v), B, tol=1e-12)))  # noqa: E731
    want = lambda m: qb.sum(qb.sin(qb.matmul(0.5 * (m + qb.transpose(m)), B)))  # noqa: E731
    close(qb.grad(f)(m), qb.grad(want)(m), 1e-8)
    close(qb.hessian(f)(m), qb.hessian(want)(m), 1e-8)


def test_preconditioner_is_transposed_and_has_no_derivative():
    m = MATRICES["gmres"]
    _, want = losses("gmres")

    def preconditioned(m, b):
        lower = qb.tril(m)
        return qb.sum(qb.sin(qb.linalg.gmres(
            lambda v: qb.matmul(m, v), b, M=lambda r: qb.linalg.solve_triangular(lower, r, lower=True), tol=1e-13
        )))  # fmt: skip

    close(qb.grad(preconditioned)(m, B), qb.grad(want)(m, B))
    close(qb.hessian(preconditioned, argnums=1)(m, B), qb.hessian(want, argnums=1)(m, B))


def test_cg_needs_no_transpose():
    # Reverse mode refuses a while loop, but an operator that is its own transpose is not transposed.
    m = MATRICES["cg"]

    def twice(v):
        return qb.while_loop(lambda c: c[1] < 1.5, lambda c: (qb.matmul(m, c[0]), c[1] + 1.0), (v, 0.0))[0]

    got = qb.grad(lambda b: qb.sum(qb.linalg.cg(twice, b, tol=1e-13)))(B)
    close(got, np.linalg.solve(m.numpy() @ m.numpy(), np.ones(N)), 1e-8)


def test_gmres_refuses_to_transpose_what_is_not_linear():
    with pytest.raises(ValueError, match=r"gmres: .* not linear in its first argument"):
        qb.grad(lambda b: qb.sum(qb.linalg.gmres(lambda v: v + 0.01 * v * v, b)))(B)


@BOTH
def test_large_arrays_in_the_operator(name):
    n = 30
    d, b = qb.linspace(1.0, 9.0, n), qb.cos(qb.arange(n))
    dense = np.diag(d.numpy()) + 0.1 * np.eye(n)[::-1]
    inverse = np.linalg.inv(dense)
    solve = getattr(qb.linalg, name)
    f = lambda b: qb.sum(solve(lambda v: d * v + 0.1 * qb.flip(v), b, tol=1e-13) ** 2)  # noqa: E731
    close(qb.grad(f)(b), 2.0 * inverse.T @ inverse @ b.numpy())
    close(qb.vmap(qb.hessian(f))(qb.stack([b, 2.0 * b])), [2.0 * inverse.T @ inverse] * 2)


@BOTH
def test_pytrees(name):
    solve = getattr(qb.linalg, name)

    def loss(params, b):
        def operator(v):
            return {"a": params["d"] * v["a"], "b": (2.0 * v["b"][0] + params["k"] * v["b"][0],)}

        x = solve(operator, b, tol=1e-13)
        return qb.sum(x["a"]) + qb.sum(x["b"][0])

    params = {"d": qb.array([2.0, 4.0]), "k": qb.array(3.0), "mask": qb.array([True])}
    b = {"a": qb.array([1.0, 1.0]), "b": (qb.array([[1.0], [2.0]]),)}
    slope, rhs = qb.grad(loss, argnums=(0, 1))(params, b)
    close(slope["d"], [-0.25, -1.0 / 16.0])
    close(slope["k"], -3.0 / 25.0)
    assert slope["mask"] is None
    close(rhs["a"], [0.5, 0.25])
    close(rhs["b"][0], [[0.2], [0.2]])


@BOTH
def test_the_first_iterate_and_the_info_have_no_derivative(name):
    solve = getattr(qb.linalg, name)
    m = MATRICES[name]
    close(qb.grad(lambda s: qb.sum(solve(lambda v: qb.matmul(m, v), B, x0=s)))(B), np.zeros(N))

    def told(b):
        x, info = solve(lambda v: qb.matmul(m, v), b, info=True, tol=1e-12)
        return qb.sum(x) + info["iterations"] + info["residual_norm"]

    close(qb.grad(told)(B), np.linalg.solve(m.numpy().T, np.ones(N)))


@BOTH
def test_derivatives_of_float32_are_float32(name):
    m = MATRICES[name].astype(qb.float32)
    g = qb.grad(lambda m: qb.sum(getattr(qb.linalg, name)(lambda v: qb.matmul(m, v), B.astype(qb.float32), tol=1e-6)))(
        m
    )
    assert g.dtype is qb.float32
    close(g, qb.grad(lambda m: qb.sum(qb.linalg.solve(m, B)))(MATRICES[name]), 1e-4)


@pytest.mark.parametrize(("name", "loops"), [("cg", 2), ("gmres", 2)])
def test_reverse_mode_keeps_nothing_of_the_iterations(name, loops):
    text = qb.jit(qb.grad(losses(name)[0])).lower(MATRICES[name], B).as_text()
    outermost = [line for line in text.splitlines() if re.match(r"%.* = while\(", line)]
    assert len(outermost) == loops  # one solve forward, one backward
    assert "fori" not in text
    assert not re.search(r"tensor<\d{2,}x", text)  # no tape over iterations
