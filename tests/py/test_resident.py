"""Programs whose state stays in buffers give what the same programs give with fresh arrays."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from random_programs import Quabla, random_program

import quabla as qb
from quabla.runtime import resident
from quabla.tracing import chains, plan
from quabla.tracing.trace import Arguments, trace
from quabla.transforms.staging import captured_array


def descent(program, m):
    """A step of descent along the gradient of a random program, and its value."""

    def step(state, rest):
        def value(state):
            floats, others = iter(state), iter(rest)
            return program.scalar(m, [next(others if x.dtype == bool else floats) for x in program.inputs])

        found, grads = qb.value_and_grad(value)(state)
        return [*(x - 0.01 * g for x, g in zip(state, grads, strict=True)), found]

    return step


@pytest.mark.parametrize("blocks", [False, True], ids=["whole", "blocks"])
@pytest.mark.parametrize("seed", range(30))
def test_random_programs(monkeypatch, seed, blocks):
    """Every array that is not a scalar counts as large, so that all of them share the plan's temporary ones."""
    monkeypatch.setattr(qb.config, "cpu_engine", "numpy")
    program = random_program(Random(seed), steps=10)
    dtype = (qb.float64, qb.float32)[seed % 2]
    arrays = [qb.array(x if x.dtype == bool else x.astype(dtype.numpy)) for x in program.inputs]
    state = [x for x in arrays if x.dtype.is_float]
    rest = [x for x in arrays if not x.dtype.is_float]
    graph = trace(descent(program, Quabla(dtype)), Arguments([state, rest])).graph
    fresh = plan.Plan(graph)

    monkeypatch.setattr(plan, "LARGE", 2)
    monkeypatch.setattr(resident.StepPlan, "least", 2)
    if blocks:
        monkeypatch.setattr(chains, "LEAST", 2)
        monkeypatch.setattr(chains, "BLOCK", 3)
    kept = resident.Resident(graph, len(state))
    kept.put([x.data for x in state], 0)
    others = [x.data for x in rest]
    hidden = [captured_array(x) for x in graph.captures]
    now = [x.data for x in state]
    for _ in range(4):
        *wanted, value = fresh([*now, *others, *hidden])
        # Sums over arrays of another memory layout differ by their rounding.
        rtol = 1e-12 if dtype is qb.float64 else 1e-5
        np.testing.assert_allclose(kept(others)[0], value, rtol=rtol, atol=rtol)
        now = kept.state()
        for x, y in zip(now, wanted, strict=True):
            assert x.dtype == y.dtype
            np.testing.assert_allclose(x, y, rtol=rtol, atol=rtol)
    assert kept.calls == 4


@pytest.mark.parametrize("engine", ["numpy", "xla"])
def test_results_that_are_arguments_constants_or_shared(monkeypatch, engine):
    monkeypatch.setattr(qb.config, "cpu_engine", engine)

    def step(state, other):
        a, b, c, _ = state
        return [b, a, qb.zeros(600) + 2.0 * other, 2.0 * other, qb.sum(c)]

    start = [qb.full(600, k) for k in (1.0, 2.0, 3.0, 4.0)]
    kept = resident.Resident(trace(step, Arguments([start, qb.full(600, 5.0)])).graph, 4)
    kept.put([x.data for x in start], 0)
    sums = [float(kept([np.full(600, 5.0)])[0]) for _ in range(3)]
    assert sums == [1800.0, 6000.0, 6000.0]
    assert [x[0] for x in kept.state()] == [2.0, 1.0, 10.0, 10.0]
    assert kept.engine == engine


def test_the_state_has_a_size():
    kept = resident.Resident(trace(lambda x: [x + 1.0], Arguments([qb.ones(3)])).graph, 1)
    with pytest.raises(qb.QuablaError, match="has 1 arrays, got 2"):
        kept.put([np.ones(3), np.ones(3)], 0)
