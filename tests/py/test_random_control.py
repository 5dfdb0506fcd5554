"""Random programs of nested loops, choices and derivatives: every way to run one agrees with plain Python."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import quabla as qb

POINT = np.array([0.4, 0.9, 0.65])
LANES = np.stack([POINT, POINT[::-1] + 0.07, POINT * 1.3])
T = np.array([0.3, -1.0, 0.5])
few = settings(max_examples=max(settings().max_examples // 4, 5))

#: Maps the parameters (a vector of three) and the state (one as well) to the next state.
Step = Callable[[Any, Any, Any], Any]


class Plain:
    """Control flow without regions: loops are unrolled, and a choice by lane is not needed."""

    def fori_loop(self, lower: int, upper: int, body: Any, c: Any) -> Any:
        return qb.fori_loop(lower, upper, body, c, unroll=True)

    def scan(self, f: Any, c: Any, length: int) -> Any:
        return qb.scan(f, c, length=length, unroll=True)

    def cond(self, pred: Any, on_true: Any, on_false: Any, *xs: Any) -> Any:
        return qb.tree.map(lambda a, b: qb.where(pred, a, b), on_true(*xs), on_false(*xs))

    def bounded(self, steps: int, test: Any, body: Any, c: Any) -> Any:
        for _ in range(steps):
            going = test(c)
            c = qb.tree.map(lambda a, b, g=going: qb.where(g, a, b), body(c), c)
        return c

    def __getattr__(self, name: str) -> Any:
        return getattr(qb, name)


class Regions(Plain):
    """Control flow with regions; ``bounded`` as a masked loop, which reverse mode takes too."""

    def fori_loop(self, lower: int, upper: int, body: Any, c: Any) -> Any:
        return qb.fori_loop(lower, upper, body, c)

    def scan(self, f: Any, c: Any, length: int) -> Any:
        return qb.scan(f, c, length=length)

    def cond(self, pred: Any, on_true: Any, on_false: Any, *xs: Any) -> Any:
        return qb.cond(pred, on_true, on_false, *xs)

    def bounded(self, steps: int, test: Any, body: Any, c: Any) -> Any:
        return qb.fori_loop(0, steps, lambda i, c: qb.cond(test(c), body, lambda v: v, c), c)


class While(Regions):
    """As ``Regions``, with real while loops: these have forward mode only."""

    def bounded(self, steps: int, test: Any, body: Any, c: Any) -> Any:
        def going(s: Any) -> Any:
            return qb.logical_and(s[0] < float(steps), test(s[1]))

        return qb.while_loop(going, lambda s: (s[0] + 1.0, body(s[1])), (0.0, c))[1]


class Program:
    """A random program; ``text`` describes it."""

    def __init__(self, rng: Random) -> None:
        self.text, self.step = _step(rng, 3)

    def __repr__(self) -> str:
        return self.text

    def run(self, m: Any, x: Any) -> Any:
        return self.step(m, x, qb.sin(x))

    def scalar(self, m: Any) -> Callable[[Any], Any]:
        return lambda x: qb.sum(self.run(m, x) * qb.array([1.0, -0.7, 0.4]))


def _step(rng: Random, depth: int) -> tuple[str, Step]:
    kinds = ["sin", "mix"] if depth == 0 else ["then", "for", "for", "scan", "cond", "while", "rows", "grad", "vmap"]
    kind = rng.choice(kinds)
    if kind == "sin":
        k = round(rng.uniform(0.5, 1.5), 2)
        return f"sin {k}", lambda m, p, c: m.sin(c * k) + 0.1 * p
    if kind == "mix":
        i = rng.randrange(3)
        return f"mix {i}", lambda m, p, c: m.tanh(c * p[i] + 0.2 * m.flip(c, 0))
    if kind == "then":
        (s, f), (t, g) = _step(rng, max(depth - 1, 0)), _step(rng, 0)
        return f"({s}; {t})", lambda m, p, c: g(m, p, f(m, p, c))
    s, f = _step(rng, depth - 1)
    t, g = _step(rng, rng.randrange(depth))
    n, low = rng.randrange(1, 5), rng.randrange(3)
    if kind == "for":
        pair = rng.random() < 0.5

        def run(m: Any, p: Any, c: Any) -> Any:
            if not pair:
                return m.fori_loop(low, low + n, lambda i, v: f(m, p, v) + 0.01 * i, c)
            return m.fori_loop(low, low + n, lambda i, v: (g(m, p, v[1]), f(m, p, v[0])), (c, p))[0]

        return f"for {low} {n} {pair} ({s}) ({t})", run
    if kind == "scan":

        def scanned(m: Any, p: Any, c: Any) -> Any:
            last, (ys, top) = m.scan(lambda v, i: (f(m, p, v), (g(m, v, p), m.sum(v))), c, length=n)
            return last + 0.3 * m.mean(ys, 0) * m.tanh(m.sum(top))

        return f"scan {n} ({s}) ({t})", scanned
    if kind == "cond":
        edge = round(rng.uniform(-0.5, 2.0), 3) + 1e-4
        return f"cond {edge} ({s}) ({t})", lambda m, p, c: m.cond(
            m.sum(c) > edge, lambda v: f(m, p, v), lambda v: g(m, p, v) * p, c
        )
    if kind == "while":
        edge = round(rng.uniform(0.2, 1.5), 3) + 1e-4
        return f"while {n} {edge} ({s})", lambda m, p, c: m.bounded(
            n, lambda v: m.sum(v * v) < edge, lambda v: f(m, p, v) + 0.1, c
        )
    if kind == "rows":
        return f"rows ({s})", lambda m, p, c: m.fori_loop(0, 3, lambda i, v: f(m, p, v) * c[i] + p[-i - 1], c)
    if kind == "grad":
        return f"grad ({s})", lambda m, p, c: m.tanh(m.grad(lambda v: m.sum(f(m, p, v) * p + 0.1 * v * v))(c)) + c
    return f"vmap ({s}) ({t})", lambda m, p, c: m.mean(
        m.vmap(lambda k: m.cond(k > 0.8, lambda v: f(m, p, v * k), lambda v: g(m, p, v), c))(p), 0
    )


programs = st.randoms(use_true_random=False).map(Program)


def close(a: Any, b: Any, rtol: float = 1e-11) -> None:
    for x, y in zip(qb.tree.leaves(a), qb.tree.leaves(b), strict=True):
        x, y = x.numpy(), y.numpy()
        assert x.shape == y.shape
        np.testing.assert_allclose(x, y, rtol=rtol, atol=rtol * max(1.0, np.abs(y).max(initial=0.0)))


def along(f: Any) -> Any:
    return lambda x: qb.jvp(f, (x,), (qb.array(T),))[1]


def derivatives(f: Any, *, reverse: bool = True) -> list[Any]:
    if not reverse:
        return [f, along(f), along(along(f))]
    return [
        f,
        qb.grad(f),
        along(f),
        along(qb.grad(f)),
        qb.grad(along(f)),
        qb.grad(lambda x: qb.sum(qb.grad(f)(x) ** 2)),
    ]


X = qb.array(POINT)


@given(programs)
def test_traced_programs_give_the_bits_of_eager_execution(p):
    qb.config.cpu_engine = "numpy"
    for m in (Regions(), While()) if "grad" not in p.text else (Regions(),):
        got = qb.jit(lambda x, m=m: p.run(m, x))(X).numpy()
        np.testing.assert_array_equal(got, p.run(m, X).numpy())
    close(qb.jit(lambda x: p.run(Regions(), x))(X), p.run(Plain(), X))


@given(programs)
def test_derivatives_agree_with_the_unrolled_program(p):
    qb.config.cpu_engine = "numpy"
    want = derivatives(p.scalar(Plain()))
    for g, h in zip(derivatives(p.scalar(Regions())), want, strict=True):
        close(g(X), h(X))
    if "grad" not in p.text:
        for g, h in zip(derivatives(p.scalar(While()), reverse=False), (want[0], want[2]), strict=False):
            close(g(X), h(X))


@given(programs, st.sampled_from(["sqrt", 1, 2, 3]))
def test_checkpoint_policies_agree(p, policy):
    f = p.scalar(Regions())
    qb.config.loop_checkpoint = "full"
    want = [g(X) for g in derivatives(f)[1:]]
    qb.config.loop_checkpoint = policy
    close([g(X) for g in derivatives(lambda x: f(x))[1:]], want)
    qb.config.loop_checkpoint = "auto"


@given(programs)
def test_batches_agree_with_a_python_loop(p):
    qb.config.cpu_engine = "numpy"
    xs = qb.array(LANES)
    for g in derivatives(p.scalar(Regions())):
        close(qb.vmap(g)(xs), qb.stack([g(x) for x in xs]))
    if "grad" not in p.text:
        for g in derivatives(p.scalar(While()), reverse=False):
            close(qb.vmap(g)(xs), qb.stack([g(x) for x in xs]))


@few
@given(programs)
def test_xla_agrees_with_the_plan(p):
    f = p.scalar(Regions())
    both = lambda x: (p.run(Regions(), x), qb.grad(f)(x), qb.vmap(qb.grad(f))(qb.stack([x, x * 1.1])))  # noqa: E731
    qb.config.cpu_engine = "numpy"
    want = qb.jit(both)(X)
    qb.config.cpu_engine = "xla"
    close(qb.jit(lambda x: both(x))(X), want)


@few
@given(programs)
def test_jax_agrees(p):
    jax = pytest.importorskip("jax", reason="JAX is an oracle of the dev extra")
    jax.config.update("jax_enable_x64", True)
    lax, jnp = jax.lax, jax.numpy

    class Oracle:
        fori_loop = staticmethod(lax.fori_loop)
        cond = staticmethod(lax.cond)
        grad, vmap = staticmethod(jax.grad), staticmethod(jax.vmap)

        def scan(self, f: Any, c: Any, length: int) -> Any:
            return lax.scan(f, c, jnp.arange(length))

        def bounded(self, steps: int, test: Any, body: Any, c: Any) -> Any:
            return lax.fori_loop(0, steps, lambda i, c: lax.cond(test(c), body, lambda v: v, c), c)

        def __getattr__(self, name: str) -> Any:
            return getattr(jnp, name)

    weights = jnp.array([1.0, -0.7, 0.4])
    theirs = jax.vmap(jax.value_and_grad(lambda x: jnp.sum(p.step(Oracle(), x, jnp.sin(x)) * weights)))
    got = qb.vmap(qb.value_and_grad(p.scalar(Regions())))(qb.array(LANES))
    for a, b in zip(got, theirs(LANES), strict=True):
        np.testing.assert_allclose(a.numpy(), np.asarray(b), rtol=1e-10, atol=1e-10)
