"""``checkpoint``: the same values and derivatives, computed again in the backward part and kept nowhere."""

from __future__ import annotations

import gc
import math
import tracemalloc

import numpy as np
import pytest

import quabla as qb

X = qb.array([0.3, 0.5, -0.7])


def sine_times(x):
    return qb.sin(x) * x


def close(got, want, rtol=1e-12):
    np.testing.assert_allclose(got.numpy(), want, rtol=rtol, atol=1e-14)


def forward(f):
    return lambda v: qb.jvp(f, (v,), (qb.ones_like(v) if hasattr(v, "shape") else 1.0,))[1]


def lowered(f, *args):
    return qb.jit(f).lower(*args)


def count(text, op):
    """How often an op occurs in a program's text."""
    return sum(f" {op}(" in line for line in text.splitlines())


# ---- values -------------------------------------------------------------------------------------


def test_remat_is_checkpoint():
    assert qb.remat is qb.checkpoint
    assert qb.checkpoint(sine_times).fun is sine_times


def test_values_and_derivatives_of_every_order():
    f = qb.checkpoint(sine_times)
    x = 0.4
    s, c = math.sin(x), math.cos(x)
    want = [s * x, c * x + s, 2 * c - s * x, -3 * s - c * x]
    for k, w in enumerate(want):
        assert f(x if k else qb.array(x)).item() == pytest.approx(w, rel=1e-13)
        assert qb.jit(f)(qb.array(x)).item() == pytest.approx(w, rel=1e-13)
        f = qb.grad(f)


@pytest.mark.parametrize("outer", [forward, qb.grad])
@pytest.mark.parametrize("inner", [forward, qb.grad])
def test_four_second_order_combinations(outer, inner):
    x = 0.4
    want = 2 * math.cos(x) - math.sin(x) * x
    f = qb.checkpoint(sine_times)
    assert outer(inner(f))(x).item() == pytest.approx(want, rel=1e-13)
    loop = lambda v: qb.fori_loop(0, 1, lambda i, c: f(c), v)  # noqa: E731
    assert outer(inner(loop))(x).item() == pytest.approx(want, rel=1e-13)
    assert outer(inner(qb.checkpoint(f)))(x).item() == pytest.approx(want, rel=1e-13)
    close(qb.vmap(outer(inner(f)))(X), 2 * np.cos(X.numpy()) - np.sin(X.numpy()) * X.numpy())


def test_hessian_and_jvp():
    f = qb.checkpoint(sine_times)
    x = X.numpy()
    close(qb.hessian(lambda v: qb.sum(f(v)))(X), np.diag(2 * np.cos(x) - np.sin(x) * x))
    out, t = qb.jvp(f, (X,), (X,))
    close(out, np.sin(x) * x)
    close(t, (np.cos(x) * x + np.sin(x)) * x)
    close(qb.jacobian(f)(X), np.diag(np.cos(x) * x + np.sin(x)))


def test_pytrees_static_arguments_and_other_results():
    @qb.checkpoint(static_argnums=(1,))
    def f(p, mode, x):
        return {"y": p["w"] * qb.sin(x) if mode == "sin" else x, "mode": mode, "big": x > 0.0, "none": None, "k": 3}

    p = {"w": X, "m": None}
    out = qb.jit(lambda p, x: f(p, "sin", x))(p, X)
    assert (out["mode"], out["none"], out["k"]) == ("sin", None, 3)
    np.testing.assert_array_equal(out["big"].numpy(), X.numpy() > 0)
    g = qb.grad(lambda p: qb.sum(f(p, "sin", X)["y"]))(p)
    close(g["w"], np.sin(X.numpy()))
    close(qb.grad(lambda v: qb.sum(f(p, "other", v)["y"]))(X), np.ones(3))
    close(qb.checkpoint(lambda v, n: v * n, static_argnums=-1)(X, 2), 2 * X.numpy())
    assert qb.jit(qb.checkpoint(lambda x: 4.0))(X) == 4.0


def test_eager_values_stay_eager_inside_a_trace():
    seen = []

    def f(x):
        c = qb.checkpoint(lambda v: v * 2.0)(qb.array(3.0))
        seen.append(float(c))
        return x * c

    assert qb.grad(f)(1.0).item() == 6.0
    assert seen == [6.0]


def test_captured_values_are_differentiated():
    big = qb.arange(0.0, 50.0)

    def f(w):
        layer = qb.checkpoint(lambda x: qb.sum(qb.sin(w * x) * big))
        return layer(qb.array(2.0)) + qb.checkpoint(lambda: w * w)()

    total = 25.0 * 49.0
    assert qb.grad(f)(0.3).item() == pytest.approx(total * 2.0 * math.cos(0.6) + 0.6, rel=1e-13)
    assert qb.grad(qb.grad(f))(0.3).item() == pytest.approx(-total * 4.0 * math.sin(0.6) + 2.0, rel=1e-13)
    assert qb.jit(qb.grad(f))(qb.array(0.3)).item() == pytest.approx(total * 2.0 * math.cos(0.6) + 0.6, rel=1e-13)


# ---- regions and batching -----------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["full", "sqrt"])
def test_in_loops_and_branches(policy, monkeypatch):
    monkeypatch.setattr(qb.config, "loop_checkpoint", policy)
    w = 1.3

    def step(c, v):
        return qb.sin(c * v) + 0.25 * c

    def plain(v, wrap):
        c = qb.fori_loop(0, 6, lambda i, c: wrap(step)(c, v), v)
        c, ys = qb.scan(lambda c, i: (wrap(step)(c, v), wrap(qb.cos)(c)), c, length=3)
        return qb.cond(c > -9.0, lambda u: wrap(lambda q: q * v)(u), lambda u: u, c) + qb.sum(ys)

    checked = lambda v: plain(v, qb.checkpoint)  # noqa: E731
    unchecked = lambda v: plain(v, lambda f: f)  # noqa: E731
    for d in (qb.grad, forward, qb.hessian, lambda f: qb.grad(qb.grad(f)), lambda f: forward(forward(f))):
        assert d(checked)(w).item() == pytest.approx(d(unchecked)(w).item(), rel=1e-12)
        close(qb.vmap(d(checked))(X), qb.vmap(d(unchecked))(X).numpy())
    loop = qb.checkpoint(lambda v: qb.fori_loop(0, 6, lambda i, c: step(c, v), v))
    want = qb.grad(lambda v: qb.fori_loop(0, 6, lambda i, c: step(c, v), v))(w).item()
    assert qb.grad(loop)(w).item() == pytest.approx(want, rel=1e-13)


def test_batched_with_unmapped_arguments_and_results():
    f = qb.checkpoint(lambda a, b: (qb.sin(a) * b, qb.exp(b)))
    out, shared = qb.vmap(f, in_axes=(0, None), out_axes=(0, None))(X, qb.array(2.0))
    close(out, 2.0 * np.sin(X.numpy()))
    assert shared.shape == []
    ga, gb = qb.grad(lambda a, b: qb.sum(qb.vmap(f, in_axes=(0, None))(a, b)[0]), argnums=(0, 1))(X, 2.0)
    close(ga, 2.0 * np.cos(X.numpy()))
    assert gb.item() == pytest.approx(np.sin(X.numpy()).sum(), rel=1e-14)


# ---- recomputation ------------------------------------------------------------------------------


def test_backward_part_computes_the_body_again():
    # y = sin(tanh(x)) needs tanh(x) in both parts; without a checkpoint both share it.
    f = lambda x: qb.sum(qb.sin(qb.tanh(x)))  # noqa: E731
    plain = lowered(qb.value_and_grad(f), X).as_text()
    again = lowered(qb.value_and_grad(qb.checkpoint(f)), X).as_text()
    assert (count(plain, "tanh"), count(again, "tanh")) == (1, 2)
    assert (count(plain, "barrier"), count(again, "barrier")) == (0, 1)
    # Only the gradient is wanted: nothing of the forward part is left.
    assert count(lowered(qb.grad(qb.checkpoint(f)), X).as_text(), "tanh") == 1


def test_chain_of_layers_computes_each_layer_twice():
    def chain(wrap):
        layer = wrap(lambda h: qb.sin(qb.tanh(h)))
        return lambda x: qb.sum(layer(layer(layer(x))))

    plain = lowered(qb.value_and_grad(chain(lambda f: f)), X).as_text()
    again = lowered(qb.value_and_grad(chain(qb.checkpoint)), X).as_text()
    assert (count(plain, "tanh"), count(again, "tanh")) == (3, 6)
    # The last layer's sine is not needed again: 3 + 0.
    assert count(again, "sin") == 3


def test_nested_checkpoints_compute_more_often():
    inner = qb.checkpoint(lambda h: qb.sin(qb.tanh(h)))
    outer = qb.checkpoint(lambda h: inner(inner(h)))
    text = lowered(qb.value_and_grad(lambda x: qb.sum(outer(x))), X).as_text()
    # Two tanh forward, one to get from the outer operand to the second layer, and one in each inner pullback.
    assert count(text, "tanh") == 5
    x = X.numpy()
    a = np.sin(np.tanh(x))
    d = lambda v: np.cos(np.tanh(v)) / np.cosh(v) ** 2  # noqa: E731
    close(qb.grad(lambda x: qb.sum(outer(x)))(X), d(a) * d(x))


def test_compiled_program_keeps_the_barriers(engine):
    f = qb.checkpoint(lambda x: qb.sum(qb.sin(qb.tanh(x))))
    program = lowered(qb.value_and_grad(f), X)
    assert "stablehlo.optimization_barrier" in program.stablehlo_text()
    want = np.cos(np.tanh(X.numpy())) / np.cosh(X.numpy()) ** 2
    for name in ("numpy", "xla"):
        engine(name)
        close(qb.jit(qb.grad(f))(X), want)


def test_program_text_does_not_depend_on_what_was_traced_before():
    f = qb.checkpoint(lambda x: qb.sum(qb.sin(qb.tanh(x))))
    first = lowered(qb.value_and_grad(f), X).as_text()
    assert lowered(qb.value_and_grad(f), X).as_text() == first


def test_residuals_of_vjp_are_the_arguments_only():
    kept = []
    x = qb.linspace(-1.0, 1.0, 20)  # too large to become a constant

    def residuals(f):
        _, back = qb.vjp(f, x)
        text = qb.jit(lambda ct: back(ct)[0]).lower(x).as_text()
        kept.append(count(text, "tanh"))
        return back(qb.ones(20))[0]

    f = lambda x: qb.sin(qb.tanh(x))  # noqa: E731
    close(residuals(qb.checkpoint(f)), residuals(f).numpy())
    assert kept == [1, 0]


def test_less_memory_is_in_use_at_once(engine):
    engine("numpy")
    n, layers = 20_000, 8

    def chain(wrap):
        def layer(h):
            for _ in range(6):
                h = qb.sin(qb.tanh(h) + 1.0)
            return h

        step = wrap(layer)

        def run(x):
            for _ in range(layers):
                x = step(x)
            return qb.sum(x)

        return qb.jit(qb.grad(run))

    x = qb.linspace(0.0, 1.0, n)
    peaks, results = [], []
    for wrap in (lambda f: f, qb.checkpoint):
        g = chain(wrap)
        g(x)
        gc.collect()
        tracemalloc.start()
        results.append(g(x).numpy())
        peaks.append(tracemalloc.get_traced_memory()[1] / (8 * n))
        tracemalloc.stop()
    np.testing.assert_allclose(results[1], results[0], rtol=1e-12)
    assert peaks[1] < 0.5 * peaks[0], peaks


# ---- misuse -------------------------------------------------------------------------------------


def test_misuse():
    with pytest.raises(TypeError, match="expected a function"):
        qb.checkpoint(3)
    with pytest.raises(TypeError, match="static_argnums must be"):
        qb.checkpoint(qb.sin, static_argnums="0")
    with pytest.raises(ValueError, match="out of range"):
        qb.checkpoint(qb.sin, static_argnums=1)(X)
    with pytest.raises(TypeError, match="must not be traced"):
        qb.jit(qb.checkpoint(lambda x: x, static_argnums=0))(X)
    with pytest.raises(TypeError, match="name them in static_argnums"):
        qb.checkpoint(lambda x, s: x)(X, "text")
    with pytest.raises(ValueError, match="reverse mode needs a bound on the number of iterations"):
        qb.grad(qb.checkpoint(lambda x: qb.while_loop(lambda c: c < 9.0, lambda c: c * x, x)))(2.0)
