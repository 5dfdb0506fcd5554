"""Loops written down as Python code give the bits of the plan."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from control_programs import POINT, PROGRAMS, REVERSIBLE

import quabla as qb
from quabla.ode import odeint
from quabla.tracing import loops
from quabla.tracing.plan import Plan
from quabla.tracing.trace import Arguments, trace

SPECIAL = [0.0, -0.0, 1.0, -1.5, 5e-324, 1e308, math.inf, -math.inf, math.nan]


def both(monkeypatch, f, *args):
    """The results of the plan alone, and with every loop written down before its first iteration."""
    arrays = [qb.array(a) for a in args]
    graph = trace(lambda *xs: qb.tree.leaves(f(*xs)), Arguments(arrays)).graph
    results = []
    for patience in (math.inf, 0):
        monkeypatch.setattr(loops, "PATIENCE", patience)
        results.append(Plan(graph)([np.array(a.data) for a in (*arrays, *graph.captures)]))
    return results


def same_bits(plan, python):
    for a, b in zip(plan, python, strict=True):
        a, b = np.asarray(a), np.asarray(b)
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_array_equal(a, b)
        if a.dtype.kind == "f":
            np.testing.assert_array_equal(np.signbit(a) & ~np.isnan(a), np.signbit(b) & ~np.isnan(b))


@pytest.mark.parametrize("shape", [(), (1,), (2,), (1, 2), (7,)])
def test_sums_of_negative_zeros(shape, monkeypatch):
    f = lambda x: qb.fori_loop(0, 3, lambda i, c: (-(c[0] * c[0]), qb.sum(c[0])), (x, qb.array(1.0)))  # noqa: E731
    same_bits(*both(monkeypatch, f, np.full(shape, -0.0)))


OPS = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "neg": lambda x, y: -x,
    "abs": lambda x, y: qb.abs(x),
    "sqrt": lambda x, y: qb.sqrt(x),
    "maximum": qb.maximum,
    "minimum": qb.minimum,
    "less": lambda x, y: qb.where(x < y, 1.0, 2.0),
    "less or equal": lambda x, y: qb.where(x <= y, 1.0, 2.0),
    "equal": lambda x, y: qb.where(qb.equal(x, y), x, 2.0),
    "not equal": lambda x, y: qb.where(qb.not_equal(x, y), x, 2.0),
    "both": lambda x, y: qb.where(qb.logical_and(x > y, qb.logical_not(y > 0.0)), x, y),
    "finite": lambda x, y: qb.where(qb.isfinite(x), y, x),
    "power": qb.power,
    "exp": lambda x, y: qb.exp(x) * y,
    "sign": lambda x, y: qb.sign(x) + qb.sin(y),
    "constants": lambda x, y: qb.maximum(x, math.nan) + qb.where(y > -0.0, -math.inf, 0.0) * x,
}


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("shape", [(), (1,), (3,)])
def test_ops_on_special_values(monkeypatch, op, shape):
    def f(x, y):
        return qb.fori_loop(0, 2, lambda i, c: OPS[op](c, y), x)

    for x, y in itertools.product(SPECIAL, SPECIAL):
        same_bits(*both(monkeypatch, f, np.full(shape, x), np.full(shape, y)))


MOVES = {
    "slices": lambda i, c: qb.concat([c[1:], c[:1]], 0) + c[::-1] * 0.5,
    "reshape": lambda i, c: qb.reshape(qb.transpose(qb.reshape(c, (2, 3))), (6,)) * 1.1,
    "stack": lambda i, c: qb.reshape(qb.stack([c[k] * c[k + 1] for k in range(3)] + [c[5], c[0], i]), (6,)),
    "broadcast": lambda i, c: qb.sum(qb.reshape(c, (6, 1)) * c, 0) / 10.0,
    "row": lambda i, c: c + c[i],
    "product": lambda i, c: qb.matmul(qb.reshape(c, (2, 3)), qb.reshape(c, (3, 2))).reshape((4,))[0] * c / 10.0,
    "sums": lambda i, c: c * qb.sum(c[:3]) + qb.max(c) - qb.min(c[1:]) + qb.sum(qb.reshape(c, (2, 3)), 1)[0],
    "masks": lambda i, c: qb.where(qb.concat([c[:3] > 0.0, c[3:] < 0.0], 0), c, -c),
    "any": lambda i, c: qb.where(qb.any(c > 2.0), c, c * 1.5),
    "set": lambda i, c: c.at[i].set(c[0] * 2.0).at[1].add(i),
    "long": lambda i, c: c + qb.sum(qb.arange(100) * c[0]) * 1e-3,
}


@pytest.mark.parametrize("name", MOVES)
def test_moves_and_reductions(monkeypatch, name):
    x = np.array([1.0, -2.0, 0.5, 3.0, -0.25, 2.0])
    same_bits(*both(monkeypatch, lambda x: qb.fori_loop(0, 4, MOVES[name], x), x))


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_with_control_flow(monkeypatch, name):
    f = PROGRAMS[name]
    same_bits(*both(monkeypatch, f, POINT))
    if name in REVERSIBLE:
        same_bits(*both(monkeypatch, qb.grad(f), POINT))


@pytest.mark.parametrize("method", ["rk4", "dopri5", "tsit5", "radau", "rosenbrock23"])
@pytest.mark.parametrize("saved", [False, True])
def test_differential_equations(monkeypatch, method, saved):
    options = {"steps": 100} if method == "rk4" else {}
    if saved:
        options["saveat"] = [0.0, 0.7, 0.7, 2.0]

    def solve(y):
        f = lambda y, t: qb.stack([1.5 * y[0] - y[0] * y[1], y[0] * y[1] - 3.0 * y[1] + qb.sin(t)])  # noqa: E731
        return odeint(f, y, (0.0, 2.0), method=method, **options)

    same_bits(*both(monkeypatch, solve, [1.0, 2.0]))
    same_bits(*both(monkeypatch, qb.grad(lambda y: qb.sum(solve(y) ** 2)), [1.0, 2.0]))


def test_carries_of_every_dtype(monkeypatch):
    def f(x):
        def body(i, c):
            mask, n, small, last, none = c
            return qb.logical_not(mask), n + 1, small * 1.1, qb.where(mask, last + n.astype(qb.float64), last), none

        start = (x > 0.0, qb.array(3, dtype=qb.int64), x.astype(qb.float32), x, qb.zeros(0) * x[0])
        return qb.fori_loop(0, 5, body, start)

    same_bits(*both(monkeypatch, f, np.array([1.0, -1.0])))


def test_operands_are_not_written_to(monkeypatch):
    monkeypatch.setattr(loops, "PATIENCE", 0)
    buffer = np.zeros(600)
    graph = trace(lambda b: qb.fori_loop(0, 600, lambda i, c: c.at[i].set(i), b), Arguments([qb.array(buffer)])).graph
    (result,) = Plan(graph)([buffer])
    np.testing.assert_array_equal(result, np.arange(600.0))
    np.testing.assert_array_equal(buffer, 0.0)


def written(f, *args):
    """How often loops are written down in a call."""
    made = []
    old = loops.PythonLoop.written
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loops.PythonLoop, "written", lambda self: made.append(self) or old(self))
        graph = trace(f, Arguments([qb.array(a) for a in args])).graph
        plan = Plan(graph)
        for _ in range(3):
            plan([*map(np.array, args), *(x.data for x in graph.captures)])
    return len(made)


def test_what_is_written_down():
    decay = lambda n: lambda x: qb.fori_loop(0, n, lambda i, c: c - 0.01 * c * i, x)  # noqa: E731
    assert written(decay(loops.PATIENCE // 4), 1.0) == 0  # hardly run
    assert written(decay(loops.PATIENCE // 2), 1.0) == 1  # run again and again
    assert written(decay(10 * loops.PATIENCE), 1.0) == 1
    assert written(decay(10 * loops.PATIENCE), np.ones(loops.MANY)) == 0  # kernels take the time

    def deep(levels):
        def body(i, c):
            return c * 0.5 + i if levels == 0 else deep(levels - 1)(c)

        return lambda x: qb.fori_loop(0, 2, body, x)

    same = lambda x: qb.fori_loop(0, 100, lambda i, c: deep(loops.DEEPEST + 1)(c), x)  # noqa: E731
    assert written(same, 1.0) <= 1 + loops.DEEPEST


def test_a_loop_goes_on_where_the_plan_left_it(monkeypatch):
    def f(x):
        return qb.while_loop(lambda c: c[1] < 1000.0, lambda c: (c[0] * 1.001 + c[1] % 3.0, c[1] + 1.0), (x, 0.0))

    def g(x):
        return qb.scan(lambda c, i: (c * 0.99 + i, c), x, length=300)

    for function in (f, g):
        graph = trace(lambda x, function=function: qb.tree.leaves(function(x)), Arguments([qb.array(2.0)])).graph
        monkeypatch.setattr(loops, "PATIENCE", math.inf)
        want = Plan(graph)([np.array(2.0)])
        for patience in (0, 1, 50, 299):
            monkeypatch.setattr(loops, "PATIENCE", patience)
            plan = Plan(graph)
            for _ in range(2):
                same_bits(want, plan([np.array(2.0)]))
