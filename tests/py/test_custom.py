"""``custom_vjp`` and ``custom_jvp``: values and derivatives of every order, in loops, batched, compiled."""

from __future__ import annotations

import math

import numpy as np
import pytest
from custom_rules import BOTH, KINDS, X, close, make_cubic, make_product, make_scaled_sine_jvp

import quabla as qb

# ---- values and orders ---------------------------------------------------------------------------


@BOTH
def test_call_is_the_plain_function(make):
    f = make()
    close(f(X), np.sin(X.numpy()))
    close(qb.jit(f)(X), np.sin(X.numpy()))
    assert f.fun(qb.array(0.5)).item() == math.sin(0.5)


@BOTH
def test_gradient_is_the_rule_eagerly_and_compiled(make):
    f = make()
    for g in (qb.grad(f), qb.jit(qb.grad(f))):
        assert g(0.4).item() == pytest.approx(3.0 * math.cos(0.4), rel=1e-14)
    value, g = qb.value_and_grad(f)(0.4)
    assert value.item() == math.sin(0.4)
    assert g.item() == pytest.approx(3.0 * math.cos(0.4), rel=1e-14)


@BOTH
def test_higher_orders_differentiate_the_rule(make):
    f = make()
    x = 0.4
    want = [-3.0 * math.sin(x), -3.0 * math.cos(x), 3.0 * math.sin(x)]
    g = qb.grad(f)
    for w in want:
        g = qb.grad(g)
        assert g(x).item() == pytest.approx(w, rel=1e-13)
    assert qb.hessian(f)(x).item() == pytest.approx(want[0], rel=1e-13)
    assert qb.jit(qb.hessian(f))(x).item() == pytest.approx(want[0], rel=1e-13)
    close(qb.hessian(lambda v: qb.sum(f(v)))(X), np.diag(-3.0 * np.sin(X.numpy())))


def test_forward_over_reverse_differentiates_bwd():
    f = make_cubic()
    _, t = qb.jvp(qb.grad(f), (2.0,), (1.0,))
    assert t.item() == 12.0
    _, t = qb.jvp(qb.grad(qb.grad(f)), (2.0,), (1.0,))
    assert t.item() == 6.0


def test_four_second_order_combinations_of_a_tangent_rule():
    f = make_scaled_sine_jvp()
    x = 0.4

    def forward(g):
        return lambda v: qb.jvp(g, (v,), (1.0,))[1]

    for outer in (forward, qb.grad):
        for inner in (forward, qb.grad):
            assert outer(inner(f))(x).item() == pytest.approx(-3.0 * math.sin(x), rel=1e-13)


def test_jvp_has_the_value_of_the_function_and_the_tangent_of_the_rule():
    f = qb.custom_jvp(lambda x: x * x)
    f.defjvp(lambda p, t: (qb.array(99.0), 7.0 * t[0]))
    out, t = qb.jvp(f, (3.0,), (2.0,))
    assert (out.item(), t.item()) == (9.0, 14.0)


@KINDS
def test_arguments_that_do_not_move(kind):
    f = make_product(kind)
    b = qb.array([1.0, 2.0, 3.0])
    close(qb.grad(lambda a: f(a, b))(X), 2.0 * b.numpy())
    close(qb.grad(lambda a: f(b, a))(X), 2.0 * b.numpy())
    both = qb.grad(f, argnums=(0, 1))(X, b)
    close(both[0], 2.0 * b.numpy())
    close(both[1], 2.0 * X.numpy())


def test_vjp_function_keeps_the_residuals():
    runs = []
    f = qb.custom_vjp(lambda x: qb.exp(x))
    f.defvjp(lambda x: (runs.append(1), (qb.exp(x), qb.exp(x)))[1], lambda r, ct: (ct * r,))
    out, back = qb.vjp(f, X)
    close(out, np.exp(X.numpy()))
    for scale in (1.0, 2.0):
        close(back(scale * qb.ones(3))[0], scale * np.exp(X.numpy()))
    assert len(runs) == 1


@KINDS
def test_vjp_function_inside_a_trace(kind):
    f = make_product(kind)

    def run(a, b):
        out, back = qb.vjp(f, a, b)
        return out, back(qb.array(1.0))

    _, (ga, gb) = qb.jit(run)(X, 2.0 * X)
    close(ga, 4.0 * X.numpy())
    close(gb, 2.0 * X.numpy())


def test_jacobian_of_a_reverse_only_function_uses_reverse_mode():
    f = make_cubic()
    close(qb.jacobian(f)(X), np.diag(3.0 * X.numpy() ** 2))
    close(qb.jacobian(lambda v: qb.fori_loop(0, 1, lambda i, c: f(c), v))(X), np.diag(3.0 * X.numpy() ** 2))
    # More results than arguments, for which forward mode would be taken.
    j = qb.jacobian(lambda s: f(s * qb.array([1.0, 2.0])))(1.0)
    close(j, [3.0, 24.0])


def test_rule_applies_where_the_function_has_no_derivative():
    f = qb.custom_vjp(qb.round)
    f.defvjp(lambda x: (qb.round(x), None), lambda r, ct: (ct,))
    g = qb.custom_jvp(qb.round)
    g.defjvp(lambda p, t: (qb.round(p[0]), t[0]))
    for h in (f, g):
        assert qb.grad(lambda x, h=h: h(x) * 2.0)(0.7).item() == 2.0
        assert qb.grad(lambda x, h=h: qb.fori_loop(0, 3, lambda i, c: h(c) * 2.0, x))(0.7).item() == 8.0


def test_rule_gives_a_derivative_to_an_argument_that_the_body_ignores():
    f = qb.custom_vjp(lambda x, y: x * 1.0)
    f.defvjp(lambda x, y: (x * 1.0, None), lambda r, ct: (ct, 5.0 * ct))
    assert qb.grad(f, argnums=1)(1.0, 2.0).item() == 5.0
    in_loop = lambda x, y: qb.fori_loop(0, 3, lambda i, c: f(c, y), x)  # noqa: E731
    assert qb.grad(in_loop, argnums=1)(1.0, 2.0).item() == 15.0
    close(qb.vmap(qb.grad(f, argnums=1))(X, X), np.full(3, 5.0))


def test_only_one_of_several_results_is_used():
    f = qb.custom_vjp(lambda x: {"a": qb.sin(x), "b": qb.cos(x), "c": [x]})
    f.defvjp(lambda x: (f(x), x), lambda x, ct: (2.0 * ct["a"] + 3.0 * ct["b"] + 5.0 * ct["c"][0],))
    assert qb.grad(lambda x: f(x)["b"])(0.5).item() == 3.0
    assert qb.grad(lambda x: f(x)["a"] + f(x)["c"][0])(0.5).item() == 7.0
    assert qb.grad(lambda x: qb.fori_loop(0, 2, lambda i, c: f(c)["b"], x))(0.5).item() == 9.0
    g = qb.custom_jvp(lambda x: (qb.sin(x), qb.cos(x)))
    g.defjvp(lambda p, t: (g(*p), (2.0 * t[0], 3.0 * t[0])))
    assert qb.grad(lambda x: g(x)[1])(0.5).item() == 3.0
    assert qb.jvp(lambda x: g(x)[1], (0.5,), (1.0,))[1].item() == 3.0


# ---- pytrees, None, non-differentiable arguments --------------------------------------------------


def test_pytree_arguments_residuals_and_missing_cotangents():
    f = qb.custom_vjp(lambda p, s: qb.sum(p["w"] * p["b"]) * s)

    def fwd(p, s):
        return f(p, s), {"p": p, "text": "kept", "s": [s, 4]}

    def bwd(res, ct):
        assert res["text"] == "kept"
        assert res["s"][1] == 4
        return {"w": 10.0 * ct * res["p"]["b"], "b": None}, None

    f.defvjp(fwd, bwd)
    p = {"w": X, "b": qb.array([1.0, 2.0, 3.0])}
    g, gs = qb.grad(f, argnums=(0, 1))(p, 2.0)
    close(g["w"], [10.0, 20.0, 30.0])
    close(g["b"], np.zeros(3))
    assert gs.item() == 0.0


def test_bool_argument_and_python_number():
    f = qb.custom_vjp(lambda m, x, n: qb.sum(qb.where(m, x, n * x)))
    f.defvjp(lambda m, x, n: (f(m, x, n), (m, n)), lambda r, ct: (None, ct * qb.where(r[0], 1.0, r[1] * 1.0), None))
    m = qb.array([True, False, True])
    close(qb.grad(lambda x: f(m, x, 3))(X), [1.0, 3.0, 1.0])
    g = qb.custom_jvp(lambda m, x: qb.where(m, x, 0.0))
    g.defjvp(lambda p, t: (g(*p), qb.where(p[0], 7.0 * t[1], 0.0)))
    close(qb.grad(lambda x: qb.sum(g(m, x)))(X), [7.0, 0.0, 7.0])
    close(qb.vmap(qb.grad(g, argnums=1))(m, X), [7.0, 0.0, 7.0])


def test_nondiff_arguments_are_given_to_the_rules_as_they_are():
    f = qb.custom_vjp(lambda fun, x, n: fun(x) * n, nondiff_argnums=(0, 2))
    f.defvjp(lambda fun, x, n: (f(fun, x, n), x), lambda fun, n, x, ct: (100.0 * n * ct * fun(x),))
    assert qb.grad(lambda x: f(qb.exp, x, 2))(0.0).item() == 200.0
    g = qb.custom_jvp(lambda x, name: x, nondiff_argnums=-1)
    g.defjvp(lambda name, p, t: (p[0], {"double": 2.0, "triple": 3.0}[name] * t[0]))
    assert qb.jvp(lambda x: g(x, "triple"), (1.0,), (1.0,))[1].item() == 3.0
    assert qb.jit(qb.grad(lambda x: g(x, "double")))(1.0).item() == 2.0


def test_decorator_forms():
    @qb.custom_vjp(nondiff_argnums=(0,))
    def power(n, x):
        return x**n

    power.defvjp(lambda n, x: (power(n, x), x), lambda n, x, ct: (ct * n * x ** (n - 1),))
    assert qb.grad(lambda x: power(3, x))(2.0).item() == 12.0

    @qb.custom_jvp
    def twice(x):
        return 2.0 * x

    @twice.defjvp
    def rule(primals, tangents):
        return twice(*primals), 5.0 * tangents[0]

    assert rule(((1.0),), (2.0,))[1] == 10.0
    assert qb.grad(twice)(1.0).item() == 5.0
    assert repr(twice).startswith("custom_jvp(")


def test_method_with_the_instance_not_differentiated():
    class Model:
        scale = 4.0

        @qb.custom_jvp(nondiff_argnums=0)
        def apply(self, x):
            return self.scale * x

        @apply.defjvp
        def _(self, primals, tangents):
            return self.apply(*primals), 2.0 * self.scale * tangents[0]

    assert qb.grad(Model().apply)(1.0).item() == 8.0


@KINDS
def test_large_eager_array_may_be_closed_over(kind):
    big = qb.arange(0.0, 50.0)
    f = kind(lambda x: qb.sum(big * x))
    if kind is qb.custom_vjp:
        f.defvjp(lambda x: (f(x), None), lambda r, ct: (2.0 * ct * qb.sum(big),))
    else:
        f.defjvp(lambda p, t: (f(*p), 2.0 * qb.sum(big) * t[0]))
    total = 49.0 * 50.0
    assert qb.grad(f)(1.0).item() == total
    assert qb.grad(lambda x: qb.fori_loop(0, 2, lambda i, c: 0.5 * f(c), x))(1.0).item() == (total / 2) ** 2
    close(qb.vmap(qb.grad(f))(X), np.full(3, total))
    close(qb.vmap(lambda x: qb.cond(x > 0.0, qb.grad(f), lambda v: v, x))(X), [total, total, -0.7])
    close(qb.grad(lambda x: qb.sum(qb.vmap(lambda v: qb.cond(v > 0.0, f, lambda u: u, v))(x)))(X), [total, total, 1.0])


# ---- regions ------------------------------------------------------------------------------------


@BOTH
def test_inside_a_loop(make):
    f = make()
    x = 0.3
    want_value, want = x, 1.0
    for _ in range(4):
        want_value, want = math.sin(want_value), want * 3.0 * math.cos(want_value)
    loop = lambda v: qb.fori_loop(0, 4, lambda i, c: f(c), v)  # noqa: E731
    for g in (qb.grad(loop), qb.jit(qb.grad(loop)), lambda v: qb.vmap(qb.grad(loop))(qb.array([v, 0.1]))[0]):
        assert g(x).item() == pytest.approx(want, rel=1e-13)
    scan = lambda v: qb.sum(qb.scan(lambda c, i: (f(c), f(c)), v, length=4)[1])  # noqa: E731
    terms, c, d = 0.0, x, 1.0
    for _ in range(4):
        c, d = math.sin(c), d * 3.0 * math.cos(c)
        terms += d
    assert qb.grad(scan)(x).item() == pytest.approx(terms, rel=1e-13)


@BOTH
@pytest.mark.parametrize("policy", ["full", "sqrt", 3])
def test_inside_a_long_loop_of_every_tape(make, policy, monkeypatch):
    monkeypatch.setattr(qb.config, "loop_checkpoint", policy)
    f = make(1.1)
    x, want = 0.3, 1.0
    for _ in range(10):
        x, want = math.sin(x), want * 1.1 * math.cos(x)
    got = qb.grad(lambda v: qb.fori_loop(0, 10, lambda i, c: f(c), v))(0.3)
    assert got.item() == pytest.approx(want, rel=1e-13)


def test_reverse_over_reverse_through_a_loop():
    f = make_cubic()
    loop = lambda v: qb.fori_loop(0, 2, lambda i, c: f(c), v)  # noqa: E731  (x**9)
    assert loop(qb.array(1.1)).item() == pytest.approx(1.1**9, rel=1e-14)
    assert qb.grad(qb.grad(loop))(1.1).item() == pytest.approx(72 * 1.1**7, rel=1e-13)
    assert qb.grad(qb.grad(qb.grad(loop)))(1.1).item() == pytest.approx(504 * 1.1**6, rel=1e-13)


def test_every_second_order_of_a_tangent_rule_through_a_loop():
    f = qb.custom_jvp(lambda x: x * x * x)
    f.defjvp(lambda p, t: (f(*p), 3.0 * p[0] * p[0] * t[0]))
    loop = lambda v: qb.fori_loop(0, 2, lambda i, c: f(c), v)  # noqa: E731

    def forward(g):
        return lambda v: qb.jvp(g, (v,), (1.0,))[1]

    for outer in (forward, qb.grad):
        for inner in (forward, qb.grad):
            assert outer(inner(loop))(1.1).item() == pytest.approx(72 * 1.1**7, rel=1e-13)
            mapped = qb.vmap(outer(inner(loop)))(qb.array([1.1, 0.9]))
            close(mapped, [72 * 1.1**7, 72 * 0.9**7])


def test_forward_mode_through_a_while_loop():
    f = make_scaled_sine_jvp()
    loop = lambda v: qb.while_loop(lambda c: c < 1.0, lambda c: c + f(c) * f(c), v)  # noqa: E731
    x, t = 0.5, 1.0
    while x < 1.0:
        x, t = x + math.sin(x) ** 2, t + 2.0 * math.sin(x) * 3.0 * math.cos(x) * t
    out, moved = qb.jvp(loop, (0.5,), (1.0,))
    assert (out.item(), moved.item()) == (pytest.approx(x), pytest.approx(t))


@BOTH
def test_inside_a_branch(make):
    f = make()
    g = qb.grad(lambda v: qb.cond(v > 0.0, lambda u: f(u), lambda u: u * u, v))
    assert g(0.4).item() == pytest.approx(3.0 * math.cos(0.4), rel=1e-14)
    assert g(-0.4).item() == -0.8
    close(qb.vmap(g)(X), np.where(X.numpy() > 0, 3.0 * np.cos(X.numpy()), 2.0 * X.numpy()))


def test_custom_function_inside_another_and_inside_a_checkpoint():
    inner = make_scaled_sine_jvp(2.0)
    outer = qb.custom_jvp(lambda x: inner(x) * x)
    outer.defjvp(lambda p, t: qb.jvp(lambda x: inner(x) * x, p, t))
    want = 2.0 * math.cos(0.4) * 0.4 + math.sin(0.4)
    assert qb.grad(outer)(0.4).item() == pytest.approx(want, rel=1e-14)
    assert qb.grad(qb.checkpoint(outer))(0.4).item() == pytest.approx(want, rel=1e-14)
    wrapped = make_cubic()
    assert qb.grad(lambda x: qb.checkpoint(lambda v: wrapped(v) * inner(v))(x))(0.5).item() == pytest.approx(
        3 * 0.25 * math.sin(0.5) + 0.125 * 2.0 * math.cos(0.5), rel=1e-14
    )


@pytest.mark.parametrize("factor", [1.0, 2.0])
def test_second_derivatives_of_a_rule_in_a_loop_are_those_of_the_unrolled_program(factor):
    @qb.custom_vjp
    def f(x):
        return qb.sin(x)

    f.defvjp(lambda x: (qb.sin(x), x), lambda x, ct: (factor * ct * qb.cos(x),))

    def loop(v, unroll=False):
        return qb.fori_loop(0, 2, lambda i, c: f(c * v), v, unroll=unroll)

    for second in (lambda g: qb.grad(qb.grad(g)), qb.hessian):
        got, want = second(loop)(0.3).item(), second(lambda v: loop(v, True))(0.3).item()
        assert got == pytest.approx(want, rel=1e-13)


# ---- batching -----------------------------------------------------------------------------------


@BOTH
def test_mapped_gradient_and_gradient_of_a_map(make):
    f = make()
    want = 3.0 * np.cos(X.numpy())
    close(qb.vmap(f)(X), np.sin(X.numpy()))
    close(qb.vmap(qb.grad(f))(X), want)
    close(qb.jit(qb.vmap(qb.grad(f)))(X), want)
    close(qb.grad(lambda v: qb.sum(qb.vmap(f)(v)))(X), want)
    close(qb.grad(lambda v: qb.sum(qb.vmap(qb.vmap(f))(v)))(qb.stack([X, X])), np.stack([want, want]))
    close(qb.hessian(lambda v: qb.sum(qb.vmap(f)(v)))(X), np.diag(-3.0 * np.sin(X.numpy())))


@KINDS
@pytest.mark.parametrize("axes", [(0, 0), (0, None), (None, 0), (1, 0)])
def test_mapped_and_unmapped_arguments(kind, axes):
    f = make_product(kind)
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(3, 3)), rng.normal(size=(3, 3))
    a = a if axes[0] is not None else a[0]
    b = b if axes[1] is not None else b[0]
    lanes = [
        (np.take(a, i, axes[0]) if axes[0] is not None else a, b[i] if axes[1] is not None else b) for i in range(3)
    ]
    run = qb.vmap(f, in_axes=axes)
    close(run(qb.array(a), qb.array(b)), [x @ y for x, y in lanes])
    weights = np.array([1.0, -2.0, 0.5])
    ga, gb = qb.grad(lambda p, q: qb.sum(run(p, q) * qb.array(weights)), argnums=(0, 1))(qb.array(a), qb.array(b))
    da = np.stack([2.0 * w * y for w, (_, y) in zip(weights, lanes, strict=True)])
    db = np.stack([2.0 * w * x for w, (x, _) in zip(weights, lanes, strict=True)])
    close(ga, da.sum(0) if axes[0] is None else da.T if axes[0] else da)
    close(gb, db.sum(0) if axes[1] is None else db)


@KINDS
def test_two_nested_maps_of_different_arguments(kind):
    f = make_product(kind)
    a, b = qb.array(np.arange(6.0).reshape(2, 3)), qb.array(np.arange(12.0).reshape(4, 3) - 5.0)
    table = lambda p, q: qb.vmap(lambda x: qb.vmap(lambda y: f(x, y))(q))(p)  # noqa: E731
    close(table(a, b), a.numpy() @ b.numpy().T)
    ga, gb = qb.grad(lambda p, q: qb.sum(table(p, q)), argnums=(0, 1))(a, b)
    close(ga, 2.0 * np.broadcast_to(b.numpy().sum(0), (2, 3)))
    close(gb, 2.0 * np.broadcast_to(a.numpy().sum(0), (4, 3)))
    close(qb.grad(lambda p: qb.sum(qb.grad(lambda q: qb.sum(table(p, q)))(b)))(a), np.full((2, 3), 8.0 * 1.0))


def test_cotangent_that_ignores_the_lanes_is_counted_once_for_each():
    f = qb.custom_vjp(lambda a, b: a * b)
    f.defvjp(lambda a, b: (a * b, None), lambda r, ct: (ct, qb.array(5.0)))
    g = qb.grad(lambda b: qb.sum(qb.vmap(lambda a: f(a, b))(X)))(2.0)
    assert g.item() == 15.0


def test_batched_loop_of_a_batched_rule():
    f = make_product(qb.custom_jvp)
    w = qb.array([0.5, -0.25])

    def run(x):
        return qb.sum(qb.fori_loop(0, 3, lambda i, c: c * f(c, w), x))

    xs = qb.array([[1.0, 2.0], [-0.5, 0.3], [0.2, 0.1]])
    got = qb.vmap(qb.grad(run))(xs)
    close(got, np.stack([qb.grad(run)(x).numpy() for x in xs]))
    got = qb.vmap(qb.hessian(run))(xs)
    close(got, np.stack([qb.hessian(run)(x).numpy() for x in xs]))


# ---- reverse mode of tangent rules ----------------------------------------------------------------

A = np.array([[2.0, 1.0, 0.5], [0.3, 1.5, -0.2], [0.1, 0.4, 1.2]])


LINEAR = {
    "matmul": lambda t: qb.matmul(qb.array(A), t),
    "where": lambda t: qb.where(X > 0.0, t, 0.25 * t),
    "division": lambda t: t / X,
    "cumsum": lambda t: qb.cumsum(t, axis=0),
    "gather": lambda t: qb.gather(t, [2, 0], axis=0),
    "loop": lambda t: qb.fori_loop(0, 3, lambda i, c: qb.matmul(qb.array(A), c) + t, t),
    "carries": lambda t: qb.fori_loop(0, 3, lambda i, c: (c[0] * c[1], c[1] * 1.5), (t, qb.sin(X)))[0],
    "scan": lambda t: qb.scan(lambda c, i: (c * 0.5 + t, c), t, length=3)[1],
    "branch": lambda t: qb.cond(qb.sum(X) > 0.0, lambda u: 2.0 * u, lambda u: -u, t),
    "vmap": lambda t: qb.vmap(lambda a: a * 3.0)(t),
    "jvp": lambda t: qb.jvp(lambda v: qb.exp(v) * qb.sum(v), (X,), (t,))[1],
    "checkpoint": lambda t: qb.checkpoint(lambda u: qb.sin(X) * u)(t),
}


@pytest.mark.parametrize("name", LINEAR)
def test_linear_tangents_are_transposed(name):
    linear = LINEAR[name]
    f = qb.custom_jvp(lambda x: linear(X) * 1.0)
    f.defjvp(lambda p, t: (linear(X), linear(t[0])))
    want = np.stack([linear(qb.array(e)).numpy() for e in np.eye(3)], axis=-1)
    out, back = qb.vjp(f, X)
    rng = np.random.default_rng(1)
    ct = rng.normal(size=out.shape)
    close(back(qb.array(ct))[0], np.tensordot(ct, want, axes=ct.ndim), rtol=1e-11)
    close(qb.jacobian(f)(X), want, rtol=1e-11)


def test_what_does_not_wait_for_cotangents_runs_in_the_forward_part():
    f = qb.custom_jvp(lambda x: x * x)
    f.defjvp(lambda p, t: (f(*p), qb.tanh(qb.exp(p[0])) * t[0]))
    x = qb.linspace(-1.0, 1.0, 20)  # too large to become a constant
    _, back = qb.vjp(f, x)
    text = qb.jit(lambda ct: back(ct)[0]).lower(x).as_text()
    assert " mul(" in text
    assert " exp(" not in text
    close(back(qb.ones(20))[0], np.tanh(np.exp(x.numpy())))
