"""A while loop with a bound: reverse mode, batching, and what it promises.

The truth is the same loop written out for the number of iterations that each input needs.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import quabla as qb


def newton_root(x, most=30):
    """The square root of ``x`` by Newton's iteration, which stops where it no longer moves."""
    moves = lambda c: qb.abs(c[0] - c[1]) > 1e-14 * c[0]  # noqa: E731
    return qb.while_loop(moves, lambda c: (0.5 * (c[0] + x / c[0]), c[0]), (x, 2.0 * x), max_steps=most)[0]


def growth(x, p):
    """A loop that stops by its own carry; both carries and a captured value have derivatives."""
    step = lambda c: (c[0] * p + 1.0, c[1] * qb.sin(c[0]) + p)  # noqa: E731
    a, b = qb.while_loop(lambda c: c[0] < 50.0, step, (x, x * 2.0), max_steps=64)
    return a + b


def written_out(x, p):
    count, now = 0, float(x)
    while now < 50.0:
        now, count = now * float(p) + 1.0, count + 1

    def run(x, p):
        a, b = x, x * 2.0
        for _ in range(count):
            a, b = a * p + 1.0, b * qb.sin(a) + p
        return a + b

    return run


def forward(f):
    return lambda x: qb.jvp(f, (x,), (qb.ones(x.shape),))[1]


MODES = {"forward": forward, "reverse": qb.grad}
STARTS = [0.3, 1.3, 20.0, 60.0]
P = qb.array(1.5)


@pytest.mark.parametrize("cpu", ["numpy", "xla"])
@pytest.mark.parametrize("policy", ["full", "sqrt", "auto", 3])
def test_derivatives_are_those_of_the_loop_written_out(cpu, policy, engine):
    engine(cpu)
    qb.config.loop_checkpoint = policy
    for x in map(qb.array, STARTS):
        want = written_out(x, P)
        assert growth(x, P).item() == want(x, P).item()
        for got, truth in zip(qb.grad(growth, (0, 1))(x, P), qb.grad(want, (0, 1))(x, P), strict=True):
            np.testing.assert_allclose(got.item(), truth.item(), rtol=1e-13)


@pytest.mark.parametrize("policy", ["full", 3])
def test_higher_derivatives_in_every_combination_of_modes(policy):
    qb.config.loop_checkpoint = policy
    x = qb.array(1.3)
    want = written_out(x, P)
    for order in (2, 3):
        truth = want
        for _ in range(order):
            truth = qb.grad(truth)
        for modes in itertools.product(MODES.values(), repeat=order):
            f = lambda x: growth(x, P)  # noqa: E731
            for mode in modes:
                f = mode(f)
            np.testing.assert_allclose(f(x).item(), truth(x, P).item(), rtol=1e-11)


@pytest.mark.parametrize("cpu", ["numpy", "xla"])
def test_lanes_stop_on_their_own_in_derivatives_too(cpu, engine):
    engine(cpu)
    xs = qb.array(STARTS)
    alone = np.array([[g.item() for g in qb.grad(growth, (0, 1))(qb.array(x), P)] for x in STARTS])
    for wrap in (lambda f: f, qb.jit):
        got = wrap(qb.vmap(qb.grad(growth, (0, 1)), (0, None)))(xs, P)
        np.testing.assert_allclose(np.stack([g.numpy() for g in got], 1), alone, rtol=1e-13)
        summed = lambda xs, p: qb.sum(qb.vmap(growth, (0, None))(xs, p))  # noqa: E731
        gx, gp = wrap(qb.grad(summed, (0, 1)))(xs, P)
        np.testing.assert_allclose(gx.numpy(), alone[:, 0], rtol=1e-13)
        np.testing.assert_allclose(gp.item(), alone[:, 1].sum(), rtol=1e-13)
    second = np.array([qb.grad(qb.grad(growth))(qb.array(x), P).item() for x in STARTS])
    np.testing.assert_allclose(qb.vmap(qb.grad(qb.grad(growth)), (0, None))(xs, P).numpy(), second, rtol=1e-12)
    over = qb.grad(lambda xs: qb.sum(qb.vmap(qb.grad(growth), (0, None))(xs, P)))(xs)
    np.testing.assert_allclose(over.numpy(), second, rtol=1e-12)


def test_the_derivative_of_an_iteration_is_that_of_its_limit():
    xs = np.array([0.25, 2.0, 9.0, 1e4])
    np.testing.assert_allclose(qb.vmap(newton_root)(xs).numpy(), np.sqrt(xs), rtol=1e-15)
    np.testing.assert_allclose(qb.vmap(qb.grad(newton_root))(xs).numpy(), 0.5 / np.sqrt(xs), rtol=1e-12)


def test_a_stopped_lane_is_not_asked_for_a_derivative_where_it_has_none():
    """At the carry where a lane has stopped, ``log`` is infinite and so is its slope."""

    def f(x, n):
        step = lambda c: (c[0] + 1.0, qb.where(c[0] + 1.0 < n, qb.log(c[1] + 2.0), -2.0))  # noqa: E731
        return qb.while_loop(lambda c: c[0] < n, step, (qb.array(0.0), x), max_steps=8)[1]

    xs, ns = qb.array([1.0, 1.0]), qb.array([1.0, 5.0])
    assert qb.grad(lambda xs: qb.sum(qb.vmap(f)(xs, ns)))(xs).tolist() == [0.0, 0.0]
    assert qb.vmap(qb.grad(f))(xs, ns).tolist() == [0.0, 0.0]


def test_buffers_that_lanes_write_to():
    """Each lane writes the squares of its carry until it stops, and adds to the last row once."""

    def f(x, n):
        def step(c):
            i, rows, total = c
            rows = qb.concat([qb.where(qb.equal(i, qb.arange(6.0)), x * i, rows[:6]), rows[6:]], 0)
            return i + 1.0, rows, total + qb.sum(rows * rows)

        return qb.while_loop(lambda c: c[0] < n, step, (qb.array(0.0), qb.zeros(7), x), max_steps=6)[2]

    xs, ns = qb.array([0.5, 2.0, -1.0]), qb.array([0.0, 3.0, 6.0])
    alone = [qb.grad(f)(x, n).item() for x, n in zip(xs, ns, strict=True)]
    truth = [1.0 + 2.0 * x * sum(sum(i * i for i in range(k + 1)) for k in range(int(n))) for x, n in
             zip(xs.tolist(), ns.tolist(), strict=True)]  # fmt: skip
    np.testing.assert_allclose(alone, truth, rtol=1e-14)
    np.testing.assert_allclose(qb.vmap(qb.grad(f))(xs, ns).numpy(), truth, rtol=1e-14)


@pytest.mark.parametrize("run", [lambda f: f, qb.jit], ids=["eager", "jit"])
def test_the_bound_stops_the_loop(run):
    f = lambda x: qb.while_loop(lambda c: c < 1e9, lambda c: c * 2.0, x, max_steps=5)  # noqa: E731
    assert run(f)(qb.array(1.0)).item() == 32.0
    assert run(qb.grad(f))(qb.array(1.0)).item() == 32.0
    assert run(qb.vmap(f))(qb.array([1.0, 2e9])).tolist() == [32.0, 2e9]


def test_the_bound_is_checked():
    for bad, error in ((0, ValueError), (-1, ValueError), (2.0, TypeError), (True, TypeError)):
        with pytest.raises(error, match="while_loop: max_steps must"):
            qb.while_loop(lambda c: c < 1.0, lambda c: c, 0.0, max_steps=bad)


def test_inside_other_control_flow():
    def f(x):
        def row(c, i):
            c = qb.cond(i < 2.0, lambda v: growth(v, P), lambda v: newton_root(v), qb.abs(c) + 0.1)
            return c, c * c

        return qb.sum(qb.scan(row, x, length=4)[1])

    def plain(x):
        total, c = 0.0, x
        for i in range(4):
            c = qb.abs(c) + 0.1
            c = written_out(c.item(), P)(c, P) if i < 2 else qb.sqrt(c)
            total = total + c * c
        return total

    x = qb.array(0.7)
    steps = qb.grad(f)(x).item()
    h = 1e-6
    slope = (plain(x + h).item() - plain(x - h).item()) / (2 * h)
    np.testing.assert_allclose(f(x).item(), plain(x).item(), rtol=1e-13)
    np.testing.assert_allclose(steps, slope, rtol=1e-6)
    np.testing.assert_allclose(forward(f)(x).item(), steps, rtol=1e-12)


def test_the_text_and_the_module_keep_the_bound():
    from quabla.dialect import reader, text, writer

    traced = qb.jit(qb.grad(growth)).lower(1.0, 1.5)
    shown = traced.as_text()
    assert shown.count("bound=64") == 2
    graph = text.parse(shown)
    assert text.as_text(graph) == shown
    module = writer.write(graph)
    assert str(module).count("qb.bound = 64 : index") == 2
    assert text.as_text(reader.read(module.body.operations[0])) == shown
