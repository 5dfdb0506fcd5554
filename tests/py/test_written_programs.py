"""Random programs with functions, loops, choices and transforms in them: all ways to run and derive one agree, and JAX.

A seed names a program; a failure shows its source, which runs as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from random import Random
from typing import Any

import numpy as np
import pytest
from written_programs import Program, Quabla, write_program

import quabla as qb

M, M32 = Quabla(), Quabla(qb.float32)
Check = tuple[str, Callable[..., Any], Callable[..., Any], float]


def arrays(tree: Any) -> list[np.ndarray]:
    return [np.asarray(x) for x in qb.tree.leaves(tree)]


def close(got: list[np.ndarray], want: list[np.ndarray], rtol: float) -> bool:
    """Leaves have the same shapes and dtypes and agree to ``rtol`` of the largest element."""
    return [(x.shape, x.dtype) for x in got] == [(x.shape, x.dtype) for x in want] and all(
        np.allclose(x, y, rtol, rtol * np.abs(y[np.isfinite(y)]).max(initial=1.0), equal_nan=True)
        for x, y in zip(got, want, strict=True)
    )


class Case:
    """A program, directions in which to derive it, and axes along which to map it."""

    def __init__(self, seed: int, *, kinks: bool) -> None:
        rng = Random(seed)
        self.program = write_program(rng, rng.randint(3, 14), kinks=kinks)
        self.kinks = kinks
        self.x = tuple(qb.array(a) for a in self.program.inputs)
        draw = np.random.default_rng(seed)
        self.t, self.u = (tuple(qb.array(draw.normal(size=x.shape)) for x in self.x) for _ in range(2))
        self.every = tuple(range(len(self.x)))
        self.axes = (0, *(rng.choice([None, *range(-x.ndim - 1, x.ndim + 1)]) for x in self.x[1:]))
        self.lanes = [
            tuple(x if a is None else x * s + h for x, a in zip(self.x, self.axes, strict=True))
            for s, h in ((1.0, 0.0), (1.07, 0.01))
        ]
        self.batch = [
            a if k is None else qb.stack(xs, k) for a, k, *xs in zip(self.x, self.axes, *self.lanes, strict=True)
        ]

    # ---- the program and its derivatives ----

    def run(self, *x: Any) -> Any:
        return self.program.run(M, *x)

    def scalar(self, *x: Any) -> Any:
        return self.program.scalar(M, *x)

    def grad(self, *x: Any) -> Any:
        return qb.grad(self.scalar, self.every)(*x)

    def along(self, *x: Any) -> Any:
        return qb.jvp(self.scalar, x, self.t)[1]

    def forward_over_reverse(self, *x: Any) -> Any:
        return qb.jvp(self.grad, x, self.t)[1]

    def reverse_over_forward(self, *x: Any) -> Any:
        return qb.grad(self.along, self.every)(*x)

    def reverse_over_reverse(self, *x: Any) -> Any:
        return qb.grad(lambda *x: inner(self.grad(*x), self.t), self.every)(*x)

    def third(self, *x: Any) -> Any:
        return qb.jvp(self.forward_over_reverse, x, self.u)[1]

    def third_in_reverse(self, *x: Any) -> Any:
        return qb.grad(lambda *x: inner(self.reverse_over_reverse(*x), self.u), self.every)(*x)

    def mapped(self, f: Callable[..., Any], *_: Any) -> Any:
        return qb.vmap(f, self.axes)(*self.batch)

    def by_lanes(self, f: Callable[..., Any], *_: Any) -> Any:
        rows = [qb.tree.leaves(f(*x)) for x in self.lanes]
        return [qb.stack(list(xs)) for xs in zip(*rows, strict=True)]

    def mapped_grad(self, *_: Any) -> Any:
        return qb.grad(lambda *x: qb.sum(qb.vmap(self.scalar, self.axes)(*x)), self.every)(*self.batch)

    def grad_of_lanes(self, *_: Any) -> Any:
        grads = zip(*[self.grad(*x) for x in self.lanes], strict=True)
        return [sum(g) if a is None else qb.stack(list(g), a) for g, a in zip(grads, self.axes, strict=True)]

    # ---- checks ----

    def steady(self, f: Callable[..., Any]) -> bool:
        """Whether the result is the same beside the inputs: no jump is there, and rounding errors stay small."""
        base, draw = arrays(f(*self.x)), np.random.default_rng(0)
        for _ in range(3):
            beside = [qb.array(a + 1e-12 * draw.uniform(-1, 1, a.shape) * (1 + abs(a))) for a in self.program.inputs]
            if not close(arrays(f(*beside)), base, 1e-9):
                return False
        return True

    def agree(self, name: str, f: Callable[..., Any], g: Callable[..., Any], rtol: float) -> None:
        got, want = arrays(f(*self.x)), arrays(g(*self.x))
        if not close(got, want, rtol) and (self.kinks or self.steady(f)):
            pytest.fail(f"{name}: {got} is not {want}\n{self.program}")


def inner(a: Any, b: Any) -> Any:
    return sum(qb.sum(x * y) for x, y in zip(a, b, strict=True))


def checks(c: Case) -> Iterator[Check]:
    """Pairs of functions of the inputs that have one result."""
    yield "traced", qb.jit(c.run), c.run, 1e-13
    yield "reverse", lambda *x: inner(c.grad(*x), c.t), c.along, 1e-9
    yield "reverse over forward", c.reverse_over_forward, c.forward_over_reverse, 1e-9
    yield "reverse over reverse", c.reverse_over_reverse, c.forward_over_reverse, 1e-9
    yield "traced second derivatives", qb.jit(c.reverse_over_reverse), c.reverse_over_reverse, 1e-11
    yield "third derivatives", c.third_in_reverse, c.third, 1e-8
    for f in (c.run, c.grad, c.forward_over_reverse, c.reverse_over_reverse, qb.jit(c.grad)):
        yield f"mapped {f}", partial(c.mapped, f), partial(c.by_lanes, f), 1e-9
    yield "gradient of the mapped", c.mapped_grad, c.grad_of_lanes, 1e-9


def check(seed: int, *, kinks: bool) -> None:
    qb.config.cpu_engine = "numpy"
    c = Case(seed, kinks=kinks)
    for name, f, g, rtol in checks(c):
        c.agree(name, f, g, rtol)
    if not kinks:
        differences_agree(c)


def differences_agree(c: Case) -> None:
    """First and second derivatives are those that central differences give, where these settle."""
    if "stop_gradient" in c.program.source:
        return

    def difference(f: Callable[..., Any], h: float) -> list[np.ndarray]:
        sides = [arrays(f(*[x + s * t for x, t in zip(c.x, c.t, strict=True)])) for s in (h, -h, h / 2, -h / 2)]
        return [(8 * (c - d) - (a - b)) / (6 * h) for a, b, c, d in zip(*sides, strict=True)]

    for f, derivative in ((c.scalar, c.along), (qb.jit(c.grad), c.forward_over_reverse)):
        want = difference(f, 1e-4)
        if close(difference(f, 2e-5), want, 1e-5):
            c.agree("differences", derivative, lambda *_, want=want: want, 2e-5)


@pytest.mark.parametrize("kinks", [False, True], ids=["smooth", "kinks"])
@pytest.mark.parametrize("seed", range(8))
def test_all_ways_to_derive_and_map_agree(seed: int, kinks: bool) -> None:
    check(seed, kinks=kinks)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(40))
def test_all_ways_to_derive_and_map_many_programs_agree(block: int) -> None:
    for seed in range(100 + 50 * block, 150 + 50 * block):
        check(seed, kinks=seed % 4 == 0)


# ---- float32, XLA, JAX --------------------------------------------------------------------------


def both(p: Program, m: Any, grad: Callable[..., Any], inputs: int) -> Callable[..., Any]:
    """The outputs and the gradient of a program."""
    every = tuple(range(inputs))
    return lambda *x: (p.run(m, *x), grad(lambda *x: p.scalar(m, *x), every)(*x))


@pytest.mark.parametrize("seed", range(8))
def test_float32_is_kept_and_agrees_with_float64(seed: int) -> None:
    c = Case(seed, kinks=False)
    wide = both(c.program, M, qb.grad, len(c.x))
    got = arrays(qb.jit(both(c.program, M32, qb.grad, len(c.x)))(*[qb.astype(x, qb.float32) for x in c.x]))
    assert all(x.dtype == np.float32 for x in got)
    want = arrays(wide(*c.x))
    assert close([x.astype(float) for x in got], want, 1e-3) or not c.steady(wide), c.program


@pytest.mark.parametrize("seed", [0, *(pytest.param(s, marks=pytest.mark.slow) for s in range(1, 100))])
def test_xla_agrees_with_the_plan(seed: int) -> None:
    c = Case(seed, kinks=False)
    f = both(c.program, M, qb.grad, len(c.x))
    qb.config.cpu_engine = "numpy"
    want = arrays(qb.jit(f)(*c.x))
    qb.config.cpu_engine = "xla"
    assert close(arrays(qb.jit(lambda *x: f(*x))(*c.x)), want, 1e-10) or not c.steady(f), c.program


@pytest.mark.parametrize("seed", [*range(3), *(pytest.param(s, marks=pytest.mark.slow) for s in range(3, 1000))])
def test_jax_agrees(seed: int) -> None:
    jax = pytest.importorskip("jax", reason="JAX is an oracle of the dev extra")
    jax.config.update("jax_enable_x64", True)
    from jax_namespace import Jax

    c = Case(seed, kinks=False)
    ours, theirs = both(c.program, M, qb.grad, len(c.x)), both(c.program, Jax(), jax.grad, len(c.x))
    want = [np.asarray(x) for x in jax.tree.leaves(jax.jit(theirs)(*c.program.inputs))]
    assert close(arrays(ours(*c.x)), want, 1e-9) or not c.steady(ours), c.program
