"""Elementwise ops on large arrays, block by block: the same bits as op by op, and no array for what is in between."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import quabla as qb
from quabla.tracing import chains
from quabla.tracing.chains import Chain
from quabla.tracing.graph import build
from quabla.tracing.plan import Plan

RNG = np.random.default_rng(5)
SHAPES = [
    (chains.LEAST,),
    (chains.LEAST + 1,),
    (1, chains.LEAST + chains.BLOCK - 1),
    (333, 100),
    (3, 200, 80),
    (2, 40_000),
    (5, chains.BLOCK),
    (8, 9, 10, 11, 12),
]


def plan_of(f, *args) -> Plan:
    def run(*values):
        out = f(*values)
        return out if isinstance(out, tuple) else (out,)

    return Plan(build([a.type for a in args], None, run))


def chains_in(plan: Plan) -> list[Chain]:
    return [kernel for kernel, *_ in plan.steps if isinstance(kernel, Chain)]


def program(x, y, s):
    """Reused values, several results, bools, and kernels that are no ufuncs."""
    a = qb.sin(x) * y + s
    b = qb.where(a > 0.2, a * a, qb.sqrt(qb.abs(x)))
    c = qb.maximum(b, y) - qb.sigmoid(a)
    return a, c / (b + 1.0), qb.logical_not(c < a)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_chain_gives_the_bits_of_its_ops(shape, dtype, monkeypatch):
    x = RNG.normal(size=shape).astype(dtype)
    for other in (shape, shape[-1:], (*shape[:-1], 1), ()):
        y = RNG.normal(size=other).astype(dtype)
        args = (qb.array(x), qb.array(y), qb.array(dtype(0.5)))
        plan = plan_of(program, *args)
        assert len(chains_in(plan)) == 1
        got = plan([x, y, np.asarray(0.5, dtype)])
        with monkeypatch.context() as patch:
            patch.setattr(chains, "LEAST", 1 << 60)
            alone = plan_of(program, *args)
        assert not chains_in(alone)
        for r, want in zip(got, alone([x, y, np.asarray(0.5, dtype)]), strict=True):
            assert r.dtype == want.dtype
            assert r.tobytes() == want.tobytes()


def test_operands_are_not_written_to():
    x = RNG.normal(size=chains.LEAST)
    kept = x.copy()
    f = lambda x: (qb.exp(x) * 2.0 + x, -x * 3.0)  # noqa: E731
    plan = plan_of(f, qb.array(x))
    plan([x])
    assert x.tobytes() == kept.tobytes()


def test_values_between_the_ops_are_no_arrays():
    n = 1 << 20
    f = lambda x: ((x * 2.0 + 1.0) * x - 3.0) / (x * x + 1.0)  # noqa: E731
    x = RNG.normal(size=n)
    plan = plan_of(f, qb.array(x))
    tracemalloc.start()
    try:
        plan([x])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1.2 * x.nbytes


def test_a_result_takes_the_place_of_what_nothing_reads_any_more():
    n = 1 << 20
    f = lambda x: qb.cumsum(qb.exp(qb.cumsum(x) * 1e-6) * 2.0)  # noqa: E731
    x = RNG.normal(size=n)
    plan = plan_of(f, qb.array(x))
    assert len(chains_in(plan)) == 1
    tracemalloc.start()
    try:
        (got,) = plan([x])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2.3 * x.nbytes  # the first sum, which the chain writes over, and the last
    np.testing.assert_array_equal(got, np.cumsum(np.exp(np.cumsum(x) * 1e-6) * 2.0))


def test_inside_loops_and_gradients(monkeypatch):
    x = qb.array(RNG.normal(size=(chains.LEAST + 17,)))

    def f(x):
        y = qb.fori_loop(0, 3, lambda i, c: qb.sin(c * 1.5) + 0.1 * c + x, x)
        return qb.sum(y * y * qb.exp(-y))

    got = qb.jit(qb.value_and_grad(f))(x)
    with monkeypatch.context() as patch:
        patch.setattr(chains, "LEAST", 1 << 60)
        want = qb.jit(qb.value_and_grad(f))(x)
    assert got[0].item() == want[0].item()
    assert got[1].numpy().tobytes() == want[1].numpy().tobytes()
