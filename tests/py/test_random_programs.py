"""Random programs: every way to run or differentiate one agrees with every other, and with JAX."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from random_programs import Program, Quabla, random_program

import quabla as qb

STEPS = 7
M, M32 = Quabla(), Quabla(qb.float32)

#: Hypothesis shrinks the choices that make a program.
programs = st.randoms(use_true_random=False).map(lambda rng: random_program(rng, STEPS))
#: JAX compiles every program for long; a few, different in each kind of test, are enough here.
few = settings(max_examples=max(settings().max_examples // 8, 3))


def arrays(tree):
    return [x.numpy() for x in qb.tree.leaves(tree)]


def close(actual, desired, rtol):
    """Leaves agree to ``rtol`` of the largest element."""
    a, b = arrays(actual), arrays(desired)
    assert [x.shape for x in a] == [x.shape for x in b]
    assert [x.dtype for x in a] == [x.dtype for x in b]
    for x, y in zip(a, b, strict=True):
        np.testing.assert_allclose(x, y, rtol=rtol, atol=rtol * max(1.0, np.abs(y).max(initial=0.0)))


def inner(a, b):
    return sum(float(np.sum(x * y)) for x, y in zip(arrays(a), arrays(b), strict=True))


class Case:
    """A program as a function of float64 or float32 arrays, with two directions."""

    def __init__(self, p: Program) -> None:
        self.program = p
        self.x = tuple(qb.array(a) for a in p.inputs)
        self.x32 = tuple(qb.array(a.astype(np.float32)) for a in p.inputs)
        self.every = tuple(range(len(self.x)))
        rng = np.random.default_rng(0)
        self.t, self.u = (tuple(qb.array(rng.normal(size=a.shape)) for a in p.inputs) for _ in range(2))

    def f(self, *x):
        return self.program.scalar(M, x)

    def run(self, *x):
        return self.program.run(M, x)

    def grad(self, *x):
        return qb.grad(self.f, self.every)(*x)

    def along(self, *x):
        return qb.jvp(self.f, x, self.t)[1]


cases = programs.map(Case)


# ---- engines and dtypes -------------------------------------------------------------------------


@given(cases)
def test_plan_gives_the_bits_of_eager_execution(c):
    # A traced square of a norm is the sum of squares, without the root: smooth at the origin, and rounded less often.
    exact = "norm" not in str(c.program)
    for inputs, run in ((c.x, c.run), (c.x32, lambda *x: c.program.run(M32, x))):
        for a, b in zip(arrays(qb.jit(run)(*inputs)), arrays(run(*inputs)), strict=True):
            if exact:
                np.testing.assert_array_equal(a, b)
            else:
                np.testing.assert_allclose(a, b, rtol=1e-5 if a.dtype == np.float32 else 1e-13)


@few
@given(cases)
def test_xla_agrees_with_the_plan_to_rounding(c):
    for inputs, m, rtol in ((c.x, M, 1e-12), (c.x32, M32, 1e-6)):
        f = lambda *x, m=m: c.program.scalar(m, x)  # noqa: E731
        both = lambda *x, m=m, f=f: (c.program.run(m, x), qb.grad(f, c.every)(*x))  # noqa: E731
        qb.config.cpu_engine = "numpy"
        plan = qb.jit(both)(*inputs)
        qb.config.cpu_engine = "xla"
        close(qb.jit(both)(*inputs), plan, rtol)


@given(cases)
def test_float32_is_kept_and_agrees_with_float64(c):
    value, grads = qb.value_and_grad(lambda *x: c.program.scalar(M32, x), c.every)(*c.x32)
    assert all(x.dtype is qb.float32 for x in (value, *grads))
    wide = tuple(qb.astype(x, qb.float64) for x in (value, *grads))
    close(wide, qb.tree.leaves(qb.value_and_grad(c.f, c.every)(*c.x)), 1e-3)


# ---- first and second derivatives ---------------------------------------------------------------


@given(cases)
def test_forward_and_reverse_mode_agree(c):
    grads = c.grad(*c.x)
    assert inner(grads, c.t) == pytest.approx(c.along(*c.x).item(), rel=1e-9, abs=1e-9 * max(1.0, inner(grads, grads)))


@given(cases)
def test_derivatives_agree_with_central_differences(c):
    if any(s.name == "stop_gradient" for s in c.program.steps):
        return

    def at(h, f):
        return arrays(f(*[qb.array(x + h * t.numpy()) for x, t in zip(c.program.inputs, c.t, strict=True)]))

    def difference(f, h=1e-4):
        wide, narrow = ([(a - b) / (2 * s) for a, b in zip(at(s, f), at(-s, f), strict=True)] for s in (h, h / 2))
        return [(4 * n - w) / 3 for w, n in zip(wide, narrow, strict=True)]

    for f, derivative in ((c.f, (c.along(*c.x),)), (c.grad, qb.jvp(c.grad, c.x, c.t)[1])):
        for d, want in zip(arrays(derivative), difference(f), strict=True):
            np.testing.assert_allclose(d, want, rtol=1e-5, atol=1e-5 * max(1.0, np.abs(want).max(initial=0.0)))


@given(cases)
def test_second_derivatives_agree_in_every_combination_of_modes(c):
    forward_reverse = qb.jvp(c.grad, c.x, c.t)[1]
    close(qb.grad(c.along, c.every)(*c.x), forward_reverse, 1e-9)
    dot = lambda *x: sum(qb.sum(g * t) for g, t in zip(c.grad(*x), c.t, strict=True))  # noqa: E731
    close(qb.vjp(dot, *c.x)[1](1.0), forward_reverse, 1e-9)
    forward_forward = qb.jvp(c.along, c.x, c.u)[1].item()
    size = max(1.0, inner(forward_reverse, forward_reverse))
    assert inner(forward_reverse, c.u) == pytest.approx(forward_forward, rel=1e-8, abs=1e-8 * size)
    blocks = qb.hessian(c.f, c.every)(*c.x)
    products = tuple(sum(qb.tensordot(b, t, len(t.shape)) for b, t in zip(row, c.t, strict=True)) for row in blocks)
    close(products, forward_reverse, 1e-9)


# ---- batching -----------------------------------------------------------------------------------


@given(cases, st.randoms(use_true_random=False))
def test_vmap_agrees_with_a_loop(c, rng):
    axes = [rng.choice([None, *range(-x.ndim - 1, x.ndim + 1)]) for x in c.program.inputs]
    axes[rng.randrange(len(axes))] = 0
    shifts = (0.0, 1e-3, -2e-3)
    rows = [tuple(x if a is None else x + h for x, a in zip(c.x, axes, strict=True)) for h in shifts]
    batch = [x if a is None else qb.stack([x + h for h in shifts], a) for x, a in zip(c.x, axes, strict=True)]
    second = lambda *x: qb.jvp(c.grad, x, c.t)[1]  # noqa: E731
    for f in (c.run, c.grad, c.along, second, qb.jacobian(c.f, c.every)):
        mapped = qb.vmap(f, tuple(axes))(*batch)
        close(mapped, [qb.stack(xs) for xs in zip(*[qb.tree.leaves(f(*r)) for r in rows], strict=True)], 1e-9)


# ---- JAX ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def oracle():
    jax = pytest.importorskip("jax", reason="JAX is an oracle of the dev extra")
    jax.config.update("jax_enable_x64", True)
    return jax


KINDS = ("value and gradient", "forward over reverse", "reverse over forward", "jacobian", "vmap")


@pytest.mark.parametrize("kind", KINDS)
@few
@given(cases)
def test_jax_agrees(oracle, kind, c):
    from jax_namespace import Jax

    m, x = Jax(), [np.asarray(a) for a in c.program.inputs]
    f, run = lambda *x: c.program.scalar(m, x), lambda *x: c.program.run(m, x)
    t = [np.asarray(a) for a in arrays(c.t)]
    if kind == "value and gradient":
        ours, theirs = qb.jit(qb.value_and_grad(c.f, c.every)), oracle.value_and_grad(f, c.every)
    elif kind == "forward over reverse":
        ours = lambda *x: qb.jvp(c.grad, x, c.t)  # noqa: E731
        theirs = lambda *x: oracle.jvp(oracle.grad(f, c.every), x, tuple(t))  # noqa: E731
    elif kind == "reverse over forward":
        ours = qb.grad(c.along, c.every)
        theirs = oracle.grad(lambda *x: oracle.jvp(f, x, tuple(t))[1], c.every)
    elif kind == "jacobian":
        ours, theirs = qb.jacobian(c.run, c.every), oracle.jacfwd(run, c.every)
    else:
        x = [np.stack([a, a + 1e-3], axis=-1) for a in x]
        ours, theirs = qb.vmap(c.run, -1, 0), oracle.vmap(run, -1, 0)
    got = arrays(ours(*map(qb.array, x)))
    want = [np.asarray(a) for a in oracle.tree.leaves(oracle.jit(theirs)(*x))]
    assert [a.shape for a in got] == [a.shape for a in want]
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9 * max(1.0, np.abs(b).max(initial=0.0)))


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_many_longer_programs(block):
    for seed in range(50 * block, 50 * block + 50):
        c = Case(random_program(Random(seed), 12))
        test_second_derivatives_agree_in_every_combination_of_modes.hypothesis.inner_test(c)
        test_forward_and_reverse_mode_agree.hypothesis.inner_test(c)
